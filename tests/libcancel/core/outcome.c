/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a decision: pacing, release, escalation, reruns, monitor mode.
 */
#include "test.h"

#include "scripted.h"

static void an_ignored_cancel_escalates_once_and_is_then_left_alone(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit = scripted_culprit(s, lock);
	uint64_t first_ns;
	bool excluded = false;
	(void)state;
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	first_ns = s->now_ns;
	assert_false(s->last.escalation);
	culprit->t.state = CANCEL_DELIVERED;
	scripted_event(s, CANCEL_EVENT_DELIVERED, culprit->t.id, 0);
	for (uint32_t i = 0; i < 19; i++) {
		scripted_arrive(s, SCRIPTED_ARRIVALS, lock, 0, CANCEL_EXCLUSIVE);
		scripted_step(s);
		assert_int_equal(s->decisions, 1);
		assert_int_equal(s->verdict.overload, CANCEL_RESOURCE);
		assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_AWAIT_RELEASE);
	}
	for (uint32_t i = 0; i < 60; i++) {
		scripted_arrive(s, SCRIPTED_ARRIVALS, lock, 0, CANCEL_EXCLUSIVE);
		scripted_step(s);
		if (s->verdict.decided) {
			assert_true(s->last.escalation);
			assert_int_equal(s->last.target.task, culprit->t.id);
			assert_int_equal(s->now_ns - first_ns, S);
			scripted_event(s, CANCEL_EVENT_DELIVERED, culprit->t.id, 0);
		}
		for (uint32_t k = 0; k < s->verdict.outcome_count; k++)
			excluded |= s->verdict.outcomes[k].excluded;
	}
	assert_int_equal(s->decisions, 2);
	assert_true(excluded);
	assert_int_equal(s->verdict.overload, CANCEL_REGULAR);
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_IGNORES_CANCELS);
	assert_int_equal(s->verdict.held.task, culprit->t.id);
	assert_true(s->verdict.held.score_micro > 0);
	scripted_free(s);
}

static void an_acknowledged_cancel_does_not_escalate(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit = scripted_culprit(s, lock);
	(void)state;
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	culprit->t.state = CANCEL_DELIVERED;
	scripted_event(s, CANCEL_EVENT_DELIVERED, culprit->t.id, 0);
	scripted_event(s, CANCEL_EVENT_ACKNOWLEDGED, culprit->t.id, 0);
	scripted_crowd(s, lock, CANCEL_EXCLUSIVE, 60);
	assert_int_equal(s->decisions, 1);
	scripted_free(s);
}

static void a_task_blocked_when_the_action_came_is_asked_again_afterwards(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit = scripted_culprit(s, lock);
	(void)state;
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	culprit->t.state = CANCEL_BLOCKED;
	scripted_event(s, CANCEL_EVENT_IGNORED, culprit->t.id, 0);
	for (uint32_t i = 0; i < 10; i++) {
		scripted_arrive(s, SCRIPTED_ARRIVALS, lock, 0, CANCEL_EXCLUSIVE);
		scripted_step(s);
		assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_BLOCKED);
		assert_int_equal(s->verdict.held.task, culprit->t.id);
	}
	culprit->t.state = CANCEL_RUNNING;
	scripted_step(s);
	assert_int_equal(s->decisions, 2);
	assert_true(s->last.escalation);
	scripted_free(s);
}

