/* SPDX-License-Identifier: Apache-2.0 */
/* What "healed", goodput and success mean: requests made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "bench/report/retry_measure.h"
#include "bench/report/summary.h"

#define RATE	 100
#define LENGTH_S 10
#define MS	 1000000ull

static struct arrival arrivals[RATE * LENGTH_S];
static struct outcome outcomes[RATE * LENGTH_S];
static struct schedule schedule = { .arrivals = arrivals, .count = RATE * LENGTH_S };
static struct samples data;
static struct retry_record record;
static struct measures measures;

/* A hundred a second for ten seconds, all answered 20 ms after they were due; onset at 2 s. */
static int make_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < RATE * LENGTH_S; i++) {
		arrivals[i] = (struct arrival){ .due_ns = i * 10 * MS, .draw = i };
		outcomes[i] = (struct outcome){ .done_us = 20000, .kind = OUTCOME_OK };
	}
	data = (struct samples){ .schedule = &schedule,
		.outcomes = outcomes,
		.slo_ns = UINT64_MAX,
		.length_ns = LENGTH_S * 1000 * MS };
	record = (struct retry_record){ .data = &data,
		.priorities = TARGET_PRIORITIES,
		.onset_ns = 2000 * MS,
		.settled_ns = 10000 * MS,
		.trigger = "lock",
		.saturation_qps = 110 };
	return 0;
}

static void fail_between(uint64_t from_ms, uint64_t to_ms, size_t one_in)
{
	for (size_t i = 0; i < schedule.count; i += one_in)
		if (arrivals[i].due_ns >= from_ms * MS && arrivals[i].due_ns < to_ms * MS)
			outcomes[i].kind = OUTCOME_TIMED_OUT;
}

static void a_run_that_was_never_ill_heals_at_once(void **state)
{
	(void)state;
	retry_measure(&record, &measures);
	assert_float_equal(measures.heals, 1, 0);
	assert_float_equal(measures.heal_s, 0, 0);
	assert_float_equal(measures.goodput_ratio, 1, 1e-9);
	assert_float_equal(measures.p50_ms, 20, 1e-9);
	assert_float_equal(measures.late_s, 0, 0);
}

static void it_heals_where_the_last_bad_stretch_ends(void **state)
{
	(void)state;
	fail_between(2000, 3000, 1);
	fail_between(5000, 6000, 1);
	retry_measure(&record, &measures);
	assert_float_equal(measures.heal_s, 4, 1e-9);
	assert_float_equal(measures.goodput_ratio, 0.75, 1e-9);
	assert_float_equal(measures.end_goodput_ratio, 1, 1e-9);
	assert_float_equal(measures.late_s, 2, 1e-9);
}

static void it_never_heals_when_the_end_is_bad(void **state)
{
	(void)state;
	fail_between(2000, 10000, 1);
	retry_measure(&record, &measures);
	assert_float_equal(measures.heals, 0, 0);
	assert_true(isnan(measures.heal_s));
	assert_float_equal(measures.end_goodput_ratio, 0, 0);
}

static void less_than_a_second_of_health_is_not_healed(void **state)
{
	(void)state;
	fail_between(2000, 9250, 1);
	retry_measure(&record, &measures);
	assert_float_equal(measures.heals, 0, 0);
}

static void one_failure_in_twenty_is_healthy_and_one_in_five_is_not(void **state)
{
	(void)state;
	fail_between(2000, 10000, 20);
	retry_measure(&record, &measures);
	assert_float_equal(measures.heals, 1, 0);
	fail_between(2000, 10000, 5);
	retry_measure(&record, &measures);
	assert_float_equal(measures.heals, 0, 0);
}

static void what_has_not_had_its_time_is_left_out(void **state)
{
	(void)state;
	fail_between(9000, 10000, 1);
	record.settled_ns = 9000 * MS;
	retry_measure(&record, &measures);
	assert_float_equal(measures.success_pct, 100, 0);
	assert_float_equal(measures.heals, 1, 0);
}

static void success_is_by_priority(void **state)
{
	(void)state;
	size_t of_one = 0;
	for (size_t i = 0; i < schedule.count; i++) {
		uint16_t user;
		uint8_t priority;
		clients_who(arrivals[i].draw, TARGET_PRIORITIES, &user, &priority);
		of_one += priority == 1;
		if (priority == 3 || (priority == 1 && of_one % 2 == 0))
			outcomes[i].kind = OUTCOME_REJECTED;
	}
	retry_measure(&record, &measures);
	assert_float_equal(measures.success_pct_by_priority[0], 100, 0);
	assert_float_equal(measures.success_pct_by_priority[1], 50, 0.6);
	assert_float_equal(measures.success_pct_by_priority[2], 100, 0);
	assert_float_equal(measures.success_pct_by_priority[3], 0, 0);
}

