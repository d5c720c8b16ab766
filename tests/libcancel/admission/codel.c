/* SPDX-License-Identifier: Apache-2.0 */
/* CoDel with its published constants: the server form, and the packet form's drop schedule. */
#include <cancel/admission/codel.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MS UINT64_C(1000000)

static struct cancel_codel codel;
static struct cancel_codel_packet packet;

static void made(void)
{
	assert_int_equal(cancel_codel_init(&codel, NULL), 0);
	assert_int_equal(cancel_codel_packet_init(&packet, NULL), 0);
}

/* One request a ms in [from, to), each having queued `delay_ns`; how many were shed. */
static unsigned shed(uint64_t from_ms, uint64_t to_ms, uint64_t delay_ns)
{
	unsigned count = 0;
	for (uint64_t ms = from_ms; ms < to_ms; ms++)
		count += !cancel_codel_admit(&codel, ms * MS, delay_ns);
	return count;
}

static void a_standing_queue_is_shed_after_one_interval(void **state)
{
	(void)state;
	made();
	assert_int_equal(shed(0, 100, 20 * MS), 0);
	assert_int_equal(shed(100, 200, 20 * MS), 100);
}

static void a_burst_that_drains_within_the_interval_is_not_shed(void **state)
{
	(void)state;
	made();
	for (uint64_t ms = 0; ms < 1000; ms++) {
		const uint64_t delay_ns = (99 - ms % 100) * MS; /* up to 99 ms, down to 0 */
		assert_true(cancel_codel_admit(&codel, ms * MS, delay_ns));
	}
}

static void short_waits_pass_even_when_overloaded(void **state)
{
	(void)state;
	made();
	shed(0, 100, 20 * MS);
	assert_true(cancel_codel_admit(&codel, 100 * MS, 10 * MS));
	assert_false(cancel_codel_admit(&codel, 101 * MS, 10 * MS + 1));
}

static void a_minimum_at_the_target_is_no_overload(void **state)
{
	(void)state;
	made();
	shed(0, 100, 20 * MS);
	shed(100, 199, 20 * MS);
	assert_false(cancel_codel_admit(&codel, 199 * MS, 20 * MS));
	cancel_codel_admit(&codel, 199 * MS, 5 * MS);
	assert_int_equal(shed(200, 300, 20 * MS), 0);
}

/* Packets leave each ms with `delay_ns` and a queue behind them; the times of the drops in ms. */
static unsigned drops(uint64_t from_ms, uint64_t to_ms, uint64_t delay_ns, uint64_t *at_ms)
{
	unsigned count = 0;
	for (uint64_t ms = from_ms; ms < to_ms; ms++)
		if (!cancel_codel_packet_admit(&packet, ms * MS, delay_ns, 9))
			at_ms[count++] = ms;
	return count;
}

static void packets_are_dropped_at_the_interval_over_root_count(void **state)
{
	/* Above from t = 1: the first drop at 101; then + 100, + 100/sqrt 2, + 100/sqrt 3 …, each
	 * rounded up to the next ms at which a packet leaves. */
	static const uint64_t expected_ms[] = { 101, 201, 272, 330, 380, 425, 465, 503, 539 };
	uint64_t at_ms[64];

	(void)state;
	made();
	assert_int_equal(drops(1, 540, 20 * MS, at_ms), 9);
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(at_ms[i], expected_ms[i]);
}

static void one_short_wait_ends_the_dropping(void **state)
{
	uint64_t at_ms[64];
	(void)state;
	made();
	assert_int_equal(drops(1, 102, 20 * MS, at_ms), 1);
	assert_true(cancel_codel_packet_admit(&packet, 102 * MS, 4 * MS, 9));
	assert_int_equal(drops(103, 203, 20 * MS, at_ms), 0);
}

static void a_queue_of_one_is_never_dropped_from(void **state)
{
	(void)state;
	made();
	for (uint64_t ms = 1; ms < 500; ms++)
		assert_true(cancel_codel_packet_admit(&packet, ms * MS, 50 * MS, 0));
}

static void a_dropping_state_soon_after_another_resumes_its_rate(void **state)
{
	uint64_t at_ms[64];
	(void)state;
	made();
	assert_int_equal(drops(1, 540, 20 * MS, at_ms), 9);
	cancel_codel_packet_admit(&packet, 540 * MS, MS, 9);
	/* Above again from 541: first drop at 641, then at the rate of 8 drops, not of one. */
	assert_in_range(drops(541, 700, 20 * MS, at_ms), 2, 3);
	assert_int_equal(at_ms[0], 641);
	assert_int_equal(at_ms[1], 677); /* 641 + 100/sqrt 8 = 35.4 */
}

static void options_that_cannot_work_are_refused(void **state)
{
	const struct cancel_codel_options slow = { .struct_size = sizeof slow,
		.interval_ns = 5000 * MS };
	const struct cancel_codel_options sizeless = { .interval_ns = MS };
	(void)state;
	assert_int_equal(cancel_codel_packet_init(&packet, &slow), CANCEL_EINVAL);
	assert_int_equal(cancel_codel_init(&codel, &sizeless), CANCEL_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_standing_queue_is_shed_after_one_interval),
		cmocka_unit_test(a_burst_that_drains_within_the_interval_is_not_shed),
		cmocka_unit_test(short_waits_pass_even_when_overloaded),
		cmocka_unit_test(a_minimum_at_the_target_is_no_overload),
		cmocka_unit_test(packets_are_dropped_at_the_interval_over_root_count),
		cmocka_unit_test(one_short_wait_ends_the_dropping),
		cmocka_unit_test(a_queue_of_one_is_never_dropped_from),
		cmocka_unit_test(a_dropping_state_soon_after_another_resumes_its_rate),
		cmocka_unit_test(options_that_cannot_work_are_refused),
	};
	return cmocka_run_group_tests_name("admission_codel", tests, NULL, NULL);
}
