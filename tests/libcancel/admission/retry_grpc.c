/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC's retry throttle with the constants of A6. */
#include <cancel/admission/retry_grpc.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct cancel_retry_grpc budget;

static void made(void)
{
	assert_int_equal(cancel_retry_grpc_init(&budget, NULL), 0);
}

static void the_fifth_failure_in_a_row_stops_retries(void **state)
{
	(void)state;
	made();
	for (unsigned i = 0; i < 4; i++) {
		cancel_retry_grpc_observe(&budget, 0, false);
		assert_true(cancel_retry_grpc_admit(&budget, 0));
	}
	cancel_retry_grpc_observe(&budget, 0, false); /* 5 of 10: not above half */
	assert_false(cancel_retry_grpc_admit(&budget, 0));
}

static void a_tenth_of_a_token_comes_back_a_success(void **state)
{
	(void)state;
	made();
	for (unsigned i = 0; i < 6; i++)
		cancel_retry_grpc_observe(&budget, 0, false);
	for (unsigned i = 0; i < 10; i++)
		cancel_retry_grpc_observe(&budget, 0, true);
	assert_false(cancel_retry_grpc_admit(&budget, 0)); /* exactly 5 again */
	cancel_retry_grpc_observe(&budget, 0, true);
	assert_true(cancel_retry_grpc_admit(&budget, 0));
}

static void the_count_stays_between_zero_and_its_maximum(void **state)
{
	(void)state;
	made();
	for (unsigned i = 0; i < 100; i++)
		cancel_retry_grpc_observe(&budget, 0, true);
	assert_int_equal(budget.tokens_milli, 10000);
	for (unsigned i = 0; i < 100; i++)
		cancel_retry_grpc_observe(&budget, 0, false);
	assert_int_equal(budget.tokens_milli, 0);
	for (unsigned i = 0; i < 51; i++)
		cancel_retry_grpc_observe(&budget, 0, true);
	assert_true(cancel_retry_grpc_admit(&budget, 0));
}

static void options_that_cannot_work_are_refused(void **state)
{
	const struct cancel_retry_grpc_options many = { .struct_size = sizeof many,
		.max_tokens = 1001 };
	const struct cancel_retry_grpc_options sizeless = { .max_tokens = 10 };
	(void)state;
	assert_int_equal(cancel_retry_grpc_init(&budget, &many), CANCEL_EINVAL);
	assert_int_equal(cancel_retry_grpc_init(&budget, &sizeless), CANCEL_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fifth_failure_in_a_row_stops_retries),
		cmocka_unit_test(a_tenth_of_a_token_comes_back_a_success),
		cmocka_unit_test(the_count_stays_between_zero_and_its_maximum),
		cmocka_unit_test(options_that_cannot_work_are_refused),
	};
	return cmocka_run_group_tests_name("admission_retry_grpc", tests, NULL, NULL);
}
