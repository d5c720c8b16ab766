/* SPDX-License-Identifier: Apache-2.0 */
/* Sixteen exact entries, and what becomes of the rest. */
#include "runtime.h"

static struct cancel_resource table, pool;

static int start(void **state)
{
	(void)state;
	start_with((struct cancel_config){ .always_precise = true });
	table = createResource("table", CANCEL_LOCK, NULL);
	pool = createResource("pool", CANCEL_MEMORY, NULL);
	return 0;
}

static void hold_sixteen(void)
{
	for (uint32_t i = 0; i < CANCEL_ENTRIES_MAX; i++)
		getResourceAt(table, i, CANCEL_SHARED);
}

static void free_sixteen(void)
{
	for (uint32_t i = 0; i < CANCEL_ENTRIES_MAX; i++)
		freeResourceAt(table, i, CANCEL_SHARED);
}

static void sixteen_instances_are_exact(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	hold_sixteen();
	struct inspection seen = inspect_current();
	assert_int_equal(seen.task.entry_count, CANCEL_ENTRIES_MAX);
	for (uint32_t i = 0; i < CANCEL_ENTRIES_MAX; i++) {
		assert_int_equal(seen.entries[i].instance, i);
		assert_int_equal(seen.entries[i].held_modes, 1);
	}
	free_sixteen();
	freeCancel(task);
}

static void an_idle_entry_makes_room_and_its_totals_stay(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	hold_sixteen();
	freeResourceAt(table, 3, CANCEL_SHARED);
	uint64_t hold_ns = inspect_current().entries[3].hold_ns;
	getResourceAt(table, 99, CANCEL_EXCLUSIVE);
	struct inspection seen = inspect_current();
	assert_int_equal(seen.entries[3].instance, 99);
	assert_int_equal(seen.entries[3].held_modes, 2);
	assert_int_equal(seen.folded[0].hold_ns, hold_ns);
	assert_int_equal(seen.folded[0].acquires, 1);
	freeResourceAt(table, 99, CANCEL_EXCLUSIVE);
	getResourceAt(table, 3, CANCEL_SHARED); /* takes the place of 99, which is idle now */
	free_sixteen();
	freeCancel(task);
	assert_int_equal(counters_now().entries_folded, 2);
	assert_int_equal(counters_now().leaked_holds, 0);
}

static void the_seventeenth_at_once_is_in_totals_only(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	uint64_t dropped = counters_now().entries_dropped;
	hold_sixteen();
	slowByResourceAt(table, 50, CANCEL_SHARED);
	getResourceAt(table, 50, CANCEL_SHARED);
	struct inspection seen = inspect_current();
	assert_int_equal(seen.task.entry_count, CANCEL_ENTRIES_MAX);
	assert_true(seen.folded[0].hold_ns > 0);
	assert_int_equal(seen.folded[0].waits, 1);
	assert_int_equal(counters_now().entries_dropped, dropped + 2);
	freeResourceAt(table, 50, CANCEL_SHARED);
	uint64_t hold_ns = inspect_current().folded[0].hold_ns;
	assert_int_equal(inspect_current().folded[0].hold_ns, hold_ns);
	free_sixteen();
	freeCancel(task);
	assert_int_equal(counters_now().release_without_acquire, 0);
	assert_int_equal(counters_now().leaked_holds, 0);
}

/* Taken as the seventeenth, and again when there was room: both are given back. */
static void what_is_in_totals_and_exact_is_given_back_from_both(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	uint64_t doubles = counters_now().double_release, leaks = counters_now().leaked_holds;
	hold_sixteen();
	getResourceAt(table, 50, CANCEL_SHARED);
	freeResourceAt(table, 3, CANCEL_SHARED);
	getResourceAt(table, 50, CANCEL_SHARED);
	freeResourceAt(table, 50, CANCEL_SHARED);
	freeResourceAt(table, 50, CANCEL_SHARED);
	assert_int_equal(counters_now().double_release, doubles);
	freeResourceAt(table, 50, CANCEL_SHARED);
	assert_int_equal(counters_now().double_release, doubles + 1);
	for (uint32_t i = 0; i < CANCEL_ENTRIES_MAX; i++)
		if (i != 3)
			freeResourceAt(table, i, CANCEL_SHARED);
	freeCancel(task);
	assert_int_equal(counters_now().leaked_holds, leaks);
}

static void a_seventeenth_wait_can_be_given_up(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	hold_sixteen();
	slowByResourceAt(table, 50, CANCEL_SHARED);
	giveUpResourceAt(table, 50);
	assert_int_equal(counters_now().give_up_without_wait, 0);
	free_sixteen();
	freeCancel(task);
	assert_int_equal(counters_now().leaked_waits, 0);
}

/* Charges of others refer to it. */
/* A stall for a page that is everybody's once it is there: getResource(pool, 0) ends it and holds
 * nothing, in totals as in an entry. */
static void a_stall_in_totals_leaves_no_hold(void **state)
{
	uint64_t leaked = counters_now().leaked_holds;
	struct cancel_task task = createCancel(NULL);
	(void)state;
	hold_sixteen();
	slowByResource(pool, 1);
	getResource(pool, 0);
	uint32_t r = (uint32_t)cancel_resource_index(pool);
	uint64_t hold_ns = inspect_current().folded[r].hold_ns;
	assert_int_equal(inspect_current().folded[r].hold_ns, hold_ns);
	assert_int_equal(hold_ns, 0);
	getResource(pool, 7); /* units it does hold */
	freeResource(pool, 7);
	free_sixteen();
	freeCancel(task);
	assert_int_equal(counters_now().leaked_holds, leaked);
	assert_int_equal(counters_now().leaked_waits, 0);
}

static void an_entry_that_evicted_does_not_make_room(void **state)
{
	struct cancel_task other = { .id = 12345 };
	struct cancel_task task = createCancel(NULL);
	(void)state;
	evictResource(pool, other, 7);
	for (uint32_t i = 0; i < CANCEL_ENTRIES_MAX + 4; i++) {
		getResourceAt(table, i, CANCEL_SHARED);
		freeResourceAt(table, i, CANCEL_SHARED);
	}
	assert_int_equal(inspect_current().entries[0].evicted, 7);
	freeCancel(task);
}

static void the_next_task_of_the_slot_starts_clean(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	hold_sixteen();
	getResourceAt(table, 50, CANCEL_SHARED);
	freeResourceAt(table, 50, CANCEL_SHARED);
	free_sixteen();
	freeCancel(task);
	task = createCancel(NULL);
	struct inspection seen = inspect_current();
	assert_int_equal(seen.task.entry_count, 0);
	assert_int_equal(seen.folded[0].hold_ns, 0);
	getResourceAt(table, 5, CANCEL_SHARED);
	assert_int_equal(inspect_current().task.entry_count, 1);
	freeResourceAt(table, 5, CANCEL_SHARED);
	freeCancel(task);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sixteen_instances_are_exact),
		cmocka_unit_test(an_idle_entry_makes_room_and_its_totals_stay),
		cmocka_unit_test(the_seventeenth_at_once_is_in_totals_only),
		cmocka_unit_test(what_is_in_totals_and_exact_is_given_back_from_both),
		cmocka_unit_test(a_seventeenth_wait_can_be_given_up),
		cmocka_unit_test(a_stall_in_totals_leaves_no_hold),
		cmocka_unit_test(an_entry_that_evicted_does_not_make_room),
		cmocka_unit_test(the_next_task_of_the_slot_starts_clean),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
