/* SPDX-License-Identifier: Apache-2.0 */
/* Output limits with Redis's constants for subscribers. */
#include <cancel/admission/output_limit.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define S   UINT64_C(1000000000)
#define MIB (UINT64_C(1) << 20)

static struct cancel_output_limit limit;

static void made(void)
{
	const struct cancel_output_limit_options options = {
		.struct_size = sizeof options, .hard_bytes = 32 * MIB, .soft_bytes = 8 * MIB
	};
	assert_int_equal(cancel_output_limit_init(&limit, &options), 0);
}

static void the_hard_limit_disconnects_at_once(void **state)
{
	(void)state;
	made();
	assert_true(cancel_output_limit_admit(&limit, S, 32 * MIB));
	assert_false(cancel_output_limit_admit(&limit, S, 32 * MIB + 1));
}

static void the_soft_limit_disconnects_after_a_minute_without_a_break(void **state)
{
	(void)state;
	made();
	assert_true(cancel_output_limit_admit(&limit, 100 * S, 9 * MIB));
	assert_true(cancel_output_limit_admit(&limit, 160 * S, 9 * MIB));
	assert_false(cancel_output_limit_admit(&limit, 160 * S + 1, 9 * MIB));
}

static void a_client_that_catches_up_starts_a_new_minute(void **state)
{
	(void)state;
	made();
	assert_true(cancel_output_limit_admit(&limit, 100 * S, 9 * MIB));
	assert_true(cancel_output_limit_admit(&limit, 159 * S, 8 * MIB));
	assert_true(cancel_output_limit_admit(&limit, 161 * S, 9 * MIB));
	assert_true(cancel_output_limit_admit(&limit, 220 * S, 9 * MIB));
}

static void without_limits_anything_may_wait(void **state)
{
	(void)state;
	assert_int_equal(cancel_output_limit_init(&limit, NULL), 0);
	assert_true(cancel_output_limit_admit(&limit, 1, UINT64_MAX));
	assert_true(cancel_output_limit_admit(&limit, UINT64_MAX, UINT64_MAX));
}

static void options_that_cannot_work_are_refused(void **state)
{
	const struct cancel_output_limit_options crossed = {
		.struct_size = sizeof crossed, .hard_bytes = 1, .soft_bytes = 2
	};
	(void)state;
	assert_int_equal(cancel_output_limit_init(&limit, &crossed), CANCEL_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hard_limit_disconnects_at_once),
		cmocka_unit_test(the_soft_limit_disconnects_after_a_minute_without_a_break),
		cmocka_unit_test(a_client_that_catches_up_starts_a_new_minute),
		cmocka_unit_test(without_limits_anything_may_wait),
		cmocka_unit_test(options_that_cannot_work_are_refused),
	};
	return cmocka_run_group_tests_name("admission_output_limit", tests, NULL, NULL);
}
