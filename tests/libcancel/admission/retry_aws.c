/* SPDX-License-Identifier: Apache-2.0 */
/* The AWS retry quota with the constants of the standard mode. */
#include <cancel/admission/retry_aws.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define S UINT64_C(1000000000)

static struct cancel_retry_aws quota;

static void made(void)
{
	assert_int_equal(cancel_retry_aws_init(&quota, NULL), 0);
}

static void a_call_has_three_attempts(void **state)
{
	struct cancel_retry_aws_call call = { 0 };
	(void)state;
	made();
	assert_true(cancel_retry_aws_admit(&quota, 0, &call, false));
	assert_true(cancel_retry_aws_admit(&quota, 0, &call, false));
	assert_false(cancel_retry_aws_admit(&quota, 0, &call, false));
	assert_int_equal(quota.tokens, 490);
}

static void a_retry_after_a_timeout_costs_twice_as_much(void **state)
{
	struct cancel_retry_aws_call call = { 0 };
	(void)state;
	made();
	assert_true(cancel_retry_aws_admit(&quota, 0, &call, true));
	assert_int_equal(quota.tokens, 490);
}

static void a_success_returns_what_its_last_retry_cost(void **state)
{
	struct cancel_retry_aws_call call = { 0 };
	(void)state;
	made();
	assert_true(cancel_retry_aws_admit(&quota, 0, &call, false));
	assert_true(cancel_retry_aws_admit(&quota, 0, &call, true));
	cancel_retry_aws_observe(&quota, 0, &call);
	assert_int_equal(quota.tokens, 495);
}

static void a_first_try_success_gives_one_up_to_the_capacity(void **state)
{
	const struct cancel_retry_aws_call first_try = { 0 };
	struct cancel_retry_aws_call failing = { 0 };
	(void)state;
	made();
	cancel_retry_aws_observe(&quota, 0, &first_try);
	assert_int_equal(quota.tokens, 500);
	assert_true(cancel_retry_aws_admit(&quota, 0, &failing, false));
	cancel_retry_aws_observe(&quota, 0, &first_try);
	assert_int_equal(quota.tokens, 496);
}

static void an_outage_drains_the_quota_after_a_hundred_retries(void **state)
{
	unsigned count = 0;
	(void)state;
	made();
	for (unsigned i = 0; i < 1000; i++) {
		struct cancel_retry_aws_call call = { 0 };
		while (cancel_retry_aws_admit(&quota, 0, &call, false))
			count++;
	}
	assert_int_equal(count, 100);
}

static void backoff_is_full_jitter_under_a_doubling_limit(void **state)
{
	(void)state;
	made();
	for (uint32_t retry = 1; retry <= 8; retry++) {
		const struct cancel_retry_aws_call call = { .retries = retry };
		const uint64_t doubled_ns = S << (retry - 1);
		const uint64_t limit_ns = doubled_ns < 20 * S ? doubled_ns : 20 * S;
		assert_int_equal(cancel_retry_aws_backoff_ns(&quota, &call, 0), 0);
		assert_int_equal(
			cancel_retry_aws_backoff_ns(&quota, &call, 1u << 31), limit_ns / 2);
		assert_in_range(cancel_retry_aws_backoff_ns(&quota, &call, UINT32_MAX),
			limit_ns - 6, limit_ns - 1);
	}
}

static void the_longest_backoff_does_not_overflow(void **state)
{
	const struct cancel_retry_aws_options options = {
		.struct_size = sizeof options, .base_ns = UINT64_MAX / 3, .max_ns = UINT64_MAX
	};
	const struct cancel_retry_aws_call call = { .retries = 60 };
	(void)state;
	assert_int_equal(cancel_retry_aws_init(&quota, &options), 0);
	assert_true(cancel_retry_aws_backoff_ns(&quota, &call, 1u << 31) == UINT64_MAX / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_has_three_attempts),
		cmocka_unit_test(a_retry_after_a_timeout_costs_twice_as_much),
		cmocka_unit_test(a_success_returns_what_its_last_retry_cost),
		cmocka_unit_test(a_first_try_success_gives_one_up_to_the_capacity),
		cmocka_unit_test(an_outage_drains_the_quota_after_a_hundred_retries),
		cmocka_unit_test(backoff_is_full_jitter_under_a_doubling_limit),
		cmocka_unit_test(the_longest_backoff_does_not_overflow),
	};
	return cmocka_run_group_tests_name("admission_retry_aws", tests, NULL, NULL);
}
