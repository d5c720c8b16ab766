/* SPDX-License-Identifier: Apache-2.0 */
/* pBox: who is a victim, how long the holder sleeps, and what bounds it. */
#include <cancel/admission/pbox.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

static struct cancel_pbox pbox;
static struct cancel_pbox_task holder, waiter;

/* A holder whose activities take 100 ms, a waiter whose take 1 ms. */
static void made(void)
{
	assert_int_equal(cancel_pbox_init(&pbox, NULL), 0);
	holder = waiter = (struct cancel_pbox_task){ 0 };
	cancel_pbox_observe(&holder, 100 * MS, 0);
	cancel_pbox_observe(&waiter, MS, 0);
}

static uint64_t release(uint64_t deferral_ns, uint64_t execution_ns)
{
	cancel_pbox_waiter(&pbox, &waiter, deferral_ns, execution_ns);
	return cancel_pbox_release(&pbox, &holder);
}

static void a_waiter_within_its_goal_costs_the_holder_nothing(void **state)
{
	(void)state;
	made();
	assert_int_equal(release(500 * US, MS), 0); /* exactly 50 % */
	assert_true(release(501 * US, MS) > 0);
}

static void the_penalty_is_the_geometric_mean_less_the_victims_time(void **state)
{
	(void)state;
	made();
	/* sqrt(16 ms x 100 ms) = 40 ms, less 1 ms */
	assert_in_range(release(16 * MS, MS), 38900 * US, 39000 * US);
}

static void the_penalty_keeps_the_holder_within_its_own_goal(void **state)
{
	(void)state;
	made();
	assert_int_equal(release(10000 * MS, MS), 50 * MS); /* half of its 100 ms */
}

static void a_penalty_that_did_not_help_doubles_up_to_the_bound(void **state)
{
	(void)state;
	made();
	const uint64_t first_ns = release(4 * MS, MS); /* sqrt(4 x 100) - 1 = 19 ms */
	assert_int_equal(release(4 * MS, MS), 2 * first_ns);
	assert_int_equal(release(4 * MS, MS), 4 * first_ns);
	assert_int_equal(release(4 * MS, MS), 100 * MS); /* 8 x 19, bounded */
	const uint64_t helped_ns = release(3 * MS, MS);
	assert_in_range(helped_ns, 16000 * US, 16500 * US); /* sqrt(3 x 100) - 1 */
}

static void the_worst_victim_counts_whatever_the_order(void **state)
{
	(void)state;
	made();
	cancel_pbox_waiter(&pbox, &waiter, 16 * MS, MS);
	cancel_pbox_waiter(&pbox, &waiter, 2 * MS, MS);
	cancel_pbox_waiter(&pbox, &waiter, 100 * US, MS);
	assert_int_equal(pbox.victims, 2);
	const uint64_t penalty_ns = cancel_pbox_release(&pbox, &holder);
	made();
	cancel_pbox_waiter(&pbox, &waiter, 2 * MS, MS);
	cancel_pbox_waiter(&pbox, &waiter, 16 * MS, MS);
	assert_int_equal(cancel_pbox_release(&pbox, &holder), penalty_ns);
}

static void a_release_forgets_its_waiters(void **state)
{
	(void)state;
	made();
	assert_true(release(16 * MS, MS) > 0);
	assert_int_equal(cancel_pbox_release(&pbox, &holder), 0);
}

static void a_deferral_too_short_to_matter_is_let_go(void **state)
{
	(void)state;
	made();
	assert_int_equal(release(9 * US, US), 0);
}

static void means_follow_slowly(void **state)
{
	(void)state;
	made();
	cancel_pbox_observe(&holder, 20 * MS, 8 * MS);
	assert_int_equal(holder.mean_execution_ns, 90 * MS);
	assert_int_equal(holder.mean_deferral_ns, 8 * MS);
}

static void extremes_do_not_overflow(void **state)
{
	(void)state;
	made();
	cancel_pbox_observe(&holder, UINT64_MAX, UINT64_MAX);
	assert_in_range(release(UINT64_MAX, 0), 1, 100 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_waiter_within_its_goal_costs_the_holder_nothing),
		cmocka_unit_test(the_penalty_is_the_geometric_mean_less_the_victims_time),
		cmocka_unit_test(the_penalty_keeps_the_holder_within_its_own_goal),
		cmocka_unit_test(a_penalty_that_did_not_help_doubles_up_to_the_bound),
		cmocka_unit_test(the_worst_victim_counts_whatever_the_order),
		cmocka_unit_test(a_release_forgets_its_waiters),
		cmocka_unit_test(a_deferral_too_short_to_matter_is_let_go),
		cmocka_unit_test(means_follow_slowly),
		cmocka_unit_test(extremes_do_not_overflow),
	};
	return cmocka_run_group_tests_name("admission_pbox", tests, NULL, NULL);
}
