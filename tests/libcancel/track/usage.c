/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting, getting and giving back, as the collector sees the one task that does it. */
#include "runtime.h"

static struct cancel_resource table, pool, workers, four_modes;

static int start(void **state)
{
	struct cancel_resource_options eight = { .struct_size = sizeof eight, .capacity = 8 };
	/* ACCESS SHARE, ROW EXCLUSIVE, SHARE, ACCESS EXCLUSIVE */
	struct cancel_resource_options modes = {
		.struct_size = sizeof modes,
		.conflicts = { 8, 12, 10, 15 },
	};
	(void)state;
	start_with((struct cancel_config){ .always_precise = true });
	table = createResource("table", CANCEL_LOCK, NULL);
	pool = createResource("pool", CANCEL_MEMORY, &eight);
	workers = createResource("workers", CANCEL_QUEUE, &eight);
	four_modes = createResource("four", CANCEL_LOCK, &modes);
	return four_modes.id ? 0 : -1;
}

static void a_lock_is_held_in_the_modes_acquired(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	getResourceAt(table, 17, CANCEL_SHARED);
	struct inspection seen = inspect_current();
	assert_int_equal(seen.task.entry_count, 1);
	assert_int_equal(seen.entries[0].resource, cancel_resource_index(table));
	assert_int_equal(seen.entries[0].instance, 17);
	assert_int_equal(seen.entries[0].held_modes, 1);
	assert_int_equal(seen.entries[0].held, 1);
	assert_int_not_equal(seen.entries[0].held_since_ns, 0);
	freeResourceAt(table, 17, CANCEL_SHARED);
	seen = inspect_current();
	assert_int_equal(seen.entries[0].held_modes, 0);
	assert_int_equal(seen.entries[0].held_since_ns, 0);
	assert_true(seen.entries[0].hold_ns > 0);
	freeCancel(task);
}

static void the_same_mode_again_is_counted(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	for (int i = 0; i < 3; i++)
		getResource(four_modes, 2);
	getResource(four_modes, 4);
	assert_int_equal(inspect_current().entries[0].held_modes, 2 | 8);
	assert_int_equal(inspect_current().entries[0].held, 4);
	for (int i = 0; i < 2; i++)
		freeResource(four_modes, 2);
	assert_int_equal(inspect_current().entries[0].held_modes, 2 | 8);
	freeResource(four_modes, 2);
	assert_int_equal(inspect_current().entries[0].held_modes, 8);
	freeResource(four_modes, 4);
	assert_int_equal(inspect_current().entries[0].held, 0);
	freeCancel(task);
}

static void an_upgrade_waits_while_it_holds(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	getResource(table, CANCEL_SHARED);
	slowByResource(table, CANCEL_EXCLUSIVE);
	struct inspection seen = inspect_current();
	assert_int_equal(seen.entries[0].held_modes, 1);
	assert_int_equal(seen.entries[0].wanted_mode, CANCEL_EXCLUSIVE);
	assert_int_not_equal(seen.entries[0].waiting_since_ns, 0);
	getResource(table, CANCEL_EXCLUSIVE);
	seen = inspect_current();
	assert_int_equal(seen.entries[0].held_modes, 3);
	assert_int_equal(seen.entries[0].wanted_mode, 0);
	assert_int_equal(seen.entries[0].waiting_since_ns, 0);
	assert_true(seen.entries[0].wait_ns > 0);
	freeResource(table, CANCEL_EXCLUSIVE);
	freeResource(table, CANCEL_SHARED);
	freeCancel(task);
}

static void giving_up_ends_the_wait_without_a_hold(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	slowByResource(table, CANCEL_SHARED);
	giveUpResource(table);
	struct inspection seen = inspect_current();
	assert_int_equal(seen.entries[0].waiting_since_ns, 0);
	assert_int_equal(seen.entries[0].held, 0);
	assert_true(seen.entries[0].wait_ns > 0);
	freeCancel(task);
}

static void a_second_slow_keeps_the_first_start(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	slowByResource(table, CANCEL_SHARED);
	uint64_t since_ns = inspect_current().entries[0].waiting_since_ns;
	slowByResource(table, CANCEL_EXCLUSIVE);
	assert_int_equal(inspect_current().entries[0].waiting_since_ns, since_ns);
	assert_int_equal(inspect_current().entries[0].wanted_mode, CANCEL_EXCLUSIVE);
	giveUpResource(table);
	freeCancel(task);
}

