/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h - CockroachDB's slots: as many running as keep the run queue short.
 *
 * Purpose: move queuing out of the scheduler, which cannot order it, into an admission queue that
 * can (work_queue.h). Work occupies a slot while it runs. Each ms the number of slots follows the
 * run queue: 32 or more runnable a CPU take one slot away, 16 or fewer while all slots are used
 * add one. Additive both ways, because work has no lasting debt on a CPU.
 * Thread safety: none. Cost: O(1).
 * Source: CockroachDB, util/admission, kv slot adjuster (32; 1 ms; the half).
 */
#ifndef CANCEL_ADMISSION_SLOTS_H
#define CANCEL_ADMISSION_SLOTS_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cancel_slots_options { /* zero = default, in brackets */
	size_t struct_size;
	uint32_t min_slots;	 /* [1] */
	uint32_t max_slots;	 /* [100000] */
	uint32_t start_slots;	 /* [min_slots] */
	uint32_t runnable_a_cpu; /* [32] */
	uint64_t period_ns;	 /* [1 ms] samples closer together are ignored */
};

struct cancel_slots {
	uint32_t min_slots, max_slots, runnable_a_cpu;
	uint64_t period_ns, next_sample_ns;
	uint32_t total, used;
};

/* Returns 0, or CANCEL_EINVAL (no struct_size, start outside min .. max). */
CANCEL_MUST_CHECK int cancel_slots_init(
	struct cancel_slots *slots, const struct cancel_slots_options *options);
/* Takes a slot if one is free. */
bool cancel_slots_admit(struct cancel_slots *slots, uint64_t now_ns);
/* Gives a slot back. */
void cancel_slots_release(struct cancel_slots *slots, uint64_t now_ns);
/* `runnable` threads or tasks are ready to run and do not, on `cpus` CPUs. */
void cancel_slots_observe(
	struct cancel_slots *slots, uint64_t now_ns, uint32_t runnable, uint32_t cpus);

#ifdef __cplusplus
}
#endif
#endif
