/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All of a task's calls at once, for as long as it is told: lives of random calls, handed from
 * thread to thread, under cancels that come at any moment. What docs/trust.md promises is
 * looked for:
 *
 * - Nobody else's: an action finds the task, the argument and the phase it may run in. The fields
 *   it looks at are plain, so that TSan sees an action that runs while the owner goes on.
 * - None lost: after an action has run, its task sees a request; what an owner asks for itself
 *   comes; and every order ends as delivered or as ignored.
 * - None again: the library does not cancel a task that runs again, unless an operator has.
 *
 * A cancel counts as inside a call when the owner is in that call as the action starts or ends.
 *
 * usage: test_race_soak [LIVES [CANCELS [INSIDE]]]: goes on until there were so many of each.
 */
#include "threads.h"

#include <stdio.h>

#include "libcancel/control/deliver.h"

#define WORKERS	  3
#define JOBS	  (WORKERS + 1) /* one may lie between two threads */
#define CALLS_MAX 12
#define SPINS_MAX 256

enum call { ELSEWHERE, IN_BEGIN, IN_BLOCK, IN_SET_ACTION, IN_RERUN, IN_END, CALL_KINDS };

struct job;
struct argument {
	struct job *job;
	bool valid; /* plain: the owner writes while no action has it */
};

struct job {			 /* what a server keeps for a request, task after task */
	struct cancel_task task; /* plain: written between tasks, read by actions */
	_Atomic uint64_t id;	 /* the same, for who orders cancels */
	struct argument arguments[2];
	uint32_t present;    /* owner only: the argument in use */
	uint32_t committing; /* plain: the owner in blocked phases, actions outside them */
	_Atomic uint32_t in; /* enum call */
	_Atomic bool acted;  /* an action has run for this task … */
	_Atomic bool killed; /* … and an operator's */
	_Atomic bool again;  /* it runs again */
};

static uint64_t wanted_lives = 20000, wanted_cancels = 20000, wanted_inside = 20;
static struct job jobs[JOBS];
static struct job *_Atomic between; /* unbound, and nobody's */
static _Atomic uint64_t lives, cancels, orders, astray, lost, again_cancelled;
static _Atomic uint64_t inside[CALL_KINDS];

static uint32_t draw(uint64_t *random, uint32_t below)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (uint32_t)(*random >> 32) % below;
}

/* ---- What a cancel sees ---------------------------------------------------------------------- */

static void act(const struct cancel_request *request, void *arg)
{
	struct argument *argument = arg;
	struct job *job = argument->job;
	bool manual = request->reason == CANCEL_REASON_MANUAL;
	uint32_t first = load_relaxed(&job->in);
	if (!argument->valid || job->task.id != request->task.id || job->committing)
		add_relaxed(&astray, 1);
	if (load_relaxed(&job->again) && !manual && !load_relaxed(&job->killed))
		add_relaxed(&again_cancelled, 1);
	store_release(&job->acted, true);
	if (manual)
		store_release(&job->killed, true);
	uint32_t last = load_relaxed(&job->in);
	add_relaxed(&inside[first ? first : last], 1);
	add_relaxed(&cancels, 1);
}

/* ---- A life ---------------------------------------------------------------------------------- */

static struct job *begin(struct job *job)
{
	for (uint32_t i = 0; i < 2; i++)
		job->arguments[i] = (struct argument){ .job = job, .valid = i == 0 };
	struct cancel_task_options o = {
		.struct_size = sizeof o,
		.flags = CANCEL_CANCELLABLE,
		.action_arg = &job->arguments[0],
	};
	job->present = 0;
	store_relaxed(&job->acted, false);
	store_relaxed(&job->killed, false);
	store_relaxed(&job->again, false);
	store_relaxed(&job->in, IN_BEGIN);
	job->task = createCancel(&o);
	setCancelAction(act, &job->arguments[0]);
	store_relaxed(&job->in, ELSEWHERE);
	store_relaxed(&job->id, job->task.id);
	return job;
}

static void look(struct job *job)
{
	bool due = load_acquire(&job->killed) ||
		   (load_acquire(&job->acted) && !load_relaxed(&job->again));
	if (!cancelRequested() && due)
		add_relaxed(&lost, 1);
}

static void commit(struct job *job)
{
	store_relaxed(&job->in, IN_BLOCK);
	int error = blockCancel();
	store_relaxed(&job->in, ELSEWHERE);
	if (error) {
		look(job);
		return;
	}
	job->committing = 1;
	job->committing = 0;
	allowCancel();
}

static void exchange_action(struct job *job)
{
	uint32_t next = 1 - job->present;
	job->arguments[next].valid = true;
	store_relaxed(&job->in, IN_SET_ACTION);
	setCancelAction(act, &job->arguments[next]);
	store_relaxed(&job->in, ELSEWHERE);
	job->arguments[job->present].valid = false;
	job->present = next;
}

/* Whoever asks for a cancel gets it. */
static void ask_for_it(struct job *job)
{
	uint64_t end_ns = patience_end_ns();
	int error;
	while ((error = deliverCancel(job->task)) == CANCEL_EBUSY && !cancelRequested())
		sched_yield();
	if (!error)
		add_relaxed(&orders, 1);
	while (!cancelRequested()) {
		if (patience_now_ns() > end_ns) {
			add_relaxed(&lost, 1);
			return;
		}
		sched_yield();
	}
}

static void run_again(struct job *job)
{
	struct cancel_ticket ticket = { 0 };
	if (!cancelRequested())
		return;
	store_relaxed(&job->in, IN_RERUN);
	enum cancel_rerun_answer answer = rerunCancel(job->task, &ticket);
	store_relaxed(&job->in, ELSEWHERE);
	if (answer == CANCEL_RERUN)
		store_relaxed(&job->again, true);
	look(job);
}

