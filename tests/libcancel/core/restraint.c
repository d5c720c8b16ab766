/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole situations in which nobody is cancelled, and what is said instead.
 */
#include "test.h"

#include "scripted.h"

/* An M/D/4 queue at 1.5 times its capacity, in steps of 5 ms. */
static void overload_of_cpu_alone_is_regular_and_cancels_nobody(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t cpu = scripted_resource(s, CANCEL_QUEUE, 4), head = 0, tail = 0, regular = 0;
	static struct scripted_task *line[600 * 6];
	struct scripted_task *running[4] = { 0 };
	(void)state;
	for (uint32_t i = 0; i < SCRIPTED_START; i++) { /* full throughput, in time */
		scripted_complete(s, 40, 6 * MS, false);
		scripted_step(s);
	}
	for (uint32_t step = 1; step <= 600; step++) {
		for (uint32_t k = 0; k < 4; k++) {
			if (running[k])
				scripted_end(s, running[k]);
			running[k] = head < tail ? line[head++] : NULL;
			if (running[k])
				scripted_hold(s, running[k], cpu, 0, 1);
		}
		for (uint32_t k = 0; k < 6; k++) {
			line[tail] = scripted_task(s, SCRIPTED_SLO_NS);
			scripted_wait(s, line[tail++], cpu, 0, 0);
		}
		s->now_ns += 5 * MS;
		if (step % 10 == 0) {
			scripted_judge(s);
			regular += s->verdict.overload == CANCEL_REGULAR;
			assert_int_not_equal(s->verdict.overload, CANCEL_RESOURCE);
		}
	}
	assert_int_equal(s->decisions, 0);
	assert_true(regular > 20);
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_NO_CULPRIT);
	scripted_free(s);
}

#define LINE 200u /* requests behind slots that have come to a halt */

/* What is late while the queue of a cancelled dump drains is the dump's doing still, though the
 * report that has long held a slot would now give it the most back. */
static void nobody_else_is_cancelled_while_the_queue_drains(void **state)
{
	static struct scripted_task *line[LINE];
	struct scripted *s = scripted_new(NULL);
	uint32_t cpu = scripted_resource(s, CANCEL_QUEUE, 2), drained = 0;
	uint32_t pool = scripted_resource(s, CANCEL_MEMORY, 1000);
	struct scripted_task *report = scripted_task(s, 0), *dump = scripted_task(s, 0);
	(void)state;
	scripted_hold(s, report, cpu, 0, 1);
	scripted_healthy(s, SCRIPTED_START);
	for (uint32_t window = 0; window < 10 && s->decisions == 0; window++)
		scripted_dump(s, pool, dump, report, true);
	assert_int_equal(s->last.target.task, dump->t.id);
	for (uint32_t i = 0; i < LINE; i++) {
		line[i] = scripted_task(s, SCRIPTED_SLO_NS);
		scripted_wait(s, line[i], cpu, 0, 0);
	}
	scripted_dump(s, pool, dump, report, true);
	scripted_event(s, CANCEL_EVENT_RELEASED, dump->t.id, 0);
	scripted_end(s, dump);
	for (uint32_t i = 0; i < LINE; i++) {
		scripted_end(s, line[i]);
		if (i % 50 != 49)
			continue;
		scripted_step(s);
		assert_int_equal(s->decisions, 1);
		drained += s->verdict.held_back == CANCEL_CAUSE_AWAIT_RELEASE;
	}
	assert_true(drained > 0);
	scripted_free(s);
}

/* Some slots of many are held by slow readers that nobody waits for in particular. */
static void crowd_beside_slow_readers(struct scripted *s, uint32_t slots, uint32_t readers)
{
	static struct scripted_task *line[300 * 14];
	uint32_t cpu = scripted_resource(s, CANCEL_QUEUE, slots), head = 0, tail = 0;
	struct scripted_task *running[16] = { 0 };
	for (uint32_t i = 0; i < SCRIPTED_START; i++) {
		scripted_complete(s, 90, 6 * MS, false);
		scripted_step(s);
	}
	for (uint32_t i = 0; i < readers; i++)
		scripted_hold(s, scripted_task(s, 0), cpu, 0, 1);
	for (uint32_t step = 1; step <= 300; step++) {
		for (uint32_t k = 0; k < slots - readers; k++) {
			if (running[k])
				scripted_end(s, running[k]);
			running[k] = head < tail ? line[head++] : NULL;
			if (running[k])
				scripted_hold(s, running[k], cpu, 0, 1);
		}
		for (uint32_t k = 0; k < slots - readers + 5; k++) {
			line[tail] = scripted_task(s, SCRIPTED_SLO_NS);
			scripted_wait(s, line[tail++], cpu, 0, 0);
		}
		s->now_ns += 5 * MS;
		if (step % 10 == 0)
			scripted_judge(s);
	}
}