/* Twelve culprits, each with a table of its own; each is gone in the window after its cancel. */
static void cancels_are_paced_by_gap_and_bucket(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0), count = 0;
	struct scripted_task *culprits[12];
	uint64_t decided_ns[12];
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	for (uint32_t i = 0; i < 12; i++) {
		culprits[i] = scripted_task(s, 0);
		scripted_hold(s, culprits[i], lock, i, CANCEL_EXCLUSIVE);
		scripted_arrive(s, 10, lock, i, CANCEL_EXCLUSIVE);
	}
	for (uint32_t w = 0; w < 120 && count < 8; w++) {
		scripted_step(s);
		if (!s->verdict.decided)
			continue;
		decided_ns[count++] = s->now_ns;
		for (uint32_t i = 0; i < 12; i++) {
			if (culprits[i]->live && culprits[i]->t.id == s->last.target.task) {
				scripted_event(s, CANCEL_EVENT_RELEASED, culprits[i]->t.id, 0);
				scripted_end(s, culprits[i]);
			}
		}
	}
	assert_int_equal(count, 8);
	for (uint32_t i = 1; i < count; i++)
		assert_true(decided_ns[i] - decided_ns[i - 1] >= 100 * MS);
	/* A burst of five, then one a second, less what came in meanwhile. */
	assert_true(decided_ns[4] - decided_ns[0] <= 500 * MS);
	assert_true(decided_ns[5] - decided_ns[0] >= 900 * MS);
	assert_true(decided_ns[7] - decided_ns[6] >= 900 * MS);
	scripted_free(s);
}

static void the_next_cancel_waits_until_the_last_target_has_released(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *first, *second;
	uint64_t first_ns;
	(void)state;
	first = scripted_culprit(s, lock);
	s->now_ns += MS;
	second = scripted_task(s, 0);
	scripted_hold(s, second, lock, 1, CANCEL_EXCLUSIVE);
	scripted_arrive(s, 30, lock, 1, CANCEL_EXCLUSIVE);
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	first_ns = s->now_ns;
	assert_int_equal(s->last.target.task, first->t.id);
	assert_int_equal(s->last.runner_up.task, second->t.id);
	while (s->now_ns - first_ns < 300 * MS) {
		scripted_step(s);
		assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_AWAIT_RELEASE);
	}
	scripted_event(s, CANCEL_EVENT_RELEASED, first->t.id, 0);
	scripted_end(s, first);
	scripted_step(s);
	assert_int_equal(s->decisions, 2);
	assert_int_equal(s->last.target.task, second->t.id);
	scripted_free(s);
}

static void monitor_mode_decides_each_task_once_and_delivers_nothing(void **state)
{
	const struct cancel_pipeline_config monitor = { .struct_size = sizeof monitor };
	struct scripted *s = scripted_new(&monitor);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit, *another;
	(void)state;
	culprit = scripted_culprit(s, lock);
	scripted_crowd(s, lock, CANCEL_EXCLUSIVE, 40);
	assert_int_equal(s->decisions, 1);
	assert_int_equal(s->cancels, 0);
	assert_false(s->last.acted);
	assert_int_equal(s->last.target.task, culprit->t.id);
	assert_int_equal(s->verdict.overload, CANCEL_RESOURCE);
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_MONITOR);
	scripted_end(s, culprit);
	another = scripted_task(s, 0);
	scripted_hold(s, another, lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 10; i++)
		scripted_step(s);
	assert_int_equal(s->decisions, 2);
	assert_int_equal(s->last.target.task, another->t.id);
	scripted_free(s);
}

/* The dry run is over: the culprit it named is still there. */
static void what_monitor_mode_named_is_cancelled_once_told_to_act(void **state)
{
	struct cancel_pipeline_config config = { .struct_size = sizeof config };
	struct scripted *s = scripted_new(&config);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit;
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	culprit = scripted_task(s, 0);
	culprit->t.signature = 4711;
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	assert_int_equal(s->cancels, 0);
	config.act = true;
	assert_int_equal(cancel_pipeline_configure(s->pipeline, &config), 0);
	scripted_step(s);
	scripted_step(s); /* the gap between decisions */
	assert_int_equal(s->cancels, 1);
	assert_int_equal(s->last.target.task, culprit->t.id);
	assert_false(s->last.escalation);
	assert_false(s->last.returning);
	scripted_free(s);
}

