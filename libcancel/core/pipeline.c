/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the order of things: window, attribution, contention, suspicion, candidates, choice, pacing,
 * outcome. All memory lies in one block that the caller brings; nothing is allocated, no clock is
 * read, and the same ledgers give the same verdicts bit for bit.
 */
#include <cancel/policy.h>

#include "libcancel/base/fixed.h"
#include "libcancel/core/attribute.h"
#include "libcancel/core/candidates.h"
#include "libcancel/core/choose.h"
#include "libcancel/core/contention.h"
#include "libcancel/core/detect.h"
#include "libcancel/core/estimate.h"
#include "libcancel/core/outcome.h"
#include "libcancel/core/pace.h"
#include "libcancel/core/returning.h"
#include "libcancel/core/settings.h"
#include "libcancel/core/window.h"

#include <stdalign.h>
#include <string.h>

/* Room by task: a task waits for one thing at a time and rarely for many in a window; a full table
 * means nobody is blamed in that window. */
#define WAITS_PER_TASK	   2u
#define INSTANCES_PER_TASK 1u
#define USES_PER_TASK	   4u
#define TABLE_SIZE_MIN	   64u
#define HELD_SHOWN	   4u /* places among the contenders for those held back */

struct cancel_pipeline {
	struct settings settings;
	struct history history;
	struct contended contended;
	struct attribution attribution;
	struct contention contention;
	struct detect detect;
	struct class_history classes;
	struct outcomes outcomes;
	struct returning returning;
	struct pace pace;
	struct window window;
	struct candidates candidates;
	uint64_t serial;
};

/* Takes arrays from the block behind the struct; with no block it only adds up. */
struct arena {
	unsigned char *base;
	size_t used;
};

static void *arena_take(struct arena *a, size_t count, size_t size)
{
	size_t align = alignof(max_align_t), at = (a->used + align - 1) / align * align;
	a->used = at + count * size;
	return a->base ? a->base + at : NULL;
}

static uint32_t table_size(uint32_t task_limit, uint32_t per_task)
{
	uint32_t count = task_limit * per_task;
	return count < TABLE_SIZE_MIN ? TABLE_SIZE_MIN : count;
}

static size_t lay_out(struct cancel_pipeline *p, const struct settings *s)
{
	struct arena a = { .base = (unsigned char *)p };
	struct history h = { .task_limit = s->task_limit,
		.wait_limit = table_size(s->task_limit, WAITS_PER_TASK) };
	struct contended c = { .instance_limit = table_size(s->task_limit, INSTANCES_PER_TASK),
		.use_limit = table_size(s->task_limit, USES_PER_TASK),
		.bucket_count = TABLE_SIZE_MIN };
	size_t entries = (size_t)s->task_limit * CANCEL_ENTRIES_MAX;
	while (c.bucket_count < 2 * c.instance_limit)
		c.bucket_count *= 2;
	arena_take(&a, 1, sizeof *p);
	/* These two must be zero at the start; the rest is written before it is read. */
	h.seen = arena_take(&a, s->task_limit, sizeof *h.seen);
	c.buckets = arena_take(&a, c.bucket_count, sizeof *c.buckets);
	h.tasks = arena_take(&a, s->task_limit, sizeof *h.tasks);
	h.entries = arena_take(&a, entries, sizeof *h.entries);
	h.usage = arena_take(&a, entries, sizeof *h.usage);
	h.waits = arena_take(&a, h.wait_limit, sizeof *h.waits);
	c.instances = arena_take(&a, c.instance_limit, sizeof *c.instances);
	c.uses = arena_take(&a, c.use_limit, sizeof *c.uses);
	if (p) {
		p->history = h;
		p->contended = c;
	}
	return a.used;
}

size_t cancel_pipeline_bytes(const struct cancel_pipeline_config *config)
{
	struct settings settings;
	return settings_resolve(config, &settings) ? 0 : lay_out(NULL, &settings);
}

