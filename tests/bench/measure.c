/* SPDX-License-Identifier: Apache-2.0 */
/* The bench's arithmetic on runs written by hand: 100 requests a second, one every 10 ms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "bench/report/measure.h"
#include "bench/report/summary.h"

#define MS	 1000000u
#define SECONDS	 10u
#define GAP_NS	 (10 * (uint64_t)MS)
#define REQUESTS (SECONDS * 100)
#define SLO_NS	 (5 * (uint64_t)MS)

static struct schedule schedule;
static struct samples *data;
static struct measures measures;

/* Everything answered after 1 ms. */
static int set_up(void **state)
{
	(void)state;
	const char *why;
	assert_int_equal(schedule_make(&(struct schedule_options){ .struct_size = sizeof(
									   struct schedule_options),
					       .seed = 1,
					       .rate_qps = 100,
					       .length_ns = SECONDS * 1000ull * MS },
				 &schedule, &why),
		0);
	assert_int_equal(samples_make(&data, &schedule, SLO_NS), 0);
	for (size_t i = 0; i < schedule.count; i++) {
		data->outcomes[i].done_us = 1000;
		data->outcomes[i].kind = OUTCOME_OK;
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	samples_free(data);
	schedule_free(&schedule);
	return 0;
}

static void add_culprit(uint64_t start_ns, uint64_t end_ns)
{
	data->tasks[data->task_count++] = (struct task_record){ .name = "culprit",
		.label = LABEL_CULPRIT,
		.key = 7,
		.start_ns = start_ns,
		.end_ns = end_ns };
}

/* Requests due in [from, to) are answered at `to` plus 1 ms. */
static void stall(uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = 0; i < schedule.count; i++) {
		uint64_t due_ns = schedule.arrivals[i].due_ns;
		if (due_ns >= from_ns && due_ns < to_ns)
			data->outcomes[i].done_us = (uint32_t)((to_ns - due_ns) / 1000 + 1000);
	}
}

static void measure(void)
{
	struct spans spans;
	measure_spans(data, &spans);
	measure_run(data, &spans, &measures);
}

static void a_healthy_run_is_all_goodput(void **state)
{
	(void)state;
	measure();
	assert_int_equal(measures.offered, schedule.count);
	assert_int_equal(measures.ok, schedule.count);
	assert_int_equal(measures.late, 0);
	assert_float_equal(measures.goodput_qps, (float)schedule.count / SECONDS, 1e-3);
	assert_float_equal(measures.p99_ms, 1, 1e-6);
	assert_float_equal(measures.drop_rate, 0, 1e-9);
	assert_int_equal(measures.culprits, 0);
}

static void a_stall_counts_its_bad_bins_for_the_culprit(void **state)
{
	(void)state;
	add_culprit(3000ull * MS, 3500ull * MS);
	stall(3000ull * MS, 3500ull * MS);
	measure();
	/* Five bins of 100 ms; the last request before the end waits 10 ms + 1, over 5 ms too. */
	assert_float_equal(measures.late_s_per_culprit, 0.5, 1e-6);
	assert_true(measures.late_share_during > 0.99);
	assert_int_equal(measures.culprits, 1);
	assert_int_equal(measures.recover_ms.count, 1);
	/* Onset: due at 3000 + SLO; the first clean bin begins at 3500. */
	assert_float_equal(measures.recover_ms.ms[0], 495, 1e-3);
}

static void times_count_from_the_first_missed_slo(void **state)
{
	(void)state;
	add_culprit(3000ull * MS, 3300ull * MS);
	stall(3000ull * MS, 3300ull * MS);
	data->cancels[data->cancel_count++] = (struct cancel_record){ .label = LABEL_CULPRIT,
		.key = 7,
		.suspected_ns = 3055ull * MS,
		.delivered_ns = 3105ull * MS,
		.released_ns = 3305ull * MS,
		.wasted_ns = 105ull * MS };
	measure();
	assert_float_equal(measures.detect_ms.ms[0], 50, 1e-3);
	assert_float_equal(measures.cancel_ms.ms[0], 100, 1e-3);
	assert_float_equal(measures.release_ms.ms[0], 300, 1e-3);
	assert_float_equal(measures.wasted_ms, 105, 1e-6);
	assert_int_equal(measures.cancels, 1);
	assert_int_equal(measures.wrong_cancels, 0);
}

static void cancelling_anything_but_a_culprit_is_wrong(void **state)
{
	(void)state;
	data->cancels[0].label = LABEL_BYSTANDER;
	data->cancels[1].label = LABEL_WAITING;
	data->cancels[2].label = LABEL_CULPRIT;
	data->cancel_count = 3;
	data->cancels_unrecorded = 4;
	measure();
	assert_int_equal(measures.cancels, 7);
	assert_int_equal(measures.wrong_cancels, 6);
}

