/* SPDX-License-Identifier: Apache-2.0 */
/* Clock, agenda, random numbers, real functions, distributions, statistics, options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/clock.h"
#include "sim/base/dist.h"
#include "sim/base/events.h"
#include "sim/base/histogram.h"
#include "sim/base/math.h"
#include "sim/base/rng.h"
#include "sim/base/stats.h"
#include "sim/report/options.h"

static void the_clock_stops_at_its_bounds_and_names_them(void **state)
{
	(void)state;
	struct sim_clock clock;
	sim_clock_init(&clock, 100, 2);
	assert_true(sim_clock_advance(&clock, 50));
	assert_false(sim_clock_advance(&clock, 101));
	assert_string_equal(sim_clock_bound(&clock), "virtual time");
	assert_int_equal(clock.now_ns, 50);
	sim_clock_init(&clock, 100, 2);
	assert_true(sim_clock_advance(&clock, 1) && sim_clock_advance(&clock, 2));
	assert_null(sim_clock_bound(&clock));
	assert_false(sim_clock_advance(&clock, 3));
	assert_string_equal(sim_clock_bound(&clock), "number of events");
}

static void events_come_by_time_then_rank_then_sequence(void **state)
{
	(void)state;
	static const uint32_t expected[] = { 5, 4, 3, 2, 0, 1, 6 };
	struct sim_events events;
	struct sim_event next;
	sim_events_init(&events);
	sim_events_add(&events, 10, SIM_RANK_ARRIVAL, 0, 0, 0);
	sim_events_add(&events, 10, SIM_RANK_ARRIVAL, 1, 0, 0);
	sim_events_add(&events, 10, SIM_RANK_TIMEOUT, 2, 0, 0);
	sim_events_add(&events, 10, SIM_RANK_WAKE, 3, 0, 0);
	sim_events_add(&events, 10, SIM_RANK_COMPLETION, 4, 0, 0);
	sim_events_add(&events, 9, SIM_RANK_TICK, 5, 0, 0);
	sim_events_add(&events, 11, SIM_RANK_COMPLETION, 6, 0, 0);
	for (size_t i = 0; i < 7; i++) {
		assert_true(sim_events_take(&events, &next));
		assert_int_equal(next.kind, expected[i]);
	}
	assert_false(sim_events_take(&events, &next));
	sim_events_free(&events);
}

static void a_large_agenda_stays_in_order(void **state)
{
	(void)state;
	struct sim_events events;
	struct sim_rng rng;
	struct sim_event last = { 0 }, next;
	sim_events_init(&events);
	sim_rng_init(&rng, 7, 0);
	for (int i = 0; i < 20000; i++)
		sim_events_add(&events, sim_rng_below(&rng, 500),
			(enum sim_rank)sim_rng_below(&rng, 5), 0, 0, 0);
	for (int i = 0; i < 20000; i++) {
		assert_true(sim_events_take(&events, &next));
		assert_true(next.at_ns > last.at_ns ||
			    (next.at_ns == last.at_ns && next.order >= last.order));
		last = next;
	}
	sim_events_free(&events);
}

static void events_added_for_now_keep_their_place(void **state)
{
	(void)state;
	static const uint32_t expected[] = { 0, 3, 1, 4, 2, 5 };
	struct sim_events events;
	struct sim_event next;
	sim_events_init(&events);
	sim_events_add(&events, 7, SIM_RANK_COMPLETION, 0, 0, 0);
	sim_events_add(&events, 7, SIM_RANK_TIMEOUT, 1, 0, 0);
	sim_events_add(&events, 7, SIM_RANK_ARRIVAL, 2, 0, 0);
	assert_true(sim_events_take(&events, &next));
	assert_int_equal(next.kind, expected[0]);
	sim_events_add(&events, 7, SIM_RANK_WAKE, 3, 0, 0);
	sim_events_add(&events, 7, SIM_RANK_TIMEOUT, 4, 0, 0);
	sim_events_add(&events, 8, SIM_RANK_COMPLETION, 5, 0, 0);
	for (size_t i = 1; i < 6; i++) {
		assert_int_equal(sim_events_peek(&events)->kind, expected[i]);
		assert_true(sim_events_take(&events, &next));
		assert_int_equal(next.kind, expected[i]);
	}
	assert_null(sim_events_peek(&events));
	sim_events_free(&events);
}

/* A digest of 1,000 draws, from an independent implementation of the published generator. */
#define RNG_GOLDEN 0xd0cda62deff116d7ull

static void random_numbers_are_the_same_bits_everywhere(void **state)
{
	(void)state;
	struct sim_rng rng;
	uint64_t mixed = 0;
	sim_rng_init(&rng, 1, 0);
	for (int i = 0; i < 1000; i++)
		mixed = sim_hash(mixed ^ sim_rng_next(&rng));
	assert_int_equal(mixed, RNG_GOLDEN);
}

