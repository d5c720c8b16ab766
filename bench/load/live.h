/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.h - counters of a run while it runs: written by the generator and the target's workers,
 * read by whoever prints a line or decides a kill.
 */
#ifndef BENCH_LIVE_H
#define BENCH_LIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LIVE_BUCKETS 64 /* of latency: two to the power of a quarter apart, from 16 us */

struct live { /* all relaxed: figures to look at, nothing is published through them */
	_Atomic uint64_t offered;  /* by the generator's thread */
	_Atomic uint64_t answered; /* by workers, as all below */
	_Atomic uint64_t good, late, dropped;
	_Atomic uint32_t buckets[LIVE_BUCKETS];
	_Atomic bool has_failure; /* whoever sets it writes the text; to be read after the run */
	char failure[256];
};

struct live_view { /* one instant, or the difference of two */
	uint64_t offered, answered, good, late, dropped;
	uint32_t buckets[LIVE_BUCKETS];
};

void live_record(struct live *live, uint64_t latency_ns, uint64_t slo_ns);
/* Keeps the text of the first failure. */
void live_fail(struct live *live, const char *error);
void live_read(struct live *live, struct live_view *view);
void live_since(
	const struct live_view *now, const struct live_view *before, struct live_view *diff);
/* Upper edge of the bucket that holds quantile p, in nanoseconds; 0 if nothing was answered. */
uint64_t live_quantile_ns(const struct live_view *diff, double p);

#endif
