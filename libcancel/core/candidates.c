/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns eligibility: from the blamed tasks of a window to the candidates of a choice, and which
 * resources that choice is about.
 */
#include "libcancel/core/candidates.h"

#include "libcancel/core/choose.h"
#include "libcancel/base/fixed.h"

#include <string.h>

#define NS_PER_US  1000u
#define FAVOURITES 2u /* of the policy: the target and the runner-up */

/* Whether a task may be cancelled at all, whatever it did. */
static enum cancel_cause bar_of(const struct scene *s, const struct cancel_ledger_task *t)
{
	uint8_t marks = s->history->tasks[t->slot].marks;
	if (!(t->flags & CANCEL_CANCELLABLE))
		return CANCEL_CAUSE_NOT_CANCELLABLE;
	if (t->flags & CANCEL_EXEMPT)
		return CANCEL_CAUSE_EXEMPT;
	if (t->flags & CANCEL_RERUNNING || marks & MARK_EXCLUDED)
		return CANCEL_CAUSE_ALREADY_CANCELLED;
	if (t->state == CANCEL_BLOCKED)
		return CANCEL_CAUSE_BLOCKED;
	if (marks & MARK_NAMED && !s->settings->act)
		return CANCEL_CAUSE_MONITOR;
	if (marks & MARK_ASKED)
		return s->settings->act && outcomes_escalation_due(s->outcomes, t->id, s->settings,
						   s->window->now_ns)
			       ? CANCEL_CAUSE_NONE
			       : CANCEL_CAUSE_ALREADY_CANCELLED;
	return t->state == CANCEL_RUNNING ? CANCEL_CAUSE_NONE : CANCEL_CAUSE_ALREADY_CANCELLED;
}

/* For which resources (bits) a task that may be cancelled is a candidate; for none, and why. */
static enum cancel_cause qualify(const struct candidates *c, const struct scene *s,
	const struct cancel_ledger_task *t, const struct stake stakes[CANCEL_RESOURCES_MAX],
	struct cancel_estimate_input *input, uint64_t *heavy)
{
	enum cancel_cause cause = CANCEL_CAUSE_LOW_BLAME;
	*heavy = 0;
	for (uint32_t r = 0; r < s->window->resource_count; r++) {
		uint64_t rooted_us = attribute_rooted_us(s->attribution, r);

		if (c->contention_ppm[r] == 0 ||
			fixed_ppm(stakes[r].blame_us, rooted_us) < s->settings->blame_ppm)
			continue;
		cause = CANCEL_CAUSE_SHORT_HOLD;
		if (stake_is_heavy(s, t, r, &stakes[r], input))
			*heavy |= 1ull << r;
	}
	return *heavy ? CANCEL_CAUSE_NONE : cause;
}

static void fill(const struct scene *s, const uint32_t weight_ppm[CANCEL_RESOURCES_MAX],
	const struct cancel_ledger_task *t, const struct stake stakes[CANCEL_RESOURCES_MAX],
	struct cancel_estimate_input *input, struct cancel_candidate *out)
{
	struct cancel_choice choice = { .resource_count = s->window->resource_count,
		.contention_ppm = weight_ppm };
	*out = (struct cancel_candidate){
		.task = t->id,
		.key = t->key,
		.sequence = t->sequence,
		.signature = t->signature,
		.class_index = t->class_index,
		.flags = t->flags,
		.age_ns = input->age_ns,
		.done = t->progress_done,
		.expected = t->progress_expected,
	};
	for (uint32_t r = 0; r < s->window->resource_count; r++) {
		if (stakes[r].blame_us == 0)
			continue;
		out->used_micro[r] = stakes[r].used_micro;
		out->gain_micro[r] = stake_estimate(s, input, stakes[r].used_micro);
		out->blame_ppm[r] =
			fixed_ppm(stakes[r].blame_us, attribute_rooted_us(s->attribution, r));
	}
	if (estimate_is_informed(input))
		out->remaining_ns = fixed_scale(
			stake_estimate(s, input, input->age_ns / NS_PER_US), NS_PER_US, 1);
	out->score_micro = choose_score(&choice, out);
}

