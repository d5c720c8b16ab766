/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the counters behind the progress lines. The report does not come from here: it ranks the
 * exact latencies after the run.
 */
#include "bench/load/live.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIRST_EDGE_NS 16000.0
#define EDGES_PER_TWO 4

static uint32_t bucket_of(uint64_t latency_ns)
{
	double octaves = log2((double)(latency_ns + 1) / FIRST_EDGE_NS);
	double bucket = ceil(octaves * EDGES_PER_TWO);
	if (bucket < 0)
		return 0;
	return bucket > LIVE_BUCKETS - 1 ? LIVE_BUCKETS - 1 : (uint32_t)bucket;
}

void live_record(struct live *live, uint64_t latency_ns, uint64_t slo_ns)
{
	atomic_fetch_add_explicit(&live->answered, 1, memory_order_relaxed);
	_Atomic uint64_t *judged = latency_ns <= slo_ns ? &live->good : &live->late;
	atomic_fetch_add_explicit(judged, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&live->buckets[bucket_of(latency_ns)], 1, memory_order_relaxed);
}

void live_fail(struct live *live, const char *error)
{
	if (!atomic_exchange_explicit(&live->has_failure, true, memory_order_relaxed))
		snprintf(live->failure, sizeof live->failure, "%s", error);
}

void live_read(struct live *live, struct live_view *view)
{
	view->answered = atomic_load_explicit(&live->answered, memory_order_relaxed);
	view->good = atomic_load_explicit(&live->good, memory_order_relaxed);
	view->late = atomic_load_explicit(&live->late, memory_order_relaxed);
	view->dropped = atomic_load_explicit(&live->dropped, memory_order_relaxed);
	view->offered = atomic_load_explicit(&live->offered, memory_order_relaxed);
	for (int i = 0; i < LIVE_BUCKETS; i++)
		view->buckets[i] = atomic_load_explicit(&live->buckets[i], memory_order_relaxed);
}

void live_since(const struct live_view *now, const struct live_view *before, struct live_view *diff)
{
	*diff = (struct live_view){ .offered = now->offered - before->offered,
		.answered = now->answered - before->answered,
		.good = now->good - before->good,
		.late = now->late - before->late,
		.dropped = now->dropped - before->dropped };
	for (int i = 0; i < LIVE_BUCKETS; i++)
		diff->buckets[i] = now->buckets[i] - before->buckets[i];
}

uint64_t live_quantile_ns(const struct live_view *diff, double p)
{
	uint64_t total = 0, seen = 0;
	for (int i = 0; i < LIVE_BUCKETS; i++)
		total += diff->buckets[i];
	if (!total)
		return 0;
	uint64_t rank = (uint64_t)ceil(p * (double)total);
	int i = 0;
	while (i < LIVE_BUCKETS - 1 && (seen += diff->buckets[i]) < rank)
		i++;
	return (uint64_t)(FIRST_EDGE_NS * exp2((double)i / EDGES_PER_TWO));
}
