/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of lock modes: how many there are, which are well-formed, what holds without one. */
#include "test.h"

#include "libcancel/base/lock_modes.h"

static const uint8_t none[CANCEL_LOCK_MODES_MAX] = { 0 };

static void the_modes_end_with_the_last_row_that_conflicts(void **state)
{
	const uint8_t sparse[CANCEL_LOCK_MODES_MAX] = { 0, 0, 1u << 2 };
	(void)state;
	assert_int_equal(lock_modes_count(none), 0);
	assert_int_equal(lock_modes_count(sparse), 3);
}

static void a_conflict_must_be_mutual(void **state)
{
	const uint8_t mutual[CANCEL_LOCK_MODES_MAX] = { 1u << 1, 1u << 0 };
	const uint8_t one_way[CANCEL_LOCK_MODES_MAX] = { 1u << 1, 0 };
	(void)state;
	assert_true(lock_modes_are_symmetric(none));
	assert_true(lock_modes_are_symmetric(mutual));
	assert_false(lock_modes_are_symmetric(one_way));
}

static void without_a_table_readers_share_and_a_writer_is_alone(void **state)
{
	const uint8_t *table = lock_modes_in_force(none);
	const uint8_t shared = 1u << (CANCEL_SHARED - 1), exclusive = 1u << (CANCEL_EXCLUSIVE - 1);
	(void)state;
	assert_int_equal(lock_modes_count(table), CANCEL_EXCLUSIVE);
	assert_true(lock_modes_are_symmetric(table));
	assert_int_equal(table[CANCEL_SHARED - 1], exclusive);
	assert_int_equal(table[CANCEL_EXCLUSIVE - 1], shared | exclusive);
}

static void a_declared_table_is_in_force(void **state)
{
	const uint8_t declared[CANCEL_LOCK_MODES_MAX] = { 1u << 0 };
	(void)state;
	assert_ptr_equal(lock_modes_in_force(declared), declared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_modes_end_with_the_last_row_that_conflicts),
		cmocka_unit_test(a_conflict_must_be_mutual),
		cmocka_unit_test(without_a_table_readers_share_and_a_writer_is_alone),
		cmocka_unit_test(a_declared_table_is_in_force),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
