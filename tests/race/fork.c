/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule: a child forked at any moment has a library that is off, with no lock held by a thread that
 * does not exist there; the parent does not notice.
 *
 * Before the fork every lock of the library is taken in one order, and released on both sides
 * (lifecycle.c). So the child can use every call, and start and stop the library, whatever the
 * parent's threads were doing. Each child does that and says so by its exit status; one that hangs
 * on a lock is ended by its alarm.
 */
#include "threads.h"

#include <sys/wait.h>
#include <unistd.h>

#define WORKERS	 3
#define CHILDREN 12

static struct cancel_resource table;

static void *churn(void *ignored)
{
	struct cancel_task_options o = { .struct_size = sizeof o, .flags = CANCEL_CANCELLABLE };
	(void)ignored;
	while (!load_relaxed(&race_over)) {
		struct cancel_task task = createCancel(&o);
		getResource(table, CANCEL_SHARED);
		(void)!deliverCancel(task);
		(void)cancelRequested();
		(void)createResource("table", CANCEL_LOCK, NULL);
		freeResource(table, CANCEL_SHARED);
		freeCancel(task);
	}
	return NULL;
}

static int child(void)
{
	struct cancel_config config = { .struct_size = sizeof config, .log = keep_line };
	struct cancel_task_info info;
	alarm(patience_s());
	if (createCancel(NULL).id || cancel_snapshot_tasks(&info, 1))
		return 1;
	if (UNDER_TSAN)
		return 0;
	if (startCancel(&config))
		return 2;
	struct cancel_task task = createCancel(NULL);
	struct cancel_resource r = createResource("table", CANCEL_LOCK, NULL);
	if (!task.id || !r.id)
		return 3;
	getResource(r, CANCEL_SHARED);
	freeResource(r, CANCEL_SHARED);
	freeCancel(task);
	return stopCancel() ? 4 : 0;
}

static void a_child_never_inherits_a_lock(void **state)
{
	struct race race;
	(void)state;
	start_with((struct cancel_config){ .window_ms = 10 });
	table = createResource("table", CANCEL_LOCK, NULL);
	race_begin(&race);
	for (int i = 0; i < WORKERS; i++)
		race_add(&race, churn, NULL);
	for (int i = 0; i < CHILDREN; i++) {
		int status;
		pid_t pid = fork();
		if (pid == 0)
			_exit(child());
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	race_join(&race);
	assert_int_equal(stopCancel(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_never_inherits_a_lock),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