static void end(struct job *job)
{
	store_relaxed(&job->in, IN_END);
	freeCancel(job->task);
	store_relaxed(&job->in, ELSEWHERE);
	job->arguments[0].valid = false;
	job->arguments[1].valid = false;
	job->task.id = 0;
	add_relaxed(&lives, 1);
}

static void call(struct job *job, uint64_t *random)
{
	for (uint32_t spins = draw(random, SPINS_MAX); spins; spins--)
		__asm__ volatile("");
	switch (draw(random, 16)) {
	case 0:
		ask_for_it(job);
		break;
	case 1:
	case 2:
		run_again(job);
		break;
	case 3:
	case 4:
		look(job);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		exchange_action(job);
		break;
	default:
		commit(job);
	}
}

/* Lays the job down and takes up the one that lay there; one that lies nowhere is begun anew. */
static struct job *hand_over(struct job *job)
{
	unbindCancel(job->task, CANCEL_QUEUED);
	struct job *other = atomic_exchange_explicit(&between, job, memory_order_acq_rel);
	bindCancel(other->task);
	if (cancel_current().id != other->task.id)
		add_relaxed(&astray, 1);
	return other;
}

static void *worker(void *arg)
{
	struct job *job = begin(arg);
	uint64_t random = (uint64_t)(job - jobs + 1) * 0x9e3779b97f4a7c15;
	while (!load_relaxed(&race_over)) {
		for (uint32_t calls = draw(&random, CALLS_MAX); calls; calls--)
			call(job, &random);
		if (draw(&random, 4) == 0) {
			job = hand_over(job);
		} else {
			end(job);
			begin(job);
		}
	}
	end(job);
	return NULL;
}

/* Living tasks and ended ones, at any moment. */
static void *controller(void *ignored)
{
	uint64_t random = 0x2545f4914f6cdd1d;
	(void)ignored;
	while (!load_relaxed(&race_over)) {
		struct delivery d = {
			.task = load_relaxed(&jobs[draw(&random, JOBS)].id),
			.reason = CANCEL_REASON_CULPRIT + draw(&random, 8) / 3,
		};
		if (deliver_push(&d))
			add_relaxed(&orders, 1);
		else
			sched_yield();
	}
	return NULL;
}

/* ---- The soak -------------------------------------------------------------------------------- */

static uint64_t inside_calls(void)
{
	return load_relaxed(&inside[IN_END]) + load_relaxed(&inside[IN_BLOCK]) +
	       load_relaxed(&inside[IN_SET_ACTION]);
}

static bool is_enough(void)
{
	return load_relaxed(&lives) >= wanted_lives && load_relaxed(&cancels) >= wanted_cancels &&
	       inside_calls() >= wanted_inside;
}

static uint64_t orders_ended(void)
{
	struct cancel_counters counters = counters_now();
	return counters.delivered + counters.ignored;
}

static void tell(double seconds)
{
	print_message("%llu lives, %llu cancels in %.0f s; the owner inside end %llu, block %llu, "
		      "set_action %llu, rerun %llu\n",
		(unsigned long long)load_relaxed(&lives),
		(unsigned long long)load_relaxed(&cancels), seconds,
		(unsigned long long)load_relaxed(&inside[IN_END]),
		(unsigned long long)load_relaxed(&inside[IN_BLOCK]),
		(unsigned long long)load_relaxed(&inside[IN_SET_ACTION]),
		(unsigned long long)load_relaxed(&inside[IN_RERUN]));
	print_message("on another task %llu, lost %llu, again %llu\n",
		(unsigned long long)load_relaxed(&astray), (unsigned long long)load_relaxed(&lost),
		(unsigned long long)load_relaxed(&again_cancelled));
}

static void no_cancel_goes_astray_and_none_is_lost(void **state)
{
	struct race race;
	const struct timespec nap = { .tv_nsec = 10000000 };
	(void)state;
	start_quietly();
	uint64_t start_ns = patience_now_ns();
	race_begin(&race);
	struct job *first = begin(&jobs[WORKERS]);
	unbindCancel(first->task, CANCEL_QUEUED);
	store_release(&between, first);
	for (int i = 0; i < WORKERS; i++)
		race_add(&race, worker, &jobs[i]);
	race_add(&race, controller, NULL);
	while (!is_enough())
		nanosleep(&nap, NULL);
	race_join(&race);
	end(load_acquire(&between));
	WAIT_UNTIL(orders_ended() == load_relaxed(&orders));
	tell((double)(patience_now_ns() - start_ns) / 1e9);
	assert_int_equal(stopCancel(), 0);
	assert_int_equal(load_relaxed(&astray), 0);
	assert_int_equal(load_relaxed(&lost), 0);
	assert_int_equal(load_relaxed(&again_cancelled), 0);
}

static bool read_count(const char *text, uint64_t *count)
{
	char *last;
	*count = strtoull(text, &last, 10);
	return *text >= '0' && *text <= '9' && !*last;
}

int main(int argc, char **argv)
{
	uint64_t *const wanted[] = { &wanted_lives, &wanted_cancels, &wanted_inside };
	bool right = argc <= 4;
	for (int i = 1; right && i < argc; i++)
		right = read_count(argv[i], wanted[i - 1]);
	if (!right) {
		fprintf(stderr, "usage: test_race_soak [LIVES [CANCELS [INSIDE]]]\n");
		return 2;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_cancel_goes_astray_and_none_is_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
