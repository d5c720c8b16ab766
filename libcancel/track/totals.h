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

static inline void ended_use_add(struct ended_use *sum, const struct ended_use *use)
{
	sum->wait_ns += use->wait_ns;
	sum->hold_ns += use->hold_ns;
	sum->evicted += use->evicted;
	sum->orphan_stall_ns += use->orphan_stall_ns;
	sum->waits += use->waits;
	sum->acquires += use->acquires;
}

struct totals { /* a sum over all shards */
	struct ended_use use[CANCEL_RESOURCES_MAX];
	uint64_t completed, late, ended_active_ns;
};

/* ---- Tasks that end; warm: atomic additions on this thread's shard --------------------------- */

/* Where the task in slot `index` leaves what it had; valid during one call of the host. */
struct bank *totals_bank(uint32_t index);
/* For an episode that never had a slot: it counts in the ledger that is being made. */
#define TOTALS_NO_SLOT (UINT32_MAX - 1)
/* An SLO-bearing episode of the task in slot `index` closed. */
void totals_episode(uint32_t index, uint64_t latency_ns, uint64_t slo_ns);
void totals_use(struct bank *b, uint32_t resource, const struct ended_use *use);
/* An episode of a class that is still learning its SLO. */
void totals_learn(uint32_t class_index, uint64_t latency_ns);

/* ---- The collector --------------------------------------------------------------------------- */

/* Begins a ledger: from here on, what a task leaves counts in this ledger as long as its slot has
 * not been read yet, and in the next one afterwards. Starts the sum. */
void totals_begin(struct totals *sum, uint32_t resource_count);
/* The slots below `index` have been read. */
void totals_passed(uint32_t index);
/* Ends the ledger and the sum; brings `latency` (cumulative) up to date, touching only the buckets
 * that changed since the last call. */
void totals_end(struct totals *sum, uint32_t resource_count, uint64_t *latency);

/* ---- Others ---------------------------------------------------------------------------------- */

/* Any thread. */
void totals_sum(struct totals *sum, uint32_t resource_count);
/* The learned latencies of a class; CANCEL_HISTOGRAM_MAX counts. */
void totals_read_learned(uint32_t class_index, uint64_t *counts);
void totals_reset(void);

#endif
