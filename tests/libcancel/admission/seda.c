/* SPDX-License-Identifier: Apache-2.0 */
/* SEDA's controller: each branch of its rule by hand, and a server it keeps at its target. */
#include <cancel/admission/seda.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

static struct cancel_seda seda;

static void made(struct cancel_seda_options options)
{
	options.struct_size = sizeof options;
	assert_int_equal(cancel_seda_init(&seda, &options), 0);
}

/* 100 responses, all alike: one window. */
static void window(uint64_t response_ns)
{
	for (unsigned i = 0; i < 100; i++)
		cancel_seda_observe(&seda, 1, response_ns);
}

static void over_the_target_the_rate_is_divided(void **state)
{
	(void)state;
	made((struct cancel_seda_options){ .start_per_s = 1100 });
	window(101 * MS);
	assert_int_equal(seda.rate_milli, 1000000);
	assert_int_equal(seda.error_ppm, 10000);
}

static void far_below_the_target_the_rate_grows_by_the_error(void **state)
{
	(void)state;
	made((struct cancel_seda_options){ .start_per_s = 100 });
	window(40 * MS); /* err = -0.6: + (0.6 - 0.1) x 4 = 2 */
	assert_int_equal(seda.rate_milli, 102000);
	window(0); /* cur = 28, err = -0.72: + 2.48 */
	assert_int_equal(seda.current_ns, 28 * MS);
	assert_int_equal(seda.rate_milli, 104480);
}

static void between_half_and_the_target_the_rate_stays(void **state)
{
	(void)state;
	made((struct cancel_seda_options){ .start_per_s = 100 });
	window(50 * MS);
	window(100 * MS);
	assert_int_equal(seda.current_ns, 65 * MS);
	assert_int_equal(seda.rate_milli, 100000);
}

static void the_percentile_is_the_99th_of_a_hundred(void **state)
{
	(void)state;
	made((struct cancel_seda_options){ 0 });
	for (uint64_t i = 0; i < 100; i++) /* 37 and 100 have no common divisor: 1 … 100 ms */
		cancel_seda_observe(&seda, 1, (1 + i * 37 % 100) * MS);
	assert_int_equal(seda.current_ns, 99 * MS);
}

static void a_window_also_ends_after_a_second(void **state)
{
	(void)state;
	made((struct cancel_seda_options){ .start_per_s = 1100 });
	cancel_seda_observe(&seda, S - 1, 200 * MS);
	assert_int_equal(seda.rate_milli, 1100000);
	cancel_seda_observe(&seda, S, 200 * MS);
	assert_int_equal(seda.rate_milli, 1000000);
}

static void the_rate_keeps_to_its_bounds(void **state)
{
	(void)state;
	made((struct cancel_seda_options){ 0 });
	for (unsigned i = 0; i < 500; i++)
		window(S);
	assert_int_equal(seda.rate_milli, 2000);
	for (unsigned i = 0; i < 5000; i++)
		window(0);
	assert_int_equal(seda.rate_milli, 10000000);
}

static void requests_pass_at_the_rate(void **state)
{
	unsigned count = 0;
	(void)state;
	made((struct cancel_seda_options){ .start_per_s = 50, .burst = 1 });
	for (uint64_t ms = 0; ms < 10000; ms++)
		count += cancel_seda_admit(&seda, ms * MS);
	assert_int_equal(count, 500);
}

static void an_overloaded_server_is_kept_below_its_capacity_and_in_time(void **state)
{
	const uint64_t service_ns = 3333333, gap_ns = S / 600, end_ns = 300 * S;
	uint64_t free_ns = 0, good = 0, late = 0;
	(void)state;
	made((struct cancel_seda_options){ .start_per_s = 1000 });
	/* 600 requests a second at a server of 300; a response is seen when the request is taken
	 * up, a little early, which spares the test an event queue. */
	for (uint64_t now_ns = 0; now_ns < end_ns; now_ns += gap_ns) {
		if (!cancel_seda_admit(&seda, now_ns))
			continue;
		free_ns = (now_ns > free_ns ? now_ns : free_ns) + service_ns;
		cancel_seda_observe(&seda, now_ns, free_ns - now_ns);
		if (now_ns < end_ns / 2)
			continue;
		good += free_ns - now_ns <= 500 * MS;
		late += free_ns - now_ns > 500 * MS;
	}
	print_message("goodput of 300: %u, late %u\n", (unsigned)(good / 150), (unsigned)late);
	assert_in_range(good / 150, 200, 300);
	assert_in_range(late, 0, good / 20);
}

static void options_that_cannot_work_are_refused(void **state)
{
	const struct cancel_seda_options many = { .struct_size = sizeof many,
		.window_responses = 129 };
	const struct cancel_seda_options bounds = {
		.struct_size = sizeof bounds, .min_per_s = 20, .max_per_s = 10
	};
	const struct cancel_seda_options divide = { .struct_size = sizeof divide,
		.divide_milli = 999 };
	(void)state;
	assert_int_equal(cancel_seda_init(&seda, &many), CANCEL_EINVAL);
	assert_int_equal(cancel_seda_init(&seda, &bounds), CANCEL_EINVAL);
	assert_int_equal(cancel_seda_init(&seda, &divide), CANCEL_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(over_the_target_the_rate_is_divided),
		cmocka_unit_test(far_below_the_target_the_rate_grows_by_the_error),
		cmocka_unit_test(between_half_and_the_target_the_rate_stays),
		cmocka_unit_test(the_percentile_is_the_99th_of_a_hundred),
		cmocka_unit_test(a_window_also_ends_after_a_second),
		cmocka_unit_test(the_rate_keeps_to_its_bounds),
		cmocka_unit_test(requests_pass_at_the_rate),
		cmocka_unit_test(an_overloaded_server_is_kept_below_its_capacity_and_in_time),
		cmocka_unit_test(options_that_cannot_work_are_refused),
	};
	return cmocka_run_group_tests_name("admission_seda", tests, NULL, NULL);
}
