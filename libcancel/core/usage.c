/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns a task's usage of the contended resources: how much of their delay ends at it,
 * how much of them it has used and will use.
 *
 * Usage is in constants of the resource, never of the candidate set (seconds, slot-seconds a slot,
 * turnovers of the pool), so a bystander cannot change the order of two others.
 */
#include "libcancel/core/usage.h"

#include "libcancel/base/fixed.h"

#define NS_PER_US 1000u

static uint64_t open_age_ns(const struct inputs *in, const struct cancel_ledger_task *t)
{
	return t->episode_start_ns ? fixed_minus(in->window->now_ns, t->episode_start_ns) : 0;
}

static uint64_t present_hold_ns(const struct inputs *in, const struct use *use)
{
	return use->since_ns ? fixed_minus(in->window->now_ns, use->since_ns) : 0;
}

/* The part of the present hold in which its task stood in another queue and left it again. A task
 * that still stands there passes its blame on; what is left with it is a deadlock's. */
static uint64_t idle_ns(const struct inputs *in, const struct use *use)
{
	uint32_t slot = in->ledger->tasks[use->task].slot;
	const struct past_usage *usage = &past_usages(in->history, slot)[use->position];
	uint64_t now_ns = in->window->now_ns, still_ns = 0;
	if (usage->idle_since_ns != use->since_ns)
		return 0;
	for (uint32_t i = in->history->tasks[slot].first_wait; i != NONE;
		i = in->history->waits[i].next_of_task) {
		const struct waiting *wait = &in->history->waits[i];
		if (wait->since_ns && in->contended->types[wait->resource] != CANCEL_MEMORY)
			still_ns += fixed_minus(now_ns, wait->since_ns);
	}
	return fixed_minus(usage->idle_ns, still_ns);
}

static uint64_t added_up_ns(const struct inputs *in, const struct use *use)
{
	uint32_t slot = in->ledger->tasks[use->task].slot;
	return past_usages(in->history, slot)[use->position].used_ns;
}

/* Time a LOCK or a slot was used: the present hold, or all holds of the open episode where there
 * were more, less what it stood idle meanwhile; or what its episodes add up to. Slots count several
 * times. */
static uint64_t used_ns(const struct inputs *in, const struct use *use)
{
	const struct cancel_ledger_entry *e = &in->ledger->entries[use->entry];
	if (use->bars)
		return fixed_minus(in->window->now_ns, e->waiting_since_ns);
	const struct cancel_ledger_task *t = &in->ledger->tasks[use->task];
	uint64_t slots =
		in->contended->types[e->resource] == CANCEL_QUEUE ? fixed_max(e->held, 1) : 1;

	uint64_t open_ns = fixed_scale(open_age_ns(in, t), slots, 1);
	uint64_t held_ns = fixed_max(
		fixed_scale(present_hold_ns(in, use), slots, 1), fixed_min(e->hold_ns, open_ns));
	held_ns = fixed_minus(held_ns, fixed_scale(idle_ns(in, use), slots, 1));
	if (e->hold_ns > fixed_plus(open_ns, STAMP_ERROR_NS)) /* it had other episodes before */
		held_ns = fixed_max(held_ns, fixed_min(e->hold_ns, added_up_ns(in, use)));
	return held_ns;
}

/* What the end of a waiter that bars others would free: the part of the delay that no holder
 * causes, for as long as the holder is predicted to stay; each of several such waiters a part. */
static uint64_t freed_micro(const struct inputs *in, const struct use *use)
{
	const struct instance *instance = &in->contended->instances[use->instance];
	const struct use *holder = &in->contended->uses[instance->barring.longest];
	struct cancel_estimate_input input;
	uint64_t stays_micro;
	usage_describe(in, &in->ledger->tasks[holder->task], &input);
	stays_micro = usage_estimate(in, &input, used_ns(in, holder) / NS_PER_US);
	return fixed_scale(stays_micro, instance->barring.free_ns,
		fixed_max(fixed_minus(instance->delay_ns, instance->barring.own_ns), 1) *
			instance->barring.count);
}

static uint64_t used_micro(const struct inputs *in, const struct use *use)
{
	const struct cancel_ledger_entry *e = &in->ledger->entries[use->entry];
	uint64_t capacity = fixed_max(in->ledger->resources[e->resource].capacity, 1);
	uint32_t slot = in->ledger->tasks[use->task].slot;
	switch (in->contended->types[e->resource]) {
	case CANCEL_MEMORY:
		return fixed_scale(
			past_usages(in->history, slot)[use->position].recent_milli, 1000, capacity);
	case CANCEL_QUEUE:
		return used_ns(in, use) / NS_PER_US / capacity;
	case CANCEL_LOCK:
		break;
	}
	return used_ns(in, use) / NS_PER_US /
	       fixed_max(in->contended->instances[use->instance].sharers, 1);
}

