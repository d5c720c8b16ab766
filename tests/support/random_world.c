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
