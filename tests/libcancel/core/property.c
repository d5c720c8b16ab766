/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds in every world, drawn from seeds.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "libcancel/record/record.h"
#include "random_world.h"

#define SEED	20251013ull
#define WORLDS	40u
#define WINDOWS 150u

static const struct cancel_ledger_task *find(const struct cancel_ledger *l, uint64_t id)
{
	for (uint32_t i = 0; i < l->task_count; i++) {
		if (l->tasks[i].id == id)
			return &l->tasks[i];
	}
	return NULL;
}

static void check_target(const struct scripted *s)
{
	const struct cancel_decision *d = &s->verdict.decision;
	const struct cancel_ledger_task *t = find(&s->ledger, d->target.task);
	assert_non_null(t);
	assert_true(t->flags & CANCEL_CANCELLABLE);
	assert_false(t->flags & (CANCEL_RERUNNING | CANCEL_EXEMPT));
	assert_int_not_equal(t->state, CANCEL_BLOCKED);
	if (!d->escalation)
		assert_int_equal(t->state, CANCEL_RUNNING);
	assert_int_equal(d->target.held_back, CANCEL_CAUSE_NONE);
	assert_int_equal(s->verdict.overload, CANCEL_RESOURCE);
	assert_int_not_equal(d->runner_up.task, d->target.task);
	assert_true(d->eligible_count >= 1 && d->eligible_count <= d->candidate_count);
}

/* `whole`: the shares of a resource's blame are parts of one whole. */
static void check_bounds(const struct cancel_verdict *v, uint32_t resource_count, bool whole)
{
	uint64_t contention = 0;
	assert_true(v->late_share_ppm <= CANCEL_PPM);
	for (uint32_t r = 0; r < CANCEL_RESOURCES_MAX; r++) {
		assert_true(v->contention_ppm[r] <= CANCEL_PPM);
		/* Without a window the last one is still shown. */
		if (r >= resource_count && v->window_ns)
			assert_int_equal(v->contention_ppm[r], 0);
		contention += v->contention_ppm[r];
	}
	for (uint32_t r = 0; whole && v->decided && r < CANCEL_RESOURCES_MAX; r++)
		assert_true((uint64_t)v->decision.target.blame_ppm[r] +
				    v->decision.runner_up.blame_ppm[r] <=
			    CANCEL_PPM);
	assert_true(v->outcome_count <= CANCEL_CANDIDATES_MAX);
	assert_true(v->decision.contender_count <= CANCEL_CANDIDATES_MAX);
	assert_true(!v->cancel || v->decided);
	assert_true(contention <= CANCEL_RESOURCES_MAX * (uint64_t)CANCEL_PPM);
}

static void nobody_is_cancelled_who_may_not_be(void **state)
{
	uint32_t decisions = 0, escalations = 0;
	(void)state;
	print_message("seeds from %llu\n", (unsigned long long)SEED);
	for (uint64_t seed = SEED; seed < SEED + WORLDS; seed++) {
		struct random_world w;
		random_world_begin(&w, seed, true);
		for (uint32_t i = 0; i < WINDOWS; i++) {
			random_world_step(&w);
			check_bounds(&w.s->verdict, w.s->ledger.resource_count, true);
			if (!w.s->verdict.decided)
				continue;
			check_target(w.s);
			decisions++;
			escalations += w.s->verdict.decision.escalation;
		}
		random_world_end(&w);
	}
	print_message("%u decisions, %u escalations\n", decisions, escalations);
	assert_true(decisions > WORLDS);
	assert_true(escalations > 0);
}

static void the_same_ledgers_give_the_same_verdicts_in_any_order(void **state)
{
	(void)state;
	for (uint64_t seed = SEED; seed < SEED + WORLDS; seed++) {
		struct random_world a, b;
		random_world_begin(&a, seed, true);
		random_world_begin(&b, seed, true);
		b.s->shuffle = (uint32_t)seed | 1;
		for (uint32_t i = 0; i < WINDOWS; i++) {
			random_world_step(&a);
			random_world_step(&b);
			assert_int_equal(
				record_digest(&a.s->verdict), record_digest(&b.s->verdict));
		}
		random_world_end(&a);
		random_world_end(&b);
	}
}

