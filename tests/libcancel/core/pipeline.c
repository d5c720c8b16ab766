/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>

#include "scripted.h"

static void the_holder_of_a_lock_is_cancelled_within_200_ms(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit = scripted_culprit(s, lock);
	(void)state;
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 20);
	assert_int_equal(s->cancels, 1);
	assert_int_equal(s->last.target.task, culprit->t.id);
	assert_int_equal(s->last.runner_up.task, 0);
	assert_true(s->last.decided_ns - s->last.onset_ns <= 200 * MS);
	assert_true(s->last.contention_ppm[lock] > 900000);
	scripted_free(s);
}

/* Everything a log line needs, largest part first. */
static void a_decision_explains_itself(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	uint32_t table = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit, *minor, *exempt;
	struct cancel_explanation x;
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	culprit = scripted_task(s, 0);
	culprit->t.progress_done = 1;
	culprit->t.progress_expected = 4;
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	scripted_hold(s, culprit, table, 0, CANCEL_EXCLUSIVE);
	minor = scripted_task(s, 0);
	scripted_hold(s, minor, table, 1, CANCEL_EXCLUSIVE);
	exempt = scripted_task(s, 0);
	exempt->t.flags |= CANCEL_EXEMPT;
	scripted_hold(s, exempt, table, 2, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 2; i++) {
		scripted_arrive(s, 12, lock, 0, CANCEL_EXCLUSIVE);
		scripted_arrive(s, 4, table, 0, CANCEL_EXCLUSIVE);
		scripted_arrive(s, 2, table, 1, CANCEL_EXCLUSIVE);
		scripted_arrive(s, 2, table, 2, CANCEL_EXCLUSIVE);
		scripted_step(s);
	}
	assert_int_equal(s->decisions, 1);
	cancel_explain(&s->last, &x);
	assert_int_equal(x.task, culprit->t.id);
	assert_int_equal(x.part_count, 2);
	assert_int_equal(x.parts[0].resource, lock);
	assert_int_equal(x.parts[1].resource, table);
	assert_int_equal(x.parts[0].gain_micro, 300000); /* 100 ms at a quarter */
	assert_int_equal(x.parts[0].blame_ppm, 1000000);
	assert_int_equal(x.parts[1].blame_ppm, 500000);
	assert_int_equal(x.score_micro, x.parts[0].score_micro + x.parts[1].score_micro);
	assert_int_equal(x.runner_up_task, minor->t.id);
	assert_true(x.runner_up_score_micro < x.score_micro);
	assert_int_equal(x.held.task, exempt->t.id);
	assert_int_equal(x.held.held_back, CANCEL_CAUSE_EXEMPT);
	assert_int_equal(x.late_ns, 90 * MS);
	assert_int_equal(x.age_ns, 100 * MS);
	assert_int_equal(x.remaining_ns, 300 * MS);
	assert_int_equal(x.progress_ppm, 250000);
	scripted_free(s);
}

static void every_policy_and_estimator_runs_by_name(void **state)
{
	(void)state;
	for (uint32_t i = 0; cancel_policies[i]; i++) {
		for (uint32_t k = 0; cancel_estimators[k]; k++) {
			const struct cancel_pipeline_config config = { .struct_size = sizeof config,
				.act = true,
				.policy = cancel_policies[i],
				.estimator = cancel_estimators[k] };
			bool none = cancel_policies[i] == cancel_policy_find("none");
			struct scripted *s = scripted_new(&config);
			uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
			scripted_healthy(s, SCRIPTED_START);
			scripted_hold(s, scripted_task(s, 0), lock, 0, CANCEL_EXCLUSIVE);
			scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
			assert_int_equal(s->cancels, !none);
			if (none)
				assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_POLICY);
			else
				assert_ptr_equal(s->last.policy, cancel_policies[i]->name);
			scripted_free(s);
		}
	}
}

static void every_cause_has_a_name(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < CANCEL_CAUSE_COUNT; i++)
		assert_non_null(cancel_cause_name((enum cancel_cause)i));
	assert_string_equal(cancel_cause_name(CANCEL_CAUSE_COUNT), "unknown");
}

static void numbers_out_of_range_are_refused(void **state)
{
	const struct cancel_pipeline_config bad[] = {
		{ .struct_size = 0 },
		{ .struct_size = sizeof bad[0], .contention_ratio = 1001 },
		{ .struct_size = sizeof bad[0], .warm_up_ms = 3600001 },
		{ .struct_size = sizeof bad[0], .task_limit = (1u << 20) + 1 },
		{ .struct_size = sizeof bad[0], .late_share_ppm = CANCEL_PPM + 1 },
		{ .struct_size = sizeof bad[0], .contention_ppm = CANCEL_PPM + 1 },
		{ .struct_size = sizeof bad[0], .blame_ppm = CANCEL_PPM + 1 },
		{ .struct_size = sizeof bad[0], .held_back_ppm = CANCEL_PPM + 1 },
		{ .struct_size = sizeof bad[0], .evict_share_ppm = CANCEL_PPM + 1 },
		{ .struct_size = sizeof bad[0], .pace_share_ppm = CANCEL_PPM + 1 },
	};
	(void)state;
	assert_int_equal(cancel_pipeline_bytes(NULL), 0);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(cancel_pipeline_bytes(&bad[i]), 0);
}

