/* SPDX-License-Identifier: Apache-2.0 */
/* Protego: the hill climb on throughput, and lock waits that are refused. */
#include <cancel/admission/protego.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MS UINT64_C(1000000)

static struct cancel_protego protego;
static uint64_t now_ns;

static void made(struct cancel_protego_options options)
{
	options.struct_size = sizeof options;
	assert_int_equal(cancel_protego_init(&protego, &options), 0);
	now_ns = 0;
}

/* One window: `arrived` requests of which `useful` end well; the next call judges it. */
static void window(unsigned arrived, unsigned useful)
{
	for (unsigned i = 0; i < arrived; i++) {
		assert_true(cancel_protego_admit(&protego, now_ns));
		cancel_protego_observe(&protego, now_ns, i < useful);
	}
	now_ns += 10 * MS;
}

static uint64_t credits(void)
{
	return protego.pool_micro / 1000000;
}

static void throughput_that_follows_load_adds_a_credit(void **state)
{
	(void)state;
	made((struct cancel_protego_options){ .start_credits = 50 });
	window(100, 100);
	window(104, 101); /* slope 0.25: exactly enough */
	window(50, 50);
	assert_int_equal(credits(), 51);
	window(50, 50); /* the one before lost load and throughput alike: it was of use */
	assert_int_equal(credits(), 52);
}

static void load_without_throughput_takes_one(void **state)
{
	(void)state;
	made((struct cancel_protego_options){ .start_credits = 50 });
	window(100, 100);
	window(105, 101); /* slope 0.2 */
	window(105, 101);
	assert_int_equal(credits(), 49);
	window(105, 101); /* the one before had equal load of which most was useful: probe */
	assert_int_equal(credits(), 50);
}

static void less_load_that_costs_nothing_goes_on_shrinking(void **state)
{
	(void)state;
	made((struct cancel_protego_options){ .start_credits = 200 });
	window(100, 50);
	window(90, 50);
	window(80, 50);
	window(70, 50);
	assert_int_equal(credits(), 198);
}

static void the_step_is_a_thousandth_of_the_clients(void **state)
{
	(void)state;
	made((struct cancel_protego_options){ .start_credits = 50, .clients = 5000 });
	window(10, 10);
	window(20, 20);
	window(20, 20);
	assert_int_equal(credits(), 55);
}

static void requests_in_flight_never_exceed_the_credits(void **state)
{
	(void)state;
	made((struct cancel_protego_options){ .start_credits = 3, .max_credits = 3 });
	for (unsigned i = 0; i < 3; i++)
		assert_true(cancel_protego_admit(&protego, 0));
	assert_false(cancel_protego_admit(&protego, 0));
	cancel_protego_observe(&protego, 0, true);
	assert_true(cancel_protego_admit(&protego, 0));
}

static void a_lock_bound_server_settles_near_its_useful_load(void **state)
{
	/* Useful work rises with load up to 40 in flight, then falls: a convoy. */
	(void)state;
	made((struct cancel_protego_options){ .start_credits = 100, .max_credits = 100 });
	for (unsigned i = 0; i < 2000; i++) {
		const unsigned load = (unsigned)credits();
		window(load, load <= 40 ? load : 80 - (load < 80 ? load : 80));
	}
	assert_in_range(credits(), 35, 45);
}

static void a_wait_longer_than_the_budget_is_refused(void **state)
{
	struct cancel_protego_lock lock;
	(void)state;
	cancel_protego_lock_init(&lock);
	assert_true(cancel_protego_lock_admit(&lock, 100 * MS, 0, 0)); /* nothing queues */
	cancel_protego_lock_observe(&lock, 100 * MS, 3 * MS);
	assert_true(cancel_protego_lock_admit(&lock, 107 * MS, 100 * MS, 10 * MS)); /* 3 + 7 */
	assert_false(cancel_protego_lock_admit(&lock, 107 * MS + 1, 100 * MS, 10 * MS));
}

static void a_holder_that_stays_makes_waiters_be_refused_not_itself(void **state)
{
	struct cancel_protego_lock lock;
	unsigned refused = 0;
	(void)state;
	cancel_protego_lock_init(&lock);
	for (uint64_t ms = 1; ms <= 1000; ms++) /* one holder, the first waiter since 1 ms */
		refused += !cancel_protego_lock_admit(&lock, ms * MS, MS, 50 * MS);
	assert_int_equal(refused, 949);
}

static void options_that_cannot_work_are_refused(void **state)
{
	const struct cancel_protego_options bounds = {
		.struct_size = sizeof bounds, .min_credits = 5, .max_credits = 4
	};
	(void)state;
	assert_int_equal(cancel_protego_init(&protego, &bounds), CANCEL_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(throughput_that_follows_load_adds_a_credit),
		cmocka_unit_test(load_without_throughput_takes_one),
		cmocka_unit_test(less_load_that_costs_nothing_goes_on_shrinking),
		cmocka_unit_test(the_step_is_a_thousandth_of_the_clients),
		cmocka_unit_test(requests_in_flight_never_exceed_the_credits),
		cmocka_unit_test(a_lock_bound_server_settles_near_its_useful_load),
		cmocka_unit_test(a_wait_longer_than_the_budget_is_refused),
		cmocka_unit_test(a_holder_that_stays_makes_waiters_be_refused_not_itself),
		cmocka_unit_test(options_that_cannot_work_are_refused),
	};
	return cmocka_run_group_tests_name("admission_protego", tests, NULL, NULL);
}