static void streams_of_one_seed_differ(void **state)
{
	(void)state;
	struct sim_rng a, b;
	sim_rng_init(&a, 1, 0);
	sim_rng_init(&b, 1, 1);
	int same = 0;
	for (int i = 0; i < 64; i++)
		same += sim_rng_next(&a) == sim_rng_next(&b);
	assert_int_equal(same, 0);
}

static void draws_below_a_bound_are_even(void **state)
{
	(void)state;
	struct sim_rng rng;
	int counts[7] = { 0 };
	sim_rng_init(&rng, 3, 0);
	for (int i = 0; i < 70000; i++)
		counts[sim_rng_below(&rng, 7)]++;
	for (int i = 0; i < 7; i++)
		assert_in_range(counts[i], 9600, 10400);
}

static double relative(double got, double wanted)
{
	double error = fabs(got - wanted);
	return wanted == 0.0 ? error : error / fabs(wanted);
}

static void own_functions_agree_with_libm(void **state)
{
	(void)state;
	for (double x = 1e-9; x < 1e9; x *= 1.37) {
		assert_true(relative(sim_ln(x), log(x)) < 1e-14);
		assert_true(relative(sim_pow(x, 0.77), pow(x, 0.77)) < 1e-13);
		assert_true(relative(sim_exp(-x / 1e7), exp(-x / 1e7)) < 1e-14);
	}
	for (double x = -20.0; x < 20.0; x += 0.37) {
		assert_true(relative(sim_exp(x), exp(x)) < 1e-14);
		assert_true(fabs(sim_sin(x) - sin(x)) < 1e-10);
	}
	assert_int_equal(sim_round(2.5), 3);
	assert_int_equal(sim_round(-2.5), -3);
	assert_int_equal(sim_round(1e300), INT64_MAX);
}

static double mean_of(const struct sim_dist *dist, int count)
{
	struct sim_rng rng;
	double sum = 0.0;
	sim_rng_init(&rng, 11, 0);
	for (int i = 0; i < count; i++)
		sum += (double)sim_dist_draw(dist, &rng);
	return sum / count;
}

static void distributions_have_their_means_and_bounds(void **state)
{
	(void)state;
	struct sim_dist fixed = { .shape = SIM_FIXED, .mean = 777 };
	struct sim_dist exponential = { .shape = SIM_EXPONENTIAL, .mean = 1000000 };
	struct sim_dist pareto = {
		.shape = SIM_PARETO, .low = 1000, .high = 1000000, .alpha = 1.5
	};
	struct sim_rng rng;
	assert_true(mean_of(&fixed, 10) == 777.0);
	assert_true(relative(mean_of(&exponential, 200000), 1e6) < 0.01);
	assert_true(relative(mean_of(&pareto, 400000), sim_dist_mean(&pareto)) < 0.05);
	sim_rng_init(&rng, 5, 0);
	for (int i = 0; i < 10000; i++)
		assert_in_range(sim_dist_draw(&pareto, &rng), 1000, 1000000);
}

static void zipf_favours_low_ranks_by_its_exponent(void **state)
{
	(void)state;
	struct sim_zipf zipf;
	struct sim_rng rng;
	int first = 0, second = 0;
	sim_zipf_init(&zipf, 100, 1.0);
	sim_rng_init(&rng, 9, 0);
	for (int i = 0; i < 100000; i++) {
		size_t rank = sim_zipf_draw(&zipf, &rng);
		assert_true(rank < 100);
		first += rank == 0;
		second += rank == 1;
	}
	assert_true(relative((double)first / second, 2.0) < 0.05);
	sim_zipf_free(&zipf);
}

static void a_day_peaks_at_its_ratio_and_averages_to_its_mean(void **state)
{
	(void)state;
	double sum = 0.0, highest = 0.0;
	for (uint64_t i = 0; i < 1000; i++) {
		double rate = sim_daily_rate(i, 1000, 50.0, 1.8);
		sum += rate;
		highest = rate > highest ? rate : highest;
	}
	assert_true(relative(sum / 1000.0, 50.0) < 1e-6);
	assert_true(relative(highest, 90.0) < 1e-6);
}

static void intervals_follow_student(void **state)
{
	(void)state;
	struct sim_stats stats = { 0 };
	for (int i = 1; i <= 5; i++)
		sim_stats_add(&stats, i);
	assert_true(relative(sim_stats_mean(&stats), 3.0) < 1e-12);
	/* s = sqrt(2.5), t(4) = 2.776: 2.776 * sqrt(2.5/5) */
	assert_true(relative(sim_stats_ci95(&stats), 1.96293) < 1e-4);
}

