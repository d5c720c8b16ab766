/* SPDX-License-Identifier: Apache-2.0 */
/* What an adapter reports look by look is judged as the events themselves would be. */
#include "test.h"

#include <stdlib.h>

#include "libcancel/feed/look.h"
#include "random_world.h"
#include "scripted.h"

#define TASKS 2048u

/* A scripted world told to a look, which has a pipeline of its own. */
struct told {
	struct look *look;
	struct cancel_pipeline *pipeline;
	struct cancel_ledger_resource resources[CANCEL_RESOURCES_MAX];
	struct cancel_ledger *ledger;
	struct cancel_verdict verdict;
};

static void told_begin(struct told *m)
{
	const struct cancel_pipeline_config config = { .struct_size = sizeof config, .act = true };
	size_t bytes = cancel_pipeline_bytes(&config);
	*m = (struct told){ .look = calloc(1, look_bytes(TASKS)), .pipeline = malloc(bytes) };
	assert_non_null(m->look);
	assert_non_null(m->pipeline);
	look_init(m->look, TASKS);
	assert_int_equal(cancel_pipeline_init(m->pipeline, bytes, &config), 0);
}

static void told_end(struct told *m)
{
	free(m->look);
	free(m->pipeline);
}

static struct cancel_feed_task as_told(const struct scripted_task *t)
{
	return (struct cancel_feed_task){
		.struct_size = sizeof(struct cancel_feed_task),
		.subject = t->t.slot,
		.generation = t->t.sequence,
		.key = t->t.key,
		.signature = t->t.signature,
		.episode_start_ns = t->t.episode_start_ns,
		.slo_ns = t->t.slo_ns,
		.progress_done = t->t.progress_done,
		.progress_expected = t->t.progress_expected,
		.flags = t->t.flags,
	};
}

static void tell_entry(struct told *m, int handle, const struct cancel_ledger_entry *e)
{
	const struct cancel_ledger_resource *r = &m->resources[e->resource];
	uint64_t queued = r->type == CANCEL_QUEUE;
	if (r->type == CANCEL_MEMORY)
		return;
	for (uint64_t mode = 1; mode <= 8 && !queued; mode++)
		if (e->held_modes >> (mode - 1) & 1)
			look_hold(m->look, handle, e->resource, r, e->instance, mode,
				e->held_since_ns);
	if (queued && e->held)
		look_hold(m->look, handle, e->resource, r, e->instance, e->held, e->held_since_ns);
	if (e->waiting_since_ns)
		look_wait(m->look, handle, e->resource, r, e->instance, queued ? 1 : e->wanted_mode,
			e->waiting_since_ns);
}

/* Tells what the scripted world shows now, and judges it. */
static void tell(struct told *m, const struct scripted *s)
{
	for (uint32_t r = 0; r < s->ledger.resource_count; r++) {
		m->resources[r].type = s->resources[r].type;
		m->resources[r].capacity = s->resources[r].capacity;
	}
	look_begin(m->look, s->now_ns);
	for (uint32_t i = 0; i < SCRIPTED_TASKS; i++) {
		const struct scripted_task *t = &s->tasks[i];
		struct cancel_feed_task task = as_told(t);
		int handle = t->live ? look_task(m->look, &task) : -1;
		for (uint32_t k = 0; handle >= 0 && k < t->entry_count; k++)
			tell_entry(m, handle, &t->entries[k]);
	}
	look_completed(m->look, 0, s->ledger.completed, s->ledger.late, s->ledger.ended_active_ns,
		s->latency);
	m->ledger = look_end(m->look, m->resources, s->ledger.resource_count);
	cancel_pipeline_step(m->pipeline, m->ledger, &m->verdict);
	m->ledger->event_count = 0;
}

static void assert_same_verdict(const struct cancel_verdict *a, const struct cancel_verdict *b)
{
	assert_int_equal(a->overload, b->overload);
	assert_int_equal(a->held_back, b->held_back);
	assert_int_equal(a->late_share_ppm, b->late_share_ppm);
	assert_int_equal(a->onset_ns, b->onset_ns);
	assert_memory_equal(a->contention_ppm, b->contention_ppm, sizeof a->contention_ppm);
	assert_memory_equal(a->raw_metric, b->raw_metric, sizeof a->raw_metric);
	assert_int_equal(a->decided, b->decided);
	if (!a->decided)
		return;
	assert_int_equal(a->decision.target.key, b->decision.target.key);
	assert_int_equal(a->decision.target.score_micro, b->decision.target.score_micro);
	assert_int_equal(a->decision.candidate_count, b->decision.candidate_count);
}