static void one_slow_reader_is_not_the_cause_of_a_crowd(void **state)
{
	const struct cancel_pipeline_config any_share = {
		.struct_size = sizeof any_share,
		.act = true,
		.explained_ppm = 1,
	};
	struct scripted *s = scripted_new(NULL);
	(void)state;
	crowd_beside_slow_readers(s, 10, 1);
	assert_int_equal(s->decisions, 0);
	assert_int_equal(s->verdict.overload, CANCEL_REGULAR);
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_NO_CULPRIT);
	scripted_free(s);
	/* It is that rule and no other which spares it. */
	s = scripted_new(&any_share);
	crowd_beside_slow_readers(s, 10, 1);
	assert_true(s->decisions > 0);
	scripted_free(s);
}

/* A dump keeps a slot as well while it empties the pool, and so the two of them have a quarter. */
static void two_of_eight_slots_are_not_the_cause_of_a_crowd(void **state)
{
	struct scripted *s = scripted_new(NULL);
	(void)state;
	crowd_beside_slow_readers(s, 8, 2);
	assert_int_equal(s->decisions, 0);
	assert_int_equal(s->verdict.overload, CANCEL_REGULAR);
	scripted_free(s);
	s = scripted_new(NULL);
	crowd_beside_slow_readers(s, 8, 3);
	assert_true(s->decisions > 0);
	scripted_free(s);
}

/* Every class has an SLO once it is learned, reports included. */
static void three_reports_over_their_slo_are_no_overload(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t suspect = 0;
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	for (uint32_t i = 0; i < 3; i++)
		scripted_task(s, SCRIPTED_SLO_NS);
	scripted_healthy(s, 60);
	for (uint32_t i = 0; i < 100; i++) {
		scripted_healthy(s, 1);
		suspect += s->verdict.overload != CANCEL_HEALTHY;
	}
	assert_int_equal(suspect, 0);
	scripted_free(s);
}

static void all_stuck_without_a_known_reason_stays_an_overload(void **state)
{
	struct scripted *s = scripted_new(NULL);
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	for (uint32_t i = 0; i < 20; i++)
		scripted_task(s, SCRIPTED_SLO_NS);
	for (uint32_t i = 0; i < 100; i++)
		scripted_step(s);
	assert_int_equal(s->verdict.overload, CANCEL_REGULAR);
	assert_int_equal(s->verdict.late_tasks, 20);
	scripted_free(s);
}

/* Ten times the load for half a second; some of it late, all of it served. */
static void a_healthy_burst_is_nothing(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *long_reader;
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	long_reader = scripted_task(s, 0);
	scripted_hold(s, long_reader, lock, 0, CANCEL_SHARED);
	for (uint32_t i = 0; i < 10; i++) {
		scripted_complete(s, 400, 3 * MS, false);
		scripted_complete(s, 100, 15 * MS, true);
		scripted_step(s);
		assert_int_equal(s->verdict.overload, CANCEL_HEALTHY);
	}
	for (uint32_t i = 0; i < 40; i++) {
		scripted_healthy(s, 1);
		assert_int_equal(s->verdict.overload, CANCEL_HEALTHY);
	}
	assert_int_equal(s->decisions, 0);
	scripted_free(s);
}

static void a_task_in_a_blocked_phase_or_rerunning_is_never_chosen(void **state)
{
	const struct {
		uint8_t flags, task_state;
		enum cancel_cause cause;
	} cases[] = {
		{ CANCEL_CANCELLABLE, CANCEL_BLOCKED, CANCEL_CAUSE_BLOCKED },
		{ CANCEL_CANCELLABLE | CANCEL_RERUNNING, CANCEL_RUNNING,
			CANCEL_CAUSE_ALREADY_CANCELLED },
		{ CANCEL_CANCELLABLE | CANCEL_EXEMPT, CANCEL_RUNNING, CANCEL_CAUSE_EXEMPT },
		{ 0, CANCEL_RUNNING, CANCEL_CAUSE_NOT_CANCELLABLE },
		{ CANCEL_CANCELLABLE, CANCEL_DELIVERED, CANCEL_CAUSE_ALREADY_CANCELLED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct scripted *s = scripted_new(NULL);
		uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
		struct scripted_task *culprit;
		scripted_healthy(s, SCRIPTED_START);
		culprit = scripted_task(s, 0);
		culprit->t.flags = cases[i].flags;
		culprit->t.state = cases[i].task_state;
		scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
		scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 30);
		assert_int_equal(s->decisions, 0);
		assert_int_equal(s->verdict.overload, CANCEL_REGULAR);
		assert_int_equal(s->verdict.held_back, cases[i].cause);
		assert_int_equal(s->verdict.held.task, culprit->t.id);
		scripted_free(s);
	}
}

