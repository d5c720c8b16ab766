/* SPDX-License-Identifier: Apache-2.0 */
/* Bad conditions: what all else is compared with is taken again, and given up with one line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/measure.h"
#include "bench/steady.h"

#define SECONDS	  8u
#define RATE_QPS  200
#define SECOND_NS 1000000000ull
#define FLOOR_MS  5.0
#define UNLIMITED 100

static struct schedule schedule;

static int set_up(void **state)
{
	const char *why;
	(void)state;
	return schedule_make(
		&(struct schedule_options){ .struct_size = sizeof(struct schedule_options),
			.seed = 1,
			.rate_qps = RATE_QPS,
			.length_ns = SECONDS * SECOND_NS },
		&schedule, &why);
}

static int tear_down(void **state)
{
	(void)state;
	schedule_free(&schedule);
	return 0;
}

/* ---- The probe ------------------------------------------------------------------------------- */

struct script {
	const double *values;
	int count, taken;
};

static double next_value(void *arg)
{
	struct script *script = arg;
	return script->values[script->taken++ % script->count];
}

struct probed {
	int status, taken;
	double qps;
	char error[TARGET_ERROR_MAX];
};

#define PROBE(...)                                                                                 \
	probe((const double[]){ __VA_ARGS__ },                                                     \
		(int)(sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double)))

static struct probed probe(const double *values, int count)
{
	struct script script = { .values = values, .count = count };
	struct probed probed = { 0 };
	probed.status = steady_probe(next_value, &script, true, &probed.qps, probed.error);
	probed.taken = script.taken;
	return probed;
}

static void assert_settled(struct probed probed, int taken, double qps)
{
	assert_int_equal(probed.status, 0);
	assert_int_equal(probed.taken, taken);
	assert_true(probed.qps > qps - 1 && probed.qps < qps + 1);
}

static void the_median_of_samples_that_agree_is_taken_at_once(void **state)
{
	(void)state;
	assert_settled(PROBE(41000, 44000, 43000, 42000, 45000), 5, 43000);
}

static void one_starved_sample_is_what_the_median_is_for(void **state)
{
	(void)state;
	assert_settled(PROBE(3087, 44000, 43000, 42000, 45000), 5, 43000);
}

static void samples_that_disagree_are_taken_again(void **state)
{
	(void)state;
	assert_settled(PROBE(3087, 3100, 43000, 42000, 45000, 44000, 44100, 44200, 44300, 44365),
		10, 44200);
}

static void a_probe_that_never_agrees_gives_up_with_one_line(void **state)
{
	(void)state;
	struct probed probed = PROBE(3087, 3100, 9000, 42000, 44365);
	assert_int_equal(probed.status, -1);
	assert_int_equal(probed.taken, STEADY_ROUNDS * STEADY_SAMPLES);
	assert_non_null(strstr(probed.error, "3087/s to 44365/s"));
	assert_null(strchr(probed.error, '\n'));
}

static void a_target_that_answers_nothing_has_no_saturation(void **state)
{
	(void)state;
	assert_int_equal(PROBE(0).status, -1);
}

/* ---- The reference --------------------------------------------------------------------------- */

/* Everything answered after 1 ms; what is due in second `bad` after bad_ms. */
static struct run_data *make_run(uint32_t bad, uint32_t bad_ms)
{
	struct run_data *data;
	assert_int_equal(run_data_make(&data, &schedule, (uint64_t)FLOOR_MS * 1000000), 0);
	for (size_t i = 0; i < schedule.count; i++) {
		bool hit = schedule.arrivals[i].due_ns / SECOND_NS == bad;
		data->outcomes[i].done_us = hit ? bad_ms * 1000 : 1000;
		data->outcomes[i].kind = OUTCOME_OK;
	}
	return data;
}

static struct steadiness judge(uint32_t bad, uint32_t bad_ms)
{
	struct run_data *data = make_run(bad, bad_ms);
	struct steadiness steadiness = steady_judge(data, FLOOR_MS);
	run_data_free(data);
	return steadiness;
}