static void judge_both(enum cancel_resource_type type, uint64_t capacity)
{
	struct scripted *s = scripted_new(NULL);
	struct told m;
	told_begin(&m);
	uint32_t r = scripted_resource(s, type, capacity);
	for (uint32_t i = 0; i < SCRIPTED_START; i++) {
		scripted_complete(s, 50, MS, false);
		scripted_step(s);
		tell(&m, s);
		assert_same_verdict(&s->verdict, &m.verdict);
	}
	struct scripted_task *culprit = scripted_task(s, 0);
	scripted_hold(s, culprit, r, 0, type == CANCEL_LOCK ? CANCEL_EXCLUSIVE : capacity);
	for (uint32_t i = 0; i < 40 && !s->decisions; i++) {
		scripted_arrive(s, SCRIPTED_ARRIVALS, r, 0, 1);
		scripted_step(s);
		tell(&m, s);
		assert_same_verdict(&s->verdict, &m.verdict);
	}
	assert_int_equal(s->decisions, 1);
	assert_int_equal(m.verdict.decision.target.key, culprit->t.key);
	told_end(&m);
	scripted_free(s);
}

static void a_lock_is_judged_bit_for_bit_as_by_its_events(void **state)
{
	(void)state;
	judge_both(CANCEL_LOCK, 0);
}

static void a_queue_is_judged_bit_for_bit_as_by_its_events(void **state)
{
	(void)state;
	judge_both(CANCEL_QUEUE, 4);
}

/* ---- One look after another ------------------------------------------------------------------ */

static const struct cancel_ledger_resource lock_row = { .type = CANCEL_LOCK };

static int report(struct told *m, uint64_t subject, uint64_t generation)
{
	struct cancel_feed_task t = { .struct_size = sizeof t,
		.subject = subject,
		.generation = generation,
		.key = subject,
		.episode_start_ns = S,
		.slo_ns = MS,
		.flags = CANCEL_CANCELLABLE };
	return look_task(m->look, &t);
}

static void close_look(struct told *m)
{
	m->resources[0].type = CANCEL_LOCK;
	m->ledger = look_end(m->look, m->resources, 1);
	m->ledger->event_count = 0;
}

static const struct cancel_ledger_entry *entry_by_key(const struct told *m, uint64_t key)
{
	for (uint32_t i = 0; i < m->ledger->task_count; i++)
		if (m->ledger->tasks[i].key == key && m->ledger->tasks[i].entry_count)
			return &m->ledger->entries[m->ledger->tasks[i].first_entry];
	return NULL;
}

static void a_hold_counts_from_its_longest_waiter(void **state)
{
	struct told m;
	(void)state;
	told_begin(&m);
	look_begin(m.look, 20 * S);
	look_hold(m.look, report(&m, 1, 1), 0, &lock_row, 7, CANCEL_EXCLUSIVE, 0);
	look_wait(m.look, report(&m, 2, 1), 0, &lock_row, 7, CANCEL_SHARED, 12 * S);
	look_wait(m.look, report(&m, 3, 1), 0, &lock_row, 7, CANCEL_SHARED, 15 * S);
	close_look(&m);
	assert_int_equal(entry_by_key(&m, 1)->held_since_ns, 12 * S);
	assert_int_equal(entry_by_key(&m, 2)->wait_ns, 8 * S);
	told_end(&m);
}