static void a_culprit_that_comes_again_is_recognised(void **state)
{
	const struct cancel_pipeline_config config = {
		.struct_size = sizeof config, .act = true, .quarantine_ms = 60000
	};
	struct scripted *s = scripted_new(&config);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	(void)state;
	for (uint32_t round = 0; round < 2; round++) {
		struct scripted_task *culprit;
		uint32_t before;
		scripted_healthy(s, SCRIPTED_START);
		before = s->decisions;
		culprit = scripted_task(s, 0);
		culprit->t.signature = 4711;
		scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
		for (uint32_t i = 0; i < 10 && s->decisions == before; i++) {
			scripted_arrive(s, SCRIPTED_ARRIVALS, lock, 0, CANCEL_EXCLUSIVE);
			scripted_step(s);
		}
		assert_int_equal(s->decisions, before + 1);
		assert_int_equal(s->last.returning, round == 1);
		assert_int_equal(s->last.quarantine_until_ns, s->now_ns + 60 * S);
		scripted_end_all_but(s, NULL);
	}
	scripted_free(s);
}

static void an_outcome_is_timed_from_onset_to_recovery(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit = scripted_culprit(s, lock);
	const struct cancel_times *t;
	uint64_t begin_ns;
	(void)state;
	begin_ns = s->now_ns;
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	s->now_ns += 2 * MS;
	scripted_event(s, CANCEL_EVENT_DELIVERED, culprit->t.id, 0);
	culprit->t.state = CANCEL_DELIVERED;
	s->now_ns += 3 * MS;
	scripted_event(s, CANCEL_EVENT_ACKNOWLEDGED, culprit->t.id, 0);
	s->now_ns += 5 * MS;
	scripted_event(s, CANCEL_EVENT_RELEASED, culprit->t.id, 0);
	scripted_event(s, CANCEL_EVENT_ENDED, culprit->t.id, 160 * MS);
	scripted_end_all_but(s, NULL);
	scripted_healthy(s, 1);
	assert_int_equal(s->verdict.calm_mask, 0);
	scripted_healthy(s, 40);
	t = &s->last_outcome.times;
	assert_int_equal(t->onset_ns, begin_ns + SCRIPTED_SLO_NS);
	assert_int_equal(t->suspected_ns, begin_ns + 50 * MS);
	assert_int_equal(t->decided_ns, begin_ns + 100 * MS);
	assert_int_equal(t->delivered_ns, begin_ns + 102 * MS);
	assert_int_equal(t->acknowledged_ns, begin_ns + 105 * MS);
	assert_int_equal(t->released_ns, begin_ns + 110 * MS);
	assert_int_equal(t->recovered_ns, begin_ns + 160 * MS);
	assert_int_equal(s->last_outcome.wasted_ns, 160 * MS);
	assert_true(s->last_outcome.final);
	assert_int_equal(s->verdict.overload, CANCEL_HEALTHY);
	assert_int_equal(s->verdict.calm_mask, 1);
	assert_false(s->verdict.precise);
	scripted_free(s);
}

/* A report with an SLO of its own is late before it harms anybody. */
static void the_onset_is_that_of_the_first_victim(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *report;
	uint64_t harm_ns;
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	report = scripted_task(s, SCRIPTED_SLO_NS);
	scripted_hold(s, report, lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 8; i++) /* late alone, and nothing else completes */
		scripted_step(s);
	harm_ns = s->now_ns;
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	assert_int_equal(s->last.target.task, report->t.id);
	assert_int_equal(s->last.onset_ns, harm_ns + SCRIPTED_SLO_NS);
	scripted_step(s);
	assert_int_equal(s->last_outcome.times.onset_ns, harm_ns + SCRIPTED_SLO_NS);
	scripted_free(s);
}

