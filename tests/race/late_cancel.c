/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule: a cancel reaches the task it was meant for, or nobody.
 *
 * Deliveries are aimed at ids that workers have published and mostly ended since; slots, threads
 * and the objects behind the action's argument are reused at once. The action runs only inside
 * DELIVERING of the generation that was aimed at, and cancel_task_end returns only when the word
 * has left DELIVERING and the generation is over (state_word.c, rules 2 and 3). So whenever an
 * action runs, its task has not ended: the argument still names that task, and the plain fields it
 * reads are not being written. TSan sees the plain fields; the test sees the ids.
 */
#include "threads.h"

#include "libcancel/control/deliver.h"

#define WORKERS 4

struct connection {		 /* reused for task after task, as a server's are */
	struct cancel_task task; /* plain: written between tasks, read by actions */
	bool serving;
	uint64_t cancelled;
};

static struct connection connections[WORKERS];
static _Atomic uint64_t published[WORKERS];
static _Atomic uint32_t reached;

static void act(const struct cancel_request *request, void *arg)
{
	struct connection *c = arg;
	race_expect(c->serving && c->task.id == request->task.id);
	c->cancelled++;
	add_relaxed(&reached, 1);
}

static void *worker(void *arg)
{
	struct connection *c = arg;
	struct cancel_task_options o = {
		.struct_size = sizeof o,
		.flags = CANCEL_CANCELLABLE,
		.action_arg = c,
	};
	while (!load_relaxed(&race_over)) {
		c->task = createCancel(&o);
		c->serving = true;
		setCancelAction(act, c);
		store_relaxed(&published[c - connections], c->task.id);
		race_expect(c->task.id != 0);
		(void)cancelRequested();
		freeCancel(c->task);
		c->serving = false;
		c->task.id = 0;
	}
	return NULL;
}

static void *canceller(void *ignored)
{
	(void)ignored;
	for (uint32_t i = 0; !load_relaxed(&race_over); i++) {
		struct delivery d = {
			.task = load_relaxed(&published[i % WORKERS]),
			.reason = CANCEL_REASON_CULPRIT,
		};
		if (!deliver_push(&d))
			sched_yield();
	}
	return NULL;
}

static bool enough(void)
{
	return load_relaxed(&reached) && counters_now().ignored;
}

static void a_late_cancel_never_reaches_the_next_task(void **state)
{
	struct race race;
	(void)state;
	start_quietly();
	race_begin(&race);
	for (int i = 0; i < WORKERS; i++)
		race_add(&race, worker, &connections[i]);
	race_add(&race, canceller, NULL);
	race_run(&race, enough);
	assert_int_equal(stopCancel(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_late_cancel_never_reaches_the_next_task),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
