/* SPDX-License-Identifier: Apache-2.0 */
/* Finagle's retry budget with its published constants. */
#include <cancel/admission/retry_finagle.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define S UINT64_C(1000000000)

static struct cancel_retry_finagle budget;

static void made(struct cancel_retry_finagle_options options)
{
	options.struct_size = sizeof options;
	assert_int_equal(cancel_retry_finagle_init(&budget, &options), 0);
}

static unsigned retries(uint64_t now_ns, unsigned tries)
{
	unsigned count = 0;
	while (tries--)
		count += cancel_retry_finagle_admit(&budget, now_ns);
	return count;
}

static void a_quiet_client_may_retry_ten_a_second_over_ten_seconds(void **state)
{
	(void)state;
	made((struct cancel_retry_finagle_options){ 0 });
	assert_int_equal(retries(100 * S, 1000), 100);
	assert_int_equal(retries(108 * S, 1000), 0);
	assert_int_equal(retries(110 * S, 1000), 100);
}

static void twenty_percent_of_requests_may_be_retried(void **state)
{
	(void)state;
	made((struct cancel_retry_finagle_options){ .no_reserve = true });
	for (unsigned i = 0; i < 999; i++)
		cancel_retry_finagle_observe(&budget, S);
	assert_int_equal(retries(S, 1000), 199);
	cancel_retry_finagle_observe(&budget, S);
	assert_int_equal(retries(S, 1000), 1);
}

static void deposits_are_forgotten_after_their_time(void **state)
{
	(void)state;
	made((struct cancel_retry_finagle_options){ .no_reserve = true });
	for (unsigned i = 0; i < 100; i++)
		cancel_retry_finagle_observe(&budget, S);
	assert_int_equal(retries(10 * S, 5), 5);
	assert_int_equal(retries(11 * S, 1000), 0);
}

static void under_steady_load_retries_settle_at_share_and_reserve(void **state)
{
	unsigned count = 0;
	(void)state;
	made((struct cancel_retry_finagle_options){ 0 });
	for (uint64_t ms = 0; ms < 60000; ms++) { /* 1000 requests a second, all retried */
		cancel_retry_finagle_observe(&budget, ms * 1000000);
		const bool retried = cancel_retry_finagle_admit(&budget, ms * 1000000);
		count += retried && ms >= 20000;
	}
	assert_in_range(count / 40, 208, 213); /* 20 % of 1000, and 10: a second */
}

static void a_clock_that_steps_back_gives_nothing_twice(void **state)
{
	(void)state;
	made((struct cancel_retry_finagle_options){ 0 });
	assert_int_equal(retries(100 * S, 1000), 100);
	assert_int_equal(retries(5 * S, 1000), 0);
}

static void options_that_cannot_work_are_refused(void **state)
{
	const struct cancel_retry_finagle_options sizeless = { .share_ppm = 1 };
	const struct cancel_retry_finagle_options brief = { .struct_size = sizeof brief,
		.ttl_ns = 1 };
	(void)state;
	assert_int_equal(cancel_retry_finagle_init(&budget, &sizeless), CANCEL_EINVAL);
	assert_int_equal(cancel_retry_finagle_init(&budget, &brief), CANCEL_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quiet_client_may_retry_ten_a_second_over_ten_seconds),
		cmocka_unit_test(twenty_percent_of_requests_may_be_retried),
		cmocka_unit_test(deposits_are_forgotten_after_their_time),
		cmocka_unit_test(under_steady_load_retries_settle_at_share_and_reserve),
		cmocka_unit_test(a_clock_that_steps_back_gives_nothing_twice),
		cmocka_unit_test(options_that_cannot_work_are_refused),
	};
	return cmocka_run_group_tests_name("admission_retry_finagle", tests, NULL, NULL);
}