/* Idle in its transaction: ending a statement does nothing to it. */
static void an_idle_holder_is_named_unless_its_host_can_end_sessions(void **state)
{
	(void)state;
	for (int able = 0; able <= 1; able++) {
		struct scripted *s = scripted_new(NULL);
		uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
		struct scripted_task *holder = scripted_culprit(s, lock);
		holder->t.episode_start_ns = 0;
		holder->t.flags |= able ? CANCEL_ENDS_SESSION : 0;
		scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 30);
		assert_int_equal(s->cancels, able);
		if (able) {
			assert_int_equal(s->last.target.task, holder->t.id);
			assert_int_equal(s->last.strength, CANCEL_END_SESSION);
		} else {
			assert_int_equal(s->verdict.overload, CANCEL_REGULAR);
			assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_IDLE_HOLDER);
			assert_int_equal(s->verdict.held.task, holder->t.id);
		}
		scripted_free(s);
	}
}

/* Most of the blame is with tasks that may not be cancelled: the other's cancel would not help. */
static void a_minor_sharer_is_not_cancelled_in_place_of_an_exempt_one(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	for (uint32_t i = 0; i < 3; i++) {
		struct scripted_task *t = scripted_task(s, 0);
		scripted_hold(s, t, lock, 0, CANCEL_SHARED);
		if (i < 2)
			t->t.flags |= CANCEL_EXEMPT;
	}
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 30);
	assert_int_equal(s->decisions, 0);
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_EXEMPT);
	scripted_free(s);
}

/* A task whose slot changed while it was read is missing from one ledger, and all it ever waited
 * and held with it. When it is back, that is no delay of the window it comes back in. */
static void a_task_missing_from_one_ledger_comes_back_without_a_past(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *old;
	(void)state;
	old = scripted_task(s, 1000 * S);
	scripted_wait(s, old, lock, 0, CANCEL_EXCLUSIVE);
	scripted_healthy(s, SCRIPTED_START);
	scripted_stop_waiting(s, old, lock, 0);
	scripted_healthy(s, 25); /* the second that was lost on it is over */
	old->live = false;
	scripted_healthy(s, 1);
	old->live = true;
	scripted_healthy(s, 1);
	assert_int_equal(s->verdict.contention_ppm[lock], 0);
	assert_int_equal(s->verdict.raw_metric[lock], 0);
	scripted_healthy(s, 1);
	assert_int_equal(s->verdict.contention_ppm[lock], 0);
	scripted_free(s);
}

static void no_verdict_comes_before_the_warm_up_is_over(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	uint64_t start_ns;
	(void)state;
	scripted_healthy(s, 1);
	start_ns = s->now_ns;
	scripted_hold(s, scripted_task(s, 0), lock, 0, CANCEL_EXCLUSIVE);
	while (s->now_ns - start_ns < 1950 * MS) {
		scripted_arrive(s, SCRIPTED_ARRIVALS, lock, 0, CANCEL_EXCLUSIVE);
		scripted_step(s);
		assert_int_equal(s->decisions, 0);
	}
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_WARM_UP);
	scripted_step(s);
	assert_int_equal(s->decisions, 1);
	scripted_free(s);
}

/* Many short exclusive holders in turn: everybody waits, and it is nobody's fault. */
static void a_convoy_of_short_holders_has_no_culprit(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *holder = NULL;
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	for (uint32_t w = 0; w < 40; w++) {
		scripted_arrive(s, 20, lock, 0, CANCEL_EXCLUSIVE);
		for (uint32_t i = 0; i < 25; i++) {
			if (holder)
				scripted_end(s, holder);
			holder = scripted_task(s, SCRIPTED_SLO_NS);
			scripted_hold(s, holder, lock, 0, CANCEL_EXCLUSIVE);
			s->now_ns += 2 * MS;
		}
		scripted_judge(s);
	}
	assert_int_equal(s->decisions, 0);
	assert_int_equal(s->verdict.overload, CANCEL_REGULAR);
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_NO_CULPRIT);
	assert_true(s->verdict.contention_ppm[lock] > 800000);
	scripted_free(s);
}

