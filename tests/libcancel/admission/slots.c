/* SPDX-License-Identifier: Apache-2.0 */
/* CockroachDB's slots: the limit follows the run queue, one at a time. */
#include <cancel/admission/slots.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MS UINT64_C(1000000)

static struct cancel_slots slots;
static uint64_t now_ns;

static void made(uint32_t start)
{
	const struct cancel_slots_options options = {
		.struct_size = sizeof options, .start_slots = start, .max_slots = 20
	};
	assert_int_equal(cancel_slots_init(&slots, &options), 0);
	now_ns = 0;
}

static void sample(uint32_t runnable)
{
	cancel_slots_observe(&slots, now_ns, runnable, 2);
	now_ns += MS;
}

static unsigned admitted(unsigned tries)
{
	unsigned count = 0;
	while (tries--)
		count += cancel_slots_admit(&slots, now_ns);
	return count;
}

static void as_many_run_as_there_are_slots(void **state)
{
	(void)state;
	made(3);
	assert_int_equal(admitted(10), 3);
	cancel_slots_release(&slots, now_ns);
	assert_int_equal(admitted(10), 1);
}

static void a_long_run_queue_takes_one_slot_a_sample(void **state)
{
	(void)state;
	made(10);
	admitted(10);
	sample(64);
	assert_int_equal(slots.total, 9);
	sample(63);
	assert_int_equal(slots.total, 9);
}

static void a_short_run_queue_adds_one_only_when_all_are_used(void **state)
{
	(void)state;
	made(10);
	admitted(9);
	sample(0);
	assert_int_equal(slots.total, 10);
	admitted(1);
	sample(33);
	assert_int_equal(slots.total, 10);
	sample(32);
	assert_int_equal(slots.total, 11);
}

static void the_limit_keeps_to_its_bounds(void **state)
{
	(void)state;
	made(19);
	for (unsigned i = 0; i < 100; i++) {
		admitted(1000);
		sample(0);
	}
	assert_int_equal(slots.total, 20);
	for (unsigned i = 0; i < 100; i++) {
		while (slots.used > slots.total)
			cancel_slots_release(&slots, now_ns);
		sample(1000);
	}
	assert_int_equal(slots.total, 1);
}

static void a_limit_already_exceeded_is_not_lowered_further(void **state)
{
	(void)state;
	made(10);
	admitted(10);
	sample(1000);
	sample(1000);
	assert_int_equal(slots.total, 9); /* 10 still run */
}

static void samples_within_a_period_are_ignored(void **state)
{
	(void)state;
	made(10);
	admitted(10);
	for (unsigned i = 0; i < 1000; i++)
		cancel_slots_observe(&slots, i * 1000 - i % 2, 0, 2);
	assert_int_equal(slots.total, 11);
}

static void a_single_cpu_with_a_low_threshold_can_still_grow(void **state)
{
	const struct cancel_slots_options options = { .struct_size = sizeof options,
		.runnable_a_cpu = 1 };
	(void)state;
	assert_int_equal(cancel_slots_init(&slots, &options), 0);
	admitted(1);
	cancel_slots_observe(&slots, 0, 0, 1);
	assert_int_equal(slots.total, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_run_as_there_are_slots),
		cmocka_unit_test(a_long_run_queue_takes_one_slot_a_sample),
		cmocka_unit_test(a_short_run_queue_adds_one_only_when_all_are_used),
		cmocka_unit_test(the_limit_keeps_to_its_bounds),
		cmocka_unit_test(a_limit_already_exceeded_is_not_lowered_further),
		cmocka_unit_test(samples_within_a_period_are_ignored),
		cmocka_unit_test(a_single_cpu_with_a_low_threshold_can_still_grow),
	};
	return cmocka_run_group_tests_name("admission_slots", tests, NULL, NULL);
}
