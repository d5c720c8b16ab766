/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule: a task that cancel_rerun lets run again bears no old request, and an operator's cancel is
 * final.
 *
 * Its owner forgets the cancel while the word is CHANGING: no action runs then, none starts, and
 * nothing of the delivery thread's writing is under way (word.c, rules 3 and 4). So behind the
 * answer CANCEL_RERUN nothing is requested, and no reason is left, until an operator asks anew; and
 * whoever had asked before the owner got to CHANGING is seen there.
 */
#include "threads.h"

#include "libcancel/control/deliver.h"

#define WORKERS 4

struct job {
	_Atomic uint64_t id;
	_Atomic bool killed; /* an operator's action has run for it */
};

static struct job jobs[WORKERS];
static _Atomic uint32_t reruns, drops;

static void act(const struct cancel_request *request, void *arg)
{
	struct job *job = arg;
	if (request->reason == CANCEL_REASON_MANUAL)
		store_release(&job->killed, true);
}

static struct cancel_task begin(struct job *job)
{
	struct cancel_task_options o = {
		.struct_size = sizeof o,
		.flags = CANCEL_CANCELLABLE,
		.action = act,
		.action_arg = job,
	};
	store_relaxed(&job->killed, false);
	struct cancel_task task = createCancel(&o);
	store_relaxed(&job->id, task.id);
	return task;
}

/* False: the race was over first. */
static bool is_cancelled(void)
{
	while (!load_relaxed(&race_over))
		if (cancelRequested())
			return true;
	return false;
}

static enum cancel_rerun_answer ask(struct cancel_task task)
{
	struct cancel_ticket ticket = { 0 };
	enum cancel_rerun_answer answer;
	while ((answer = rerunCancel(task, &ticket)) == CANCEL_WAIT)
		;
	add_relaxed(answer == CANCEL_RERUN ? &reruns : &drops, 1);
	return answer;
}

static void *culprit(void *arg)
{
	while (!load_relaxed(&race_over)) {
		struct cancel_task task = begin(arg);
		if (is_cancelled() && ask(task) == CANCEL_RERUN) {
			race_expect(!load_relaxed(&current_slot->cold->reason));
			race_expect(!cancelRequested());
		}
		freeCancel(task);
	}
	return NULL;
}

static void *killed(void *arg)
{
	struct job *job = arg;
	while (!load_relaxed(&race_over)) {
		struct cancel_task task = begin(job);
		if (is_cancelled() && ask(task) == CANCEL_RERUN && load_acquire(&job->killed))
			race_expect(cancelRequested());
		freeCancel(task);
	}
	return NULL;
}

static void push(uint32_t i, enum cancel_reason reason)
{
	struct delivery d = { .task = load_relaxed(&jobs[i % WORKERS].id), .reason = reason };
	if (!deliver_push(&d))
		sched_yield();
}

static void *controller(void *ignored)
{
	(void)ignored;
	for (uint32_t i = 0; !load_relaxed(&race_over); i++)
		push(i, CANCEL_REASON_CULPRIT);
	return NULL;
}

static void *controller_and_operator(void *ignored)
{
	(void)ignored;
	for (uint32_t i = 0; !load_relaxed(&race_over); i++)
		push(i, i / WORKERS % 2 ? CANCEL_REASON_MANUAL : CANCEL_REASON_ESCALATION);
	return NULL;
}

static bool enough(void)
{
	return load_relaxed(&reruns) > 0;
}

static void run(void *(*worker)(void *), void *(*canceller)(void *))
{
	struct race race;
	start_quietly();
	race_begin(&race);
	for (int i = 0; i < WORKERS; i++)
		race_add(&race, worker, &jobs[i]);
	race_add(&race, canceller, NULL);
	race_run(&race, enough);
	assert_int_equal(stopCancel(), 0);
}

static void a_rerun_bears_no_old_request(void **state)
{
	(void)state;
	run(culprit, controller);
}

static void an_operators_cancel_is_not_run_again(void **state)
{
	(void)state;
	run(killed, controller_and_operator);
	assert_true(load_relaxed(&drops) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rerun_bears_no_old_request),
		cmocka_unit_test(an_operators_cancel_is_not_run_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
