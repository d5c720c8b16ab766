/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.h - how much a blamed task has to do with each contended resource.
 */
#ifndef CANCEL_CORE_USAGE_H
#define CANCEL_CORE_USAGE_H

#include "libcancel/core/attribute.h"
#include "libcancel/core/contention.h"
#include "libcancel/core/estimate.h"
#include "libcancel/core/outcome.h"
#include "libcancel/core/returning.h"
#include "libcancel/core/settings.h"

/* What the choice of candidates reads. */
struct inputs {
	const struct settings *settings;
	const struct cancel_ledger *ledger;
	const struct window *window;
	struct history *history;
	struct contended *contended;
	const struct attribution *attribution;
	const struct contention *contention;
	const struct class_history *classes;
	const struct outcomes *outcomes;
	const struct returning *returning;
};

struct usage {
	uint64_t blame_us;   /* over three windows */
	uint64_t used_micro; /* gain units so far */
	uint64_t hold_ns;    /* LOCK, QUEUE: the longest of its uses */
	/* Where it bars others by waiting: its wait so far, and what its end would free. */
	uint64_t waited_micro, freed_micro;
};

/* Delay of three windows that ends at one use of a contended instance. */
uint64_t usage_blame_us(const struct inputs *inputs, const struct use *use);
/* A task's uses of contended instances, summed by resource over those in `contended_mask`; `open`:
 * only of those for which anybody may be a candidate. */
void usage_sum(const struct inputs *inputs, uint32_t task, uint64_t contended_mask, bool open,
	struct usage usages[CANCEL_RESOURCES_MAX]);
/* What the estimator is told of a task, but for the usage. */
void usage_describe(const struct inputs *inputs, const struct cancel_ledger_task *task,
	struct cancel_estimate_input *input);
uint64_t usage_estimate(
	const struct inputs *inputs, struct cancel_estimate_input *input, uint64_t used_micro);
/* Used long enough, or for long enough to come, that cancelling it is worth it and in time; MEMORY:
 * it evicts a noticeable share. */
bool usage_is_significant(const struct inputs *inputs, const struct cancel_ledger_task *task,
	uint32_t r, const struct usage *usage, struct cancel_estimate_input *input);

#endif
