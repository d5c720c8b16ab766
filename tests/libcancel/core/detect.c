/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "libcancel/core/contention.h"
#include "libcancel/core/detect.h"
#include "libcancel/core/pace.h"

#define MS 1000000ull
#define S  1000000000ull

/* A detector, its settings and the window it is about to be shown. */
struct bench {
	struct detect d;
	struct settings settings;
	struct window w;
};

static void begin(struct bench *b)
{
	const struct cancel_pipeline_config config = { .struct_size = sizeof config };
	memset(b, 0, sizeof *b);
	assert_int_equal(settings_resolve(&config, &b->settings), 0);
	b->w.now_ns = 100 * S;
}

static void show(struct bench *b, uint64_t completed, uint64_t late, uint32_t late_in_flight,
	uint32_t in_flight)
{
	b->w.start_ns = b->w.now_ns;
	b->w.now_ns += 50 * MS;
	b->w.length_ns = 50 * MS;
	b->w.completed = completed;
	b->w.late = late;
	b->w.late_in_flight = late_in_flight;
	b->w.in_flight = in_flight;
	detect_step(&b->d, &b->w, &b->settings, false);
}

static void healthy(struct bench *b, uint32_t windows)
{
	for (uint32_t i = 0; i < windows; i++)
		show(b, 50, 0, 0, 10);
}

static void in_flight_lateness_counts_when_nothing_completes(void **state)
{
	struct bench b;
	(void)state;
	begin(&b);
	healthy(&b, 60);
	show(&b, 0, 0, 3, 10);
	assert_int_equal(b.d.late_share_ppm, 1000000);
	assert_true(b.d.suspicious);
	assert_false(b.d.confirmed);
	show(&b, 0, 0, 5, 12);
	assert_true(b.d.confirmed);
}

static void two_late_tasks_or_half_a_percent_are_not_enough(void **state)
{
	struct bench b;
	(void)state;
	begin(&b);
	healthy(&b, 60);
	show(&b, 0, 0, 2, 10);
	assert_false(b.d.suspicious);
	begin(&b);
	for (uint32_t i = 0; i < 60; i++)
		show(&b, 1000, 5, 0, 10);
	assert_int_equal(b.d.late_share_ppm, 5000);
	assert_false(b.d.suspicious);
}

static void two_of_three_windows_confirm(void **state)
{
	struct bench b;
	(void)state;
	begin(&b);
	healthy(&b, 60);
	show(&b, 40, 10, 0, 10);
	show(&b, 50, 0, 0, 10);
	assert_false(b.d.confirmed);
	show(&b, 40, 10, 0, 10);
	assert_true(b.d.confirmed);
	show(&b, 50, 0, 0, 10); /* a clean window confirms nothing by itself */
	assert_false(b.d.confirmed);
	show(&b, 50, 0, 0, 10);
	show(&b, 40, 10, 0, 10); /* one of three */
	assert_false(b.d.confirmed);
}

static void suspicion_ends_after_ten_clean_windows_and_not_before(void **state)
{
	struct bench b;
	uint64_t clean_ns;
	(void)state;
	begin(&b);
	healthy(&b, 60);
	show(&b, 40, 10, 0, 10);
	healthy(&b, 9);
	assert_true(b.d.suspicious);
	show(&b, 40, 10, 0, 10);
	clean_ns = b.w.now_ns;
	healthy(&b, 9);
	assert_true(b.d.suspicious);
	assert_false(b.d.ended);
	healthy(&b, 1);
	assert_false(b.d.suspicious);
	assert_true(b.d.ended);
	assert_int_equal(b.d.recovered_ns, clean_ns);
	healthy(&b, 1);
	assert_false(b.d.ended);
}

/* 1,000 a second become 2,000, a tenth of them late. The first window may still be chance. */
static void growing_throughput_confirms_nothing(void **state)
{
	struct bench b;
	(void)state;
	begin(&b);
	healthy(&b, 60);
	for (uint32_t i = 0; i < 15; i++) {
		show(&b, 100, 10, 0, 10);
		assert_false(b.d.confirmed);
	}
}

static void a_rise_that_has_become_flat_is_suspect(void **state)
{
	struct bench b;
	(void)state;
	begin(&b);
	healthy(&b, 60);
	for (uint32_t i = 0; i < 45; i++)
		show(&b, 100, 10, 0, 10);
	assert_true(b.d.confirmed);
}