int cancel_pipeline_init(
	struct cancel_pipeline *memory, size_t bytes, const struct cancel_pipeline_config *config)
{
	struct settings settings;
	if (!memory || (uintptr_t)memory % alignof(max_align_t) ||
		settings_resolve(config, &settings))
		return CANCEL_EINVAL;
	if (bytes < lay_out(NULL, &settings))
		return CANCEL_ENOMEM;
	memset(memory, 0, sizeof *memory);
	lay_out(memory, &settings);
	memset(memory->history.seen, 0, settings.task_limit);
	memset(memory->contended.buckets, 0,
		memory->contended.bucket_count * sizeof *memory->contended.buckets);
	memory->settings = settings;
	pace_init(&memory->pace, &settings);
	return 0;
}

int cancel_pipeline_configure(
	struct cancel_pipeline *p, const struct cancel_pipeline_config *config)
{
	struct settings settings;
	int error = settings_resolve(config, &settings);
	if (error)
		return error;
	settings.task_limit = p->settings.task_limit;
	p->settings = settings;
	return 0;
}

static void take_ended(void *arg, const struct past_end *end)
{
	struct cancel_pipeline *p = arg;
	class_history_add(&p->classes, end, p->history.number);
}

static void report_state(const struct cancel_pipeline *p, struct cancel_verdict *v)
{
	v->precise = p->detect.suspicious;
	v->late_share_ppm = p->detect.late_share_ppm;
	v->late_tasks = p->detect.late_tasks;
	v->onset_ns = p->detect.onset_ns;
	v->calm_mask = contention_calm(&p->contention, &p->window);
	memcpy(v->contention_ppm, p->contention.ppm, sizeof v->contention_ppm);
}

/* With the paper's raw metrics: LOCK and QUEUE waiting over holding, MEMORY evictions a second. */
static void report_window(const struct cancel_pipeline *p, const struct cancel_ledger *ledger,
	struct cancel_verdict *v)
{
	v->window_ns = p->window.length_ns;
	v->completed = p->window.completed;
	v->late = p->window.late;
	for (uint32_t r = 0; r < p->window.resource_count; r++) {
		const struct window_resource *res = &p->window.resources[r];
		if (ledger->resources[r].type == CANCEL_MEMORY)
			v->raw_metric[r] =
				fixed_scale(res->evicted, 1000000000u, p->window.length_ns);
		else if (res->use_ns)
			v->raw_metric[r] = fixed_scale(res->wait_ns, CANCEL_PPM, res->use_ns);
	}
}

/* The best of the eligible, then who was held back; a few places are kept for those. */
static void list_contenders(
	const struct candidates *c, const struct cancel_choice *choice, struct cancel_decision *d)
{
	uint32_t best[CANCEL_CANDIDATES_MAX], count = choose_best(choice, best);
	uint32_t held = c->held_count < HELD_SHOWN ? c->held_count : HELD_SHOWN;
	for (uint32_t i = 0; i < count && d->contender_count + held < CANCEL_CANDIDATES_MAX; i++)
		d->contenders[d->contender_count++] =
			candidates_contender(&choice->candidates[best[i]], c->top_resource);
	for (uint32_t i = 0; i < held; i++)
		d->contenders[d->contender_count++] = c->held[i];
}

/* Who would have been chosen without the winner. Takes the winner out of the list. */
static void find_runner_up(struct cancel_pipeline *p, struct cancel_choice *choice, uint32_t winner,
	struct cancel_candidate *runner_up)
{
	struct candidates *c = &p->candidates;
	int second;
	c->list[winner] = c->list[--c->count];
	choice->candidate_count = c->count;
	choose_mark_dominated(c->list, choice);
	second = c->count ? p->settings.policy->choose(choice) : -1;
	if (second >= 0 && (uint32_t)second < c->count)
		*runner_up = c->list[second];
}