static void a_rerun_is_reported_with_its_wait_and_never_cancelled(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit = scripted_culprit(s, lock);
	(void)state;
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	scripted_event(s, CANCEL_EVENT_DELIVERED, culprit->t.id, 0);
	scripted_release(s, culprit, lock, 0);
	scripted_event(s, CANCEL_EVENT_RELEASED, culprit->t.id, 0);
	scripted_end_all_but(s, culprit);
	scripted_healthy(s, 40);
	scripted_event(s, CANCEL_EVENT_RERUN, culprit->t.id, 0);
	culprit->t.state = CANCEL_RUNNING;
	culprit->t.flags |= CANCEL_RERUNNING;
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	scripted_healthy(s, 1);
	assert_int_equal(s->last_outcome.reruns, 1);
	assert_int_equal(s->last_outcome.rerun_wait_ns, 2 * S);
	assert_true(s->last_outcome.final);
	scripted_crowd(s, lock, CANCEL_EXCLUSIVE, 30);
	assert_int_equal(s->decisions, 1);
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_ALREADY_CANCELLED);
	scripted_free(s);
}

static void one_slow_rollback_does_not_protect_the_next(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit = scripted_culprit(s, lock);
	struct scripted_task *next;
	uint64_t begin_ns;
	(void)state;
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	culprit->t.state = CANCEL_DELIVERED;
	scripted_event(s, CANCEL_EVENT_DELIVERED, culprit->t.id, 0);
	scripted_event(s, CANCEL_EVENT_ACKNOWLEDGED, culprit->t.id, 0);
	for (uint32_t i = 0; i < 100; i++)
		scripted_step(s);
	scripted_event(s, CANCEL_EVENT_RELEASED, culprit->t.id, 0);
	scripted_end_all_but(s, NULL);
	scripted_healthy(s, 40);
	s->decisions = 0;
	begin_ns = s->now_ns;
	next = scripted_task(s, 0);
	scripted_hold(s, next, lock, 0, CANCEL_EXCLUSIVE);
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	/* a cancel takes longer than that, and so it is told */
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_SHORT_HOLD);
	assert_int_equal(s->verdict.held.task, next->t.id);
	assert_int_equal(s->verdict.overload, CANCEL_REGULAR);
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 100);
	assert_int_equal(s->decisions, 1);
	assert_int_equal(s->now_ns - begin_ns, S); /* not the five that the first took */
	scripted_free(s);
}

/* What the core remembers of a task must not reach the next one on its slot. */
static void a_slot_reused_starts_clean(void **state)
{
	const struct cancel_pipeline_config monitor = { .struct_size = sizeof monitor };
	struct scripted *s = scripted_new(&monitor);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0), slot;
	struct scripted_task *culprit = scripted_culprit(s, lock);
	(void)state;
	slot = culprit->t.slot;
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	assert_int_equal(s->decisions, 1);
	scripted_end(s, culprit);
	culprit = scripted_task(s, 0);
	assert_int_equal(culprit->t.slot, slot);
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 5; i++)
		scripted_step(s);
	assert_int_equal(s->decisions, 2);
	assert_int_equal(s->last.target.task, culprit->t.id);
	assert_true(s->last.target.used_micro[lock] <= 250000);
	scripted_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ignored_cancel_escalates_once_and_is_then_left_alone),
		cmocka_unit_test(an_acknowledged_cancel_does_not_escalate),
		cmocka_unit_test(a_task_blocked_when_the_action_came_is_asked_again_afterwards),
		cmocka_unit_test(cancels_are_paced_by_gap_and_bucket),
		cmocka_unit_test(the_next_cancel_waits_until_the_last_target_has_released),
		cmocka_unit_test(monitor_mode_decides_each_task_once_and_delivers_nothing),
		cmocka_unit_test(what_monitor_mode_named_is_cancelled_once_told_to_act),
		cmocka_unit_test(a_culprit_that_comes_again_is_recognised),
		cmocka_unit_test(an_outcome_is_timed_from_onset_to_recovery),
		cmocka_unit_test(the_onset_is_that_of_the_first_victim),
		cmocka_unit_test(a_rerun_is_reported_with_its_wait_and_never_cancelled),
		cmocka_unit_test(one_slow_rollback_does_not_protect_the_next),
		cmocka_unit_test(a_slot_reused_starts_clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
