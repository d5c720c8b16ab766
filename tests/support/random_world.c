/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the random worlds of the core's property tests. What happens is drawn from the seed alone,
 * never from verdicts other than their target, so two runs of a seed are the same run.
 */
#include "random_world.h"

#include <string.h>

#define WARM_WINDOWS 50u
#define LIVE_MAX     400u

uint64_t random_draw(uint64_t *state, uint64_t below)
{
	/* Knuth's 64-bit linear congruential generator, upper bits. */
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (*state >> 33) % below;
}

void random_world_begin(struct random_world *w, uint64_t seed, bool act)
{
	const struct cancel_pipeline_config config = { .struct_size = sizeof config, .act = act };
	*w = (struct random_world){ .s = scripted_new(&config), .state = seed };
	w->lock = scripted_resource(w->s, CANCEL_LOCK, 0);
	w->table = scripted_resource(w->s, CANCEL_LOCK, 0);
	w->workers = scripted_resource(w->s, CANCEL_QUEUE, 8);
	w->pool = scripted_resource(w->s, CANCEL_MEMORY, 1000);
	for (uint32_t i = 0; i < WARM_WINDOWS; i++) {
		scripted_complete(w->s, 50, MS, false);
		scripted_step(w->s);
	}
}

void random_world_end(struct random_world *w)
{
	scripted_free(w->s);
}

static uint64_t draw(struct random_world *w, uint64_t below)
{
	return random_draw(&w->state, below);
}

static void use_something(struct random_world *w, struct scripted_task *t)
{
	uint32_t r = (uint32_t)draw(w, 3);
	uint32_t instance = r == w->table ? (uint32_t)draw(w, 5) : 0;
	uint64_t amount = r == w->workers ? 1 : 1 + draw(w, 2);
	struct cancel_ledger_entry *e = scripted_entry(w->s, t, r, instance);
	if (e->held)
		scripted_release(w->s, t, r, instance);
	else if (e->waiting_since_ns || draw(w, 3) == 0)
		scripted_hold(w->s, t, r, instance, amount);
	else
		scripted_wait(w->s, t, r, instance, amount);
}

static void evict(struct random_world *w, struct scripted_task *t)
{
	struct cancel_ledger_entry *e = scripted_entry(w->s, t, w->pool, 0);
	e->evicted += draw(w, 300);
	e->stall_caused_ns += draw(w, 400) * MS;
}

static void add_heavy(struct random_world *w)
{
	struct scripted_task *t = scripted_task(w->s, draw(w, 3) ? 0 : 5 * MS);
	t->t.flags = (uint8_t)draw(w, 32);
	if (draw(w, 2))
		t->t.flags = CANCEL_CANCELLABLE;
	t->t.state = draw(w, 5) ? CANCEL_RUNNING : CANCEL_BLOCKED;
	t->t.signature = draw(w, 4);
	t->t.progress_expected = draw(w, 100);
	t->t.progress_done = draw(w, 100);
	for (uint64_t i = 0, n = 1 + draw(w, 3); i < n; i++)
		use_something(w, t);
}

static void live_on(struct random_world *w, struct scripted_task *t)
{
	if (t->t.slo_ns ? draw(w, 8) == 0 : draw(w, 60) == 0) {
		scripted_end(w->s, t);
		return;
	}
	if (draw(w, 10) == 0)
		use_something(w, t);
	if (t->t.slo_ns == 0 && draw(w, 3) == 0)
		evict(w, t);
	if (draw(w, 20) == 0)
		t->t.progress_done += draw(w, 30);
	if (draw(w, 40) == 0 && t->t.state <= CANCEL_BLOCKED)
		t->t.state = t->t.state == CANCEL_RUNNING ? CANCEL_BLOCKED : CANCEL_RUNNING;
}

static void deliver(struct random_world *w)
{
	uint64_t id = w->s->last.target.task, fate = draw(w, 4);
	struct scripted_task *t = &w->s->tasks[(uint32_t)id];
	if (!t->live || t->t.id != id)
		return;
	t->t.state = CANCEL_DELIVERED;
	scripted_event(w->s, CANCEL_EVENT_DELIVERED, id, 0);
	if (fate == 0)
		return;
	scripted_event(w->s, CANCEL_EVENT_ACKNOWLEDGED, id, 0);
	if (fate == 1)
		return;
	scripted_event(w->s, CANCEL_EVENT_RELEASED, id, 0);
	scripted_event(w->s, CANCEL_EVENT_ENDED, id, MS);
	scripted_end(w->s, t);
}

