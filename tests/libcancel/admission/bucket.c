/* SPDX-License-Identifier: Apache-2.0 */
/* The token bucket: the contracts of issue and lane 2, and exactness. */
#include <cancel/admission/bucket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

static struct cancel_bucket made(struct cancel_bucket_options options)
{
	struct cancel_bucket bucket;
	options.struct_size = sizeof options;
	assert_int_equal(cancel_bucket_init(&bucket, &options), 0);
	return bucket;
}

static unsigned taken(struct cancel_bucket *bucket, uint64_t now_ns, unsigned tries)
{
	unsigned count = 0;
	while (tries--)
		count += cancel_bucket_admit(bucket, now_ns, 1);
	return count;
}

static void ten_a_second_burst_five_gives_five_at_once_then_denies(void **state)
{
	struct cancel_bucket bucket =
		made((struct cancel_bucket_options){ .rate = 10, .burst = 5 });

	(void)state;
	assert_int_equal(taken(&bucket, 0, 5), 5);
	assert_false(cancel_bucket_admit(&bucket, 0, 1));
}

static void ten_a_second_burst_one_gives_exactly_ten_in_the_second_after_its_first(void **state)
{
	struct cancel_bucket bucket =
		made((struct cancel_bucket_options){ .rate = 10, .burst = 1 });
	unsigned count = 0;

	(void)state;
	assert_true(cancel_bucket_admit(&bucket, 0, 1));
	for (uint64_t ms = 1; ms <= 1000; ms++)
		count += cancel_bucket_admit(&bucket, ms * MS, 1);
	assert_int_equal(count, 10);
}

static void idle_time_fills_no_further_than_the_burst(void **state)
{
	struct cancel_bucket bucket =
		made((struct cancel_bucket_options){ .rate = 1000, .burst = 4 });

	(void)state;
	taken(&bucket, 0, 4);
	assert_int_equal(taken(&bucket, 10 * S, 100), 4);
}

static void the_burst_defaults_to_the_rate_and_starts_full(void **state)
{
	struct cancel_bucket bucket = made((struct cancel_bucket_options){ .rate = 15 });
	(void)state;
	assert_int_equal(taken(&bucket, 0, 100), 15);
}

static void a_bucket_that_starts_empty_gives_its_first_token_after_one_interval(void **state)
{
	struct cancel_bucket bucket = made((struct cancel_bucket_options){
		.rate = 4, .start_empty = true, .start_ns = 7 * S });
	(void)state;
	assert_false(cancel_bucket_admit(&bucket, 7 * S + 250 * MS - 1, 1));
	assert_true(cancel_bucket_admit(&bucket, 7 * S + 250 * MS, 1));
}

static void refill_loses_nothing_to_rounding(void **state)
{
	/* 3 a second, asked every 7 ns for a long while: a bucket that rounds each refill
	 * down to whole nanotokens or to doubles drifts; this one has them at the ns. */
	struct cancel_bucket bucket =
		made((struct cancel_bucket_options){ .rate = 3, .burst = 2, .start_empty = true });
	uint64_t now_ns = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		assert_false(cancel_bucket_admit(&bucket, now_ns += 7, 1));
	assert_false(cancel_bucket_admit(&bucket, 333333333, 1));
	assert_true(cancel_bucket_admit(&bucket, 333333334, 1));
	assert_int_equal(cancel_bucket_wait_ns(&bucket, 333333334, 1), 333333333);
}

static void a_rate_below_one_a_second_is_given_by_its_period(void **state)
{
	struct cancel_bucket bucket = made((struct cancel_bucket_options){
		.rate = 1, .burst = 2, .per_ns = 15 * S, .start_empty = true });
	(void)state;
	assert_false(cancel_bucket_admit(&bucket, 15 * S - 1, 1));
	assert_true(cancel_bucket_admit(&bucket, 15 * S, 1));
}