static void too_little_memory_is_refused(void **state)
{
	const struct cancel_pipeline_config config = { .struct_size = sizeof config,
		.task_limit = 1 };
	size_t bytes = cancel_pipeline_bytes(&config);
	struct cancel_pipeline *p = malloc(bytes);
	(void)state;
	assert_non_null(p);
	assert_int_equal(cancel_pipeline_init(p, bytes - 1, &config), CANCEL_ENOMEM);
	assert_int_equal(cancel_pipeline_init(NULL, bytes, &config), CANCEL_EINVAL);
	assert_int_equal(cancel_pipeline_init(p, bytes, &config), 0);
	free(p);
}

/* A caller built against an older, shorter structure. */
static void a_shorter_configuration_means_defaults(void **state)
{
	struct cancel_pipeline_config whole = { .struct_size = sizeof whole };
	struct cancel_pipeline_config prefix = {
		.struct_size = offsetof(struct cancel_pipeline_config, act), .quarantine_ms = 7
	};
	(void)state;
	assert_int_equal(cancel_pipeline_bytes(&prefix), cancel_pipeline_bytes(&whole));
}

/* A caller built against a newer, longer structure. */
static void a_longer_configuration_is_read_as_far_as_it_is_known(void **state)
{
	struct {
		struct cancel_pipeline_config known;
		uint64_t unknown;
	} newer = { .known = { .struct_size = sizeof newer, .task_limit = 64 }, .unknown = 1 };
	const struct cancel_pipeline_config same = { .struct_size = sizeof same, .task_limit = 64 };

	(void)state;
	assert_int_equal(cancel_pipeline_bytes(&newer.known), cancel_pipeline_bytes(&same));
}

/* The same instant twice is no window, but its events are not lost. */
static void time_that_stands_still_is_no_window(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	scripted_hold(s, scripted_task(s, 0), lock, 0, CANCEL_EXCLUSIVE);
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	scripted_event(s, CANCEL_EVENT_DELIVERED, s->last.target.task, 0);
	scripted_judge(s);
	assert_int_equal(s->verdict.window_ns, 0);
	assert_int_equal(s->verdict.completed, 0);
	assert_int_equal(s->verdict.overload, CANCEL_SUSPECT);
	assert_true(s->verdict.precise);
	scripted_step(s);
	assert_int_equal(s->last_outcome.times.delivered_ns, s->now_ns - s->window_ns);
	scripted_free(s);
}

static void new_thresholds_keep_what_was_learned(void **state)
{
	struct cancel_pipeline_config config = {
		.struct_size = sizeof config, .act = true, .contention_ppm = CANCEL_PPM
	};
	struct scripted *s = scripted_new(&config);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	s->window_ns = 10 * MS;
	scripted_hold(s, scripted_task(s, 0), lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 20; i++) { /* a quarter of the time goes elsewhere */
		scripted_arrive(s, 3, lock, 0, CANCEL_EXCLUSIVE);
		scripted_task(s, SCRIPTED_SLO_NS);
		scripted_step(s);
	}
	assert_int_equal(s->decisions, 0);
	config.contention_ppm = CANCEL_PPM + 1;
	assert_int_equal(cancel_pipeline_configure(s->pipeline, &config), CANCEL_EINVAL);
	config.contention_ppm = 0;
	assert_int_equal(cancel_pipeline_configure(s->pipeline, &config), 0);
	scripted_step(s);
	assert_int_equal(s->decisions, 1); /* no new warm-up, no new confirmation */
	scripted_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_holder_of_a_lock_is_cancelled_within_200_ms),
		cmocka_unit_test(a_decision_explains_itself),
		cmocka_unit_test(every_policy_and_estimator_runs_by_name),
		cmocka_unit_test(every_cause_has_a_name),
		cmocka_unit_test(numbers_out_of_range_are_refused),
		cmocka_unit_test(too_little_memory_is_refused),
		cmocka_unit_test(a_shorter_configuration_means_defaults),
		cmocka_unit_test(a_longer_configuration_is_read_as_far_as_it_is_known),
		cmocka_unit_test(time_that_stands_still_is_no_window),
		cmocka_unit_test(new_thresholds_keep_what_was_learned),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
