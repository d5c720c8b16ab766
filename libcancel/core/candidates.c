/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns eligibility: from the blamed tasks of a window to the candidates of a choice, and which
 * resources that choice is about.
 */
#include "libcancel/core/candidates.h"

#include "libcancel/base/fixed.h"
#include "libcancel/core/choose.h"

#include <string.h>

#define NS_PER_US  1000u
#define FAVOURITES 2u /* of the policy: the target and the runner-up */

static bool holds(const struct inputs *in, const struct cancel_ledger_task *t)
{
	uint32_t i = in->history->tasks[t->slot].first_use;
	for (; i != NONE; i = in->contended->uses[i].next_of_task) {
		if (in->contended->uses[i].since_ns)
			return true;
	}
	return false;
}

static bool is_spent(const struct inputs *in, const struct cancel_ledger_task *t)
{
	return returning_is_spent(in->returning, in->settings,
		returning_origin(t->origin, t->signature), t->class_index,
		in->history->tasks[t->slot].seen_since_ns, in->window->now_ns);
}

/* Whether a task may be cancelled at all, whatever it did. */
static enum cancel_cause exclusion_cause(
	const struct inputs *in, const struct cancel_ledger_task *t)
{
	uint8_t marks = in->history->tasks[t->slot].marks;
	if (!(t->flags & CANCEL_CANCELLABLE))
		return CANCEL_CAUSE_NOT_CANCELLABLE;
	if (t->flags & CANCEL_EXEMPT)
		return CANCEL_CAUSE_EXEMPT;
	if (marks & MARK_EXCLUDED)
		return CANCEL_CAUSE_IGNORES_CANCELS;
	if (t->flags & CANCEL_RERUNNING)
		return CANCEL_CAUSE_ALREADY_CANCELLED;
	if (t->state == CANCEL_BLOCKED)
		return CANCEL_CAUSE_BLOCKED;
	if (in->settings->act && is_spent(in, t))
		return CANCEL_CAUSE_CANCELS_DO_NOT_HELP;
	if (t->episode_start_ns == 0 && !(t->flags & CANCEL_ENDS_SESSION) && holds(in, t))
		return CANCEL_CAUSE_IDLE_HOLDER;
	if (marks & MARK_NAMED && !in->settings->act)
		return CANCEL_CAUSE_MONITOR;
	if (marks & MARK_ASKED)
		return in->settings->act && outcomes_escalation_due(in->outcomes, t->id,
						    in->settings, in->window->now_ns)
			       ? CANCEL_CAUSE_NONE
			       : CANCEL_CAUSE_ALREADY_CANCELLED;
	return t->state == CANCEL_RUNNING ? CANCEL_CAUSE_NONE : CANCEL_CAUSE_ALREADY_CANCELLED;
}

/* For which resources (bits) a task that may be cancelled is a candidate; for none, and why. */
static enum cancel_cause qualify(const struct candidates *c, const struct inputs *in,
	const struct cancel_ledger_task *t, const struct usage usages[CANCEL_RESOURCES_MAX],
	struct cancel_estimate_input *input, uint64_t *significant_mask)
{
	enum cancel_cause cause = CANCEL_CAUSE_LOW_BLAME;
	*significant_mask = 0;
	for (uint32_t r = 0; r < in->window->resource_count; r++) {
		if (c->contention_ppm[r] == 0 ||
			fixed_ppm(usages[r].blame_us, c->open_us[r]) < in->settings->blame_ppm)
			continue;
		cause = CANCEL_CAUSE_SHORT_HOLD;
		if (usage_is_significant(in, t, r, &usages[r], input))
			*significant_mask |= 1ull << r;
	}
	return *significant_mask ? CANCEL_CAUSE_NONE : cause;
}

