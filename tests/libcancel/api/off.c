/* SPDX-License-Identifier: Apache-2.0 */
/* CANCEL_OFF: the same source compiles to nothing, and needs no library to link. */
#define CANCEL_OFF

#include "test.h"

#include <cancel/observe.h>

static void every_call_does_nothing(void **state)
{
	struct cancel_ticket ticket = { 0 };
	struct cancel_task_info info;
	(void)state;
	assert_int_equal(startCancel(NULL), 0);
	struct cancel_resource r = createResource("table", CANCEL_LOCK, NULL);
	struct cancel_task task = createCancel(NULL);
	assert_int_equal(r.id, 0);
	assert_int_equal(task.id, 0);
	bindCancel(task);
	slowByResource(r, 1);
	slowByResourceAt(r, 1, 1);
	getResource(r, 1);
	getResourceAt(r, 1, 1);
	freeResource(r, 1);
	freeResourceAt(r, 1, 1);
	giveUpResource(r);
	giveUpResourceAt(r, 1);
	evictResource(r, currentCancel(), 1);
	missResource(r, task);
	setProgress(1, 2);
	setCancelSignature(1);
	setCancelMaintenance(true);
	setCancelAction(NULL, NULL);
	assert_false(cancelRequested());
	assert_int_equal(blockCancel(), 0);
	allowCancel();
	unbindCancel(task, CANCEL_IDLE);
	countRequest(0, 1, 2);
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_RERUN);
	assert_int_equal(deliverCancel(task), CANCEL_ESTATE);
	freeCancel(task);
	assert_int_equal(cancel_snapshot_tasks(&info, 1), 0);
	assert_int_equal(stopCancel(), 0);
}

static void the_clock_runs_all_the_same(void **state)
{
	(void)state;
	uint64_t before_ns = cancel_now_ns();
	assert_int_not_equal(before_ns, 0);
	assert_true(cancel_now_ns() >= before_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_call_does_nothing),
		cmocka_unit_test(the_clock_runs_all_the_same) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
