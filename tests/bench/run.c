/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bench's runs against a fake target, in real time but with nothing asserted about how fast:
 * the schedule, the open loop, the tasks, the rivals that tick.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/cases/case.h"
#include "bench/machine/machine.h"
#include "bench/report/measure.h"
#include "bench/policies/policy.h"
#include "bench/experiment/run.h"
#include "tests/bench/fake_target.h"

#define MS	   1000000u
#define RATE_QPS   500
#define LENGTH_NS  (1500 * (uint64_t)MS)
#define CULPRIT_NS (300 * (uint64_t)MS)

/* A machine whose others have more of it each second. */
struct machine {
	int seconds;
};
static struct machine machine;
static int machines_open;

struct machine *machine_open(pid_t server)
{
	assert_int_equal(server, 0);
	machines_open++;
	machine.seconds = 0;
	return &machine;
}

void machine_read(struct machine *read, struct machine_second *second)
{
	*second = (struct machine_second){
		.known = true, .cpus = 2, .others = ++read->seconds, .waited = 2
	};
}

void machine_close(struct machine *closed)
{
	machines_open -= closed == &machine;
}

static void ask(const void *plan, uint64_t draw, struct target_request *request)
{
	(void)plan;
	request->sql = "SELECT 1";
	request->args[0] = (int64_t)(draw & 0xffff);
	request->arg_count = 1;
}

static const struct case_plan plan = { .ask = ask,
	.actor_count = 1,
	.actors = { { .name = "holder",
		.label = LABEL_CULPRIT,
		.start_ns = CULPRIT_NS,
		.begin = "BEGIN",
		.end = "COMMIT",
		.statements = { FAKE_HOLD } } } };

static void make(struct schedule *schedule, uint64_t seed, bool poisson)
{
	const char *why;
	struct schedule_options options = { .struct_size = sizeof options,
		.seed = seed,
		.rate_qps = RATE_QPS,
		.length_ns = LENGTH_NS,
		.poisson = poisson };
	assert_int_equal(schedule_make(&options, schedule, &why), 0);
}

static void run(const struct bench_policy *policy, bool culprits, struct measures *measures,
	struct samples **kept)
{
	struct schedule schedule;
	struct bench_options options;
	struct samples *data;
	struct spans spans;
	char error[TARGET_ERROR_MAX] = "";
	options_defaults(&options);
	make(&schedule, 1, false);
	struct run_setup setup = { .title = policy->name,
		.options = &options,
		.plan = &plan,
		.schedule = &schedule,
		.slo_ns = 50 * (uint64_t)MS,
		.policy = policy,
		.culprits = culprits,
		.waiting = culprits,
		.quiet = true };
	assert_int_equal(run_execute(&setup, &data, error), 0);
	measure_spans(data, &spans);
	measure_run(data, &spans, measures);
	schedule_free(&schedule);
	if (kept)
		*kept = data;
	else
		samples_free(data);
}

static void one_seed_gives_one_schedule(void **state)
{
	(void)state;
	struct schedule first, again, other;
	make(&first, 7, true);
	make(&again, 7, true);
	make(&other, 8, true);
	assert_int_equal(first.count, again.count);
	assert_memory_equal(first.arrivals, again.arrivals, first.count * sizeof *first.arrivals);
	assert_int_not_equal(first.arrivals[0].due_ns, other.arrivals[0].due_ns);
	schedule_free(&first);
	schedule_free(&again);
	schedule_free(&other);
}

static void steps_change_the_rate_and_only_the_rate(void **state)
{
	(void)state;
	const char *why;
	struct schedule schedule;
	struct schedule_step steps[] = { { 0, 100 }, { LENGTH_NS / 2, 50 } };
	struct schedule_options options = { .struct_size = sizeof options,
		.seed = 1,
		.rate_qps = RATE_QPS,
		.length_ns = LENGTH_NS,
		.steps = steps,
		.step_count = 2 };
	assert_int_equal(schedule_make(&options, &schedule, &why), 0);
	size_t first_half = 0;
	while (schedule.arrivals[first_half].due_ns < LENGTH_NS / 2)
		first_half++;
	assert_in_range(first_half, 373, 376);
	assert_in_range(schedule.count - first_half, 186, 189);
	schedule_free(&schedule);
}

static void a_schedule_beyond_memory_is_refused(void **state)
{
	(void)state;
	const char *why = NULL;
	struct schedule schedule;
	struct schedule_options options = {
		.struct_size = sizeof options, .rate_qps = 1e6, .length_ns = 3600ull * 1000 * MS
	};
	assert_int_equal(schedule_make(&options, &schedule, &why), -1);
	assert_non_null(why);
}

