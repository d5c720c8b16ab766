/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what a task has at stake at the resources that count: how much of their delay ends at it,
 * how much of them it has used and will use.
 *
 * Usage is in constants of the resource, never of the candidate set (seconds, slot-seconds a slot,
 * turnovers of the pool), so a bystander cannot change the order of two others.
 */
#include "libcancel/core/stake.h"

#include "libcancel/base/fixed.h"

#define NS_PER_US 1000u

static uint64_t open_age_ns(const struct scene *s, const struct cancel_ledger_task *t)
{
	return t->episode_start_ns ? fixed_minus(s->window->now_ns, t->episode_start_ns) : 0;
}

static uint64_t present_hold_ns(const struct scene *s, const struct holding *holding)
{
	return holding->since_ns ? fixed_minus(s->window->now_ns, holding->since_ns) : 0;
}

/* The part of the present hold in which its task stood in another queue and left it again. A task
 * that still stands there passes its blame on; what is left with it is a deadlock's. */
static uint64_t idle_ns(const struct scene *s, const struct holding *holding)
{
	uint32_t slot = s->ledger->tasks[holding->task].slot;
	const struct past_usage *usage = &past_usages(s->history, slot)[holding->position];
	uint64_t now_ns = s->window->now_ns, still_ns = 0;
	if (usage->idle_since_ns != holding->since_ns)
		return 0;
	for (uint32_t i = s->history->tasks[slot].first_wait; i != NONE;
		i = s->history->waits[i].next_of_task) {
		const struct waiting *wait = &s->history->waits[i];

		if (wait->since_ns && s->contested->types[wait->resource] != CANCEL_MEMORY)
			still_ns += fixed_minus(now_ns, wait->since_ns);
	}
	return fixed_minus(usage->idle_ns, still_ns);
}

/* Time a LOCK or a slot was used: the present hold, or all holds of the open episode where there
 * were more, less what it stood idle meanwhile. Slots count several times. */
static uint64_t used_ns(const struct scene *s, const struct holding *holding)
{
	const struct cancel_ledger_entry *e = &s->ledger->entries[holding->entry];
	const struct cancel_ledger_task *t = &s->ledger->tasks[holding->task];
	uint64_t slots =
		s->contested->types[e->resource] == CANCEL_QUEUE ? fixed_max(e->held, 1) : 1;

	uint64_t held_ns = fixed_max(fixed_scale(present_hold_ns(s, holding), slots, 1),
		fixed_min(e->hold_ns, fixed_scale(open_age_ns(s, t), slots, 1)));

	return fixed_minus(held_ns, fixed_scale(idle_ns(s, holding), slots, 1));
}

static uint64_t used_micro(const struct scene *s, const struct holding *holding)
{
	const struct cancel_ledger_entry *e = &s->ledger->entries[holding->entry];
	uint64_t capacity = fixed_max(s->ledger->resources[e->resource].capacity, 1);
	uint32_t slot = s->ledger->tasks[holding->task].slot;
	switch (s->contested->types[e->resource]) {
	case CANCEL_MEMORY:
		return fixed_scale(past_usages(s->history, slot)[holding->position].recent_milli,
			1000, capacity);
	case CANCEL_QUEUE:
		return used_ns(s, holding) / NS_PER_US / capacity;
	case CANCEL_LOCK:
		break;
	}
	return used_ns(s, holding) / NS_PER_US /
	       fixed_max(s->contested->sites[holding->site].blockers, 1);
}

uint64_t stake_blame_us(const struct scene *s, const struct holding *holding)
{
	uint32_t slot = s->ledger->tasks[holding->task].slot;
	return attribute_blame_us(
		&past_usages(s->history, slot)[holding->position], s->window->number);
}

/* Sums a task's holdings of contested instances by resource. */
void stake_weigh(const struct scene *s, uint32_t task, uint64_t counting,
	struct stake stakes[CANCEL_RESOURCES_MAX])
{
	uint32_t slot = s->ledger->tasks[task].slot;
	uint32_t i = s->history->tasks[slot].first_holding;
	for (uint32_t r = 0; r < s->window->resource_count; r++)
		stakes[r] = (struct stake){ 0 };
	for (; i != NONE; i = s->contested->holdings[i].next_of_task) {
		const struct holding *holding = &s->contested->holdings[i];
		uint8_t r = s->contested->sites[holding->site].resource;
		uint64_t blame_us;

		if (!(counting >> r & 1))
			continue;
		blame_us = stake_blame_us(s, holding);
		if (blame_us == 0)
			continue; /* it holds something nobody waits for, or waits itself */
		stakes[r].blame_us += blame_us;
		stakes[r].used_micro += used_micro(s, holding);
		if (s->contested->types[r] != CANCEL_MEMORY)
			stakes[r].hold_ns = fixed_max(stakes[r].hold_ns, used_ns(s, holding));
	}
}

void stake_describe(const struct scene *s, const struct cancel_ledger_task *t,
	struct cancel_estimate_input *input)
{
	const struct past_task *past = &s->history->tasks[t->slot];
	uint64_t longest_ns = 0;
	for (uint32_t i = past->first_holding; i != NONE;
		i = s->contested->holdings[i].next_of_task)
		longest_ns = fixed_max(longest_ns, present_hold_ns(s, &s->contested->holdings[i]));
	*input = (struct cancel_estimate_input){
		.done = t->progress_done,
		.expected = t->progress_expected,
		.since_advance_ns = fixed_minus(s->window->now_ns, past->advanced_ns),
		.rollback_ns = t->rollback_ns,
		.class_median_ns =
			class_history_median_ns(s->classes, t->class_index, t->signature),
		.age_ns = fixed_max(open_age_ns(s, t), longest_ns),
	};
}

uint64_t stake_estimate(const struct scene *s, struct cancel_estimate_input *input, uint64_t used)
{
	input->used_micro = used;
	return s->settings->estimator->gain_micro(input);
}

/* The least use worth a cancel: half an SLO, or what a cancel takes to work if that is more; which
 * is a window before anything was measured. No longer than the pacing waits for a release: one slow
 * rollback must not protect the next. */
static uint64_t least_use_ns(const struct scene *s)
{
	uint64_t works_ns =
		fixed_max(outcomes_median_release_ns(s->outcomes), s->window->length_ns);

	return fixed_max(s->window->slo_ns / 2,
		fixed_min(works_ns, s->settings->release_wait_ms * NS_PER_MS));
}

static bool evicts_much(const struct scene *s, const struct cancel_ledger_task *t, uint32_t r)
{
	uint32_t count = window_entry_count(s->ledger, t);
	uint64_t recent_milli = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (s->ledger->entries[t->first_entry + i].resource == r)
			recent_milli += past_usages(s->history, t->slot)[i].recent_milli;
	}
	return fixed_ppm(recent_milli, s->history->recent_milli[r]) >= s->settings->evict_share_ppm;
}

bool stake_is_heavy(const struct scene *s, const struct cancel_ledger_task *t, uint32_t r,
	const struct stake *stake, struct cancel_estimate_input *input)
{
	uint64_t least_ns = least_use_ns(s);
	if (s->contested->types[r] == CANCEL_MEMORY)
		return evicts_much(s, t, r);
	return stake->hold_ns >= least_ns ||
	       stake_estimate(s, input, stake->hold_ns / NS_PER_US) >= least_ns / NS_PER_US;
}