static void a_draining_queue_is_not_suspect(void **state)
{
	struct bench b;
	(void)state;
	begin(&b);
	healthy(&b, 60);
	for (uint32_t i = 0; i < 20; i++) /* a stall of a second … */
		show(&b, 0, 0, i ? 50 * i : 0, 10 + 50 * i);
	assert_true(b.d.confirmed);
	for (uint32_t i = 0; i < 20;
		i++) /* … and its end: everything is late, and less every time */
		show(&b, 100, 100, 950 - 45 * i, 960 - 45 * i);
	assert_true(b.d.suspicious);
	assert_false(b.d.confirmed);
}

static void the_onset_is_when_the_first_episode_passed_its_slo(void **state)
{
	struct bench b;
	uint64_t first_ns;
	(void)state;
	begin(&b);
	healthy(&b, 60);
	first_ns = b.w.now_ns + 20 * MS;
	b.w.first_late_ns = first_ns;
	show(&b, 0, 0, 1, 10); /* one alone is no suspicion, but it is the first */
	assert_false(b.d.suspicious);
	show(&b, 0, 0, 5, 10);
	assert_true(b.d.suspicious);
	assert_int_equal(b.d.onset_ns, first_ns);
	assert_int_equal(b.d.suspected_ns, b.w.now_ns);
}

static void one_that_was_late_all_along_is_not_the_onset(void **state)
{
	struct bench b;
	(void)state;
	begin(&b);
	b.w.first_late_ns = b.w.now_ns;
	for (uint32_t i = 0; i < 60; i++)
		show(&b, 500, 0, 1, 10); /* 0.2 % */
	show(&b, 0, 0, 9, 20);
	assert_true(b.d.suspicious);
	assert_int_equal(b.d.onset_ns, b.w.start_ns);
}

static void ledgers_faster_than_the_window_do_not_exhaust_the_samples(void **state)
{
	struct bench b;
	(void)state;
	begin(&b);
	for (uint32_t i = 0; i < 12000; i++) { /* 12 s in steps of 1 ms, 1,000 a second */
		b.w.start_ns = b.w.now_ns;
		b.w.now_ns += MS;
		b.w.length_ns = MS;
		b.w.completed = 1;
		detect_step(&b.d, &b.w, &b.settings, false);
	}
	assert_true(b.d.sample_count <= DETECT_SAMPLES);
	for (uint32_t i = 0; i < 20; i++)
		show(&b, 100, 10, 0, 10);
	assert_false(b.d.confirmed); /* it remembers the 1,000 a second, and 2,000 is growth */
}

/* ---- The healthy reference ------------------------------------------------------------------- */

static void show_contention(struct contention *c, struct bench *b, uint64_t rooted_ns, bool suspect)
{
	static struct attribution a;
	memset(&a, 0, sizeof a);
	a.rooted_ns[0] = rooted_ns;
	b->w.resource_count = 1;
	b->w.start_ns = b->w.now_ns;
	b->w.now_ns += 50 * MS;
	b->w.length_ns = 50 * MS;
	b->w.active_ns = 100 * MS;
	contention_measure(c, &a, &b->w, &b->settings);
	contention_learn(c, &a, &b->w, suspect);
}

/* Healthy seconds in which every window loses rooted_ns of its 100 ms to the resource. */
static void learn(struct contention *c, struct bench *b, uint32_t seconds, uint64_t rooted_ns)
{
	begin(b);
	memset(c, 0, sizeof *c);
	for (uint32_t i = 0; i < 20 * seconds; i++)
		show_contention(c, b, rooted_ns, false);
}

static void the_reference_is_the_healthy_median_and_frozen_while_suspect(void **state)
{
	static struct contention c;
	struct bench b;
	(void)state;
	learn(&c, &b, 30, 30 * MS);
	show_contention(&c, &b, 55 * MS, false);
	assert_int_equal(c.threshold_ppm[0], 600000);
	assert_int_equal(contention_contended(&c, &b.w), 0);
	for (uint32_t i = 0; i < 20 * 100; i++)
		show_contention(&c, &b, 90 * MS, true);
	assert_int_equal(c.threshold_ppm[0], 600000);
	assert_int_equal(contention_contended(&c, &b.w), 1);
	for (uint32_t i = 0; i < 20 * 60; i++)
		show_contention(&c, &b, 5 * MS, false);
	show_contention(&c, &b, 21 * MS, false);
	assert_int_equal(c.threshold_ppm[0], 200000);
	assert_int_equal(contention_contended(&c, &b.w), 1);
}

