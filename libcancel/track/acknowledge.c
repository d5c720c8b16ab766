/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acknowledge.c - a cancel as its task meets it: seen at a checkpoint, kept out of blocked phases,
 * its holds given back. The order of events is state_word.c's.
 */
#include "libcancel/track/entry.h"
#include "libcancel/track/event.h"
#include "libcancel/track/library_state.h"
#include "libcancel/track/state_word.h"
#include "libcancel/track/task.h"

void (*_Atomic task_capture_stack)(uint64_t id);

/* ---- Seen, and given back -------------------------------------------------------------------- */

static bool holds_any(const struct slot *s, uint64_t mask)
{
	uint32_t n = load_relaxed(&s->entry_count);
	for (uint32_t i = 0; i < n; i++)
		if (load_relaxed(&s->entries[i].held) &&
			mask >> key_resource(load_relaxed(&s->keys[i])) & 1)
			return true;
	for (uint64_t m = load_relaxed(&s->folded_mask) & mask; m; m &= m - 1)
		if (span_count(load_relaxed(&s->side->folded[__builtin_ctzll(m)].hold)))
			return true;
	return false;
}

/* The action may still be running: the watch counts once the request is there to be seen. */
void task_check_released(struct slot *s)
{
	uint64_t mask = load_relaxed(&s->watch_mask);
	if (!mask || state_in(load_acquire(&s->state_word)) < SLOT_DELIVERING || holds_any(s, mask))
		return;
	store_relaxed(&s->watch_mask, 0);
	s->cold->stopped_ns = clock_precise_ns();
	event_post(CANCEL_EVENT_RELEASED, task_id(s), s->cold->stopped_ns, 0);
}

uint64_t task_wasted_ns(const struct slot *s, uint64_t active_ns, uint64_t now_ns)
{
	uint64_t stopped_ns = s->cold->stopped_ns;
	uint64_t since_ns = stopped_ns && stopped_ns < now_ns ? now_ns - stopped_ns : 0;
	return active_ns > since_ns ? active_ns - since_ns : 0;
}

__attribute__((noinline)) static void acknowledge(struct slot *s)
{
	void (*capture)(uint64_t id) = load_acquire(&task_capture_stack);
	store_relaxed(&s->cold->acknowledged, true);
	s->cold->stopped_ns = clock_precise_ns();
	event_post(CANCEL_EVENT_ACKNOWLEDGED, task_id(s), s->cold->stopped_ns, 0);
	if (capture)
		capture(task_id(s));
	task_check_released(s);
}

bool cancel_requested(void)
{
	struct slot *s = current_slot;
	if (unlikely(!s)) {
		count_untracked();
		return false;
	}
	if (likely(state_in(load_relaxed(&s->state_word)) < SLOT_DELIVERING))
		return false;
	if (!load_relaxed(&s->cold->acknowledged))
		acknowledge(s);
	return true;
}

/* ---- Blocked phases -------------------------------------------------------------------------- */

int cancel_block(void)
{
	struct slot *s = current_slot;
	if (unlikely(!s)) {
		count_untracked();
		return 0;
	}
	if (!s->cold->block_depth) {
		int error = state_word_block(s);
		if (error)
			return error;
	}
	s->cold->block_depth++;
	return 0;
}

void cancel_allow(void)
{
	struct slot *s = current_slot;
	if (unlikely(!s)) {
		count_untracked();
		return;
	}
	if (unlikely(!s->cold->block_depth)) {
		count(CANCEL_COUNT_allow_without_block);
		return;
	}
	if (--s->cold->block_depth == 0)
		state_word_allow(s);
}

void cancel_set_action(cancel_action action, void *arg)
{
	struct slot *s = current_slot;
	if (unlikely(!s)) {
		count_untracked();
		return;
	}
	enum slot_state before = state_word_change_begin(s);
	s->cold->action = action;
	s->cold->action_arg = arg;
	state_word_change_end(s, before);
}