static void swap(struct candidates *c, uint32_t a, uint32_t b)
{
	const struct cancel_candidate candidate = c->list[a];
	const uint32_t slot = c->slots[a];
	const uint64_t heavy = c->heavy[a];
	c->list[a] = c->list[b];
	c->slots[a] = c->slots[b];
	c->heavy[a] = c->heavy[b];
	c->list[b] = candidate;
	c->slots[b] = slot;
	c->heavy[b] = heavy;
}

/* The policy's first and second to the front of the list; how many there are. */
static uint32_t bring_favourites(struct candidates *c, const struct scene *s)
{
	struct cancel_choice choice = candidates_choice(c, s);
	uint32_t front = 0;
	for (; front < FAVOURITES; front++) {
		choice.candidates = c->list + front;
		choice.candidate_count = c->count - front;
		choose_mark_dominated(c->list + front, &choice);
		int chosen = s->settings->policy->choose(&choice);

		if (chosen < 0 || (uint32_t)chosen >= choice.candidate_count)
			break;
		swap(c, front, front + (uint32_t)chosen);
	}
	return front;
}

/* The list is full. Those stay whom the policy would take first and second, and the best by score,
 * who are reported. A policy that weighs each candidate by itself (all here but `published`) then
 * chooses of those left as it would of all. */
static void thin_out(struct candidates *c, const struct scene *s)
{
	uint32_t front = bring_favourites(c, s);
	struct cancel_choice choice = candidates_choice(c, s);
	uint32_t best[CANCEL_CANDIDATES_MAX], best_count;
	bool stays[CANDIDATE_LIMIT] = { 0 };
	choice.candidates = c->list + front;
	choice.candidate_count = c->count - front;
	best_count = choose_best(&choice, best);
	for (uint32_t i = 0; i < best_count; i++)
		stays[front + best[i]] = true;
	for (uint32_t i = front; i < c->count; i++)
		if (stays[i])
			swap(c, front++, i);
	c->count = front;
}

static void keep_eligible(struct candidates *c, const struct scene *s,
	const struct cancel_candidate *candidate, uint32_t slot, uint64_t heavy)
{
	c->eligible_count++;
	for (uint32_t r = 0; r < CANCEL_RESOURCES_MAX; r++)
		c->explained_ppm[r] += heavy >> r & 1 ? candidate->blame_ppm[r] : 0;
	if (c->count == CANDIDATE_LIMIT)
		thin_out(c, s);
	c->list[c->count] = *candidate;
	c->slots[c->count] = slot;
	c->heavy[c->count] = heavy;
	c->count++;
}

struct cancel_contender candidates_contender(const struct cancel_candidate *candidate, uint32_t r)
{
	return (struct cancel_contender){
		.task = candidate->task,
		.key = candidate->key,
		.sequence = candidate->sequence,
		.score_micro = candidate->score_micro,
		.gain_micro = candidate->gain_micro[r],
		.age_ns = candidate->age_ns,
		.blame_ppm = candidate->blame_ppm[r],
		.held_back = candidate->held_back,
		.class_index = candidate->class_index,
		.dominated = candidate->dominated,
	};
}

/* By score, best first; the older of equals. */
static void keep_held(struct candidates *c, const struct cancel_contender *contender)
{
	uint32_t at =
		c->held_count < CANCEL_CANDIDATES_MAX ? c->held_count++ : CANCEL_CANDIDATES_MAX;

	for (; at > 0; at--) {
		const struct cancel_contender *before = &c->held[at - 1];
		if (before->score_micro > contender->score_micro ||
			(before->score_micro == contender->score_micro &&
				before->sequence < contender->sequence))
			break;
		if (at < CANCEL_CANDIDATES_MAX)
			c->held[at] = *before;
	}
	if (at < CANCEL_CANDIDATES_MAX)
		c->held[at] = *contender;
}

/* Of the many sharers with a trace of blame each, most end here. */
static bool is_negligible(const struct candidates *c, const struct scene *s, uint32_t task)
{
	uint64_t blame_us = 0;
	uint32_t i = s->history->tasks[s->ledger->tasks[task].slot].first_holding;
	for (; i != NONE; i = s->contested->holdings[i].next_of_task)
		blame_us += stake_blame_us(s, &s->contested->holdings[i]);
	return blame_us < c->least_us;
}