static void who_gets_a_lock_is_not_blamed_for_its_predecessor(void **state)
{
	struct told m;
	(void)state;
	told_begin(&m);
	look_begin(m.look, 20 * S);
	look_hold(m.look, report(&m, 1, 1), 0, &lock_row, 7, CANCEL_EXCLUSIVE, 0);
	look_wait(m.look, report(&m, 2, 1), 0, &lock_row, 7, CANCEL_EXCLUSIVE, 10 * S);
	look_wait(m.look, report(&m, 3, 1), 0, &lock_row, 7, CANCEL_EXCLUSIVE, 11 * S);
	close_look(&m);
	look_begin(m.look, 20 * S + 50 * MS); /* 1 gave it to 2; 3 waits on */
	report(&m, 1, 1);
	look_hold(m.look, report(&m, 2, 1), 0, &lock_row, 7, CANCEL_EXCLUSIVE, 0);
	look_wait(m.look, report(&m, 3, 1), 0, &lock_row, 7, CANCEL_EXCLUSIVE, 11 * S);
	close_look(&m);
	assert_int_equal(entry_by_key(&m, 2)->held_since_ns, 20 * S);
	assert_null(entry_by_key(&m, 1));
	look_begin(m.look, 20 * S + 100 * MS); /* 4 came from nowhere */
	look_hold(m.look, report(&m, 4, 1), 0, &lock_row, 7, CANCEL_EXCLUSIVE, 0);
	look_wait(m.look, report(&m, 3, 1), 0, &lock_row, 7, CANCEL_EXCLUSIVE, 11 * S);
	close_look(&m);
	assert_int_equal(entry_by_key(&m, 4)->held_since_ns, 20 * S + 50 * MS);
	told_end(&m);
}

static void a_hold_is_no_older_than_its_task(void **state)
{
	struct told m;
	struct cancel_feed_task t = { .struct_size = sizeof t, .subject = 1, .start_ns = 18 * S };
	(void)state;
	told_begin(&m);
	look_begin(m.look, 20 * S);
	look_hold(m.look, look_task(m.look, &t), 0, &lock_row, 7, CANCEL_EXCLUSIVE, 0);
	look_wait(m.look, report(&m, 2, 1), 0, &lock_row, 7, CANCEL_EXCLUSIVE, 10 * S);
	close_look(&m);
	assert_int_equal(m.ledger->entries[0].held_since_ns, 18 * S);
	told_end(&m);
}

static void what_vanishes_counts_for_half_a_look_more(void **state)
{
	struct told m;
	(void)state;
	told_begin(&m);
	look_begin(m.look, 20 * S);
	look_hold(m.look, report(&m, 1, 1), 0, &lock_row, 7, CANCEL_EXCLUSIVE, 15 * S);
	look_wait(m.look, report(&m, 2, 1), 0, &lock_row, 7, CANCEL_SHARED, 16 * S);
	close_look(&m);
	look_begin(m.look, 22 * S);
	report(&m, 1, 2);
	close_look(&m);
	assert_int_equal(m.ledger->task_count, 1);
	assert_int_equal(m.ledger->entry_count, 0);
	assert_int_equal(m.resources[0].ended_hold_ns, 6 * S);
	assert_int_equal(m.resources[0].ended_wait_ns, 5 * S);
	told_end(&m);
}

static void an_ordered_task_is_seen_to_release_and_to_end(void **state)
{
	struct told m;
	struct cancel_order order;
	(void)state;
	told_begin(&m);
	look_begin(m.look, 20 * S);
	look_hold(m.look, report(&m, 1, 1), 0, &lock_row, 7, CANCEL_EXCLUSIVE, 15 * S);
	close_look(&m);
	struct cancel_decision d = { .serial = 9, .blamed_mask = 1 };
	d.target.task = m.ledger->tasks[0].id;
	assert_true(look_order(m.look, &d, &order));
	assert_int_equal(order.subject, 1);
	look_answer(m.look, 9, CANCEL_EVENT_DELIVERED, 20 * S);
	look_begin(m.look, 21 * S);
	report(&m, 1, 1);
	m.ledger = look_end(m.look, m.resources, 1);
	assert_int_equal(m.ledger->event_count, 2);
	assert_int_equal(m.ledger->events[0].kind, CANCEL_EVENT_DELIVERED);
	assert_int_equal(m.ledger->events[1].kind, CANCEL_EVENT_RELEASED);
	assert_int_equal(m.ledger->tasks[0].state, CANCEL_DELIVERED);
	m.ledger->event_count = 0;
	look_begin(m.look, 22 * S);
	m.ledger = look_end(m.look, m.resources, 1);
	assert_int_equal(m.ledger->event_count, 1);
	assert_int_equal(m.ledger->events[0].kind, CANCEL_EVENT_ENDED);
	told_end(&m);
}

