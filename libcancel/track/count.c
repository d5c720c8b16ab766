/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count.c - owns the counters.
 *
 * A thread without a current task may be in a hot loop, so its calls are counted exactly up to a
 * thousand and then a thousand at a time: a host whose library is off pays a thread-local
 * increment, not a contended line.
 */
#include "libcancel/track/count.h"

#include "libcancel/track/library_state.h"
#include "libcancel/track/slot.h"

#define UNTRACKED_EXACT 1024u

_Atomic uint64_t count_global[CANCEL_COUNTER_COUNT];

static const enum cancel_counter hot_to_counter[HOT_COUNTS] = {
#define X(name) [HOT_##name] = CANCEL_COUNT_##name,
	HOT_COUNTERS(X)
#undef X
};

void count_hot(struct slot *s, enum hot_counter counter)
{
	bump_relaxed(&s->cold->counts[counter], 1);
	store_relaxed(&s->cold->counted, true);
}

void count_fold(struct slot *s)
{
	struct slot_cold *cold = s->cold;
	if (likely(!load_relaxed(&cold->counted)))
		return;
	for (int i = 0; i < HOT_COUNTS; i++) {
		add_relaxed(&count_global[hot_to_counter[i]], load_relaxed(&cold->counts[i]));
		store_relaxed(&cold->counts[i], 0);
	}
	store_relaxed(&cold->counted, false);
}

void count_read(uint64_t totals[CANCEL_COUNTER_COUNT])
{
	uint32_t high = load_acquire(&slot_high);
	for (int i = 0; i < CANCEL_COUNTER_COUNT; i++)
		totals[i] = load_relaxed(&count_global[i]);
	for (uint32_t i = 0; i < high; i++) {
		const struct slot *s = slot_at(i);
		if (state_in(load_acquire(&s->state_word)) <= SLOT_ENDING ||
			!load_relaxed(&s->cold->counted))
			continue;
		for (int hot = 0; hot < HOT_COUNTS; hot++)
			totals[hot_to_counter[hot]] += load_relaxed(&s->cold->counts[hot]);
	}
}

void count_reset(void)
{
	for (int i = 0; i < CANCEL_COUNTER_COUNT; i++)
		store_relaxed(&count_global[i], 0);
}

void count_untracked(void)
{
	static _Thread_local uint32_t seen, unreported;
	if (count_own_thread())
		return;
	unreported++;
	if (likely(seen >= UNTRACKED_EXACT && unreported < UNTRACKED_EXACT))
		return;
	if (seen < UNTRACKED_EXACT)
		seen++;
	add_relaxed(
		&count_global[library_is_on() ? CANCEL_COUNT_no_task : CANCEL_COUNT_not_running],
		unreported);
	unreported = 0;
}
