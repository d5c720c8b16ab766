/* SPDX-License-Identifier: Apache-2.0 */
/* The static partition: own slots, shared slots, and counts that cannot go wrong. */
#include <cancel/admission/partition.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct cancel_partition partition;

static void made(uint32_t shared)
{
	const struct cancel_partition_options options = {
		.struct_size = sizeof options, .classes = 3, .slots = { 2, 5, 0 }, .shared = shared
	};
	assert_int_equal(cancel_partition_init(&partition, &options), 0);
}

static unsigned admitted(uint32_t class_index, unsigned tries)
{
	unsigned count = 0;
	while (tries--)
		count += cancel_partition_admit(&partition, 0, class_index);
	return count;
}

static void a_class_fills_its_own_slots_and_no_others(void **state)
{
	(void)state;
	made(0);
	assert_int_equal(admitted(0, 10), 2);
	assert_int_equal(admitted(1, 10), 5);
	assert_int_equal(admitted(2, 10), 0);
}

static void a_slot_given_back_can_be_taken_again(void **state)
{
	(void)state;
	made(0);
	admitted(0, 2);
	cancel_partition_observe(&partition, 0, 0);
	assert_int_equal(admitted(0, 10), 1);
}

static void shared_slots_are_taken_last_and_given_back_first(void **state)
{
	(void)state;
	made(2);
	assert_int_equal(admitted(0, 3), 3);
	assert_int_equal(partition.shared_used, 1);
	assert_int_equal(admitted(2, 10), 1);
	cancel_partition_observe(&partition, 0, 0);
	assert_int_equal(partition.shared_used, 1);
	assert_int_equal(admitted(2, 10), 1);
	cancel_partition_observe(&partition, 0, 2);
	cancel_partition_observe(&partition, 0, 2);
	assert_int_equal(partition.shared_used, 0);
}

static void giving_back_too_much_changes_nothing(void **state)
{
	(void)state;
	made(1);
	cancel_partition_observe(&partition, 0, 0);
	cancel_partition_observe(&partition, 0, 99);
	assert_false(cancel_partition_admit(&partition, 0, 99));
	assert_int_equal(admitted(0, 10), 3);
}

static void options_that_cannot_work_are_refused(void **state)
{
	const struct cancel_partition_options many = { .struct_size = sizeof many, .classes = 17 };
	(void)state;
	assert_int_equal(cancel_partition_init(&partition, &many), CANCEL_EINVAL);
	assert_int_equal(cancel_partition_init(&partition, NULL), CANCEL_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_class_fills_its_own_slots_and_no_others),
		cmocka_unit_test(a_slot_given_back_can_be_taken_again),
		cmocka_unit_test(shared_slots_are_taken_last_and_given_back_first),
		cmocka_unit_test(giving_back_too_much_changes_nothing),
		cmocka_unit_test(options_that_cannot_work_are_refused),
	};
	return cmocka_run_group_tests_name("admission_partition", tests, NULL, NULL);
}
