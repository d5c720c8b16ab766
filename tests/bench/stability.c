/* SPDX-License-Identifier: Apache-2.0 */
/* Bad conditions: is what all else is compared with credible? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/report/measure.h"
#include "bench/experiment/stability.h"

#define SECONDS	  8u
#define RATE_QPS  200
#define SECOND_NS 1000000000ull
#define FLOOR_MS  5.0
#define RATIO	  10.0

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

static const struct machine_second calm = {
	.known = true, .cpus = 2, .own = 1.9, .others = 0.03, .waited = 5
};
static const struct machine_second beside_others = {
	.known = true, .cpus = 2, .own = 1, .others = 1, .waited = 5
};

struct script {
	const double *values;
	int count, taken, disturbed; /* so many samples are, from the first on */
};

static double next_value(void *arg, struct machine_second *second)
{
	struct script *script = arg;
	*second = script->taken < script->disturbed ? beside_others : calm;
	return script->values[script->taken++ % script->count];
}

struct probed {
	int taken;
	double qps;
	struct disturbance disturbance;
};

#define PROBE(disturbed, ...)                                                                      \
	probe((const double[]){ __VA_ARGS__ },                                                     \
		(int)(sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double)), disturbed)

static struct probed probe(const double *values, int count, int disturbed)
{
	struct script script = { .values = values, .count = count, .disturbed = disturbed };
	struct probed probed = { 0 };
	const struct stability_probe steady = { .take = next_value,
		.arg = &script,
		.samples = STEADY_SAMPLES,
		.rounds = STEADY_ROUNDS,
		.quiet = true };
	assert_int_equal(stability_saturation(&steady, &probed.qps, &probed.disturbance), 0);
	probed.taken = script.taken;
	return probed;
}

static void assert_settled(struct probed probed, int taken, double qps)
{
	assert_false(probed.disturbance.disturbed);
	assert_int_equal(probed.taken, taken);
	assert_true(probed.qps > qps - 1 && probed.qps < qps + 1);
}

static void the_median_of_samples_that_agree_is_taken_at_once(void **state)
{
	(void)state;
	assert_settled(PROBE(0, 41000, 44000, 43000, 42000, 45000), 5, 43000);
}

static void one_starved_sample_is_what_the_median_is_for(void **state)
{
	(void)state;
	assert_settled(PROBE(0, 3087, 44000, 43000, 42000, 45000), 5, 43000);
}

static void samples_that_disagree_are_taken_again(void **state)
{
	(void)state;
	assert_settled(PROBE(0, 3087, 3100, 43000, 42000, 45000, 44000, 44100, 44200, 44300, 44365),
		10, 44200);
}

static void samples_that_agree_beside_others_are_taken_again(void **state)
{
	(void)state;
	assert_settled(PROBE(STEADY_SAMPLES, 22000, 22000, 22000, 22000, 22000, 44000, 44100, 44200,
			       44300, 44365),
		10, 44200);
}

static void a_probe_that_never_agrees_says_so(void **state)
{
	(void)state;
	struct probed probed = PROBE(0, 3087, 3100, 9000, 42000, 44365);
	assert_true(probed.disturbance.disturbed);
	assert_int_equal(probed.taken, STEADY_ROUNDS * STEADY_SAMPLES);
	assert_non_null(strstr(probed.disturbance.why, "3087/s to 44365/s"));
}

static void a_target_that_answers_nothing_has_no_saturation(void **state)
{
	(void)state;
	struct probed probed = PROBE(0, 0);
	assert_true(probed.disturbance.disturbed);
	assert_true(probed.qps < 1);
}

/* ---- The reference --------------------------------------------------------------------------- */

static const struct stability_rules rules = {
	.slo_ratio = RATIO, .floor_ms = FLOOR_MS, .is_alike = true
};

/* Everything answered after 1 ms; what is due in second `bad` after bad_ms. */
static struct samples *make_run(uint32_t bad, uint32_t bad_ms)
{
	struct samples *data;
	assert_int_equal(samples_make(&data, &schedule, (uint64_t)FLOOR_MS * 1000000), 0);
	for (size_t i = 0; i < schedule.count; i++) {
		bool hit = schedule.arrivals[i].due_ns / SECOND_NS == bad;
		data->outcomes[i].done_us = hit ? bad_ms * 1000 : 1000;
		data->outcomes[i].kind = OUTCOME_OK;
	}
	return data;
}

static struct steadiness judge(uint32_t bad, uint32_t bad_ms)
{
	struct samples *data = make_run(bad, bad_ms);
	struct steadiness steadiness = stability_judge(data, &rules);
	samples_free(data);
	return steadiness;
}

static void a_second_an_order_above_the_median_one_is_a_disturbance(void **state)
{
	(void)state;
	struct steadiness s = judge(3, 60);
	assert_true(s.disturbance.disturbed);
	assert_int_equal(s.worst_second, 3);
	assert_true(s.worst_ms > 59 && s.worst_ms < 61);
	assert_true(s.median_ms > 0.9 && s.median_ms < 1.1);
	assert_false(judge(3, 9).disturbance.disturbed);
	assert_false(judge(3, 4).disturbance.disturbed);
}