static void fill(const struct inputs *in, const uint32_t weight_ppm[CANCEL_RESOURCES_MAX],
	const struct cancel_ledger_task *t, const struct usage usages[CANCEL_RESOURCES_MAX],
	struct cancel_estimate_input *input, struct cancel_candidate *out)
{
	struct cancel_choice choice = { .resource_count = in->window->resource_count,
		.contention_ppm = weight_ppm };
	*out = (struct cancel_candidate){
		.task = t->id,
		.key = t->key,
		.sequence = t->sequence,
		.signature = t->signature,
		.origin = returning_origin(t->origin, t->signature),
		.class_index = t->class_index,
		.flags = t->flags,
		.age_ns = input->age_ns,
		.done = t->progress_done,
		.expected = t->progress_expected,
	};
	for (uint32_t r = 0; r < in->window->resource_count; r++) {
		if (usages[r].blame_us == 0)
			continue;
		out->used_micro[r] = usages[r].used_micro + usages[r].waited_micro;
		out->gain_micro[r] = fixed_plus(
			usage_estimate(in, input, usages[r].used_micro), usages[r].freed_micro);
		out->blame_ppm[r] =
			fixed_ppm(usages[r].blame_us, attribute_rooted_us(in->attribution, r));
	}
	if (estimate_is_informed(input))
		out->remaining_ns = fixed_scale(
			usage_estimate(in, input, input->age_ns / NS_PER_US), NS_PER_US, 1);
	out->score_micro = choose_score(&choice, out);
}

static void swap(struct candidates *c, uint32_t a, uint32_t b)
{
	const struct cancel_candidate candidate = c->list[a];
	const uint32_t slot = c->slots[a];
	const uint64_t significant_mask = c->significant_mask[a];
	c->list[a] = c->list[b];
	c->slots[a] = c->slots[b];
	c->significant_mask[a] = c->significant_mask[b];
	c->list[b] = candidate;
	c->slots[b] = slot;
	c->significant_mask[b] = significant_mask;
}

/* Brings the policy's first and second choice to the start of the list; how many there are. */
static uint32_t bring_favourites(struct candidates *c, const struct inputs *in)
{
	struct cancel_choice choice = candidates_choice(c, in);
	uint32_t taken = 0;
	for (; taken < FAVOURITES; taken++) {
		choice.candidates = c->list + taken;
		choice.candidate_count = c->count - taken;
		choose_mark_dominated(c->list + taken, &choice);
		int chosen = in->settings->policy->choose(&choice);

		if (chosen < 0 || (uint32_t)chosen >= choice.candidate_count)
			break;
		swap(c, taken, taken + (uint32_t)chosen);
	}
	return taken;
}

/* The list is full. Those stay whom the policy would take first and second, and the best by score,
 * who are reported. A policy that weighs each candidate by itself (all here but `published`) then
 * chooses of those left as it would of all. */
static void thin_out(struct candidates *c, const struct inputs *in)
{
	uint32_t taken = bring_favourites(c, in);
	struct cancel_choice choice = candidates_choice(c, in);
	uint32_t best[CANCEL_CANDIDATES_MAX], best_count;
	bool stays[CANDIDATE_LIMIT] = { 0 };
	choice.candidates = c->list + taken;
	choice.candidate_count = c->count - taken;
	best_count = choose_best(&choice, best);
	for (uint32_t i = 0; i < best_count; i++)
		stays[taken + best[i]] = true;
	for (uint32_t i = taken; i < c->count; i++)
		if (stays[i])
			swap(c, taken++, i);
	c->count = taken;
}

