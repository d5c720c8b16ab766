/* SPDX-License-Identifier: Apache-2.0 */
/* timer.c - one deadline, set by one thread and looked at by another. */
#include "demo-db/server/session/timer.h"

#include <sched.h>
#include <stdbool.h>

#define PURPOSE_BITS 3

void timer_set(struct timer *timer, enum timer_purpose purpose, uint64_t from_ns, uint64_t limit_ns)
{
	uint64_t value = limit_ns ? (from_ns + limit_ns) << PURPOSE_BITS | purpose : 0;
	uint64_t now = atomic_load_explicit(&timer->value, memory_order_relaxed);
	if (value == 0 && now == 0)
		return;
	for (;;) {
		if (now == TIMER_ACTED) {
			sched_yield();
			now = atomic_load_explicit(&timer->value, memory_order_relaxed);
		} else if (atomic_compare_exchange_weak_explicit(&timer->value, &now, value,
				   memory_order_acq_rel, memory_order_relaxed)) {
			return;
		}
	}
}

enum timer_purpose timer_take(struct timer *timer, uint64_t now_ns)
{
	uint64_t value = atomic_load_explicit(&timer->value, memory_order_relaxed);
	if (!value || value >> PURPOSE_BITS > now_ns ||
		!atomic_compare_exchange_strong_explicit(&timer->value, &value, TIMER_ACTED,
			memory_order_acq_rel, memory_order_relaxed))
		return TIMER_NOTHING;
	return (enum timer_purpose)(value & ((1u << PURPOSE_BITS) - 1));
}

void timer_done(struct timer *timer)
{
	atomic_store_explicit(&timer->value, 0, memory_order_release);
}
