/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "libcancel/base/histogram.h"

static void every_bucket_begins_where_the_one_before_ends(void **state)
{
	(void)state;
	for (uint32_t i = 0; i + 1 < CANCEL_HISTOGRAM_MAX; i++) {
		uint64_t next_ns = histogram_lower_ns(i + 1);
		assert_int_equal(histogram_index(histogram_lower_ns(i)), i);
		assert_int_equal(histogram_index(next_ns - 1), i);
	}
}

static void a_value_is_within_three_percent_of_its_bucket(void **state)
{
	(void)state;
	for (uint64_t value_ns = 1; value_ns < (1ull << 40); value_ns += 1 + value_ns / 97) {
		uint64_t middle_ns = histogram_middle_ns(histogram_index(value_ns));
		uint64_t error_ns =
			middle_ns > value_ns ? middle_ns - value_ns : value_ns - middle_ns;

		assert_true(error_ns * 100 <= value_ns * 3);
	}
}

static void huge_values_land_in_the_last_bucket(void **state)
{
	(void)state;
	assert_int_equal(histogram_index(UINT64_MAX), CANCEL_HISTOGRAM_MAX - 1);
	assert_int_equal(histogram_index(1ull << 40), CANCEL_HISTOGRAM_MAX - 1);
}

static void quantiles_follow_the_nearest_rank(void **state)
{
	static uint64_t counts[CANCEL_HISTOGRAM_MAX];
	(void)state;
	assert_int_equal(histogram_quantile_ns(counts, 990000), 0);
	counts[histogram_index(10)] = 98;
	counts[histogram_index(20)] = 1;
	counts[histogram_index(30)] = 1;
	assert_int_equal(histogram_total(counts), 100);
	assert_int_equal(histogram_quantile_ns(counts, 0), 10);
	assert_int_equal(histogram_quantile_ns(counts, 980000), 10);
	assert_int_equal(histogram_quantile_ns(counts, 980001), 20);
	assert_int_equal(histogram_quantile_ns(counts, 990000), 20);
	assert_int_equal(histogram_quantile_ns(counts, 1000000), 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bucket_begins_where_the_one_before_ends),
		cmocka_unit_test(a_value_is_within_three_percent_of_its_bucket),
		cmocka_unit_test(huge_values_land_in_the_last_bucket),
		cmocka_unit_test(quantiles_follow_the_nearest_rank),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