static void what_was_never_answered_is_a_disturbance(void **state)
{
	(void)state;
	struct samples *data = make_run(0, 1);
	for (size_t i = 0; i < schedule.count; i++)
		if (schedule.arrivals[i].due_ns / SECOND_NS == 2)
			data->outcomes[i].kind = OUTCOME_PENDING;
	assert_true(stability_judge(data, &rules).disturbance.disturbed);
	samples_free(data);
}

static void a_load_that_the_machine_does_not_carry_is_a_disturbance(void **state)
{
	(void)state;
	struct samples *slow = make_run(0, 300), *lossy = make_run(0, 1);
	for (size_t i = 0; i < schedule.count; i++) {
		slow->outcomes[i].done_us = 300000;
		if (i % 50 == 0)
			lossy->outcomes[i].kind = OUTCOME_SKIPPED;
	}
	assert_true(stability_judge(slow, &rules).disturbance.disturbed);
	assert_true(stability_judge(lossy, &rules).disturbance.disturbed);
	samples_free(slow);
	samples_free(lossy);
}

static void the_slo_is_ten_times_the_median_second(void **state)
{
	(void)state;
	struct samples *data = make_run(3, 900);
	for (size_t i = 0; i < schedule.count; i++)
		if (data->outcomes[i].done_us == 1000)
			data->outcomes[i].done_us = 2000;
	struct steadiness s = stability_judge(data, &rules);
	assert_true(s.slo_ms > 19.9 && s.slo_ms < 20.1);
	samples_free(data);
	s = judge(3, 900);
	assert_true(s.slo_ms > 9.9 && s.slo_ms < 10.1);
}

static void the_slo_has_a_bound_however_slow_the_machine_is(void **state)
{
	(void)state;
	struct samples *data = make_run(3, 1);
	for (size_t i = 0; i < schedule.count; i++)
		data->outcomes[i].done_us = 1800000;
	struct steadiness s = stability_judge(data, &rules);
	assert_true(s.disturbance.disturbed);
	assert_true(s.slo_ms == RATIO * STEADY_P99_MAX_MS);
	samples_free(data);
}

static void the_slo_has_a_floor(void **state)
{
	(void)state;
	struct samples *data = make_run(3, 1);
	for (size_t i = 0; i < schedule.count; i++)
		data->outcomes[i].done_us = 100;
	assert_true(stability_judge(data, &rules).slo_ms == FLOOR_MS);
	samples_free(data);
}

static void steps_in_the_load_are_no_disturbance(void **state)
{
	(void)state;
	const struct stability_rules steps = { .slo_ratio = RATIO, .floor_ms = FLOOR_MS };
	struct samples *data = make_run(3, 60);
	assert_false(stability_judge(data, &steps).disturbance.disturbed);
	samples_free(data);
}

static void a_reference_beside_others_is_disturbed_however_fast(void **state)
{
	(void)state;
	struct samples *data = make_run(3, 1);
	data->watch.count = SECONDS;
	for (uint32_t i = 0; i < SECONDS; i++)
		data->watch.seconds[i] = calm;
	assert_false(stability_judge(data, &rules).disturbance.disturbed);
	data->watch.seconds[6] = beside_others;
	struct steadiness s = stability_judge(data, &rules);
	assert_true(s.disturbance.disturbed);
	assert_non_null(strstr(s.disturbance.why, "second 7"));
	samples_free(data);
}

static void a_generator_that_is_late_for_half_the_slo_disturbs(void **state)
{
	(void)state;
	struct disturbance disturbance;
	struct samples *data = make_run(3, 1);
	data->watch.count = SECONDS;
	for (size_t i = 0; i < schedule.count; i++)
		if (schedule.arrivals[i].due_ns / SECOND_NS == 2)
			data->outcomes[i].sent_us = 30000;
	stability_disturbance(data, 100, &disturbance);
	assert_false(disturbance.disturbed);
	stability_disturbance(data, 50, &disturbance);
	assert_true(disturbance.disturbed);
	assert_true(disturbance.lag_ms > 29.9 && disturbance.lag_ms < 30.1);
	samples_free(data);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_median_of_samples_that_agree_is_taken_at_once),
		TEST(one_starved_sample_is_what_the_median_is_for),
		TEST(samples_that_disagree_are_taken_again),
		TEST(samples_that_agree_beside_others_are_taken_again),
		TEST(a_probe_that_never_agrees_says_so),
		TEST(a_target_that_answers_nothing_has_no_saturation),
		TEST(a_second_an_order_above_the_median_one_is_a_disturbance),
		TEST(what_was_never_answered_is_a_disturbance),
		TEST(a_load_that_the_machine_does_not_carry_is_a_disturbance),
		TEST(the_slo_is_ten_times_the_median_second),
		TEST(the_slo_has_a_bound_however_slow_the_machine_is),
		TEST(the_slo_has_a_floor),
		TEST(steps_in_the_load_are_no_disturbance),
		TEST(a_reference_beside_others_is_disturbed_however_fast),
		TEST(a_generator_that_is_late_for_half_the_slo_disturbs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