/* Tasks that hold what nobody waits for, for a long time. They take no number of their own. */
static void add_bystanders(struct scripted *s, uint32_t lock)
{
	for (uint32_t i = 0; i < 5; i++) {
		struct scripted_task *t = scripted_task(s, 0);
		t->aside = true;
		s->next_sequence--;
		t->t.sequence = (1ull << 40) + i;
		t->t.id = (1ull << 60) | t->t.slot;
		t->t.key = t->t.sequence;
		scripted_hold(s, t, lock, 900 + i, CANCEL_EXCLUSIVE);
	}
}

static void a_bystander_changes_no_choice(void **state)
{
	uint32_t decisions = 0;
	(void)state;
	for (uint64_t seed = SEED; seed < SEED + WORLDS; seed++) {
		struct random_world a, b;
		random_world_begin(&a, seed, false);
		random_world_begin(&b, seed, false);
		add_bystanders(b.s, b.lock);
		for (uint32_t i = 0; i < WINDOWS; i++) {
			random_world_step(&a);
			random_world_step(&b);
			assert_int_equal(a.s->verdict.decided, b.s->verdict.decided);
			if (!a.s->verdict.decided)
				continue;
			decisions++;
			assert_int_equal(a.s->last.target.key, b.s->last.target.key);
			assert_int_equal(
				a.s->last.target.score_micro, b.s->last.target.score_micro);
			assert_int_equal(a.s->last.runner_up.key, b.s->last.runner_up.key);
		}
		random_world_end(&a);
		random_world_end(&b);
	}
	assert_true(decisions > WORLDS);
}

#define GARBAGE_TASKS	64u
#define GARBAGE_ENTRIES 256u

struct garbage {
	struct cancel_ledger_resource resources[CANCEL_RESOURCES_MAX];
	struct cancel_ledger_task tasks[GARBAGE_TASKS];
	struct cancel_ledger_entry entries[GARBAGE_ENTRIES];
	struct cancel_event events[4];
	uint64_t latency[CANCEL_HISTOGRAM_MAX];
};

/* Any number of bits, so that small and huge numbers are equally likely. */
static uint64_t any(uint64_t *random)
{
	uint64_t bits = random_draw(random, 65);
	uint64_t value = random_draw(random, 1ull << 31) << 33 | random_draw(random, 1ull << 31)
									 << 2;
	return bits ? value >> (64 - bits) : 0;
}

static void fill_tasks(struct garbage *g, bool own_slots, uint64_t *random)
{
	for (uint32_t i = 0; i < GARBAGE_TASKS; i++) {
		struct cancel_ledger_task *t = &g->tasks[i];
		t->id = any(random);
		t->sequence = any(random);
		t->signature = any(random);
		t->episode_start_ns = any(random);
		t->slo_ns = any(random);
		t->active_ns = any(random);
		t->progress_done = any(random);
		t->progress_expected = any(random);
		t->rollback_ns = any(random);
		t->slot = own_slots ? i : (uint32_t)random_draw(random, GARBAGE_TASKS * 2);
		t->first_entry = (uint32_t)random_draw(random, GARBAGE_ENTRIES * 2);
		t->entry_count = (uint8_t)any(random);
		t->class_index = (uint8_t)any(random);
		t->state = (uint8_t)random_draw(random, 4);
		t->flags = (uint8_t)(any(random) | CANCEL_CANCELLABLE);
	}
}