static void keep_eligible(struct candidates *c, const struct inputs *in,
	const struct cancel_candidate *candidate, uint32_t slot, uint64_t significant_mask)
{
	c->eligible_count++;
	for (uint32_t r = 0; r < CANCEL_RESOURCES_MAX; r++) {
		if (significant_mask >> r & 1)
			c->explained_ppm[r] += fixed_scale(candidate->blame_ppm[r],
				attribute_rooted_us(in->attribution, r), c->open_us[r]);
	}
	if (c->count == CANDIDATE_LIMIT)
		thin_out(c, in);
	c->list[c->count] = *candidate;
	c->slots[c->count] = slot;
	c->significant_mask[c->count] = significant_mask;
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

/* Who would be the culprit, were it not gone before a cancel could help. One of many sharers would
 * not be. */
static void keep_brief(
	struct candidates *c, const struct inputs *in, const struct cancel_candidate *candidate)
{
	for (uint32_t r = 0; r < in->window->resource_count; r++) {
		uint32_t ppm = candidate->blame_ppm[r];
		if (c->contention_ppm[r] == 0 || ppm < in->settings->explained_ppm ||
			ppm < c->brief.blame_ppm ||
			(ppm == c->brief.blame_ppm && candidate->sequence > c->brief.sequence))
			continue;
		c->brief = candidates_contender(candidate, r);
	}
}

/* Of the many sharers with a trace of blame each, most end here. */
static bool is_negligible(const struct candidates *c, const struct inputs *in, uint32_t task)
{
	uint64_t blame_us = 0;
	uint32_t i = in->history->tasks[in->ledger->tasks[task].slot].first_use;
	for (; i != NONE; i = in->contended->uses[i].next_of_task)
		blame_us += usage_blame_us(in, &in->contended->uses[i]);
	return blame_us < c->min_blame_us;
}

static void weigh(struct candidates *c, const struct inputs *in, uint32_t task)
{
	const struct cancel_ledger_task *t = &in->ledger->tasks[task];
	struct usage usages[CANCEL_RESOURCES_MAX];
	struct cancel_estimate_input input;
	struct cancel_candidate candidate;
	struct cancel_contender contender;
	enum cancel_cause cause = exclusion_cause(in, t);
	uint64_t significant_mask = 0;
	c->seen_count++;
	if (is_negligible(c, in, task)) {
		c->by_cause[cause ? cause : CANCEL_CAUSE_LOW_BLAME]++;
		return;
	}
	usage_sum(in, task, c->contended_mask, cause == CANCEL_CAUSE_NONE, usages);
	usage_describe(in, t, &input);
	if (cause == CANCEL_CAUSE_NONE)
		cause = qualify(c, in, t, usages, &input, &significant_mask);
	c->by_cause[cause]++;
	fill(in, cause ? c->weight_ppm : c->contention_ppm, t, usages, &input, &candidate);
	candidate.held_back = cause;
	if (cause == CANCEL_CAUSE_SHORT_HOLD)
		keep_brief(c, in, &candidate);
	if (cause == CANCEL_CAUSE_NONE) {
		keep_eligible(c, in, &candidate, t->slot, significant_mask);
		return;
	}
	contender = candidates_contender(&candidate, c->top_resource);
	keep_held(c, &contender);
}

/* Who is to blame at each instance, and how much of that is with tasks that may not be cancelled.
 * Returns, by resource, the blame of all. */
static void sum_instances(const struct candidates *c, const struct inputs *in,
	uint64_t blame_us[CANCEL_RESOURCES_MAX])
{
	for (uint32_t i = 0; i < in->contended->use_count; i++) {
		const struct use *use = &in->contended->uses[i];
		struct instance *instance = &in->contended->instances[use->instance];
		uint64_t us = usage_blame_us(in, use);
		if (!(c->contended_mask >> instance->resource & 1))
			continue;
		blame_us[instance->resource] += us;
		instance->blame_us += us;
		if (exclusion_cause(in, &in->ledger->tasks[use->task]))
			instance->blocked_us += us;
	}
}

/* Instances where an earlier cancel is still to show, or most of whose blame lies with tasks that
 * may not be cancelled, leave the score: the cancel of anybody else would not free them. What is
 * nobody's fault is shared out to the instances as the rest. */
static void bar_instances(struct candidates *c, const struct inputs *in,
	const uint64_t blame_us[CANCEL_RESOURCES_MAX])
{
	for (uint32_t i = 0; i < in->contended->instance_count; i++) {
		struct instance *instance = &in->contended->instances[i];
		uint8_t r = instance->resource;
		uint64_t rooted_us = attribute_rooted_us(in->attribution, r), all_us;
		if (!(c->contended_mask >> r & 1) ||
			(instance->blame_us == 0 && !instance->awaited))
			continue;
		all_us = fixed_scale(rooted_us, instance->blame_us, blame_us[r]);
		instance->barred =
			instance->awaited ||
			(instance->blocked_us && fixed_ppm(instance->blocked_us, all_us) >=
							 in->settings->held_back_ppm);
		if (!instance->barred)
			continue;
		c->awaited |= instance->awaited;
		c->barred_mask |= 1ull << r;
		c->open_us[r] = fixed_minus(c->open_us[r], all_us);
	}
}

/* A resource leaves the score when what is open of it would not count. */
static void drop_blocked(struct candidates *c, const struct inputs *in)
{
	uint64_t blame_us[CANCEL_RESOURCES_MAX] = { 0 };
	sum_instances(c, in, blame_us);
	bar_instances(c, in, blame_us);
	for (uint32_t r = 0; r < in->window->resource_count; r++) {
		uint64_t open_ppm;
		if (!(c->barred_mask >> r & 1))
			continue;
		open_ppm = fixed_scale(c->contention_ppm[r], c->open_us[r],
			attribute_rooted_us(in->attribution, r));
		if (open_ppm < in->contention->threshold_ppm[r])
			c->contention_ppm[r] = 0;
	}
}

/* The strongest of the tasks for which an instance left the score. */
static void find_blocker(struct candidates *c, const struct inputs *in)
{
	struct usage usages[CANCEL_RESOURCES_MAX];
	struct cancel_estimate_input input;
	struct cancel_candidate candidate;
	uint64_t max_us = 0;
	for (uint32_t i = 0; i < in->contended->use_count; i++) {
		const struct use *use = &in->contended->uses[i];
		const struct cancel_ledger_task *t = &in->ledger->tasks[use->task];
		uint8_t r = in->contended->instances[use->instance].resource;
		uint64_t blame_us = usage_blame_us(in, use);
		enum cancel_cause cause = exclusion_cause(in, t);
		if (!in->contended->instances[use->instance].barred || cause == CANCEL_CAUSE_NONE ||
			blame_us == 0)
			continue;
		if (blame_us < max_us || (blame_us == max_us && t->sequence > c->blocker.sequence))
			continue;
		max_us = blame_us;
		usage_sum(in, use->task, c->contended_mask, false, usages);
		usage_describe(in, t, &input);
		fill(in, c->weight_ppm, t, usages, &input, &candidate);
		candidate.held_back = cause;
		c->blocker = candidates_contender(&candidate, r);
	}
}

static void reset(struct candidates *c, const struct inputs *in, uint64_t contended_mask)
{
	/* Not the list: it is large, and `count` says how much of it there is. */
	memset(&c->count, 0, sizeof *c - offsetof(struct candidates, count));
	c->contended_mask = contended_mask;
	for (uint32_t r = 0; r < in->window->resource_count; r++) {
		if (!(contended_mask >> r & 1))
			continue;
		c->weight_ppm[r] = c->contention_ppm[r] = in->contention->ppm[r];
		c->open_us[r] = attribute_rooted_us(in->attribution, r);
	}
}

/* The resources of the score are known: the most contended, and how little blame is too little. */
static void close_score(struct candidates *c, const struct inputs *in)
{
	c->min_blame_us = UINT64_MAX;
	c->top_resource = 0;
	for (uint32_t r = 0; r < in->window->resource_count; r++) {
		if (c->contention_ppm[r] == 0)
			continue;
		if (c->contention_ppm[r] > c->contention_ppm[c->top_resource])
			c->top_resource = r;
		c->min_blame_us = fixed_min(c->min_blame_us,
			fixed_scale(c->open_us[r], in->settings->blame_ppm, CANCEL_PPM));
	}
}

/* Some resources have left the score: the list keeps those who are candidates for another. */
static void narrow(struct candidates *c, const struct inputs *in)
{
	const struct cancel_choice choice = candidates_choice(c, in);
	const uint64_t scored = candidates_scored(c);
	uint32_t kept = 0, gone;
	for (uint32_t i = 0; i < c->count; i++) {
		if (!(c->significant_mask[i] & scored))
			continue;
		c->list[kept] = c->list[i];
		c->slots[kept] = c->slots[i];
		c->significant_mask[kept] = c->significant_mask[i];
		c->list[kept].score_micro = choose_score(&choice, &c->list[kept]);
		kept++;
	}
	gone = c->count - kept;
	c->by_cause[CANCEL_CAUSE_NONE] -= gone;
	c->by_cause[CANCEL_CAUSE_LOW_BLAME] += gone;
	c->eligible_count -= gone;
	c->count = kept;
}

/* A lock or a queue leaves the score when its candidates together carry little of its delay. Then
 * it has many short holders and no dominant one: a long but harmless task would be a candidate in
 * every overload, and cancelling it gives back next to nothing. For a pool the share of evictions
 * says the same. */
static bool drop_unexplained(struct candidates *c, const struct inputs *in)
{
	uint64_t before = candidates_scored(c);
	for (uint32_t r = 0; r < in->window->resource_count; r++) {
		if (in->contended->types[r] != CANCEL_MEMORY &&
			c->explained_ppm[r] < in->settings->explained_ppm)
			c->contention_ppm[r] = 0;
	}
	if (candidates_scored(c) == before)
		return false;
	close_score(c, in);
	return true;
}

static void weigh_all(struct candidates *c, const struct inputs *in)
{
	for (uint32_t i = 0; i < in->contended->use_count; i++) {
		const struct use *use = &in->contended->uses[i];
		struct past_task *past = &in->history->tasks[in->ledger->tasks[use->task].slot];
		if (use->blame_ns == 0 || past->listed ||
			!(c->contended_mask >> in->contended->instances[use->instance].resource &
				1))
			continue;
		past->listed = true;
		weigh(c, in, use->task);
	}
}

/* Whoever was thinned out was weighed with resources that have left the score since. */
static void weigh_again(struct candidates *c, const struct inputs *in)
{
	for (uint32_t i = 0; i < in->contended->use_count; i++) {
		const struct use *use = &in->contended->uses[i];
		in->history->tasks[in->ledger->tasks[use->task].slot].listed = false;
	}
	memset(c->by_cause, 0, sizeof c->by_cause);
	c->count = c->held_count = c->seen_count = c->eligible_count = 0;
	c->brief = (struct cancel_contender){ 0 };
	weigh_all(c, in);
}

void candidates_gather(struct candidates *c, const struct inputs *in, uint64_t contended_mask)
{
	bool narrowed;
	reset(c, in, contended_mask);
	if (!in->attribution->blamed)
		return;
	drop_blocked(c, in);
	close_score(c, in);
	weigh_all(c, in);
	narrowed = drop_unexplained(c, in);
	if (narrowed && c->eligible_count > CANDIDATE_LIMIT)
		weigh_again(c, in);
	else if (narrowed)
		narrow(c, in);
	if (c->barred_mask)
		find_blocker(c, in);
}

uint64_t candidates_scored(const struct candidates *c)
{
	uint64_t mask = 0;
	for (uint32_t r = 0; r < CANCEL_RESOURCES_MAX; r++)
		mask |= (uint64_t)(c->contention_ppm[r] != 0) << r;
	return mask;
}

struct cancel_choice candidates_choice(const struct candidates *c, const struct inputs *in)
{
	return (struct cancel_choice){
		.candidates = c->list,
		.candidate_count = c->count,
		.resource_count = in->window->resource_count,
		.contention_ppm = c->contention_ppm,
	};
}
