/* SPDX-License-Identifier: Apache-2.0 */
/* Who took memory from whom, and whose stall that was. */
#include "runtime.h"

static struct cancel_resource pool, table;

static int start(void **state)
{
	(void)state;
	start_with((struct cancel_config){ .always_precise = true });
	pool = createResource("pool", CANCEL_MEMORY, NULL);
	table = createResource("table", CANCEL_LOCK, NULL);
	return 0;
}

/* An evictor that goes on elsewhere; the caller's thread is free for a victim. */
static struct cancel_task evictor(uint64_t units)
{
	struct cancel_task nobody = { 0 };
	struct cancel_task task = createCancel(NULL);
	evictResource(pool, nobody, units);
	unbindCancel(task, CANCEL_QUEUED);
	return task;
}

static uint64_t charged_to(struct cancel_task task)
{
	struct cancel_task_info info;
	assert_int_equal(cancel_read_task(task, &info), 0);
	assert_int_equal(info.entry_count, 1);
	return info.entries[0].stall_caused_ns;
}

static void stall_on(struct cancel_task who)
{
	slowByResource(pool, 1);
	missResource(pool, who);
	getResource(pool, 0);
}

static void units_taken_from_others_are_counted(void **state)
{
	struct cancel_task other = { .id = 99 }, nobody = { 0 };
	struct cancel_task task = createCancel(NULL);
	(void)state;
	evictResource(pool, other, 3);
	evictResource(pool, nobody, 2);
	evictResource(pool, task, 50); /* its own */
	assert_int_equal(inspect_current().entries[0].evicted, 5);
	freeCancel(task);
}

static void a_finished_stall_is_charged_at_the_next_miss(void **state)
{
	struct cancel_task who = evictor(1);
	struct cancel_task victim = createCancel(NULL);
	(void)state;
	stall_on(who);
	assert_int_equal(charged_to(who), 0);
	uint64_t stall_ns = inspect_current().entries[0].wait_ns;
	slowByResource(pool, 1);
	missResource(pool, who);
	assert_int_equal(charged_to(who), stall_ns);
	giveUpResource(pool);
	freeCancel(victim);
	assert_true(charged_to(who) > stall_ns);
	freeCancel(who);
}

static void the_last_stall_is_charged_at_the_end(void **state)
{
	struct cancel_task who = evictor(1);
	struct cancel_task victim = createCancel(NULL);
	(void)state;
	stall_on(who);
	uint64_t stall_ns = inspect_current().entries[0].wait_ns;
	freeCancel(victim);
	assert_int_equal(charged_to(who), stall_ns);
	freeCancel(who);
}

static void a_victim_that_leaves_its_thread_charges_what_is_due(void **state)
{
	struct cancel_task who = evictor(1);
	struct cancel_task victim = createCancel(NULL);
	(void)state;
	stall_on(who);
	uint64_t stall_ns = inspect_current().entries[0].wait_ns;
	unbindCancel(victim, CANCEL_QUEUED);
	assert_int_equal(charged_to(who), stall_ns);
	freeCancel(victim);
	assert_int_equal(charged_to(who), stall_ns);
	freeCancel(who);
}

static void a_stall_may_outlast_a_hand_over(void **state)
{
	struct cancel_task who = evictor(1);
	struct cancel_task victim = createCancel(NULL);
	(void)state;
	slowByResource(pool, 1);
	missResource(pool, who);
	unbindCancel(victim, CANCEL_QUEUED);
	bindCancel(victim);
	getResource(pool, 0);
	uint64_t stall_ns = inspect_current().entries[0].wait_ns;
	freeCancel(victim);
	assert_int_equal(charged_to(who), stall_ns);
	freeCancel(who);
}

static void a_cold_miss_is_nobodys_fault(void **state)
{
	struct cancel_task who = evictor(1), nobody = { 0 };
	struct cancel_resource_info before[1], after[1];
	(void)state;
	cancel_snapshot_resources(before, 1);
	struct cancel_task victim = createCancel(NULL);
	stall_on(nobody);
	stall_on(victim);
	slowByResource(pool, 1); /* not called at all */
	getResource(pool, 0);
	freeCancel(victim);
	cancel_snapshot_resources(after, 1);
	assert_int_equal(charged_to(who), 0);
	assert_int_equal(after[0].ledger.orphan_stall_ns, before[0].ledger.orphan_stall_ns);
	freeCancel(who);
}

static void stalls_by_an_ended_evictor_are_orphans(void **state)
{
	struct cancel_task who = evictor(1);
	struct cancel_resource_info before[1], after[1];
	(void)state;
	cancel_snapshot_resources(before, 1);
	freeCancel(who);
	struct cancel_task victim = createCancel(NULL);
	stall_on(who);
	freeCancel(victim);
	cancel_snapshot_resources(after, 1);
	assert_true(after[0].ledger.orphan_stall_ns > before[0].ledger.orphan_stall_ns);
}

static void the_next_task_of_the_slot_inherits_no_charge(void **state)
{
	struct cancel_task who = evictor(1);
	struct cancel_task victim = createCancel(NULL);
	(void)state;
	stall_on(who);
	freeCancel(victim);
	assert_true(charged_to(who) > 0);
	freeCancel(who);
	struct cancel_task next = evictor(1);
	assert_int_equal(id_index(next.id), id_index(who.id));
	assert_int_equal(charged_to(next), 0);
	freeCancel(next);
}

/* A charge knows 16 bits of the generation it was meant for. */
static void nor_does_a_task_that_many_generations_later(void **state)
{
	struct cancel_task who = evictor(1);
	struct cancel_task victim = createCancel(NULL), next;
	(void)state;
	stall_on(who);
	freeCancel(victim);
	assert_true(charged_to(who) > 0);
	freeCancel(who);
	do {
		next = createCancel(NULL);
		freeCancel(next);
		assert_int_equal(id_index(next.id), id_index(who.id));
	} while (id_generation(next.id) + 1 < id_generation(who.id) + 65536);
	next = evictor(1);
	assert_int_equal(id_generation(next.id), id_generation(who.id) + 65536);
	assert_int_equal(charged_to(next), 0);
	freeCancel(next);
}

static void only_memory_can_be_evicted(void **state)
{
	struct cancel_task other = { .id = 99 };
	struct cancel_task task = createCancel(NULL);
	(void)state;
	evictResource(table, other, 1);
	missResource(table, other);
	assert_int_equal(inspect_current().task.entry_count, 0);
	assert_int_equal(counters_now().wrong_type, 2);
	freeCancel(task);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_taken_from_others_are_counted),
		cmocka_unit_test(a_finished_stall_is_charged_at_the_next_miss),
		cmocka_unit_test(the_last_stall_is_charged_at_the_end),
		cmocka_unit_test(a_victim_that_leaves_its_thread_charges_what_is_due),
		cmocka_unit_test(a_stall_may_outlast_a_hand_over),
		cmocka_unit_test(a_cold_miss_is_nobodys_fault),
		cmocka_unit_test(stalls_by_an_ended_evictor_are_orphans),
		cmocka_unit_test(the_next_task_of_the_slot_inherits_no_charge),
		cmocka_unit_test(nor_does_a_task_that_many_generations_later),
		cmocka_unit_test(only_memory_can_be_evicted),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
