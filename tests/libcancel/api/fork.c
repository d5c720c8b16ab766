/* SPDX-License-Identifier: Apache-2.0 */
/* In a forked child the library is off and every task untracked; it may be started anew there. */
#include "runtime.h"

#include <sys/wait.h>
#include <unistd.h>

/* Runs `child` in a forked process; the answer is its exit status. */
static int in_child(int (*child)(struct cancel_task task), struct cancel_task task)
{
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(child(task));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int is_off(struct cancel_task task)
{
	struct cancel_task_info info;
	struct cancel_status status;
	cancel_read_status(&status);
	if (status.running)
		return 1;
	if (currentCancel().id || createCancel(NULL).id)
		return 2;
	if (cancel_read_task(task, &info) != CANCEL_ENOTASK)
		return 3;
	freeCancel(task); /* stale: counted */
	if (stopCancel() != CANCEL_ESTATE)
		return 4;
	return cancelRequested() ? 5 : 0;
}

static int starts_anew(struct cancel_task task)
{
	struct cancel_config config = { .struct_size = sizeof config, .log = keep_line };
	struct cancel_task_info info[4];
	if (UNDER_TSAN)
		return 0;
	if (startCancel(&config))
		return 1;
	struct cancel_resource table = createResource("table", CANCEL_LOCK, NULL);
	struct cancel_task own = createCancel(NULL);
	if (!own.id || own.id == task.id)
		return 2;
	getResource(table, CANCEL_EXCLUSIVE);
	if (cancel_snapshot_tasks(info, 4) != 1)
		return 3;
	freeResource(table, CANCEL_EXCLUSIVE);
	freeCancel(own);
	freeCancel(task);
	if (cancel_snapshot_tasks(info, 4) != 0)
		return 4;
	return stopCancel() ? 5 : 0;
}

static int start(void **state)
{
	struct cancel_task_options o = { .struct_size = sizeof o, .flags = CANCEL_CANCELLABLE };
	(void)state;
	start_with((struct cancel_config){ .window_ms = 10 });
	/* Both threads have run before a test forks: one that is only being created may hold a lock
	 * of the sanitizer's allocator, and the child would have it locked for ever. */
	struct cancel_task task = createCancel(&o);
	assert_int_equal(deliverCancel(task), 0);
	WAIT_UNTIL(counters_now().delivered == 1 && counters_now().turns > 0);
	freeCancel(task);
	return 0;
}

static void the_child_is_untracked_and_the_parent_goes_on(void **state)
{
	struct cancel_resource table = createResource("table", CANCEL_LOCK, NULL);
	struct cancel_task task = createCancel(NULL);
	(void)state;
	getResource(table, CANCEL_SHARED);
	assert_int_equal(in_child(is_off, task), 0);
	assert_int_equal(inspect_current().entries[0].held_modes, 1);
	freeResource(table, CANCEL_SHARED);
	freeCancel(task);
	uint64_t turns = counters_now().turns;
	WAIT_UNTIL(counters_now().turns > turns);
}

static void the_child_may_start_it_anew(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	assert_int_equal(in_child(starts_anew, task), 0);
	freeCancel(task);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, start, stop)
	const struct CMUnitTest tests[] = {
		EACH(the_child_is_untracked_and_the_parent_goes_on),
		EACH(the_child_may_start_it_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