static void judge(struct candidates *c, const struct scene *s, uint32_t task)
{
	const struct cancel_ledger_task *t = &s->ledger->tasks[task];
	struct stake stakes[CANCEL_RESOURCES_MAX];
	struct cancel_estimate_input input;
	struct cancel_candidate candidate;
	struct cancel_contender contender;
	enum cancel_cause cause = bar_of(s, t);
	uint64_t heavy = 0;
	c->seen_count++;
	if (is_negligible(c, s, task)) {
		c->by_cause[cause ? cause : CANCEL_CAUSE_LOW_BLAME]++;
		return;
	}
	stake_weigh(s, task, c->counting, stakes);
	stake_describe(s, t, &input);
	if (cause == CANCEL_CAUSE_NONE)
		cause = qualify(c, s, t, stakes, &input, &heavy);
	c->by_cause[cause]++;
	fill(s, cause ? c->weight_ppm : c->contention_ppm, t, stakes, &input, &candidate);
	candidate.held_back = cause;
	if (cause == CANCEL_CAUSE_NONE) {
		keep_eligible(c, s, &candidate, t->slot, heavy);
		return;
	}
	contender = candidates_contender(&candidate, c->top_resource);
	keep_held(c, &contender);
}

/* Resources most of whose blame lies with tasks that may not be cancelled leave the score: the
 * cancel of anybody else would not free them. */
static void leave_barred(struct candidates *c, const struct scene *s)
{
	uint64_t barred_us[CANCEL_RESOURCES_MAX] = { 0 };
	for (uint32_t i = 0; i < s->contested->holding_count; i++) {
		const struct holding *holding = &s->contested->holdings[i];
		uint8_t r = s->contested->sites[holding->site].resource;

		if (c->counting >> r & 1 && bar_of(s, &s->ledger->tasks[holding->task]))
			barred_us[r] += stake_blame_us(s, holding);
	}
	for (uint32_t r = 0; r < s->window->resource_count; r++) {
		uint64_t rooted_us = attribute_rooted_us(s->attribution, r);

		if (barred_us[r] == 0 ||
			fixed_ppm(barred_us[r], rooted_us) < s->settings->held_back_ppm)
			continue;
		c->left |= 1ull << r;
		c->contention_ppm[r] = 0;
	}
}

/* The strongest of the tasks for which a resource left the score. */
static void find_bar(struct candidates *c, const struct scene *s)
{
	struct stake stakes[CANCEL_RESOURCES_MAX];
	struct cancel_estimate_input input;
	struct cancel_candidate candidate;
	uint64_t most_us = 0;
	for (uint32_t i = 0; i < s->contested->holding_count; i++) {
		const struct holding *holding = &s->contested->holdings[i];
		const struct cancel_ledger_task *t = &s->ledger->tasks[holding->task];
		uint8_t r = s->contested->sites[holding->site].resource;
		uint64_t blame_us = stake_blame_us(s, holding);
		enum cancel_cause cause = bar_of(s, t);

		if (!(c->left >> r & 1) || cause == CANCEL_CAUSE_NONE || blame_us == 0)
			continue;
		if (blame_us < most_us || (blame_us == most_us && t->sequence > c->bar.sequence))
			continue;
		most_us = blame_us;
		stake_weigh(s, holding->task, c->counting, stakes);
		stake_describe(s, t, &input);
		fill(s, c->weight_ppm, t, stakes, &input, &candidate);
		candidate.held_back = cause;
		c->bar = candidates_contender(&candidate, r);
	}
}

static void reset(struct candidates *c, const struct scene *s, uint64_t counting)
{
	/* Not the list: it is large, and `count` says how much of it there is. */
	memset(&c->count, 0, sizeof *c - offsetof(struct candidates, count));
	c->counting = counting;
	for (uint32_t r = 0; r < s->window->resource_count; r++) {
		if (counting >> r & 1)
			c->weight_ppm[r] = c->contention_ppm[r] = s->contention->ppm[r];
	}
}

