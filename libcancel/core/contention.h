/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contention.h - the share of execution time each resource costs, beside its healthy reference.
 */
#ifndef CANCEL_CORE_CONTENTION_H
#define CANCEL_CORE_CONTENTION_H

#include "libcancel/core/attribute.h"
#include "libcancel/core/settings.h"

#define REFERENCE_SECONDS 60u

struct contention {
	uint32_t ppm[CANCEL_RESOURCES_MAX];	      /* C_r of this window */
	uint32_t threshold_ppm[CANCEL_RESOURCES_MAX]; /* from where it counts */
	uint64_t hot_ns[CANCEL_RESOURCES_MAX];	      /* last at half of that or more, 0 = never */
	/* The healthy reference: C_r of each of the last 60 non-suspect seconds. */
	uint32_t seconds_ppm[CANCEL_RESOURCES_MAX][REFERENCE_SECONDS];
	uint32_t second_count, next_second;
	uint64_t length_ns, active_ns, rooted_ns[CANCEL_RESOURCES_MAX]; /* of the running second */
};

/* C_r of the window. */
void contention_measure(struct contention *contention, const struct attribution *attribution,
	const struct window *window, const struct settings *settings);
/* After the window was judged: adds it to the reference, or, while suspect, freezes that. */
void contention_learn(struct contention *contention, const struct attribution *attribution,
	const struct window *window, bool suspect);

/* The resources (bits) that count, and those calm for a second. */
uint64_t contention_contended(const struct contention *contention, const struct window *window);
uint64_t contention_calm(const struct contention *contention, const struct window *window);

#endif
