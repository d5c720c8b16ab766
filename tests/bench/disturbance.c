/* SPDX-License-Identifier: Apache-2.0 */
/* When a run counts as disturbed, from made-up readings, and what is done about it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "bench/machine/disturbance.h"

#define SECONDS	 10
#define LIMIT_MS 50.0

static const struct machine_second calm = {
	.known = true, .cpus = 2, .own = 1.2, .others = 0.03, .waited = 0.4
};
static const struct machine_second unknown;

/* Ten calm seconds, of which `count` are replaced. */
static struct disturbance judge(struct machine_second other, uint32_t count, double lag_ms)
{
	struct machine_second seconds[SECONDS];
	double lags_ms[SECONDS];
	struct disturbance disturbance;
	for (uint32_t i = 0; i < SECONDS; i++) {
		seconds[i] = i < count ? other : calm;
		lags_ms[i] = i < count ? lag_ms : 0.1;
	}
	disturbance_judge(seconds, lags_ms, SECONDS, LIMIT_MS, &disturbance);
	return disturbance;
}

/* ---- One run --------------------------------------------------------------------------------- */

static void cpus_that_others_had_while_threads_waited_are_a_disturbance(void **state)
{
	(void)state;
	struct machine_second second = calm;
	second.others = 0.5;
	struct disturbance disturbance = judge(second, 1, 0.1);
	assert_true(disturbance.disturbed);
	assert_int_equal(disturbance.disturbed_seconds, 1);
	assert_non_null(strstr(disturbance.why, "second 1"));
	assert_non_null(strstr(disturbance.why, "0.50 of 2 CPUs"));
}

static void threads_that_wait_for_each_other_are_no_disturbance(void **state)
{
	(void)state;
	struct machine_second overload = calm;
	overload.own = 1.95;
	overload.waited = 7;
	assert_false(judge(overload, SECONDS, 0.1).disturbed);
}

static void others_on_cpus_that_nobody_waited_for_are_no_disturbance(void **state)
{
	(void)state;
	struct machine_second aside = calm;
	aside.cpus = 64;
	aside.others = 40;
	aside.waited = 0.01;
	assert_false(judge(aside, SECONDS, 0.1).disturbed);
}

static void what_a_hypervisor_takes_needs_nobody_to_wait(void **state)
{
	(void)state;
	struct machine_second stolen = calm;
	stolen.stolen = 0.3;
	stolen.waited = 0;
	assert_true(judge(stolen, 1, 0.1).disturbed);
}

static void a_generator_that_lags_alone_is_a_disturbance(void **state)
{
	(void)state;
	struct machine_second paused = calm;
	paused.waited = 0.01;
	struct disturbance disturbance = judge(paused, 1, 60);
	assert_true(disturbance.disturbed);
	assert_non_null(strstr(disturbance.why, "lagged by 60 ms"));
	assert_false(judge(paused, 1, 40).disturbed);
}

static void a_lag_that_an_overload_of_its_own_explains_is_none(void **state)
{
	(void)state;
	struct machine_second overload = calm;
	overload.waited = 7;
	assert_false(judge(overload, 1, 60).disturbed);
}

static void without_readings_the_lag_alone_is_judged(void **state)
{
	(void)state;
	assert_false(judge(unknown, SECONDS, 40).disturbed);
	struct disturbance disturbance = judge(unknown, SECONDS, 60);
	assert_true(disturbance.disturbed);
	assert_true(isnan(disturbance.others_ms));
	assert_true(isnan(disturbance.run_queue_ms));
}

static void one_second_in_a_long_run_is_let_pass(void **state)
{
	(void)state;
	struct machine_second seconds[100];
	double lags_ms[100] = { 0 };
	struct disturbance disturbance;
	for (int i = 0; i < 100; i++)
		seconds[i] = calm;
	for (int i = 0; i < 6; i++) {
		seconds[10 * i].others = 1;
		disturbance_judge(seconds, lags_ms, 100, LIMIT_MS, &disturbance);
		assert_int_equal(disturbance.disturbed, i == 5);
		assert_int_equal(disturbance.disturbed_seconds, i + 1);
	}
}

static void the_means_of_all_seconds_are_kept(void **state)
{
	(void)state;
	struct machine_second second = calm;
	second.own = 0.7;
	second.others = 1.03;
	second.waited = 2.4;
	struct disturbance disturbance = judge(second, 5, 20);
	assert_float_equal((float)disturbance.own_ms, 950, 0.1);
	assert_float_equal((float)disturbance.others_ms, 530, 0.1);
	assert_float_equal((float)disturbance.run_queue_ms, 1400, 0.1);
	assert_float_equal((float)disturbance.taken_ms, 530, 0.1);
	assert_float_equal((float)disturbance.lag_ms, 20, 0.1);
}

static void the_worst_second_is_the_one_that_is_named(void **state)
{
	(void)state;
	struct machine_second seconds[] = { calm, calm, calm };
	const double lags_ms[] = { 0, 0, 0 };
	struct disturbance disturbance;
	seconds[0].others = 0.15;
	seconds[2].others = 1.5;
	disturbance_judge(seconds, lags_ms, 3, LIMIT_MS, &disturbance);
	assert_non_null(strstr(disturbance.why, "second 3"));
}

