/* SPDX-License-Identifier: Apache-2.0 */
/*
 * totals.h - what ended tasks leave behind: closed episodes, and their use of each resource.
 */
#ifndef CANCEL_TRACK_TOTALS_H
#define CANCEL_TRACK_TOTALS_H

#include <cancel/policy.h>

#include "libcancel/sys/order.h"

struct ended_use { /* of one resource by ended tasks, cumulative */
	uint64_t wait_ns, hold_ns, evicted, orphan_stall_ns, waits, acquires;
};

struct totals { /* a sum over all shards */
	struct ended_use use[CANCEL_RESOURCES_MAX];
	uint64_t completed, late, ended_active_ns;
};

/* An SLO-bearing episode closed. Warm: atomic adds on this thread's shard. */
void totals_episode(uint64_t latency_ns, uint64_t slo_ns);
/* An episode of a class that is still learning its SLO. */
void totals_learn(uint32_t class_index, uint64_t latency_ns);
void totals_use(uint32_t resource, const struct ended_use *use);

/* Any thread: sums into `sum`. */
void totals_sum(struct totals *sum, uint32_t resource_count);
/* Controller only. Sums into `sum`; brings `latency` (cumulative) up to date, touching only the
 * buckets that changed since the last call. */
void totals_read(struct totals *sum, uint32_t resource_count, uint64_t *latency);
/* The learned latencies of a class; CANCEL_HISTOGRAM_MAX counts. */
void totals_read_learned(uint32_t class_index, uint64_t *counts);
void totals_reset(void);

#endif
