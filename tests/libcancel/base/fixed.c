/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of decisions: shares of a whole must never add up to more than the whole. */
#include "test.h"

#include "libcancel/base/fixed.h"

static void a_scaled_value_is_rounded_down(void **state)
{
	(void)state;
	assert_int_equal(fixed_scale(7, 3, 2), 10);
	assert_int_equal(fixed_scale(0, 3, 2), 0);
	assert_int_equal(fixed_scale(7, 0, 2), 0);
	assert_int_equal(fixed_scale(1, 1, 2), 0);
}

static void what_does_not_fit_is_the_largest_value(void **state)
{
	(void)state;
	assert_int_equal(fixed_scale(UINT64_MAX, 2, 1), UINT64_MAX);
	assert_int_equal(fixed_scale(UINT64_MAX, UINT64_MAX, 1), UINT64_MAX);
	assert_int_equal(fixed_scale(UINT64_MAX, UINT64_MAX, 2), UINT64_MAX);
	assert_int_equal(fixed_scale(5, 5, 0), UINT64_MAX);
	assert_int_equal(fixed_scale(UINT64_MAX, UINT64_MAX, 0), UINT64_MAX);
}

/* Delay of 5,000 waiters over 64 slots in a window needs more than 64 bits on the way. */
static void the_whole_of_a_large_value_is_no_more_than_the_value(void **state)
{
	static const uint64_t wholes[] = { 3200000001, 3199999999, 0x1ffffffffull, 999999999999 };
	const uint64_t value = 250000000001;
	(void)state;
	for (uint32_t i = 0; i < sizeof wholes / sizeof wholes[0]; i++) {
		assert_int_equal(fixed_scale(value, wholes[i], wholes[i]), value);
		assert_int_equal(fixed_scale(value, wholes[i] - 1, wholes[i]),
			value - 1 - value / wholes[i]);
	}
}

static void large_parts_do_not_exceed_the_whole(void **state)
{
	const uint64_t value = 987654321987654321, whole = 3200000007;
	uint64_t left = value;
	(void)state;
	for (uint64_t part = whole; part > 0; part -= part / 2 ? part / 2 : 1) {
		uint64_t half = part / 2 ? part / 2 : 1;
		uint64_t share = fixed_scale(value, half, whole);
		assert_true(share <= left);
		left -= share;
	}
}

static void a_large_quotient_is_exact(void **state)
{
	(void)state;
	/* 2^62 * 3 / 2^10 */
	assert_int_equal(fixed_scale(1ull << 62, 3, 1u << 10), 3ull << 52);
	assert_int_equal(fixed_scale(1000000000000000000, 1000000, 1000000000000000001), 999999);
	assert_int_equal(fixed_scale(UINT64_MAX, UINT64_MAX, UINT64_MAX), UINT64_MAX);
	assert_int_equal(fixed_scale(UINT64_MAX, UINT64_MAX - 1, UINT64_MAX), UINT64_MAX - 1);
}

static void sums_and_products_that_do_not_fit_are_the_largest_value(void **state)
{
	(void)state;
	assert_int_equal(fixed_plus(2, 3), 5);
	assert_int_equal(fixed_plus(UINT64_MAX, 1), UINT64_MAX);
	assert_int_equal(fixed_times(1u << 31, 2), 1ull << 32);
	assert_int_equal(fixed_times(UINT64_MAX, 0), 0);
	assert_int_equal(fixed_times(1ull << 32, 1ull << 32), UINT64_MAX);
}

static void a_part_may_be_larger_than_the_whole(void **state)
{
	(void)state;
	assert_int_equal(fixed_part(7, 500000), 3);
	assert_int_equal(fixed_part(7, 2000000), 14);
	assert_int_equal(fixed_part(UINT64_MAX, CANCEL_PPM), UINT64_MAX);
	assert_int_equal(fixed_part(UINT64_MAX, CANCEL_PPM + 1), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scaled_value_is_rounded_down),
		cmocka_unit_test(what_does_not_fit_is_the_largest_value),
		cmocka_unit_test(the_whole_of_a_large_value_is_no_more_than_the_value),
		cmocka_unit_test(large_parts_do_not_exceed_the_whole),
		cmocka_unit_test(a_large_quotient_is_exact),
		cmocka_unit_test(sums_and_products_that_do_not_fit_are_the_largest_value),
		cmocka_unit_test(a_part_may_be_larger_than_the_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