static void above_capacity_goodput_is_a_share_of_capacity(void **state)
{
	(void)state;
	record.saturation_qps = 50;
	record.trigger = NULL;
	fail_between(2000, 10000, 2);
	retry_measure(&record, &measures);
	assert_float_equal(measures.goodput_ratio, 1, 1e-9);
	assert_true(isnan(measures.heals));
}

static void a_row_has_the_range_of_what_was_measured(void **state)
{
	static struct measures runs[3];
	struct summary_row row = { 0 };
	(void)state;
	for (int i = 0; i < 3; i++) {
		runs[i].disturbance = (struct disturbance){ 0 };
		for (int f = 0; f < FIGURE_COUNT; f++)
			runs[i].figures[f] = NAN;
		for (int p = 0; p < TARGET_PRIORITIES; p++)
			runs[i].success_pct_by_priority[p] = 10 * i;
		runs[i].heals = i != 1;
	}
	runs[0].heal_s = 3;
	runs[2].heal_s = 5;
	summary_fill(&row, runs, NULL, 3);
	assert_float_equal(row.figures[FIGURE_heals].median, 1, 0);
	assert_float_equal(row.figures[FIGURE_heals].min, 0, 0);
	assert_int_equal(row.figures[FIGURE_heal_s].count, 2);
	assert_float_equal(row.figures[FIGURE_heal_s].max, 5, 0);
	assert_int_equal(row.figures[FIGURE_reject_ms].count, 0);
	assert_float_equal(row.success_pct_by_priority[3].median, 10, 0);
}

static void a_disturbed_run_is_left_out_of_its_row(void **state)
{
	static struct measures runs[3];
	static struct summary_row row, disturbed;
	(void)state;
	for (int i = 0; i < 3; i++)
		runs[i].goodput_ratio = 1 + i;
	disturbance_mark(&runs[1].disturbance, "others had it");
	summary_fill(&row, runs, NULL, 3);
	assert_false(row.disturbed);
	assert_int_equal(row.choice.left_out_count, 1);
	assert_int_equal(row.choice.left_out[0], 1);
	assert_int_equal(row.figures[FIGURE_goodput_ratio].count, 2);
	summary_fill(&disturbed, &runs[1], NULL, 1);
	assert_true(disturbed.disturbed);
	assert_float_equal(disturbed.figures[FIGURE_goodput_ratio].median, 2, 0);
}

static void the_trigger_and_its_company_are_told_apart(void **state)
{
	(void)state;
	data.task_count = 3;
	data.tasks[0] = (struct task_record){ .name = "lock",
		.label = LABEL_CULPRIT,
		.taken_ns = 2100 * MS,
		.end_ns = 3000 * MS,
		.held_ns = 900 * MS,
		.cancelled = true };
	data.tasks[1] = (struct task_record){
		.name = "lock", .label = LABEL_CULPRIT, .taken_ns = 9000 * MS
	};
	data.tasks[2] = (struct task_record){ .name = "report", .cancelled = true };
	data.cancel_count = 2;
	data.cancels[0] = (struct cancel_record){
		.serial = 1, .label = LABEL_CULPRIT, .decided_ns = 2900 * MS
	};
	data.cancels[1] = (struct cancel_record){
		.serial = 2, .label = LABEL_BYSTANDER, .decided_ns = 2500 * MS
	};
	record.resends = 5;
	retry_measure(&record, &measures);
	assert_float_equal(measures.trigger_ms, 1900, 0);
	assert_float_equal(measures.decided_ms, 800, 0);
	assert_float_equal(measures.resends, 1, 0);
	assert_float_equal(measures.company_cancelled, 1, 0);
	assert_float_equal(measures.cancels, 2, 0);
	assert_float_equal(measures.wrong_cancels, 1, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, make_requests)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_run_that_was_never_ill_heals_at_once),
		TEST(it_heals_where_the_last_bad_stretch_ends),
		TEST(it_never_heals_when_the_end_is_bad),
		TEST(less_than_a_second_of_health_is_not_healed),
		TEST(one_failure_in_twenty_is_healthy_and_one_in_five_is_not),
		TEST(what_has_not_had_its_time_is_left_out),
		TEST(success_is_by_priority),
		TEST(above_capacity_goodput_is_a_share_of_capacity),
		TEST(a_row_has_the_range_of_what_was_measured),
		TEST(a_disturbed_run_is_left_out_of_its_row),
		TEST(the_trigger_and_its_company_are_told_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
