/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protego.h - Protego: credits by throughput, and lock waits that are refused.
 *
 * Purpose: admission control for servers whose bottleneck may be a lock, where neither CPU nor
 * queuing delay says how much load is too much. Two parts:
 *   cancel_protego       the credit pool grows while throughput grows with load (slope >= 0.25),
 *                        and shrinks otherwise; by the same step both ways
 *   cancel_protego_lock  a request that would wait for a lock is refused when the lock's queuing
 *                        delay plus the age of its oldest waiter exceed what the request has left
 * It sheds the victims that wait on monitored locks; who holds the lock goes on.
 * Thread safety: none. Cost: O(1). Credits in millionths.
 * Source: Cho et al., Protego, NSDI 2023, 3.2 (credits) and 3.3 (active queue management of
 * synchronisation).
 */
#ifndef CANCEL_ADMISSION_PROTEGO_H
#define CANCEL_ADMISSION_PROTEGO_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cancel_protego_options { /* zero = default, in brackets */
	size_t struct_size;
	uint64_t window_ns;	/* [10 ms] each compared with the one before */
	uint32_t slope_ppm;	/* [250000] throughput gained for load added */
	uint32_t step_ppm;	/* [1000] of the clients, at least one credit */
	uint32_t clients;	/* [1] */
	uint32_t min_credits;	/* [1] */
	uint32_t max_credits;	/* [65536] */
	uint32_t start_credits; /* [max_credits] */
	uint64_t start_ns;	/* [0] */
};

struct cancel_protego {
	uint64_t window_ns;
	uint32_t slope_ppm;
	uint64_t step_micro, min_micro, max_micro;
	uint64_t pool_micro;
	uint64_t in_flight;
	uint64_t window_start_ns;
	uint64_t arrived, completed;	       /* in this window */
	uint64_t last_arrived, last_completed; /* in the one before */
	bool compared;			       /* there was one before */
};

/* Returns 0, or CANCEL_EINVAL (no struct_size, min over max, start outside them). */
CANCEL_MUST_CHECK int cancel_protego_init(
	struct cancel_protego *protego, const struct cancel_protego_options *options);
/* May one more request be in flight? If so it is, until observed. */
bool cancel_protego_admit(struct cancel_protego *protego, uint64_t now_ns);
/* A request ended; `useful` if it was answered in time and not refused on the way. */
void cancel_protego_observe(struct cancel_protego *protego, uint64_t now_ns, bool useful);

struct cancel_protego_lock {
	uint64_t delay_ns; /* how long the last one that got the lock had waited */
};

/* A lock nobody has waited for yet. */
void cancel_protego_lock_init(struct cancel_protego_lock *lock);
/* The lock was acquired after `waited_ns` (0: at once). */
void cancel_protego_lock_observe(
	struct cancel_protego_lock *lock, uint64_t now_ns, uint64_t waited_ns);
/* The lock is taken: may a request with `budget_ns` left (SLO less the time spent and the time the
 * rest will take) wait for it? `oldest_since_ns`: when its oldest waiter began to wait, 0 for none:
 * then it may, since nothing queues. */
bool cancel_protego_lock_admit(const struct cancel_protego_lock *lock, uint64_t now_ns,
	uint64_t oldest_since_ns, uint64_t budget_ns);

#ifdef __cplusplus
}
#endif
#endif