static void every_question_is_answered_once_without_a_culprit(void **state)
{
	(void)state;
	struct measures measures;
	run(&policy_none, false, &measures, NULL);
	assert_true(measures.ok > 0);
	assert_int_equal(
		measures.offered, measures.ok + measures.skipped); /* by a late generator */
	assert_int_equal(measures.culprits, 0);
	assert_int_equal(measures.unanswered, 0);
}

static void each_whole_second_of_the_machine_is_kept(void **state)
{
	(void)state;
	struct measures measures;
	struct samples *data;
	run(&policy_none, false, &measures, &data);
	assert_int_equal(data->watch.count, LENGTH_NS / 1000000000u);
	assert_true(data->watch.seconds[0].known);
	assert_true(data->watch.seconds[0].others == 1);
	assert_int_equal(machines_open, 0);
	samples_free(data);
}

static void rejected_questions_are_counted_as_dropped(void **state)
{
	(void)state;
	struct measures measures;
	fake_settings.reject_all = true;
	run(&policy_none, false, &measures, NULL);
	fake_settings.reject_all = false;
	assert_true(measures.rejected > 0);
	assert_int_equal(measures.rejected + measures.skipped, measures.offered);
	assert_int_equal(measures.victims_dropped, measures.rejected + measures.skipped);
}

static void without_control_the_culprit_holds_everybody_to_the_end(void **state)
{
	(void)state;
	struct measures measures;
	struct samples *data;
	run(&policy_none, true, &measures, &data);
	assert_true(measures.late_share_during > 0.5);
	assert_int_equal(measures.culprits, 1);
	assert_int_equal(measures.culprits_completed, 0);
	assert_int_equal(measures.cancels, 0);
	assert_string_equal(data->tasks[0].name, "holder");
	samples_free(data);
}

static void longest_kills_the_culprit_and_notes_it(void **state)
{
	(void)state;
	struct measures measures;
	struct samples *data;
	run(&policy_longest, true, &measures, &data);
	assert_int_equal(measures.cancels, 1);
	assert_int_equal(measures.wrong_cancels, 0);
	assert_true(data->tasks[0].cancelled);
	assert_true(data->cancels[0].released_ns >= CULPRIT_NS);
	assert_int_equal(data->cancels[0].released_ns, data->tasks[0].end_ns);
	samples_free(data);
}

static void a_decision_is_noted_once_with_its_last_times(void **state)
{
	(void)state;
	struct measures measures;
	struct samples *data;
	run(&policy_cancel, true, &measures, &data);
	assert_int_equal(measures.cancels, 1);
	assert_int_equal(measures.decisions, 1);
	assert_int_equal(data->cancels[0].label, LABEL_CULPRIT);
	assert_string_equal(data->cancels[0].why, "it holds everybody");
	assert_true(data->cancels[0].released_ns >= data->cancels[0].decided_ns);
	assert_int_equal(measures.victims_dropped, 0);
	samples_free(data);
}

static void a_target_that_does_not_open_fails_with_its_line(void **state)
{
	(void)state;
	struct schedule schedule;
	struct bench_options options;
	struct samples *data = (struct samples *)1;
	char error[TARGET_ERROR_MAX] = "";
	options_defaults(&options);
	make(&schedule, 1, false);
	fake_settings.refuse_open = true;
	struct run_setup setup = { .title = "none",
		.options = &options,
		.plan = &plan,
		.schedule = &schedule,
		.policy = &policy_none,
		.quiet = true };
	assert_int_equal(run_execute(&setup, &data, error), -1);
	fake_settings.refuse_open = false;
	assert_null(data);
	assert_string_equal(error, "the fake refuses");
	schedule_free(&schedule);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_seed_gives_one_schedule),
		cmocka_unit_test(steps_change_the_rate_and_only_the_rate),
		cmocka_unit_test(a_schedule_beyond_memory_is_refused),
		cmocka_unit_test(every_question_is_answered_once_without_a_culprit),
		cmocka_unit_test(each_whole_second_of_the_machine_is_kept),
		cmocka_unit_test(rejected_questions_are_counted_as_dropped),
		cmocka_unit_test(without_control_the_culprit_holds_everybody_to_the_end),
		cmocka_unit_test(longest_kills_the_culprit_and_notes_it),
		cmocka_unit_test(a_decision_is_noted_once_with_its_last_times),
		cmocka_unit_test(a_target_that_does_not_open_fails_with_its_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
