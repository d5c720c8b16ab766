/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pbox.h - pBox: a holder that made others wait too long sleeps after it releases.
 *
 * Purpose: performance isolation inside one application. Each task has an isolation goal: the time
 * it is deferred by others may be at most goal x the time it executes (50 %). When a holder gives
 * a resource back, each waiter over its goal is a victim; the worst one sets a penalty
 *   sqrt(its deferral x the holder's mean execution) - its mean execution,
 * no more than goal x the holder's mean execution (or the holder would miss its own goal) and no
 * more than penalty_max. If the last penalty did not lower the victims' ratio, the next one is
 * twice as long, up to 8 times. The holder sleeps it out after the release: a held lock is never
 * freed, so the victims of this very hold have already paid.
 * Thread safety: none; one object for each resource, one task object for each task.
 * Cost: O(1) a waiter and a release. Ratios in parts per million.
 * Source: Hu, Huang, Huang, Pushing Performance Isolation Boundaries into Application with pBox,
 * SOSP 2023; starting penalty and lower bound as in its artifact, the doubling by its description
 * of adaptive penalties.
 */
#ifndef CANCEL_ADMISSION_PBOX_H
#define CANCEL_ADMISSION_PBOX_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cancel_pbox_options { /* zero = default, in brackets */
	size_t struct_size;
	uint32_t goal_ppm;	 /* [500000] deferral over execution */
	uint64_t penalty_min_ns; /* [10 us] shorter deferrals are not worth a sleep */
	uint64_t penalty_max_ns; /* [100 ms] */
};

/* One task (or class of tasks that are alike); starts as zero. */
struct cancel_pbox_task {
	uint64_t mean_execution_ns; /* of its activities, by exponential average, 1/8 new */
	uint64_t mean_deferral_ns;
	uint64_t last_ratio_ppm; /* of the worst victim of its last penalised release */
	uint32_t step;		 /* 0, 1, 2, 4, 8: how much longer its penalties are */
};

struct cancel_pbox {
	uint32_t goal_ppm;
	uint64_t penalty_min_ns, penalty_max_ns;
	/* the release under way */
	uint64_t worst_ratio_ppm, worst_deferral_ns, worst_execution_ns;
	uint32_t victims;
};

/* Returns 0, or CANCEL_EINVAL (no struct_size). */
CANCEL_MUST_CHECK int cancel_pbox_init(
	struct cancel_pbox *pbox, const struct cancel_pbox_options *options);
/* An activity of `task` ended: it executed and was deferred for so long. */
void cancel_pbox_observe(
	struct cancel_pbox_task *task, uint64_t execution_ns, uint64_t deferral_ns);
/* A holder is about to release. Call for each waiter: how long it has waited so far in this
 * activity, and how long it has executed. */
void cancel_pbox_waiter(struct cancel_pbox *pbox, const struct cancel_pbox_task *waiter,
	uint64_t deferral_ns, uint64_t execution_ns);
/* The release is done: how long its holder should sleep now, 0 for not at all. Forgets the
 * waiters. */
uint64_t cancel_pbox_release(struct cancel_pbox *pbox, struct cancel_pbox_task *holder);

#ifdef __cplusplus
}
#endif
#endif
