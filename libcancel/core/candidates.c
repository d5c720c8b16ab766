/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns eligibility and gains: from the blamed tasks of a window to the candidates of a choice. It
 * does not choose, and it does not know whether a cancel is due.
 *
 * Gains are in constants of the resource, never of the candidate set (seconds, slot-seconds a slot,
 * turnovers of the pool), so a bystander cannot change the order of two others.
 */
#include <libcancel/core/candidates.h>

#include <libcancel/core/choose.h>
#include <libcancel/core/fixed.h>

#include <string.h>

#define NS_PER_US 1000u

/* What a task has to do with one resource that counts. */
struct stake {
	uint64_t blame_us;
	uint64_t used_micro; /* gain units so far */
	uint64_t hold_ns;    /* LOCK, QUEUE: the longest of its uses */
};

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
	if (marks & MARK_DECIDED) {
		if (!s->settings->act)
			return CANCEL_CAUSE_MONITOR;
		return outcomes_escalation_due(s->outcomes, t->id, s->settings, s->window->now_ns)
			       ? CANCEL_CAUSE_NONE
			       : CANCEL_CAUSE_ALREADY_CANCELLED;
	}
	return t->state == CANCEL_RUNNING ? CANCEL_CAUSE_NONE : CANCEL_CAUSE_ALREADY_CANCELLED;
}

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

static uint64_t blame_of(const struct scene *s, const struct holding *holding)
{
	uint32_t slot = s->ledger->tasks[holding->task].slot;

	return attribute_blame_us(
		&past_usages(s->history, slot)[holding->position], s->window->number);
}

/* Sums a task's holdings of contested instances by resource. */
static void weigh(const struct scene *s, uint32_t task, uint64_t counting,
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
		blame_us = blame_of(s, holding);
		if (blame_us == 0)
			continue; /* it holds something nobody waits for, or waits itself */
		stakes[r].blame_us += blame_us;
		stakes[r].used_micro += used_micro(s, holding);
		if (s->contested->types[r] != CANCEL_MEMORY)
			stakes[r].hold_ns = fixed_max(stakes[r].hold_ns, used_ns(s, holding));
	}
}

static void describe(const struct scene *s, const struct cancel_ledger_task *t,
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

static uint64_t estimate(const struct scene *s, struct cancel_estimate_input *input, uint64_t used)
{
	input->used_micro = used;
	return s->settings->estimator->gain_micro(input);
}

/* Used long enough, or for long enough to come, that cancelling it is worth it and in time. */
static bool is_heavy(const struct scene *s, const struct cancel_ledger_task *t, uint32_t r,
	const struct stake *stake, struct cancel_estimate_input *input)
{
	uint64_t least_ns, recent_milli = 0;
	uint32_t count = window_entry_count(s->ledger, t);

	if (s->contested->types[r] != CANCEL_MEMORY) {
		least_ns =
			fixed_max(s->window->slo_ns / 2, outcomes_median_release_ns(s->outcomes));
		return stake->hold_ns >= least_ns ||
		       estimate(s, input, stake->hold_ns / NS_PER_US) >= least_ns / NS_PER_US;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (s->ledger->entries[t->first_entry + i].resource == r)
			recent_milli += past_usages(s->history, t->slot)[i].recent_milli;
	}
	return fixed_ppm(recent_milli, s->history->recent_milli[r]) >= s->settings->evict_share_ppm;
}

/* Why a task that may be cancelled still is no candidate. */
static enum cancel_cause weakness_of(const struct candidates *c, const struct scene *s,
	const struct cancel_ledger_task *t, const struct stake stakes[CANCEL_RESOURCES_MAX],
	struct cancel_estimate_input *input)
{
	enum cancel_cause cause = CANCEL_CAUSE_LOW_BLAME;

	for (uint32_t r = 0; r < s->window->resource_count; r++) {
		uint64_t rooted_us = attribute_rooted_us(s->attribution, r);

		if (c->contention_ppm[r] == 0 ||
			fixed_ppm(stakes[r].blame_us, rooted_us) < s->settings->blame_ppm)
			continue;
		if (is_heavy(s, t, r, &stakes[r], input))
			return CANCEL_CAUSE_NONE;
		cause = CANCEL_CAUSE_SHORT_HOLD;
	}
	return cause;
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
		out->gain_micro[r] = estimate(s, input, stakes[r].used_micro);
		out->blame_ppm[r] =
			fixed_ppm(stakes[r].blame_us, attribute_rooted_us(s->attribution, r));
	}
	if (estimate_is_informed(input))
		out->remaining_ns =
			fixed_scale(estimate(s, input, input->age_ns / NS_PER_US), NS_PER_US, 1);
	out->score_micro = choose_score(&choice, out);
}

static bool is_better(const struct cancel_candidate *a, const struct cancel_candidate *b)
{
	if (a->score_micro != b->score_micro)
		return a->score_micro > b->score_micro;
	return a->sequence < b->sequence;
}