static void complete_some(struct random_world *w)
{
	uint64_t count = draw(w, 50), latency_ns = (1 + draw(w, 20)) * MS;
	scripted_complete(w->s, count, latency_ns, draw(w, 2));
}

void random_world_step(struct random_world *w)
{
	uint32_t live = 0;
	if (w->s->verdict.cancel)
		deliver(w);
	for (uint32_t i = 0; i < SCRIPTED_TASKS; i++) {
		if (w->s->tasks[i].live && !w->s->tasks[i].aside)
			live_on(w, &w->s->tasks[i]);
		live += w->s->tasks[i].live && !w->s->tasks[i].aside;
	}
	if (draw(w, 15) == 0)
		add_heavy(w);
	for (uint64_t i = 0, n = draw(w, 12); i < n && live + i < LIVE_MAX; i++)
		use_something(w, scripted_task(w->s, 5 * MS));
	complete_some(w);
	w->s->resources[w->pool].ended_wait_ns += draw(w, 200) * MS;
	w->s->now_ns += draw(w, 20) * MS;
	scripted_step(w->s);
}

static uint64_t mix(uint64_t digest, uint64_t value)
{
	/* FNV-1a, a word at a time. */
	return (digest ^ value) * 1099511628211ull;
}

static uint64_t mix_candidate(uint64_t d, const struct cancel_candidate *c)
{
	d = mix(d, c->task);
	d = mix(d, c->score_micro);
	d = mix(d, c->age_ns);
	d = mix(d, c->remaining_ns);
	d = mix(d, c->held_back);
	d = mix(d, c->dominated);
	for (uint32_t r = 0; r < CANCEL_RESOURCES_MAX; r++) {
		d = mix(d, c->gain_micro[r]);
		d = mix(d, c->used_micro[r]);
		d = mix(d, c->blame_ppm[r]);
	}
	return d;
}

static uint64_t mix_decision(uint64_t d, const struct cancel_decision *x)
{
	d = mix(d, x->serial);
	d = mix(d, (uint64_t)x->acted | (uint64_t)x->escalation << 1 | (uint64_t)x->returning << 2);
	d = mix_candidate(d, &x->target);
	d = mix_candidate(d, &x->runner_up);
	d = mix(d, x->top_resource);
	d = mix(d, x->blamed_mask);
	d = mix(d, x->candidate_count);
	d = mix(d, x->eligible_count);
	for (uint32_t i = 0; i < CANCEL_CAUSE_COUNT; i++)
		d = mix(d, x->held_back[i]);
	for (uint32_t i = 0; i < x->contender_count; i++) {
		d = mix(d, x->contenders[i].task);
		d = mix(d, x->contenders[i].score_micro);
		d = mix(d, x->contenders[i].blame_ppm);
	}
	return d;
}

static uint64_t mix_outcome(uint64_t d, const struct cancel_outcome *o)
{
	d = mix(d, o->serial);
	d = mix(d, o->task);
	d = mix(d, o->times.delivered_ns);
	d = mix(d, o->times.acknowledged_ns);
	d = mix(d, o->times.released_ns);
	d = mix(d, o->times.recovered_ns);
	d = mix(d, o->wasted_ns);
	return mix(d, (uint64_t)o->final | (uint64_t)o->excluded << 1 | (uint64_t)o->dropped << 2);
}

uint64_t verdict_digest(const struct cancel_verdict *v)
{
	uint64_t d = 14695981039346656037ull;
	d = mix(d, v->now_ns);
	d = mix(d, v->overload);
	d = mix(d, v->held_back);
	d = mix(d, v->held.task);
	d = mix(d, v->held.score_micro);
	d = mix(d, v->precise);
	d = mix(d, v->late_share_ppm);
	d = mix(d, v->late_tasks);
	d = mix(d, v->window_ns);
	d = mix(d, v->onset_ns);
	d = mix(d, v->calm_mask);
	d = mix(d, (uint64_t)v->cancel | (uint64_t)v->decided << 1);
	for (uint32_t r = 0; r < CANCEL_RESOURCES_MAX; r++) {
		d = mix(d, v->contention_ppm[r]);
		d = mix(d, v->raw_metric[r]);
	}
	if (v->decided)
		d = mix_decision(d, &v->decision);
	for (uint32_t i = 0; i < v->outcome_count; i++)
		d = mix_outcome(d, &v->outcomes[i]);
	return d;
}
