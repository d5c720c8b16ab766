/* SPDX-License-Identifier: Apache-2.0 */
/* The hot calls, seen through a snapshot of the one task that makes them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <cancel/cancel.h>

#include "libcancel/track/read.h"

static struct cancel_resource table, pool, workers;

static int start(void **state)
{
	struct cancel_resource_options four = { .struct_size = sizeof(four), .capacity = 4 };
	(void)state;
	if (startCancel(NULL))
		return -1;
	table = createResource("table", CANCEL_LOCK, NULL);
	pool = createResource("pool", CANCEL_MEMORY, NULL);
	workers = createResource("workers", CANCEL_QUEUE, &four);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	return stopCancel();
}

static struct cancel_ledger_entry entries[CANCEL_ENTRIES_MAX];
static struct cancel_ledger_task seen;

static struct cancel_ledger_entry look(uint32_t index)
{
	struct ended_use folded[CANCEL_RESOURCES_MAX] = { 0 };
	enum read_answer answer = slot_read(
		current_slot, cancel_now_ns(), CANCEL_RESOURCES_MAX, &seen, entries, folded);
	assert_int_equal(answer, READ_LIVE);
	return entries[index];
}

static void a_lock_is_held_in_the_modes_acquired(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	getResourceAt(table, 17, CANCEL_SHARED);
	getResourceAt(table, 17, CANCEL_SHARED);
	slowByResourceAt(table, 17, CANCEL_EXCLUSIVE);
	assert_int_equal(look(0).held_modes, 1);
	assert_int_equal(look(0).wanted_mode, CANCEL_EXCLUSIVE);
	assert_int_not_equal(look(0).waiting_since_ns, 0);
	getResourceAt(table, 17, CANCEL_EXCLUSIVE);
	assert_int_equal(look(0).held_modes, 3);
	assert_int_equal(look(0).held, 3);
	assert_int_equal(look(0).waiting_since_ns, 0);
	freeResourceAt(table, 17, CANCEL_EXCLUSIVE);
	freeResourceAt(table, 17, CANCEL_SHARED);
	assert_int_equal(look(0).held_modes, 1);
	freeResourceAt(table, 17, CANCEL_SHARED);
	assert_int_equal(look(0).held_modes, 0);
	assert_int_equal(look(0).held_since_ns, 0);
	freeCancel(task);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_is_held_in_the_modes_acquired),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