static void fill_entries(struct garbage *g, uint64_t *random)
{
	for (uint32_t i = 0; i < GARBAGE_ENTRIES; i++) {
		struct cancel_ledger_entry *e = &g->entries[i];
		e->resource = (uint8_t)random_draw(random, 70);
		e->held_modes = (uint8_t)any(random);
		e->wanted_mode = (uint8_t)any(random);
		e->instance = (uint32_t)random_draw(random, 3);
		e->held = any(random);
		e->held_since_ns = any(random);
		e->hold_ns = any(random);
		e->waiting_since_ns = any(random);
		e->wait_ns = any(random);
		e->evicted = any(random);
		e->stall_caused_ns = any(random);
	}
}

static void fill_resources(struct garbage *g, uint64_t *random)
{
	for (uint32_t i = 0; i < CANCEL_RESOURCES_MAX; i++) {
		struct cancel_ledger_resource *r = &g->resources[i];
		r->type = (enum cancel_resource_type)(1 + random_draw(random, 3));
		r->capacity = any(random);
		r->ended_wait_ns = any(random);
		r->ended_hold_ns = any(random);
		r->ended_evicted = any(random);
		r->orphan_stall_ns = any(random);
		for (uint32_t m = 0; m < CANCEL_LOCK_MODES_MAX; m++)
			r->conflicts[m] = (uint8_t)any(random);
	}
}

static void fill_events(struct garbage *g, uint64_t *random)
{
	for (uint32_t i = 0; i < 4; i++) {
		g->events[i].kind = (enum cancel_event_kind)(1 + random_draw(random, 7));
		g->events[i].task = g->tasks[i].id;
		g->events[i].at_ns = any(random);
		g->events[i].wasted_ns = any(random);
	}
}

static void fill(struct garbage *g, struct cancel_ledger *l, bool own_slots, uint64_t *random)
{
	fill_resources(g, random);
	fill_tasks(g, own_slots, random);
	fill_entries(g, random);
	fill_events(g, random);
	l->now_ns += random_draw(random, 3) * 40 * MS;
	l->resources = g->resources;
	l->tasks = g->tasks;
	l->entries = g->entries;
	l->events = g->events;
	l->latency = g->latency;
	l->resource_count = (uint32_t)random_draw(random, CANCEL_RESOURCES_MAX + 1);
	l->task_count = (uint32_t)random_draw(random, GARBAGE_TASKS + 1);
	l->entry_count = (uint32_t)random_draw(random, GARBAGE_ENTRIES + 1);
	l->event_count = 4;
	l->completed = any(random);
	l->late = any(random);
	l->ended_active_ns = any(random);
}

static void survive_garbage(bool own_slots)
{
	const struct cancel_pipeline_config config = { .struct_size = sizeof config,
		.task_limit = GARBAGE_TASKS,
		.act = true,
		.warm_up_ms = 1 };
	size_t bytes = cancel_pipeline_bytes(&config);
	struct cancel_pipeline *p = malloc(bytes);
	struct garbage *g = calloc(1, sizeof *g);
	struct cancel_ledger l = { .now_ns = S };
	struct cancel_verdict v;
	uint64_t random = SEED;
	uint32_t decided = 0;
	assert_non_null(p);
	assert_non_null(g);
	assert_int_equal(cancel_pipeline_init(p, bytes, &config), 0);
	for (uint32_t i = 0; i < 5000; i++) {
		fill(g, &l, own_slots, &random);
		cancel_pipeline_step(p, &l, &v);
		check_bounds(&v, l.resource_count, own_slots);
		decided += v.decided;
	}
	assert_true(decided > 0);
	free(g);
	free(p);
}

/* Entries out of range, unknown modes, counters that jump and go back. */
static void random_numbers_keep_every_bound(void **state)
{
	(void)state;
	survive_garbage(true);
}

/* As before, with slots beyond the limit and slots named twice. */
static void broken_ledgers_are_survived(void **state)
{
	(void)state;
	survive_garbage(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_cancelled_who_may_not_be),
		cmocka_unit_test(the_same_ledgers_give_the_same_verdicts_in_any_order),
		cmocka_unit_test(a_bystander_changes_no_choice),
		cmocka_unit_test(random_numbers_keep_every_bound),
		cmocka_unit_test(broken_ledgers_are_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