static void a_second_an_order_above_the_median_one_is_a_disturbance(void **state)
{
	(void)state;
	struct steadiness s = judge(3, 60);
	assert_true(s.disturbed);
	assert_int_equal(s.worst_second, 3);
	assert_true(s.worst_ms > 59 && s.worst_ms < 61);
	assert_true(s.median_ms > 0.9 && s.median_ms < 1.1);
	assert_false(judge(3, 9).disturbed);
	assert_false(judge(3, 4).disturbed);
}

static void what_was_never_answered_is_a_disturbance(void **state)
{
	(void)state;
	struct run_data *data = make_run(0, 1);
	for (size_t i = 0; i < schedule.count; i++)
		if (schedule.arrivals[i].due_ns / SECOND_NS == 2)
			data->outcomes[i].kind = OUTCOME_PENDING;
	assert_true(steady_judge(data, FLOOR_MS).disturbed);
	run_data_free(data);
}

static void a_load_that_the_machine_does_not_carry_is_a_disturbance(void **state)
{
	(void)state;
	struct run_data *slow = make_run(0, 300), *lossy = make_run(0, 1);
	for (size_t i = 0; i < schedule.count; i++) {
		slow->outcomes[i].done_us = 300000;
		if (i % 50 == 0)
			lossy->outcomes[i].kind = OUTCOME_SKIPPED;
	}
	assert_true(steady_judge(slow, FLOOR_MS).disturbed);
	assert_true(steady_judge(lossy, FLOOR_MS).disturbed);
	run_data_free(slow);
	run_data_free(lossy);
}

struct series {
	const uint32_t *bad_ms; /* of the run so far */
	int count, runs, fails_at;
};

static int run(void *arg, struct run_data **data)
{
	struct series *series = arg;
	if (++series->runs == series->fails_at)
		return -1;
	*data = make_run(3, series->bad_ms[series->runs - 1]);
	return 0;
}

static double worst_of(const uint32_t *bad_ms, int fails_at, int *runs)
{
	struct series series = { .bad_ms = bad_ms, .fails_at = fails_at };
	struct run_data *data;
	double worst_ms = -1;
	if (steady_reference(run, &series, FLOOR_MS, &data) == 0) {
		worst_ms = steady_judge(data, FLOOR_MS).worst_ms;
		run_data_free(data);
	}
	*runs = series.runs;
	return worst_ms;
}

static void a_quiet_reference_is_run_once(void **state)
{
	static const uint32_t bad_ms[] = { 2 };
	int runs;
	(void)state;
	assert_true(worst_of(bad_ms, UNLIMITED, &runs) > 0);
	assert_int_equal(runs, 1);
}

static void a_disturbed_reference_is_run_again(void **state)
{
	static const uint32_t bad_ms[] = { 60, 2 };
	int runs;
	(void)state;
	double worst_ms = worst_of(bad_ms, UNLIMITED, &runs);
	assert_true(worst_ms > 1.9 && worst_ms < 2.1);
	assert_int_equal(runs, 2);
}

static void of_three_disturbed_references_the_least_is_taken(void **state)
{
	static const uint32_t bad_ms[] = { 90, 60, 70 };
	int runs;
	(void)state;
	double worst_ms = worst_of(bad_ms, UNLIMITED, &runs);
	assert_true(worst_ms > 59 && worst_ms < 61);
	assert_int_equal(runs, STEADY_REFERENCES);
}

static void a_reference_that_fails_is_not_run_again(void **state)
{
	static const uint32_t bad_ms[] = { 60, 60 };
	int runs;
	(void)state;
	assert_true(worst_of(bad_ms, 2, &runs) < 0);
	assert_int_equal(runs, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_median_of_samples_that_agree_is_taken_at_once),
		TEST(one_starved_sample_is_what_the_median_is_for),
		TEST(samples_that_disagree_are_taken_again),
		TEST(a_probe_that_never_agrees_gives_up_with_one_line),
		TEST(a_target_that_answers_nothing_has_no_saturation),
		TEST(a_second_an_order_above_the_median_one_is_a_disturbance),
		TEST(what_was_never_answered_is_a_disturbance),
		TEST(a_load_that_the_machine_does_not_carry_is_a_disturbance),
		TEST(a_quiet_reference_is_run_once),
		TEST(a_disturbed_reference_is_run_again),
		TEST(of_three_disturbed_references_the_least_is_taken),
		TEST(a_reference_that_fails_is_not_run_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
