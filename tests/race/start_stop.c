/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule: the library may be stopped and started while tasks live and calls are made; nothing is
 * lost, freed under a caller's feet or cancelled afterwards.
 *
 * Slots are never unmapped and keep their generation over a stop, so a thread that is bound may
 * store into its slot at any time. Stop joins both threads, which waits for a running action; what
 * is still queued is dropped, so after cancel_stop has returned no action runs until the next
 * start. `started` below is plain: written by the thread that starts and stops, read by actions.
 */
#include "threads.h"

#define WORKERS 4

static bool started; /* plain */
static _Atomic uint32_t reached;

static void act(const struct cancel_request *request, void *arg)
{
	(void)request;
	(void)arg;
	race_expect(started);
	add_relaxed(&reached, 1);
}

static void *worker(void *ignored)
{
	struct cancel_task_options o = {
		.struct_size = sizeof o,
		.flags = CANCEL_CANCELLABLE,
		.action = act,
		.slo_ns = 1,
	};
	(void)ignored;
	while (!load_relaxed(&race_over)) {
		struct cancel_resource r = createResource("table", CANCEL_LOCK, NULL);
		struct cancel_task task = createCancel(&o);
		slowByResource(r, CANCEL_SHARED);
		getResource(r, CANCEL_SHARED);
		(void)!deliverCancel(task);
		(void)cancelRequested();
		freeResource(r, CANCEL_SHARED);
		freeCancel(task);
	}
	return NULL;
}

static void await_more(_Atomic uint32_t *count)
{
	uint32_t before = load_relaxed(count);
	WAIT_UNTIL(load_relaxed(count) != before);
}

static void start_and_stop_fit_between_any_two_calls(void **state)
{
	struct cancel_config config = {
		.struct_size = sizeof config,
		.window_ms = 10,
		.log = keep_line,
	};
	struct race race;
	struct timespec pause = { .tv_nsec = 5000000 };
	(void)state;
	race_begin(&race);
	for (int i = 0; i < WORKERS; i++)
		race_add(&race, worker, NULL);
	for (int i = 0; i < 60; i++) {
		started = true;
		log_lines[0] = '\0';
		assert_int_equal(startCancel(&config), 0);
		if (i % 20) /* a stop at any time, but sometimes not before an action has run */
			nanosleep(&pause, NULL);
		else
			await_more(&reached);
		assert_int_equal(stopCancel(), 0);
		started = false;
	}
	race_join(&race);
	/* Every slot came back. */
	struct cancel_task_info info[8];
	assert_int_equal(cancel_snapshot_tasks(info, 8), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_and_stop_fit_between_any_two_calls),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