/* A share cannot double from 60 %. */
static void a_resource_that_costs_most_of_the_time_can_still_count(void **state)
{
	static struct contention c;
	struct bench b;
	(void)state;
	learn(&c, &b, 10, 60 * MS);
	show_contention(&c, &b, 79 * MS, true);
	assert_int_equal(c.threshold_ppm[0], 800000);
	assert_int_equal(contention_contended(&c, &b.w), 0);
	show_contention(&c, &b, 80 * MS, true);
	assert_int_equal(contention_contended(&c, &b.w), 1);
}

static void idle_seconds_do_not_lower_the_reference(void **state)
{
	static struct contention c;
	struct bench b;
	(void)state;
	learn(&c, &b, 10, 30 * MS);
	for (uint32_t i = 0; i < 20 * 50; i++) {
		static struct attribution idle;
		b.w.active_ns = 0;
		contention_measure(&c, &idle, &b.w, &b.settings);
		contention_learn(&c, &idle, &b.w, false);
	}
	show_contention(&c, &b, 50 * MS, false);
	assert_int_equal(c.threshold_ppm[0], 600000);
}

static void calm_needs_a_second_below_half_the_threshold(void **state)
{
	static struct contention c;
	struct bench b;
	(void)state;
	begin(&b);
	memset(&c, 0, sizeof c);
	show_contention(&c, &b, 9 * MS, false);
	assert_int_equal(contention_calm(&c, &b.w), 1);
	show_contention(&c, &b, 10 * MS, false);
	for (uint32_t i = 0; i < 19; i++) {
		show_contention(&c, &b, 9 * MS, false);
		assert_int_equal(contention_calm(&c, &b.w), 0);
	}
	show_contention(&c, &b, 9 * MS, false);
	assert_int_equal(contention_calm(&c, &b.w), 1);
}

/* ---- Pacing ---------------------------------------------------------------------------------- */

static void completions_refill_the_bucket_where_they_are_many(void **state)
{
	struct bench b;
	struct pace p;
	uint64_t now_ns = S;
	(void)state;
	begin(&b);
	pace_init(&p, &b.settings);
	for (uint32_t i = 0; i < 5; i++, now_ns += 100 * MS) {
		assert_true(pace_allows(&p, now_ns, &b.settings));
		pace_spend(&p, now_ns);
	}
	assert_false(pace_allows(&p, now_ns, &b.settings));
	b.w.length_ns = 50 * MS;
	b.w.completed = 9; /* nine tenths of a cancel */
	pace_refill(&p, &b.w, &b.settings);
	assert_false(pace_allows(&p, now_ns, &b.settings));
	b.w.completed = 1;
	pace_refill(&p, &b.w, &b.settings);
	assert_true(pace_allows(&p, now_ns, &b.settings));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_flight_lateness_counts_when_nothing_completes),
		cmocka_unit_test(two_late_tasks_or_half_a_percent_are_not_enough),
		cmocka_unit_test(two_of_three_windows_confirm),
		cmocka_unit_test(suspicion_ends_after_ten_clean_windows_and_not_before),
		cmocka_unit_test(growing_throughput_confirms_nothing),
		cmocka_unit_test(a_rise_that_has_become_flat_is_suspect),
		cmocka_unit_test(a_draining_queue_is_not_suspect),
		cmocka_unit_test(the_onset_is_when_the_first_episode_passed_its_slo),
		cmocka_unit_test(one_that_was_late_all_along_is_not_the_onset),
		cmocka_unit_test(ledgers_faster_than_the_window_do_not_exhaust_the_samples),
		cmocka_unit_test(the_reference_is_the_healthy_median_and_frozen_while_suspect),
		cmocka_unit_test(a_resource_that_costs_most_of_the_time_can_still_count),
		cmocka_unit_test(idle_seconds_do_not_lower_the_reference),
		cmocka_unit_test(calm_needs_a_second_below_half_the_threshold),
		cmocka_unit_test(completions_refill_the_bucket_where_they_are_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
