/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task.h - a task's life as the rest of the library sees it.
 */
#ifndef CANCEL_TRACK_TASK_H
#define CANCEL_TRACK_TASK_H

#include "libcancel/track/slot.h"

/* The SLO a task bears: its own, its class's (given or learned), or none (0). */
uint64_t task_slo_ns(const struct slot *s);

static inline uint64_t task_id(const struct slot *s)
{
	return id_make(s->index, generation_in(load_relaxed(&s->state_word)));
}

/* A task by id for its owner: the current one, or an unbound one, which is bound to the caller for
 * the time (*borrowed). NULL: ended or bound elsewhere, and counted. */
struct slot *task_hold(uint64_t id, bool *borrowed);
void task_release(struct slot *s, bool borrowed);

/* A delivered task whose holds on the blamed resources may have gone: posts RELEASED. Owner. */
void task_check_released(struct slot *s);

/* Of a cancelled task's active time up to now_ns, what it had worked for when it stopped; what came
 * after was waiting to run again. Owner. */
uint64_t task_wasted_ns(const struct slot *s, uint64_t active_ns, uint64_t now_ns);

/* usage.c: releases and folds everything the task still has; cancel_task_end. */
void usage_end(struct slot *s, uint64_t now_ns);

/* control/ sets this before the first task: captures the calling thread's stack for task `id`. */
extern void (*_Atomic task_capture_stack)(uint64_t id);

/* Prepares thread exit and fork handling; once. */
void task_init(void);

#endif
