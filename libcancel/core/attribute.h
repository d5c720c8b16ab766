/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribute.h - whose fault the window's delay is: per resource how much of it is rooted there, per
 * task how much of that ends at it.
 */
#ifndef CANCEL_CORE_ATTRIBUTE_H
#define CANCEL_CORE_ATTRIBUTE_H

#include "libcancel/core/contended.h"

#define HOPS_MAX 8u /* longest chain of holders that themselves wait; what is left stays there */

struct attribution {
	uint64_t rooted_ns[CANCEL_RESOURCES_MAX];		 /* of this window */
	uint64_t rooted_us[CANCEL_RESOURCES_MAX][BLAME_WINDOWS]; /* newest first */
	bool stuck;	    /* somebody waits > 3 x its SLO for something another task holds */
	bool blamed;	    /* uses carry blame; false: too little delay to look, or no room */
	uint64_t overflows; /* windows that did not fit */
};

/* `thorough`: look for who is to blame even when little time is lost. */
void attribute_step(struct attribution *attribution, struct contended *contended,
	struct history *history, const struct cancel_ledger *ledger, const struct window *window,
	bool thorough);

/* Delay of `usage` and of all tasks at resource r over the last three windows. */
uint64_t attribute_blame_us(const struct past_usage *usage, uint32_t window_number);
uint64_t attribute_rooted_us(const struct attribution *attribution, uint32_t r);

#endif