static struct effect_view view_of(struct cancel_pipeline *p, const struct cancel_ledger *ledger)
{
	return (struct effect_view){ .ledger = ledger,
		.window = &p->window,
		.history = &p->history,
		.contended = &p->contended,
		.attribution = &p->attribution };
}

static void decide(struct cancel_pipeline *p, const struct cancel_ledger *ledger,
	struct cancel_choice *choice, uint32_t winner, struct cancel_verdict *v)
{
	const struct effect_view view = view_of(p, ledger);
	struct candidates *c = &p->candidates;
	struct cancel_decision *d = &v->decision;
	uint32_t slot = c->slots[winner];
	struct past_task *past = &p->history.tasks[slot];
	v->decided = true;
	v->cancel = p->settings.act;
	d->serial = ++p->serial;
	d->acted = p->settings.act;
	d->escalation = past->marks & MARK_ASKED;
	d->policy = p->settings.policy->name;
	d->estimator = p->settings.estimator->name;
	d->target = c->list[winner];
	d->strength = past->idle && d->target.flags & CANCEL_ENDS_SESSION ? CANCEL_END_SESSION
									  : CANCEL_END_STATEMENT;
	d->top_resource = c->top_resource;
	d->blamed_mask = candidates_scored(c);
	memcpy(d->contention_ppm, p->contention.ppm, sizeof d->contention_ppm);
	d->late_share_ppm = p->detect.late_share_ppm;
	d->onset_ns = detect_onset_ns(&p->detect, d->target.task);
	d->decided_ns = p->window.now_ns;
	d->candidate_count = c->seen_count;
	d->eligible_count = c->eligible_count;
	memcpy(d->held_back, c->by_cause, sizeof d->held_back);
	d->held_back[CANCEL_CAUSE_NONE] = 0;
	list_contenders(c, choice, d);
	find_runner_up(p, choice, winner, &d->runner_up);
	d->returning = !d->escalation && returning_note(&p->returning, d, past->seen_since_ns);
	if (d->target.origin && p->settings.quarantine_ms)
		d->quarantine_until_ns = d->decided_ns + p->settings.quarantine_ms * NS_PER_MS;
	past->marks |= d->acted ? MARK_ASKED : MARK_NAMED;
	pace_spend(&p->pace, d->decided_ns);
	outcomes_add(&p->outcomes, d, slot, &p->detect, &view);
}

/* A resource counts, and nobody is eligible: admission control's business, unless monitor mode has
 * already named the culprit and leaves it running, or an earlier cancel is still to show. */
static void report_no_candidate(const struct candidates *c, struct cancel_verdict *v)
{
	bool awaited =
		c->awaited &&
		(c->blocker.task == 0 || c->blocker.held_back == CANCEL_CAUSE_ALREADY_CANCELLED);
	v->held = c->blocker.task ? c->blocker : c->brief;
	v->held_back = v->held.task ? v->held.held_back : CANCEL_CAUSE_NO_CULPRIT;
	if (awaited)
		v->held_back = v->held.held_back = CANCEL_CAUSE_AWAIT_RELEASE;
	if (!awaited && v->held_back != CANCEL_CAUSE_MONITOR)
		v->overload = CANCEL_REGULAR;
}

