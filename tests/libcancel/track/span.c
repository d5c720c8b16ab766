/* SPDX-License-Identifier: Apache-2.0 */
/* One word that holds a count and the time spent with it. */
#include "test.h"

#include "libcancel/track/span.h"

#define LATE_NS 9000000000000000ull /* 104 days */

static void a_span_counts_while_something_is_held(void **state)
{
	uint64_t span = span_change(0, 1, 1000);
	(void)state;
	assert_int_equal(span_total_ns(span, 1000), 0);
	assert_int_equal(span_total_ns(span, 1700), 700);
	span = span_change(span, 0, 2000);
	assert_int_equal(span_total_ns(span, 2000), 1000);
	assert_int_equal(span_total_ns(span, 5000), 1000);
}

static void holds_add_up(void **state)
{
	uint64_t span = 0;
	(void)state;
	for (uint64_t t = LATE_NS; t < LATE_NS + 1000; t += 10) {
		span = span_change(span, 1, t);
		span = span_change(span, 0, t + 4);
	}
	assert_int_equal(span_total_ns(span, LATE_NS + 5000), 400);
}

static void several_slots_count_several_times(void **state)
{
	uint64_t span = span_change(0, 3, 100);
	(void)state;
	assert_int_equal(span_total_ns(span, 200), 300);
	span = span_change(span, 1, 200);
	assert_int_equal(span_total_ns(span, 300), 400);
	span = span_change(span, SPAN_COUNT_MAX, 300);
	assert_int_equal(span_count(span), SPAN_COUNT_MAX);
	assert_int_equal(span_total_ns(span, 310), 400 + 10 * SPAN_COUNT_MAX);
}

static void a_step_is_a_change_by_one(void **state)
{
	uint64_t span = span_change(0, 2, LATE_NS);
	(void)state;
	assert_int_equal(span_step(span, 1, LATE_NS + 7), span_change(span, 3, LATE_NS + 7));
	assert_int_equal(span_step(span, -1, LATE_NS + 7), span_change(span, 1, LATE_NS + 7));
}

static void a_clock_that_steps_back_reads_as_zero(void **state)
{
	uint64_t span = span_change(0, 1, 1000);
	(void)state;
	assert_int_equal(span_total_ns(span, 400), 0);
	span = span_change(span, 0, 400);
	assert_int_equal(span_total_ns(span, 400), 0);
}

static void totals_of_another_span_can_be_added(void **state)
{
	uint64_t span = span_change(0, 1, 1000);
	(void)state;
	span = span_add(span, 250);
	assert_int_equal(span_count(span), 1);
	assert_int_equal(span_total_ns(span, 1100), 350);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_counts_while_something_is_held),
		cmocka_unit_test(holds_add_up),
		cmocka_unit_test(several_slots_count_several_times),
		cmocka_unit_test(a_step_is_a_change_by_one),
		cmocka_unit_test(a_clock_that_steps_back_reads_as_zero),
		cmocka_unit_test(totals_of_another_span_can_be_added),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