/* ---- Again ----------------------------------------------------------------------------------- */

struct series {
	int disturbed, fails_at, runs; /* so many are disturbed before one is not */
};

static int run(void *arg, struct disturbance *disturbance)
{
	struct series *series = arg;
	*disturbance = (struct disturbance){ 0 };
	if (++series->runs == series->fails_at)
		return -1;
	if (series->runs <= series->disturbed)
		disturbance_mark(disturbance, "run %d was", series->runs);
	return 0;
}

static int retry(struct series *series, struct disturbance *last)
{
	const struct disturbance_retry retry = {
		.title = "a run", .runs = 3, .quiet = true, .run = run, .arg = series
	};
	return disturbance_retry(&retry, last);
}

static void an_undisturbed_run_is_made_once(void **state)
{
	(void)state;
	struct series series = { 0 };
	struct disturbance last;
	assert_int_equal(retry(&series, &last), 0);
	assert_int_equal(series.runs, 1);
	assert_false(last.disturbed);
}

static void a_disturbed_run_is_made_again(void **state)
{
	(void)state;
	struct series series = { .disturbed = 1 };
	struct disturbance last;
	assert_int_equal(retry(&series, &last), 0);
	assert_int_equal(series.runs, 2);
	assert_false(last.disturbed);
}

static void a_run_that_stays_disturbed_is_given_up_with_its_mark(void **state)
{
	(void)state;
	struct series series = { .disturbed = 9 };
	struct disturbance last;
	assert_int_equal(retry(&series, &last), 0);
	assert_int_equal(series.runs, 3);
	assert_true(last.disturbed);
	assert_string_equal(last.why, "run 3 was");
}

static void a_run_that_fails_is_not_made_again(void **state)
{
	(void)state;
	struct series series = { .disturbed = 9, .fails_at = 2 };
	struct disturbance last;
	assert_int_equal(retry(&series, &last), -1);
	assert_int_equal(series.runs, 2);
}

static void the_refusal_is_one_line_with_the_reason_and_the_way_on(void **state)
{
	(void)state;
	struct disturbance disturbance = { 0 };
	char error[256];
	disturbance_mark(&disturbance, "others had it");
	disturbance_mark(&disturbance, "a second reason");
	assert_int_equal(disturbance_refuse("reference", &disturbance, error, sizeof error), 3);
	assert_non_null(strstr(error, "the reference is not credible: others had it"));
	assert_non_null(strstr(error, "--allow-disturbed"));
	assert_null(strchr(error, '\n'));
}

/* ---- Repetitions ----------------------------------------------------------------------------- */

static void disturbed_repetitions_are_left_out_while_there_are_others(void **state)
{
	(void)state;
	static const enum repetition_state states[] = { REPETITION_GOOD, REPETITION_DISTURBED,
		REPETITION_GOOD, REPETITION_MISSING };
	struct repetition_choice choice;
	disturbance_choose(states, 4, &choice);
	assert_false(choice.disturbed);
	assert_int_equal(choice.used_count, 2);
	assert_int_equal(choice.used[1], 2);
	assert_int_equal(choice.left_out_count, 2);
	assert_int_equal(choice.left_out[0], 1);
	assert_int_equal(choice.left_out[1], 3);
}

static void a_row_of_disturbed_repetitions_keeps_and_marks_them(void **state)
{
	(void)state;
	static const enum repetition_state states[] = { REPETITION_DISTURBED, REPETITION_MISSING,
		REPETITION_DISTURBED };
	struct repetition_choice choice;
	disturbance_choose(states, 3, &choice);
	assert_true(choice.disturbed);
	assert_int_equal(choice.used_count, 2);
	assert_int_equal(choice.left_out_count, 1);
	assert_int_equal(choice.left_out[0], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus_that_others_had_while_threads_waited_are_a_disturbance),
		cmocka_unit_test(threads_that_wait_for_each_other_are_no_disturbance),
		cmocka_unit_test(others_on_cpus_that_nobody_waited_for_are_no_disturbance),
		cmocka_unit_test(what_a_hypervisor_takes_needs_nobody_to_wait),
		cmocka_unit_test(a_generator_that_lags_alone_is_a_disturbance),
		cmocka_unit_test(a_lag_that_an_overload_of_its_own_explains_is_none),
		cmocka_unit_test(without_readings_the_lag_alone_is_judged),
		cmocka_unit_test(one_second_in_a_long_run_is_let_pass),
		cmocka_unit_test(the_means_of_all_seconds_are_kept),
		cmocka_unit_test(the_worst_second_is_the_one_that_is_named),
		cmocka_unit_test(an_undisturbed_run_is_made_once),
		cmocka_unit_test(a_disturbed_run_is_made_again),
		cmocka_unit_test(a_run_that_stays_disturbed_is_given_up_with_its_mark),
		cmocka_unit_test(a_run_that_fails_is_not_made_again),
		cmocka_unit_test(the_refusal_is_one_line_with_the_reason_and_the_way_on),
		cmocka_unit_test(disturbed_repetitions_are_left_out_while_there_are_others),
		cmocka_unit_test(a_row_of_disturbed_repetitions_keeps_and_marks_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
