/* SPDX-License-Identifier: Apache-2.0 */
/* Actions that take too long, tasks that only pthread_cancel stops, and where a victim was. */
#include "runtime.h"

#include "hanging_action.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "libcancel/diag/stack.h"

static sem_t ready;

static int prepare(void **state)
{
	(void)state;
	prepare_hang();
	sem_init(&ready, 0, 0);
	return 0;
}

/* ---- Slow actions ---------------------------------------------------------------------------- */

static void a_slow_action_is_named_once_and_holds_new_cancels_back(void **state)
{
	struct cancel_task_options o = {
		.struct_size = sizeof o,
		.key = 4711,
		.flags = CANCEL_CANCELLABLE,
		.action = hang,
	};
	struct cancel_status status;
	(void)state;
	start_with((struct cancel_config){ .window_ms = 10, .action_max_ms = 20 });
	struct cancel_task task = createCancel(&o);
	assert_int_equal(deliverCancel(task), 0);
	sem_wait(&entered);
	WAIT_UNTIL((cancel_read_status(&status), status.action_stuck));
	uint64_t turns = counters_now().turns;
	WAIT_UNTIL(counters_now().turns > turns + 3); /* detection goes on */
	assert_int_equal(counters_now().slow_actions, 1);
	sem_post(&may_leave);
	WAIT_UNTIL((cancel_read_status(&status), !status.action_stuck));
	freeCancel(task);
	assert_int_equal(stopCancel(), 0);
	const char *line = strstr(log_lines, "the cancel action of task 4711");
	assert_non_null(line);
	assert_null(strstr(line + 1, "the cancel action"));
}

static void *stop_it(void *ignored)
{
	(void)ignored;
	(void)stopCancel();
	sem_post(&ready);
	return NULL;
}

static void stop_waits_for_the_action(void **state)
{
	struct cancel_task_options o = {
		.struct_size = sizeof o,
		.flags = CANCEL_CANCELLABLE,
		.action = hang,
	};
	pthread_t thread;
	int stopped;
	(void)state;
	start_quietly();
	struct cancel_task task = createCancel(&o);
	assert_int_equal(deliverCancel(task), 0);
	sem_wait(&entered);
	assert_int_equal(pthread_create(&thread, NULL, stop_it, NULL), 0);
	struct cancel_status status;
	WAIT_UNTIL((cancel_read_status(&status), !status.running));
	sem_getvalue(&ready, &stopped);
	assert_int_equal(stopped, 0);
	sem_post(&may_leave);
	pthread_join(thread, NULL);
	freeCancel(task); /* what lived before the stop is freed as usual */
	assert_int_equal(counters_now().stale_task, 0);
}

/* ---- pthread_cancel -------------------------------------------------------------------------- */

static _Atomic bool cleaned_up, ran_on;
static struct cancel_task thread_task;

static void clean_up(void *arg)
{
	freeCancel(*(struct cancel_task *)arg);
	store_relaxed(&cleaned_up, true);
}

static void sleep_until(sem_t *event)
{
	if (!UNDER_TSAN)
		sem_wait(event);
	else
		while (sem_trywait(event) != 0) {
			pthread_testcancel();
			sched_yield();
		}
}

/* A host function that knows nothing of requests: it sleeps in a system call. */
static void *deaf(void *arg)
{
	struct cancel_task_options o = {
		.struct_size = sizeof o,
		.flags = CANCEL_CANCELLABLE | CANCEL_THREAD,
	};
	(void)arg;
	thread_task = createCancel(&o);
	pthread_cleanup_push(clean_up, &thread_task);
	sem_post(&ready);
	sleep_until(&may_leave);
	pthread_cleanup_pop(1);
	store_relaxed(&ran_on, true);
	return NULL;
}

static pthread_t start_deaf(void *(*body)(void *))
{
	pthread_t thread;
	store_relaxed(&cleaned_up, false);
	store_relaxed(&ran_on, false);
	assert_int_equal(pthread_create(&thread, NULL, body, NULL), 0);
	sem_wait(&ready);
	return thread;
}

static void a_thread_that_opted_in_is_stopped_by_pthread_cancel(void **state)
{
	void *end;
	(void)state;
	start_with((struct cancel_config){ .thread_cancel = true });
	pthread_t thread = start_deaf(deaf);
	assert_int_equal(deliverCancel(thread_task), 0);
	pthread_join(thread, &end);
	assert_ptr_equal(end, PTHREAD_CANCELED);
	assert_true(load_relaxed(&cleaned_up));
	assert_false(load_relaxed(&ran_on));
	assert_int_equal(counters_now().stale_task, 0);
	assert_int_equal(stopCancel(), 0);
}

static void without_the_option_no_thread_is_cancelled(void **state)
{
	void *end;
	struct cancel_task_info info;
	(void)state;
	start_quietly();
	pthread_t thread = start_deaf(deaf);
	assert_int_equal(deliverCancel(thread_task), 0);
	WAIT_UNTIL(cancel_read_task(thread_task, &info) == 0 && info.state == CANCEL_DELIVERED);
	sem_post(&may_leave);
	pthread_join(thread, &end);
	assert_null(end);
	assert_true(load_relaxed(&ran_on));
	assert_int_equal(stopCancel(), 0);
}