static void the_wait_it_names_is_the_wait_it_takes(void **state)
{
	struct cancel_bucket bucket = made((struct cancel_bucket_options){ .rate = 7, .burst = 3 });
	(void)state;
	taken(&bucket, 0, 3);
	const uint64_t wait_ns = cancel_bucket_wait_ns(&bucket, 0, 2);
	assert_false(cancel_bucket_admit(&bucket, wait_ns - 1, 2));
	assert_true(cancel_bucket_admit(&bucket, wait_ns, 2));
	assert_true(cancel_bucket_wait_ns(&bucket, wait_ns, 4) == UINT64_MAX);
	assert_int_equal(cancel_bucket_wait_ns(&bucket, wait_ns + S, 1), 0);
}

static void a_refused_take_takes_nothing_and_a_gift_stops_at_the_cap(void **state)
{
	struct cancel_bucket bucket = made((struct cancel_bucket_options){ .burst = 5 });
	(void)state;
	assert_false(cancel_bucket_admit(&bucket, 0, 6));
	assert_int_equal(cancel_bucket_level(&bucket, 0), 5);
	assert_true(cancel_bucket_admit(&bucket, 0, 4));
	cancel_bucket_give(&bucket, 0, 2);
	assert_int_equal(cancel_bucket_level(&bucket, 0), 3);
	cancel_bucket_give(&bucket, 0, UINT64_MAX);
	assert_int_equal(cancel_bucket_level(&bucket, 0), 5);
}

static void a_new_rate_counts_from_now_on(void **state)
{
	struct cancel_bucket bucket = made(
		(struct cancel_bucket_options){ .rate = 10, .burst = 100, .start_empty = true });
	(void)state;
	cancel_bucket_set_rate(&bucket, S, 20);
	assert_int_equal(cancel_bucket_level(&bucket, 2 * S), 30);
}

static void a_clock_that_steps_back_refills_nothing(void **state)
{
	struct cancel_bucket bucket = made((struct cancel_bucket_options){
		.rate = 10, .burst = 10, .start_empty = true, .start_ns = 5 * S });
	(void)state;
	assert_false(cancel_bucket_admit(&bucket, S, 1));
	assert_false(cancel_bucket_admit(&bucket, 5 * S, 1));
	assert_int_equal(cancel_bucket_level(&bucket, 6 * S), 10);
}

static void extremes_do_not_overflow(void **state)
{
	struct cancel_bucket bucket = made((struct cancel_bucket_options){
		.rate = UINT64_MAX, .burst = 9, .start_empty = true });
	(void)state;
	assert_int_equal(cancel_bucket_level(&bucket, UINT64_MAX), 9);
	assert_false(cancel_bucket_admit(&bucket, UINT64_MAX, UINT64_MAX));
}

static void options_that_cannot_work_are_refused(void **state)
{
	struct cancel_bucket bucket;
	const struct cancel_bucket_options sizeless = { .rate = 1 };
	const struct cancel_bucket_options huge = {
		.struct_size = sizeof huge, .rate = 1, .burst = UINT64_MAX / 2
	};
	(void)state;
	assert_int_equal(cancel_bucket_init(&bucket, &sizeless), CANCEL_EINVAL);
	assert_int_equal(cancel_bucket_init(&bucket, &huge), CANCEL_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_a_second_burst_five_gives_five_at_once_then_denies),
		cmocka_unit_test(
			ten_a_second_burst_one_gives_exactly_ten_in_the_second_after_its_first),
		cmocka_unit_test(idle_time_fills_no_further_than_the_burst),
		cmocka_unit_test(the_burst_defaults_to_the_rate_and_starts_full),
		cmocka_unit_test(
			a_bucket_that_starts_empty_gives_its_first_token_after_one_interval),
		cmocka_unit_test(refill_loses_nothing_to_rounding),
		cmocka_unit_test(a_rate_below_one_a_second_is_given_by_its_period),
		cmocka_unit_test(the_wait_it_names_is_the_wait_it_takes),
		cmocka_unit_test(a_refused_take_takes_nothing_and_a_gift_stops_at_the_cap),
		cmocka_unit_test(a_new_rate_counts_from_now_on),
		cmocka_unit_test(a_clock_that_steps_back_refills_nothing),
		cmocka_unit_test(extremes_do_not_overflow),
		cmocka_unit_test(options_that_cannot_work_are_refused),
	};
	return cmocka_run_group_tests_name("admission_bucket", tests, NULL, NULL);
}