static void slots_are_counted_in_slot_time(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	uint64_t before_ns = cancel_now_ns();
	getResource(workers, 1);
	getResource(workers, 3);
	struct inspection seen = inspect_current();
	uint64_t after_ns = cancel_now_ns();
	assert_int_equal(seen.entries[0].held, 4);
	assert_true(seen.entries[0].hold_ns <= 4 * (after_ns - before_ns));
	freeResource(workers, 3);
	assert_int_equal(inspect_current().entries[0].held, 1);
	freeResource(workers, 1);
	uint64_t total_ns = inspect_current().entries[0].hold_ns;
	assert_int_equal(inspect_current().entries[0].hold_ns, total_ns);
	freeCancel(task);
}

static void memory_is_held_in_units(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	getResource(pool, 100);
	getResource(pool, 28);
	freeResource(pool, 64);
	assert_int_equal(inspect_current().entries[0].held, 64);
	freeResource(pool, 64);
	assert_int_equal(inspect_current().entries[0].held, 0);
	freeCancel(task);
}

static void a_stall_may_end_without_a_hold(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	slowByResource(pool, 1);
	getResource(pool, 0);
	struct inspection seen = inspect_current();
	assert_int_equal(seen.entries[0].held, 0);
	assert_int_equal(seen.entries[0].held_since_ns, 0);
	assert_int_equal(seen.entries[0].hold_ns, 0);
	assert_true(seen.entries[0].wait_ns > 0);
	freeCancel(task);
}

static void two_waits_at_once_are_both_seen(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	slowByResource(pool, 1);
	slowByResourceAt(workers, 2, 1);
	struct inspection seen = inspect_current();
	assert_int_not_equal(seen.entries[0].waiting_since_ns, 0);
	assert_int_not_equal(seen.entries[1].waiting_since_ns, 0);
	giveUpResourceAt(workers, 2);
	getResource(pool, 0);
	freeCancel(task);
}

/* The usual path and the general one must not tell the difference. */
static void coarse_and_precise_stamps_count_alike(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	clock_publish_coarse(1000);
	getResourceAt(table, 1, CANCEL_SHARED);
	clock_publish_coarse(1500);
	freeResourceAt(table, 1, CANCEL_SHARED);
	getResourceAt(table, 1, CANCEL_EXCLUSIVE);
	clock_publish_coarse(1700);
	freeResourceAt(table, 1, CANCEL_EXCLUSIVE);
	clock_publish_precise();
	assert_int_equal(inspect_current().entries[0].hold_ns, 700);
	assert_int_equal(inspect_current().entries[0].held, 0);
	freeCancel(task);
}

static void what_ended_is_added_to_the_resource(void **state)
{
	struct cancel_resource_info before[4], after[4];
	(void)state;
	assert_int_equal(cancel_snapshot_resources(before, 4), 4);
	struct cancel_task task = createCancel(NULL);
	slowByResource(table, CANCEL_SHARED);
	getResource(table, CANCEL_SHARED);
	freeResource(table, CANCEL_SHARED);
	freeCancel(task);
	assert_int_equal(cancel_snapshot_resources(after, 4), 4);
	assert_int_equal(after[0].ledger.acquires, before[0].ledger.acquires + 1);
	assert_int_equal(after[0].ledger.waits, before[0].ledger.waits + 1);
	assert_true(after[0].ledger.ended_hold_ns > before[0].ledger.ended_hold_ns);
	/* This task bears no SLO, so its waits are nobody's concern. */
	assert_int_equal(after[0].ledger.ended_wait_ns, before[0].ledger.ended_wait_ns);
}

static void waits_of_tasks_with_an_slo_are_added(void **state)
{
	struct cancel_task_options o = { .struct_size = sizeof o, .slo_ns = 1000000 };
	struct cancel_resource_info before[1], after[1];
	(void)state;
	cancel_snapshot_resources(before, 1);
	struct cancel_task task = createCancel(&o);
	slowByResource(table, CANCEL_SHARED);
	giveUpResource(table);
	freeCancel(task);
	cancel_snapshot_resources(after, 1);
	assert_true(after[0].ledger.ended_wait_ns > before[0].ledger.ended_wait_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_is_held_in_the_modes_acquired),
		cmocka_unit_test(the_same_mode_again_is_counted),
		cmocka_unit_test(an_upgrade_waits_while_it_holds),
		cmocka_unit_test(giving_up_ends_the_wait_without_a_hold),
		cmocka_unit_test(a_second_slow_keeps_the_first_start),
		cmocka_unit_test(slots_are_counted_in_slot_time),
		cmocka_unit_test(memory_is_held_in_units),
		cmocka_unit_test(a_stall_may_end_without_a_hold),
		cmocka_unit_test(two_waits_at_once_are_both_seen),
		cmocka_unit_test(coarse_and_precise_stamps_count_alike),
		cmocka_unit_test(what_ended_is_added_to_the_resource),
		cmocka_unit_test(waits_of_tasks_with_an_slo_are_added),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