/* The resources of the score are known: the most contended, and how little blame is too little. */
static void close_score(struct candidates *c, const struct scene *s)
{
	c->least_us = UINT64_MAX;
	c->top_resource = 0;
	for (uint32_t r = 0; r < s->window->resource_count; r++) {
		if (c->contention_ppm[r] == 0)
			continue;
		if (c->contention_ppm[r] > c->contention_ppm[c->top_resource])
			c->top_resource = r;
		c->least_us =
			fixed_min(c->least_us, fixed_scale(attribute_rooted_us(s->attribution, r),
						       s->settings->blame_ppm, CANCEL_PPM));
	}
}

/* Some resources have left the score: the list keeps those who are candidates for another. */
static void narrow(struct candidates *c, const struct scene *s)
{
	const struct cancel_choice choice = candidates_choice(c, s);
	const uint64_t scored = candidates_scored(c);
	uint32_t kept = 0, gone;
	for (uint32_t i = 0; i < c->count; i++) {
		if (!(c->heavy[i] & scored))
			continue;
		c->list[kept] = c->list[i];
		c->slots[kept] = c->slots[i];
		c->heavy[kept] = c->heavy[i];
		c->list[kept].score_micro = choose_score(&choice, &c->list[kept]);
		kept++;
	}
	gone = c->count - kept;
	c->by_cause[CANCEL_CAUSE_NONE] -= gone;
	c->by_cause[CANCEL_CAUSE_LOW_BLAME] += gone;
	c->eligible_count -= gone;
	c->count = kept;
}

/* A lock or a queue whose candidates together carry little of its delay is crowded, not held: one
 * long but harmless task among many short ones is in sight of every overload, and cancelling it
 * gives back next to nothing. (For a pool the share of evictions says the same.) */
static bool leave_crowded(struct candidates *c, const struct scene *s)
{
	uint64_t before = candidates_scored(c);
	for (uint32_t r = 0; r < s->window->resource_count; r++) {
		if (s->contested->types[r] != CANCEL_MEMORY &&
			c->explained_ppm[r] < s->settings->explained_ppm)
			c->contention_ppm[r] = 0;
	}
	if (candidates_scored(c) == before)
		return false;
	close_score(c, s);
	return true;
}

static void judge_all(struct candidates *c, const struct scene *s)
{
	for (uint32_t i = 0; i < s->contested->holding_count; i++) {
		const struct holding *holding = &s->contested->holdings[i];
		struct past_task *past = &s->history->tasks[s->ledger->tasks[holding->task].slot];

		if (holding->blame_ns == 0 || past->listed ||
			!(c->counting >> s->contested->sites[holding->site].resource & 1))
			continue;
		past->listed = true;
		judge(c, s, holding->task);
	}
}

/* Whoever was thinned out was weighed with resources that have left the score since. */
static void judge_again(struct candidates *c, const struct scene *s)
{
	for (uint32_t i = 0; i < s->contested->holding_count; i++) {
		const struct holding *holding = &s->contested->holdings[i];

		s->history->tasks[s->ledger->tasks[holding->task].slot].listed = false;
	}
	memset(c->by_cause, 0, sizeof c->by_cause);
	c->count = c->held_count = c->seen_count = c->eligible_count = 0;
	judge_all(c, s);
}

void candidates_gather(struct candidates *c, const struct scene *s, uint64_t counting)
{
	bool narrowed;
	reset(c, s, counting);
	if (!s->attribution->blamed)
		return;
	leave_barred(c, s);
	close_score(c, s);
	judge_all(c, s);
	narrowed = leave_crowded(c, s);
	if (narrowed && c->eligible_count > CANDIDATE_LIMIT)
		judge_again(c, s);
	else if (narrowed)
		narrow(c, s);
	if (c->left)
		find_bar(c, s);
}

uint64_t candidates_scored(const struct candidates *c)
{
	uint64_t mask = 0;
	for (uint32_t r = 0; r < CANCEL_RESOURCES_MAX; r++)
		mask |= (uint64_t)(c->contention_ppm[r] != 0) << r;
	return mask;
}

struct cancel_choice candidates_choice(const struct candidates *c, const struct scene *s)
{
	return (struct cancel_choice){
		.candidates = c->list,
		.candidate_count = c->count,
		.resource_count = s->window->resource_count,
		.contention_ppm = c->contention_ppm,
	};
}
