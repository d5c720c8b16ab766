/* SPDX-License-Identifier: Apache-2.0 */
/* Envoy's retry budget with its published constants. */
#include <cancel/admission/retry_envoy.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct cancel_retry_envoy budget;

static void made(void)
{
	assert_int_equal(cancel_retry_envoy_init(&budget, NULL), 0);
}

static unsigned retries(unsigned tries)
{
	unsigned count = 0;
	while (tries--)
		count += cancel_retry_envoy_admit(&budget, 0);
	return count;
}

static void a_quiet_client_has_three_retries_in_flight(void **state)
{
	(void)state;
	made();
	assert_int_equal(retries(10), 3);
	cancel_retry_envoy_end(&budget, 0);
	assert_int_equal(retries(10), 1);
}

static void a_busy_client_has_a_fifth_of_its_work_in_flight_as_retries(void **state)
{
	(void)state;
	made();
	cancel_retry_envoy_observe(&budget, 0, 104);
	assert_int_equal(retries(100), 20);
	cancel_retry_envoy_observe(&budget, 0, 1);
	assert_int_equal(retries(100), 1);
}

static void retries_wait_when_the_work_has_left(void **state)
{
	(void)state;
	made();
	cancel_retry_envoy_observe(&budget, 0, 100);
	assert_int_equal(retries(100), 20);
	cancel_retry_envoy_observe(&budget, 0, -50);
	for (unsigned i = 0; i < 10; i++) {
		assert_false(cancel_retry_envoy_admit(&budget, 0));
		cancel_retry_envoy_end(&budget, 0);
	}
	assert_false(cancel_retry_envoy_admit(&budget, 0)); /* 10 in flight of 10 */
	cancel_retry_envoy_end(&budget, 0);
	assert_true(cancel_retry_envoy_admit(&budget, 0));
}

static void leaving_twice_does_not_wrap(void **state)
{
	(void)state;
	made();
	cancel_retry_envoy_observe(&budget, 0, -5);
	cancel_retry_envoy_end(&budget, 0);
	assert_int_equal(retries(10), 3);
}

static void options_that_cannot_work_are_refused(void **state)
{
	const struct cancel_retry_envoy_options share = { .struct_size = sizeof share,
		.share_ppm = 1000001 };
	(void)state;
	assert_int_equal(cancel_retry_envoy_init(&budget, &share), CANCEL_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quiet_client_has_three_retries_in_flight),
		cmocka_unit_test(a_busy_client_has_a_fifth_of_its_work_in_flight_as_retries),
		cmocka_unit_test(retries_wait_when_the_work_has_left),
		cmocka_unit_test(leaving_twice_does_not_wrap),
		cmocka_unit_test(options_that_cannot_work_are_refused),
	};
	return cmocka_run_group_tests_name("admission_retry_envoy", tests, NULL, NULL);
}
