/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next cancel waits for the effect of the last, and only where the last one was aimed at.
 */
#include "test.h"

#include "scripted.h"

#define SLOTS	100u
#define SLOW_NS (5 * S)

struct sharers {
	struct scripted *s;
	uint32_t slots;
	struct scripted_task *first, *second, *third;
	uint64_t decided_ns;
};

/* Three tasks hold 60, 30 and 9 of a hundred slots, and requests wait; the first is cancelled and
 * has answered. */
static struct sharers three_sharers(void)
{
	struct sharers w = { .s = scripted_new(NULL) };
	w.slots = scripted_resource(w.s, CANCEL_QUEUE, SLOTS);
	scripted_healthy(w.s, SCRIPTED_START);
	w.first = scripted_task(w.s, 0);
	scripted_hold(w.s, w.first, w.slots, 0, 60);
	w.second = scripted_task(w.s, 0);
	scripted_hold(w.s, w.second, w.slots, 0, 30);
	w.third = scripted_task(w.s, 0);
	scripted_hold(w.s, w.third, w.slots, 0, 9);
	scripted_until_decided(w.s, w.slots, 0, 20);
	w.decided_ns = w.s->now_ns;
	assert_int_equal(w.s->decisions, 1);
	assert_int_equal(w.s->last.target.task, w.first->t.id);
	w.first->t.state = CANCEL_DELIVERED;
	scripted_event(w.s, CANCEL_EVENT_DELIVERED, w.first->t.id, 0);
	scripted_event(w.s, CANCEL_EVENT_ACKNOWLEDGED, w.first->t.id, 0);
	return w;
}

static void wait_and_nobody_is_cancelled(struct sharers *w, uint64_t until_ns)
{
	while (w->s->now_ns < until_ns) {
		scripted_arrive(w->s, 2, w->slots, 0, 0);
		scripted_step(w->s);
		assert_int_equal(w->s->decisions, 1);
		assert_int_equal(w->s->verdict.held_back, CANCEL_CAUSE_AWAIT_RELEASE);
		assert_int_equal(w->s->verdict.overload, CANCEL_RESOURCE);
	}
}

static void a_target_that_answered_is_waited_for_while_it_still_holds(void **state)
{
	struct sharers w = three_sharers();
	(void)state;
	wait_and_nobody_is_cancelled(&w, w.decided_ns + SLOW_NS);
	scripted_event(w.s, CANCEL_EVENT_RELEASED, w.first->t.id, 0);
	scripted_end(w.s, w.first);
	for (uint32_t i = 0; i < SCRIPTED_TASKS; i++) { /* everybody gets in */
		if (w.s->tasks[i].live && &w.s->tasks[i] != w.second && &w.s->tasks[i] != w.third)
			scripted_end(w.s, &w.s->tasks[i]);
	}
	scripted_healthy(w.s, 40);
	assert_int_equal(w.s->decisions, 1);
	scripted_free(w.s);
}

static void one_that_never_lets_go_is_not_waited_for_for_ever(void **state)
{
	struct sharers w = three_sharers();
	(void)state;
	wait_and_nobody_is_cancelled(&w, w.decided_ns + 9 * S);
	for (uint32_t i = 0; i < 40; i++) {
		scripted_arrive(w.s, 2, w.slots, 0, 0);
		scripted_step(w.s);
	}
	assert_int_not_equal(w.s->verdict.held_back, CANCEL_CAUSE_AWAIT_RELEASE);
	scripted_free(w.s);
}

/* Its hold has left the ledger, and still nobody gets in. */
static void a_release_without_effect_is_waited_for(void **state)
{
	struct sharers w = three_sharers();
	uint64_t released_ns = w.s->now_ns, effective_ns;
	(void)state;
	scripted_event(w.s, CANCEL_EVENT_RELEASED, w.first->t.id, 0);
	scripted_end(w.s, w.first);
	wait_and_nobody_is_cancelled(&w, w.decided_ns + SLOW_NS);
	for (uint32_t i = 0; i < SCRIPTED_TASKS; i++) {
		if (w.s->tasks[i].live && &w.s->tasks[i] != w.second && &w.s->tasks[i] != w.third)
			scripted_end(w.s, &w.s->tasks[i]);
	}
	scripted_healthy(w.s, 1);
	effective_ns = w.s->last_outcome.times.effective_ns;
	assert_int_equal(effective_ns, w.s->now_ns);
	assert_int_equal(w.s->last_outcome.times.released_ns, released_ns);
	scripted_healthy(w.s, 40);
	assert_int_equal(w.s->decisions, 1);
	scripted_free(w.s);
}

