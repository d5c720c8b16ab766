/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count.h - the counters of observe.h: misuse, full tables, what happened.
 *
 * A call that may do a read-modify-write adds to the global counters. A hot call with a current
 * task stores into the task's own cold block; cancel_task_end adds those up.
 */
#ifndef CANCEL_TRACK_COUNT_H
#define CANCEL_TRACK_COUNT_H

#include <cancel/observe.h>

#include "libcancel/sys/order.h"
#include "libcancel/track/library_state.h"

/* What a hot call can meet: a subset of CANCEL_COUNTERS. */
#define HOT_COUNTERS(X)                                                                            \
	X(bad_resource)                                                                            \
	X(wrong_type)                                                                              \
	X(wrong_mode)                                                                              \
	X(release_without_acquire)                                                                 \
	X(double_release)                                                                          \
	X(give_up_without_wait)                                                                    \
	X(entries_folded)                                                                          \
	X(entries_dropped)                                                                         \
	X(nesting_saturated)

enum hot_counter {
#define X(name) HOT_##name,
	HOT_COUNTERS(X)
#undef X
		HOT_COUNTS
};

struct slot;

extern internal _Atomic uint64_t count_global[CANCEL_COUNTER_COUNT];

static inline void count(enum cancel_counter counter)
{
	add_relaxed(&count_global[counter], 1);
}

/* What a call by an action or a listener gets: it is counted, and the caller does nothing. */
static inline bool count_own_thread(void)
{
	if (likely(!own_thread))
		return false;
	count(CANCEL_COUNT_called_from_action);
	return true;
}

/* Owner only: one relaxed store. */
cold_path void count_hot(struct slot *s, enum hot_counter counter);
/* Moves the slot's counts into the global ones; cancel_task_end. */
void count_fold(struct slot *s);
/* Global counts plus those still in live slots. */
void count_read(uint64_t totals[CANCEL_COUNTER_COUNT]);
void count_reset(void);

/* A call without a current task, or while the library is off. */
cold_path void count_untracked(void);

#endif