static void histogram_percentiles_are_within_a_percent(void **state)
{
	(void)state;
	struct sim_histogram *histogram = calloc(1, sizeof(*histogram));
	assert_non_null(histogram);
	for (uint64_t i = 1; i <= 100000; i++)
		sim_histogram_add(histogram, i * 1000);
	assert_true(relative((double)sim_histogram_percentile(histogram, 99.0), 99e6) < 0.008);
	assert_true(relative((double)sim_histogram_percentile(histogram, 50.0), 50e6) < 0.008);
	assert_int_equal(histogram->total, 100000);
	sim_histogram_add(histogram, UINT64_MAX);
	assert_int_equal(sim_histogram_percentile(histogram, 100.0), UINT64_MAX);
	free(histogram);
}

static const struct sim_key keys[] = {
	{ "timeout_ms", SIM_KEY_INT, "100", 1, 1000, NULL, "" },
	{ "share", SIM_KEY_REAL, "0.5", 0.0, 1.0, NULL, "" },
	{ "loads", SIM_KEY_INTS, "1,5..9:2", 0, 100, NULL, "" },
	{ "policy", SIM_KEY_CHOICES, "all", 0, 0, "none|budget|dagor", "" },
	{ "exact", SIM_KEY_FLAG, "no", 0, 0, NULL, "" },
	{ 0 },
};

static void options_take_lists_and_either_dash(void **state)
{
	(void)state;
	static const int64_t loads[] = { 1, 5, 7, 9 };
	struct sim_options options;
	char error[SIM_ERROR_MAX];
	sim_options_init(&options, keys);
	const struct sim_setting *list = sim_options_find(&options, "loads");
	assert_int_equal(list->list_count, 4);
	assert_memory_equal(list->list, loads, sizeof(loads));
	assert_int_equal(sim_options_find(&options, "policy")->list_count, 3);
	assert_int_equal(sim_options_set(&options, "timeout-ms", "7", error), 0);
	assert_int_equal(sim_options_find(&options, "timeout_ms")->integer, 7);
	assert_true(sim_options_find(&options, "timeout_ms")->given);
	assert_false(sim_options_find(&options, "share")->given);
	sim_options_free(&options);
}

static void options_refuse_with_the_accepted_range(void **state)
{
	(void)state;
	static const char *const bad[][3] = {
		{ "timeout_ms", "0", "1 … 1000" },
		{ "timeout_ms", "-5", "1 … 1000" },
		{ "timeout_ms", "99999999999999999999", "1 … 1000" },
		{ "timeout_ms", "12x", "1 … 1000" },
		{ "timeout_ms", "", "1 … 1000" },
		{ "share", "nan", "0 … 1" },
		{ "share", "1.5", "0 … 1" },
		{ "loads", "1,,2", "0 … 100" },
		{ "loads", "9..5", "0 … 100" },
		{ "loads", "1..5:0", "0 … 100" },
		{ "policy", "none,what", "none, budget, dagor" },
		{ "exact", "maybe", "yes, no" },
		{ "nothing", "1", "timeout_ms" },
	};
	struct sim_options options;
	char error[SIM_ERROR_MAX];
	sim_options_init(&options, keys);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(sim_options_set(&options, bad[i][0], bad[i][1], error), -1);
		if (!strstr(error, bad[i][2]))
			fail_msg("%s=%s: '%s' lacks '%s'", bad[i][0], bad[i][1], error, bad[i][2]);
	}
	assert_int_equal(sim_options_find(&options, "timeout_ms")->integer, 100);
	sim_options_free(&options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_clock_stops_at_its_bounds_and_names_them),
		cmocka_unit_test(events_come_by_time_then_rank_then_sequence),
		cmocka_unit_test(a_large_agenda_stays_in_order),
		cmocka_unit_test(events_added_for_now_keep_their_place),
		cmocka_unit_test(random_numbers_are_the_same_bits_everywhere),
		cmocka_unit_test(streams_of_one_seed_differ),
		cmocka_unit_test(draws_below_a_bound_are_even),
		cmocka_unit_test(own_functions_agree_with_libm),
		cmocka_unit_test(distributions_have_their_means_and_bounds),
		cmocka_unit_test(zipf_favours_low_ranks_by_its_exponent),
		cmocka_unit_test(a_day_peaks_at_its_ratio_and_averages_to_its_mean),
		cmocka_unit_test(intervals_follow_student),
		cmocka_unit_test(histogram_percentiles_are_within_a_percent),
		cmocka_unit_test(options_take_lists_and_either_dash),
		cmocka_unit_test(options_refuse_with_the_accepted_range),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