/* Two who share a lock: the second of them is not waited for once the first's part shows. */
static void the_next_cancel_follows_once_the_effect_shows(void **state)
{
	struct sharers w = three_sharers();
	(void)state;
	scripted_event(w.s, CANCEL_EVENT_RELEASED, w.first->t.id, 0);
	scripted_end(w.s, w.first);
	for (uint32_t i = 0; i < 61; i++) /* others fill the room, and it is not enough */
		scripted_hold(w.s, scripted_task(w.s, 0), w.slots, 0, 1);
	for (uint32_t i = 0; i < 8 && w.s->decisions == 1; i++) {
		scripted_arrive(w.s, SCRIPTED_ARRIVALS, w.slots, 0, 0);
		scripted_step(w.s);
	}
	assert_int_equal(w.s->decisions, 2);
	assert_int_equal(w.s->last.target.task, w.second->t.id);
	scripted_free(w.s);
}

/* A long opcode holds table 0 and hears nothing; table 1 has a culprit of its own. */
static void who_ignores_its_cancel_bars_its_table_and_not_the_next(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *deaf = scripted_culprit(s, lock), *other;
	bool excluded = false;
	(void)state;
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	deaf->t.state = CANCEL_DELIVERED;
	scripted_event(s, CANCEL_EVENT_DELIVERED, deaf->t.id, 0);
	for (uint32_t i = 0; i < 60; i++) {
		scripted_arrive(s, 4, lock, 0, CANCEL_EXCLUSIVE);
		scripted_step(s);
		for (uint32_t k = 0; k < s->verdict.outcome_count; k++)
			excluded |= s->verdict.outcomes[k].excluded;
	}
	assert_true(excluded);
	assert_int_equal(s->decisions, 2); /* and its escalation */
	other = scripted_task(s, 0);
	scripted_hold(s, other, lock, 1, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 20 && s->decisions == 2; i++) {
		scripted_arrive(s, SCRIPTED_ARRIVALS * 4, lock, 1, CANCEL_EXCLUSIVE);
		scripted_step(s);
	}
	assert_int_equal(s->decisions, 3);
	assert_int_equal(s->last.target.task, other->t.id);
	assert_int_equal(s->last.held_back[CANCEL_CAUSE_IGNORES_CANCELS], 1);
	scripted_free(s);
}

/* As before, for a task that must not be touched. */
static void an_exempt_holder_of_one_table_does_not_protect_the_holder_of_another(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *exempt = scripted_culprit(s, lock), *other;
	(void)state;
	exempt->t.flags |= CANCEL_EXEMPT;
	other = scripted_task(s, 0);
	scripted_hold(s, other, lock, 1, CANCEL_EXCLUSIVE);
	scripted_arrive(s, 30, lock, 0, CANCEL_EXCLUSIVE);
	scripted_arrive(s, 20, lock, 1, CANCEL_EXCLUSIVE);
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 6);
	assert_int_equal(s->decisions, 1);
	assert_int_equal(s->last.target.task, other->t.id);
	scripted_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_that_answered_is_waited_for_while_it_still_holds),
		cmocka_unit_test(one_that_never_lets_go_is_not_waited_for_for_ever),
		cmocka_unit_test(a_release_without_effect_is_waited_for),
		cmocka_unit_test(the_next_cancel_follows_once_the_effect_shows),
		cmocka_unit_test(who_ignores_its_cancel_bars_its_table_and_not_the_next),
		cmocka_unit_test(
			an_exempt_holder_of_one_table_does_not_protect_the_holder_of_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
