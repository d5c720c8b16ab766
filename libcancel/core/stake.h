/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stake.h - what a blamed task has to do with each resource that counts.
 */
#ifndef CANCEL_CORE_STAKE_H
#define CANCEL_CORE_STAKE_H

#include "libcancel/core/attribute.h"
#include "libcancel/core/contention.h"
#include "libcancel/core/estimate.h"
#include "libcancel/core/outcome.h"
#include "libcancel/core/settings.h"

/* What the choice of candidates reads. */
struct scene {
	const struct settings *settings;
	const struct cancel_ledger *ledger;
	const struct window *window;
	struct history *history;
	const struct contested *contested;
	const struct attribution *attribution;
	const struct contention *contention;
	const struct class_history *classes;
	const struct outcomes *outcomes;
};

struct stake {
	uint64_t blame_us;   /* over three windows */
	uint64_t used_micro; /* gain units so far */
	uint64_t hold_ns;    /* LOCK, QUEUE: the longest of its uses */
};

/* Delay of three windows that ends at one use of a contested instance. */
uint64_t stake_blame_us(const struct scene *scene, const struct holding *holding);
/* A task's uses of contested instances, summed by resource over those in `counting` (bits). */
void stake_weigh(const struct scene *scene, uint32_t task, uint64_t counting,
	struct stake stakes[CANCEL_RESOURCES_MAX]);
/* What the estimator is told of a task, but for the usage. */
void stake_describe(const struct scene *scene, const struct cancel_ledger_task *task,
	struct cancel_estimate_input *input);
uint64_t stake_estimate(
	const struct scene *scene, struct cancel_estimate_input *input, uint64_t used_micro);
/* Used long enough, or for long enough to come, that cancelling it is worth it and in time; MEMORY:
 * it evicts a noticeable share. */
bool stake_is_heavy(const struct scene *scene, const struct cancel_ledger_task *task, uint32_t r,
	const struct stake *stake, struct cancel_estimate_input *input);

#endif