/* Each has had the lock for three SLOs when it is seen, and is gone before a cancel would reach
 * it. */
static void whoever_holds_for_less_than_a_window_is_left_alone(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t table = scripted_resource(s, CANCEL_LOCK, 0), suspect = 0;
	struct scripted_task *holder = NULL;
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	for (uint32_t window = 0; window < 40; window++) {
		s->now_ns += s->window_ns - 3 * SCRIPTED_SLO_NS;
		if (holder)
			scripted_end(s, holder);
		holder = scripted_task(s, 0);
		scripted_hold(s, holder, table, 0, CANCEL_EXCLUSIVE);
		scripted_arrive(s, SCRIPTED_ARRIVALS, table, 0, CANCEL_SHARED);
		s->now_ns += 3 * SCRIPTED_SLO_NS;
		scripted_judge(s);
		suspect += s->verdict.overload != CANCEL_HEALTHY;
	}
	assert_int_equal(s->decisions, 0);
	assert_true(suspect > 30);
	scripted_free(s);
}

static void cold_misses_are_nobodys_fault(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t pool = scripted_resource(s, CANCEL_MEMORY, 10000);
	struct scripted_task *dump, *other;
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	dump = scripted_task(s, 0);
	other = scripted_task(s, 0);
	for (uint32_t i = 0; i < 20; i++)
		scripted_dump(s, pool, dump, other, false);
	assert_int_equal(s->decisions, 0);
	assert_int_equal(s->verdict.overload, CANCEL_REGULAR);
	assert_int_equal(s->verdict.contention_ppm[pool], 0);
	scripted_free(s);
}

static void a_stuck_action_stops_new_cancels(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	s->ledger.action_stuck = true;
	scripted_hold(s, scripted_task(s, 0), lock, 0, CANCEL_EXCLUSIVE);
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	assert_int_equal(s->decisions, 0);
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_ACTION_STUCK);
	s->ledger.action_stuck = false;
	scripted_step(s);
	assert_int_equal(s->cancels, 1);
	scripted_free(s);
}

/* A lock that always costs half of the time is not what is wrong today. */
static void what_is_usual_for_a_resource_does_not_count(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *reader;
	(void)state;
	for (uint32_t i = 0; i < 100; i++) { /* 5 of 10 ms */
		s->resources[lock].ended_wait_ns += 50 * 5 * MS;
		scripted_complete(s, 50, 10 * MS, false);
		scripted_step(s);
	}
	assert_int_equal(s->verdict.contention_ppm[lock], 500000);
	reader = scripted_task(s, 0);
	scripted_hold(s, reader, lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 20; i++) { /* late for another reason */
		s->resources[lock].ended_wait_ns += 50 * 15 * MS;
		scripted_complete(s, 50, 30 * MS, true);
		scripted_step(s);
	}
	assert_int_equal(s->decisions, 0);
	assert_int_equal(s->verdict.overload, CANCEL_REGULAR);
	scripted_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overload_of_cpu_alone_is_regular_and_cancels_nobody),
		cmocka_unit_test(nobody_else_is_cancelled_while_the_queue_drains),
		cmocka_unit_test(one_slow_reader_is_not_the_cause_of_a_crowd),
		cmocka_unit_test(two_of_eight_slots_are_not_the_cause_of_a_crowd),
		cmocka_unit_test(three_reports_over_their_slo_are_no_overload),
		cmocka_unit_test(all_stuck_without_a_known_reason_stays_an_overload),
		cmocka_unit_test(a_healthy_burst_is_nothing),
		cmocka_unit_test(a_task_in_a_blocked_phase_or_rerunning_is_never_chosen),
		cmocka_unit_test(an_idle_holder_is_named_unless_its_host_can_end_sessions),
		cmocka_unit_test(a_minor_sharer_is_not_cancelled_in_place_of_an_exempt_one),
		cmocka_unit_test(a_task_missing_from_one_ledger_comes_back_without_a_past),
		cmocka_unit_test(no_verdict_comes_before_the_warm_up_is_over),
		cmocka_unit_test(a_convoy_of_short_holders_has_no_culprit),
		cmocka_unit_test(whoever_holds_for_less_than_a_window_is_left_alone),
		cmocka_unit_test(cold_misses_are_nobodys_fault),
		cmocka_unit_test(a_stuck_action_stops_new_cancels),
		cmocka_unit_test(what_is_usual_for_a_resource_does_not_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
