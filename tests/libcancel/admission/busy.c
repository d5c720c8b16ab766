/* SPDX-License-Identifier: Apache-2.0 */
/* BUSY: others wait for five seconds, then fail fast until the operation ends. */
#include <cancel/admission/busy.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define S UINT64_C(1000000000)

static struct cancel_busy busy;

static void others_wait_for_five_seconds_then_fail_fast(void **state)
{
	(void)state;
	assert_int_equal(cancel_busy_init(&busy, NULL), 0);
	assert_true(cancel_busy_admit(&busy, 100 * S));
	cancel_busy_observe(&busy, 100 * S, true);
	assert_true(cancel_busy_admit(&busy, 105 * S));
	assert_false(cancel_busy_admit(&busy, 105 * S + 1));
	cancel_busy_observe(&busy, 106 * S, false);
	assert_true(cancel_busy_admit(&busy, 106 * S));
}

static void hearing_of_it_again_does_not_restart_the_clock(void **state)
{
	(void)state;
	assert_int_equal(cancel_busy_init(&busy, NULL), 0);
	cancel_busy_observe(&busy, 100 * S, true);
	cancel_busy_observe(&busy, 104 * S, true);
	assert_false(cancel_busy_admit(&busy, 106 * S));
	cancel_busy_observe(&busy, 107 * S, false);
	cancel_busy_observe(&busy, 107 * S, true);
	assert_true(cancel_busy_admit(&busy, 110 * S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_wait_for_five_seconds_then_fail_fast),
		cmocka_unit_test(hearing_of_it_again_does_not_restart_the_clock),
	};
	return cmocka_run_group_tests_name("admission_busy", tests, NULL, NULL);
}