static void dropped_requests_are_neither_goodput_nor_latency(void **state)
{
	(void)state;
	for (size_t i = 0; i < 10; i++) {
		data->outcomes[i].kind = OUTCOME_REJECTED;
		data->outcomes[i].done_us = 0;
	}
	data->outcomes[10].kind = OUTCOME_CANCELLED;
	measure();
	assert_int_equal(measures.victims_dropped, 11);
	assert_int_equal(measures.rejected, 10);
	assert_float_equal(measures.drop_rate, (float)(11.0 / (double)schedule.count), 1e-6);
	assert_float_equal(measures.p50_ms, 1, 1e-6);
	assert_int_equal(measures.ok, schedule.count - 11);
}

static void what_never_answered_counts_as_long_as_it_waited(void **state)
{
	(void)state;
	data->outcomes[0].kind = OUTCOME_PENDING;
	measure();
	double waited_ms = (double)(data->length_ns - schedule.arrivals[0].due_ns) / 1e6;
	assert_float_equal(measures.max_ms, (float)waited_ms, 0.01);
	assert_int_equal(measures.unanswered, 1);
	assert_int_equal(measures.late, 1);
}

static void the_uncorrected_latency_leaves_out_the_generators_lag(void **state)
{
	(void)state;
	for (size_t i = 0; i < schedule.count; i++) {
		data->outcomes[i].sent_us = 3000;
		data->outcomes[i].done_us = 4000;
	}
	measure();
	assert_float_equal(measures.p50_ms, 4, 1e-6);
	assert_float_equal(measures.uncorrected_p50_ms, 1, 1e-6);
	assert_float_equal(measures.lag_p50_ms, 3, 1e-6);
}

static void spans_of_overlapping_culprits_are_joined(void **state)
{
	(void)state;
	struct spans spans;
	add_culprit(1000ull * MS, 3000ull * MS);
	add_culprit(2000ull * MS, 4000ull * MS);
	add_culprit(8000ull * MS, 0);
	measure_spans(data, &spans);
	assert_int_equal(spans.count, 2);
	assert_int_equal(spans.list[0].from_ns, 1000ull * MS);
	assert_int_equal(spans.list[0].to_ns, 4000ull * MS);
	assert_int_equal(spans.list[1].to_ns, data->length_ns);
}

static void a_rerun_has_its_own_late_seconds(void **state)
{
	(void)state;
	add_culprit(2000ull * MS, 7000ull * MS);
	data->tasks[0].rerun_start_ns = 5000ull * MS;
	stall(2000ull * MS, 2200ull * MS);
	stall(5000ull * MS, 5300ull * MS);
	measure();
	assert_float_equal(measures.late_s_per_culprit, 0.2, 1e-6);
	assert_float_equal(measures.late_s_rerun, 0.3, 1e-6);
}

static void six_values_have_an_interval_and_five_do_not(void **state)
{
	(void)state;
	double values[] = { 6, 1, 5, 2, 4, 3 };
	struct range range;
	measure_range(values, 5, &range);
	assert_false(range.has_ci);
	measure_range(values, 6, &range);
	assert_true(range.has_ci);
	assert_float_equal(range.median, 3.5, 1e-9);
	assert_float_equal(range.ci_low, 1, 1e-9);
	assert_float_equal(range.ci_high, 6, 1e-9);
	/* Nine: the second and the eighth cover the median with 96.1 %. */
	double nine[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	measure_range(nine, 9, &range);
	assert_float_equal(range.ci_low, 2, 1e-9);
	assert_float_equal(range.ci_high, 8, 1e-9);
}

static void ratios_are_formed_repetition_by_repetition(void **state)
{
	(void)state;
	static struct measures own[2], reference[2];
	struct summary_row row = { 0 };
	own[0].goodput_qps = 90;
	reference[0].goodput_qps = 100;
	own[1].goodput_qps = 40;
	reference[1].goodput_qps = 50;
	own[1].wrong_cancels = 3;
	summary_fill(&row, own, reference, 2);
	assert_float_equal(summary_value(&row, FIGURE_goodput_ratio), 0.85, 1e-9);
	assert_float_equal(row.figures[FIGURE_goodput_ratio].min, 0.8, 1e-9);
	/* A fault in one repetition is not averaged away. */
	assert_float_equal(summary_value(&row, FIGURE_wrong_cancels), 3, 1e-9);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_healthy_run_is_all_goodput),
		TEST(a_stall_counts_its_bad_bins_for_the_culprit),
		TEST(times_count_from_the_first_missed_slo),
		TEST(cancelling_anything_but_a_culprit_is_wrong),
		TEST(dropped_requests_are_neither_goodput_nor_latency),
		TEST(what_never_answered_counts_as_long_as_it_waited),
		TEST(the_uncorrected_latency_leaves_out_the_generators_lag),
		TEST(spans_of_overlapping_culprits_are_joined),
		TEST(a_rerun_has_its_own_late_seconds),
		TEST(six_values_have_an_interval_and_five_do_not),
		TEST(ratios_are_formed_repetition_by_repetition),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