uint64_t usage_blame_us(const struct inputs *in, const struct use *use)
{
	uint32_t slot = in->ledger->tasks[use->task].slot;
	return attribute_blame_us(
		&past_usages(in->history, slot)[use->position], in->window->number);
}

/* Of a unit of memory: with millions held every hold would be long. */
static uint64_t hold_ns(const struct inputs *in, const struct use *use, uint8_t r)
{
	uint64_t units = in->ledger->resources[r].type == CANCEL_MEMORY
				 ? in->ledger->entries[use->entry].held
				 : 1;
	return used_ns(in, use) / fixed_max(units, 1);
}

void usage_sum(const struct inputs *in, uint32_t task, uint64_t contended_mask, bool open,
	struct usage usages[CANCEL_RESOURCES_MAX])
{
	uint32_t slot = in->ledger->tasks[task].slot;
	uint32_t i = in->history->tasks[slot].first_use;
	for (uint32_t r = 0; r < in->window->resource_count; r++)
		usages[r] = (struct usage){ 0 };
	for (; i != NONE; i = in->contended->uses[i].next_of_task) {
		const struct use *use = &in->contended->uses[i];
		uint8_t r = in->contended->instances[use->instance].resource;
		uint64_t blame_us;
		if (!(contended_mask >> r & 1) ||
			(open && in->contended->instances[use->instance].barred))
			continue;
		blame_us = usage_blame_us(in, use);
		if (blame_us == 0)
			continue; /* it holds something nobody waits for, or waits itself */
		usages[r].blame_us += blame_us;
		if (use->bars) {
			usages[r].waited_micro += used_ns(in, use) / NS_PER_US;
			usages[r].freed_micro += freed_micro(in, use);
		} else {
			usages[r].used_micro += used_micro(in, use);
		}
		if (in->contended->types[r] != CANCEL_MEMORY)
			usages[r].hold_ns = fixed_max(usages[r].hold_ns, hold_ns(in, use, r));
	}
}

/* Progress is of the present episode. A task that had others before, or began anew, is more than
 * what it tells of: a transaction keeps its locks when this statement ends. */
static bool tells_all(const struct inputs *in, const struct cancel_ledger_task *t)
{
	uint64_t before_ns = fixed_minus(t->active_ns, open_age_ns(in, t));
	return !in->history->tasks[t->slot].restarted && before_ns <= STAMP_ERROR_NS;
}

void usage_describe(const struct inputs *in, const struct cancel_ledger_task *t,
	struct cancel_estimate_input *input)
{
	const struct past_task *past = &in->history->tasks[t->slot];
	uint64_t longest_ns = 0;
	for (uint32_t i = past->first_use; i != NONE; i = in->contended->uses[i].next_of_task)
		longest_ns = fixed_max(longest_ns, present_hold_ns(in, &in->contended->uses[i]));
	*input = (struct cancel_estimate_input){
		.done = tells_all(in, t) ? t->progress_done : 0,
		.expected = tells_all(in, t) ? t->progress_expected : 0,
		.since_advance_ns = fixed_minus(in->window->now_ns, past->advanced_ns),
		.rollback_ns = t->rollback_ns,
		.class_median_ns =
			class_history_median_ns(in->classes, t->class_index, t->signature),
		.age_ns = fixed_max(open_age_ns(in, t), longest_ns),
	};
}

uint64_t usage_estimate(const struct inputs *in, struct cancel_estimate_input *input, uint64_t used)
{
	input->used_micro = used;
	return in->settings->estimator->gain_micro(input);
}

/* The least use worth a cancel: half an SLO, or what a cancel takes to work if that is more; which
 * is a window before anything was measured. No longer than the pacing waits for a release: one slow
 * rollback must not protect the next. */
static uint64_t min_use_ns(const struct inputs *in)
{
	uint64_t works_ns =
		fixed_max(outcomes_median_release_ns(in->outcomes), in->window->length_ns);

	return fixed_max(in->window->slo_ns / 2,
		fixed_min(works_ns, in->settings->release_wait_ms * NS_PER_MS));
}

static bool evicts_much(const struct inputs *in, const struct cancel_ledger_task *t, uint32_t r)
{
	uint32_t count = window_entry_count(in->ledger, t);
	uint64_t recent_milli = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (in->ledger->entries[t->first_entry + i].resource == r)
			recent_milli += past_usages(in->history, t->slot)[i].recent_milli;
	}
	return fixed_ppm(recent_milli, in->history->recent_milli[r]) >=
	       in->settings->evict_share_ppm;
}

bool usage_is_significant(const struct inputs *in, const struct cancel_ledger_task *t, uint32_t r,
	const struct usage *usage, struct cancel_estimate_input *input)
{
	uint64_t min_ns = min_use_ns(in);
	if (in->contended->types[r] == CANCEL_MEMORY)
		return evicts_much(in, t, r);
	return usage->hold_ns >= min_ns || usage->freed_micro >= min_ns / NS_PER_US ||
	       usage_estimate(in, input, usage->hold_ns / NS_PER_US) >= min_ns / NS_PER_US;
}