/* It never held anything: what it gives back is its place in the queue. */
static void a_waiter_that_bars_others_has_released_when_it_waits_no_more(void **state)
{
	struct told m;
	struct cancel_order order;
	(void)state;
	told_begin(&m);
	look_begin(m.look, 20 * S);
	look_wait(m.look, report(&m, 1, 1), 0, &lock_row, 7, CANCEL_EXCLUSIVE, 15 * S);
	close_look(&m);
	struct cancel_decision d = { .serial = 9, .blamed_mask = 1 };
	d.target.task = m.ledger->tasks[0].id;
	assert_true(look_order(m.look, &d, &order));
	look_begin(m.look, 21 * S);
	look_wait(m.look, report(&m, 1, 1), 0, &lock_row, 7, CANCEL_EXCLUSIVE, 15 * S);
	m.ledger = look_end(m.look, m.resources, 1);
	assert_int_equal(m.ledger->event_count, 0);
	look_begin(m.look, 22 * S);
	report(&m, 1, 1);
	m.ledger = look_end(m.look, m.resources, 1);
	assert_int_equal(m.ledger->event_count, 1);
	assert_int_equal(m.ledger->events[0].kind, CANCEL_EVENT_RELEASED);
	told_end(&m);
}

static void a_full_table_refuses_and_counts(void **state)
{
	struct told m;
	(void)state;
	told_begin(&m);
	look_begin(m.look, 20 * S);
	for (uint32_t i = 0; i < TASKS; i++)
		assert_true(report(&m, i, 1) >= 0);
	assert_int_equal(report(&m, TASKS, 1), CANCEL_ENOMEM);
	assert_int_equal(report(&m, 5, 1), CANCEL_EINVAL);
	for (uint64_t i = 0; i < CANCEL_ENTRIES_MAX + 3; i++)
		look_hold(m.look, 0, 0, &lock_row, i, CANCEL_SHARED, 0);
	look_hold(m.look, 1, 0, &lock_row, 0, 3, 0);
	close_look(&m);
	assert_int_equal(look_refused(m.look)->tasks, 1);
	assert_int_equal(look_refused(m.look)->entries, 3);
	assert_int_equal(look_refused(m.look)->modes, 1);
	told_end(&m);
}

static void totals_never_fall_in_random_worlds(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct random_world w;
		struct told m;
		uint64_t before[4] = { 0 };
		random_world_begin(&w, seed, true);
		told_begin(&m);
		for (uint32_t i = 0; i < 200; i++) {
			random_world_step(&w);
			tell(&m, w.s);
			for (uint32_t r = 0; r < 3; r++) {
				uint64_t total = m.resources[r].ended_wait_ns;
				for (uint32_t k = 0; k < m.ledger->task_count; k++) {
					const struct cancel_ledger_task *t = &m.ledger->tasks[k];
					for (uint32_t e = 0; t->slo_ns && e < t->entry_count; e++)
						if (m.ledger->entries[t->first_entry + e]
								.resource == r)
							total += m.ledger->entries[t->first_entry +
										   e]
									 .wait_ns;
				}
				assert_true(total >= before[r]);
				before[r] = total;
			}
		}
		told_end(&m);
		random_world_end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_is_judged_bit_for_bit_as_by_its_events),
		cmocka_unit_test(a_queue_is_judged_bit_for_bit_as_by_its_events),
		cmocka_unit_test(a_hold_counts_from_its_longest_waiter),
		cmocka_unit_test(who_gets_a_lock_is_not_blamed_for_its_predecessor),
		cmocka_unit_test(a_hold_is_no_older_than_its_task),
		cmocka_unit_test(what_vanishes_counts_for_half_a_look_more),
		cmocka_unit_test(an_ordered_task_is_seen_to_release_and_to_end),
		cmocka_unit_test(a_waiter_that_bars_others_has_released_when_it_waits_no_more),
		cmocka_unit_test(a_full_table_refuses_and_counts),
		cmocka_unit_test(totals_never_fall_in_random_worlds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