static void choose_target(struct cancel_pipeline *p, const struct cancel_ledger *ledger,
	uint64_t contended_mask, struct cancel_verdict *v)
{
	const struct inputs inputs = { .settings = &p->settings,
		.ledger = ledger,
		.window = &p->window,
		.history = &p->history,
		.contended = &p->contended,
		.attribution = &p->attribution,
		.contention = &p->contention,
		.classes = &p->classes,
		.outcomes = &p->outcomes,
		.returning = &p->returning };
	const struct effect_view view = view_of(p, ledger);
	struct cancel_choice choice;
	int winner;
	outcomes_bar(&p->outcomes, &p->settings, &view);
	candidates_gather(&p->candidates, &inputs, contended_mask);
	if (p->candidates.count == 0) {
		report_no_candidate(&p->candidates, v);
		return;
	}
	choice = candidates_choice(&p->candidates, &inputs);
	choose_mark_dominated(p->candidates.list, &choice);
	winner = p->settings.policy->choose(&choice);
	if (winner < 0 || (uint32_t)winner >= choice.candidate_count)
		v->held_back = CANCEL_CAUSE_POLICY;
	else if (!pace_allows(&p->pace, p->window.now_ns, &p->settings))
		v->held_back = CANCEL_CAUSE_PACE;
	else
		decide(p, ledger, &choice, (uint32_t)winner, v);
}

/* The last target still holds on, or the queue behind it is draining: what is late now is its doing
 * still. */
static bool awaits_release(const struct cancel_pipeline *p)
{
	uint64_t now_ns = p->window.now_ns;
	return outcomes_await_release(&p->outcomes, &p->settings, now_ns) ||
	       (outcomes_just_released(&p->outcomes, now_ns) && detect_drains(&p->detect));
}

/* One cancel after the other, and it does not get better: another would not either. */
static void give_up(struct cancel_verdict *v)
{
	v->overload = CANCEL_REGULAR;
	v->held_back = CANCEL_CAUSE_CANCELS_DO_NOT_HELP;
}

static void judge_window(
	struct cancel_pipeline *p, const struct cancel_ledger *ledger, struct cancel_verdict *v)
{
	uint64_t contended_mask = contention_contended(&p->contention, &p->window);
	if (!p->detect.suspicious)
		return;
	v->overload = CANCEL_SUSPECT;
	if (!p->detect.confirmed)
		return;
	if (!p->detect.warm) {
		v->held_back = CANCEL_CAUSE_WARM_UP;
		return;
	}
	v->overload = contended_mask ? CANCEL_RESOURCE : CANCEL_REGULAR;
	if (!contended_mask)
		return;
	if (ledger->action_stuck)
		v->held_back = CANCEL_CAUSE_ACTION_STUCK;
	else if (awaits_release(p))
		v->held_back = CANCEL_CAUSE_AWAIT_RELEASE;
	else if (returning_is_helpless(&p->returning, &p->settings, p->window.now_ns))
		give_up(v);
	else
		choose_target(p, ledger, contended_mask, v);
}

void cancel_pipeline_step(
	struct cancel_pipeline *p, const struct cancel_ledger *ledger, struct cancel_verdict *v)
{
	*v = (struct cancel_verdict){ .now_ns = ledger->now_ns };
	outcomes_take_events(&p->outcomes, ledger);
	if (!window_take(&p->history, ledger, &p->window, take_ended, p)) {
		v->overload = p->detect.suspicious ? CANCEL_SUSPECT : CANCEL_HEALTHY;
		report_state(p, v);
		return;
	}
	pace_refill(&p->pace, &p->window, &p->settings);
	attribute_step(&p->attribution, &p->contended, &p->history, ledger, &p->window,
		p->detect.suspicious);
	contention_measure(&p->contention, &p->attribution, &p->window, &p->settings);
	detect_step(&p->detect, &p->window, &p->settings, p->attribution.stuck);
	const struct effect_view view = view_of(p, ledger);
	outcomes_step(&p->outcomes, &p->history, &p->detect, &p->settings, &view);
	if (p->detect.ended)
		returning_note_recovery(&p->returning, ledger->now_ns);
	for (uint32_t i = 0; i < p->outcomes.fresh_helpless; i++)
		returning_note_helpless(&p->returning, ledger->now_ns);
	outcomes_report(&p->outcomes, v);
	judge_window(p, ledger, v);
	contention_learn(&p->contention, &p->attribution, &p->window, p->detect.suspicious);
	report_state(p, v);
	report_window(p, ledger, v);
}