/* Computes until the request is there, then ends the task without a cancellation point. */
static void *deaf_to_the_end(void *arg)
{
	struct cancel_task_options o = {
		.struct_size = sizeof o,
		.flags = CANCEL_CANCELLABLE | CANCEL_THREAD,
	};
	(void)arg;
	thread_task = createCancel(&o);
	pthread_cleanup_push(clean_up, &thread_task);
	sem_post(&ready);
	while (!cancelRequested())
		;
	freeCancel(thread_task);
	store_relaxed(&ran_on, true); /* the next task of this thread would be hit here */
	pthread_cleanup_pop(0);
	return NULL;
}

static void a_pending_pthread_cancel_ends_with_its_task(void **state)
{
	void *end;
	(void)state;
	start_with((struct cancel_config){ .thread_cancel = true });
	pthread_t thread = start_deaf(deaf_to_the_end);
	assert_int_equal(deliverCancel(thread_task), 0);
	pthread_join(thread, &end);
	assert_ptr_equal(end, PTHREAD_CANCELED);
	assert_true(load_relaxed(&cleaned_up));
	assert_false(load_relaxed(&ran_on));
	assert_int_equal(stopCancel(), 0);
}

static void an_unbound_task_leaves_no_thread_to_cancel(void **state)
{
	struct cancel_task_options o = {
		.struct_size = sizeof o,
		.flags = CANCEL_CANCELLABLE | CANCEL_THREAD,
	};
	struct cancel_task_info info;
	(void)state;
	start_with((struct cancel_config){ .thread_cancel = true });
	struct cancel_task task = createCancel(&o);
	unbindCancel(task, CANCEL_QUEUED);
	assert_int_equal(deliverCancel(task), 0);
	WAIT_UNTIL(cancel_read_task(task, &info) == 0 && info.state == CANCEL_DELIVERED);
	pthread_testcancel(); /* this thread goes on */
	bindCancel(task);
	assert_true(cancelRequested());
	freeCancel(task);
	assert_int_equal(stopCancel(), 0);
}

static void *forget_its_task(void *ignored)
{
	struct cancel_task_options o = {
		.struct_size = sizeof o,
		.flags = CANCEL_CANCELLABLE | CANCEL_THREAD,
	};
	(void)ignored;
	thread_task = createCancel(&o);
	return NULL;
}

/* Its thread is gone: to cancel it would be to touch what no longer is. */
static void a_thread_that_has_ended_is_not_cancelled(void **state)
{
	struct cancel_task_info info;
	pthread_t thread;
	(void)state;
	start_with((struct cancel_config){ .thread_cancel = true });
	assert_int_equal(pthread_create(&thread, NULL, forget_its_task, NULL), 0);
	pthread_join(thread, NULL);
	assert_int_equal(deliverCancel(thread_task), 0);
	WAIT_UNTIL(cancel_read_task(thread_task, &info) == 0 && info.state == CANCEL_DELIVERED);
	assert_false(load_relaxed(&slot_at(id_index(thread_task.id))->cold->thread_cancelled));
	freeCancel(thread_task);
	assert_int_equal(stopCancel(), 0);
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

bool host_checkpoint(void);

__attribute__((noinline)) bool host_checkpoint(void)
{
	bool requested = cancelRequested();
	__asm__ volatile(""); /* no tail call: this frame is looked for */
	return requested;
}

static void the_victims_stack_names_its_checkpoint(void **state)
{
	static char text[CANCEL_STACK_MAX];
	struct cancel_task_options o = { .struct_size = sizeof o, .flags = CANCEL_CANCELLABLE };
	(void)state;
	start_quietly();
	struct cancel_task task = createCancel(&o);
	assert_false(stack_take(task.id, text));
	assert_int_equal(deliverCancel(task), 0);
	WAIT_UNTIL(host_checkpoint());
	assert_true(stack_take(task.id, text));
	assert_non_null(strstr(text, "host_checkpoint+"));
	assert_null(strstr(text, "cancel_requested+"));
	assert_int_equal(text[strlen(text) - 1], '\n');
	assert_false(stack_take(task.id, text));
	freeCancel(task);
	assert_int_equal(stopCancel(), 0);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup(test, prepare)
	const struct CMUnitTest tests[] = {
		EACH(a_slow_action_is_named_once_and_holds_new_cancels_back),
		EACH(stop_waits_for_the_action),
		EACH(a_thread_that_opted_in_is_stopped_by_pthread_cancel),
		EACH(without_the_option_no_thread_is_cancelled),
		EACH(a_pending_pthread_cancel_ends_with_its_task),
		EACH(an_unbound_task_leaves_no_thread_to_cancel),
		EACH(a_thread_that_has_ended_is_not_cancelled),
		EACH(the_victims_stack_names_its_checkpoint),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
