/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timer.h - what a client waits for, or is waited for, that may last too long.
 *
 * The serving thread sets it; another looks at the clock. What that thread does about an old
 * deadline it does to what was watched then, not to what is watched next.
 */
#ifndef DEMO_DB_TIMER_H
#define DEMO_DB_TIMER_H

#include <stdatomic.h>
#include <stdint.h>

enum timer_purpose {
	TIMER_NOTHING,
	TIMER_STARTUP,
	TIMER_IDLE,
	TIMER_IDLE_IN_BLOCK,
	TIMER_STATEMENT,
	TIMER_ACTED, /* the looking thread is just about it: whoever sets another waits for that */
};

struct timer {
	_Atomic uint64_t value; /* the purpose in the low bits, the deadline in ns above */
};

/* Runs out `limit_ns` after `from_ns`; 0: it is stopped. */
void timer_set(
	struct timer *timer, enum timer_purpose purpose, uint64_t from_ns, uint64_t limit_ns);
/* The purpose whose time is over, which is then the caller's until timer_done. TIMER_NOTHING: none
 * is. */
enum timer_purpose timer_take(struct timer *timer, uint64_t now_ns);
void timer_done(struct timer *timer);

#endif