static void keep_eligible(
	struct candidates *c, const struct cancel_candidate *candidate, uint32_t slot)
{
	uint32_t at = 0;

	c->eligible_count++;
	if (c->count < CANDIDATE_LIMIT) {
		at = c->count++;
	} else { /* in place of the weakest */
		for (uint32_t i = 1; i < CANDIDATE_LIMIT; i++) {
			if (is_better(&c->list[at], &c->list[i]))
				at = i;
		}
		if (is_better(&c->list[at], candidate))
			return;
	}
	c->list[at] = *candidate;
	c->slots[at] = slot;
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
		blame_us += blame_of(s, &s->contested->holdings[i]);
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

	c->seen_count++;
	if (is_negligible(c, s, task)) {
		c->by_cause[cause ? cause : CANCEL_CAUSE_LOW_BLAME]++;
		return;
	}
	weigh(s, task, c->counting, stakes);
	describe(s, t, &input);
	if (cause == CANCEL_CAUSE_NONE)
		cause = weakness_of(c, s, t, stakes, &input);
	c->by_cause[cause]++;
	fill(s, cause ? c->weight_ppm : c->contention_ppm, t, stakes, &input, &candidate);
	candidate.held_back = cause;
	if (cause == CANCEL_CAUSE_NONE) {
		keep_eligible(c, &candidate, t->slot);
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
			barred_us[r] += blame_of(s, holding);
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
		uint64_t blame_us = blame_of(s, holding);
		enum cancel_cause cause = bar_of(s, t);

		if (!(c->left >> r & 1) || cause == CANCEL_CAUSE_NONE || blame_us == 0)
			continue;
		if (blame_us < most_us || (blame_us == most_us && t->sequence > c->bar.sequence))
			continue;
		most_us = blame_us;
		weigh(s, holding->task, c->counting, stakes);
		describe(s, t, &input);
		fill(s, c->weight_ppm, t, stakes, &input, &candidate);
		candidate.held_back = cause;
		c->bar = candidates_contender(&candidate, r);
	}
}

static void reset(struct candidates *c, const struct scene *s, uint64_t counting)
{
	/* Not the list: it is large, and `count` says how much of it there is. */
	memset(&c->count, 0, sizeof(*c) - offsetof(struct candidates, count));
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

/* Scores what is left of the list once resources have left the score; the rest goes. */
static void keep_scored(struct candidates *c, const struct scene *s)
{
	const struct cancel_choice choice = candidates_choice(c, s);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		uint64_t blame_ppm = 0;

		for (uint32_t r = 0; r < s->window->resource_count; r++)
			blame_ppm += c->contention_ppm[r] ? c->list[i].blame_ppm[r] : 0;
		if (blame_ppm == 0)
			continue;
		c->list[kept] = c->list[i];
		c->slots[kept] = c->slots[i];
		c->list[kept].score_micro = choose_score(&choice, &c->list[kept]);
		kept++;
	}
	c->by_cause[CANCEL_CAUSE_NONE] -= c->count - kept;
	c->by_cause[CANCEL_CAUSE_LOW_BLAME] += c->count - kept;
	c->eligible_count -= c->count - kept;
	c->count = kept;
}

/* A lock or a queue whose eligible users together carry little of its blame is crowded, not held:
 * one long but harmless task among many short ones is in sight of every overload, and cancelling it
 * gives back next to nothing. (For a pool the share of evictions says the same.) */
static void leave_crowded(struct candidates *c, const struct scene *s)
{
	bool any = false;

	for (uint32_t r = 0; r < s->window->resource_count; r++) {
		uint64_t blame_ppm = 0;

		if (c->contention_ppm[r] == 0 || s->contested->types[r] == CANCEL_MEMORY)
			continue;
		for (uint32_t i = 0; i < c->count; i++)
			blame_ppm += c->list[i].blame_ppm[r];
		if (blame_ppm >= s->settings->explained_ppm)
			continue;
		c->contention_ppm[r] = 0;
		any = true;
	}
	if (!any)
		return;
	keep_scored(c, s);
	c->top_resource = 0;
	close_score(c, s);
}

void candidates_gather(struct candidates *c, const struct scene *s, uint64_t counting)
{
	reset(c, s, counting);
	if (!s->attribution->blamed)
		return;
	leave_barred(c, s);
	close_score(c, s);
	for (uint32_t i = 0; i < s->contested->holding_count; i++) {
		const struct holding *holding = &s->contested->holdings[i];
		struct past_task *past = &s->history->tasks[s->ledger->tasks[holding->task].slot];

		if (holding->blame_ns == 0 || past->listed ||
			!(counting >> s->contested->sites[holding->site].resource & 1))
			continue;
		past->listed = true;
		judge(c, s, holding->task);
	}
	leave_crowded(c, s);
	if (c->left)
		find_bar(c, s);
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
