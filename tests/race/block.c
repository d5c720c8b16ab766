/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule: between a cancel_block that returned 0 and the matching cancel_allow, no action runs and
 * none starts.
 *
 * The word is BLOCKED then. The delivery thread enters DELIVERING from RUNNING or DELIVERED only
 * (state_word.c, rule 2), and cancel_block enters BLOCKED only from RUNNING, waiting out an action
 * that is under way (rule 3). So the plain field `committing`, which only the owner writes inside
 * its blocked phase, is never read by an action meanwhile: TSan would see the race, the test a
 * value other than 0. And once an action has run, no phase can be blocked any more.
 */
#include "threads.h"

#include "libcancel/control/deliver.h"

#define WORKERS 4

struct transaction {
	_Atomic uint64_t id;
	uint32_t committing; /* plain: the owner in blocked phases, actions outside them */
	bool cancelled;	     /* plain: the action writes, the owner reads after a refused block */
};

static struct transaction transactions[WORKERS];
static _Atomic uint32_t reached, commits, refused;

static void act(const struct cancel_request *request, void *arg)
{
	struct transaction *t = arg;
	(void)request;
	race_expect(t->committing == 0);
	if (!t->cancelled) /* it may be aimed at again, as an escalation is */
		t->cancelled = true;
	add_relaxed(&reached, 1);
}

/* False: told to abort. */
static bool commit(struct transaction *t)
{
	if (blockCancel() == CANCEL_EREQUESTED) {
		race_expect(t->cancelled);
		race_expect(cancelRequested());
		add_relaxed(&refused, 1);
		return false;
	}
	t->committing = 1;
	race_expect(!t->cancelled);
	race_expect(blockCancel() == 0); /* it nests */
	t->committing = 2;
	allowCancel();
	t->committing = 0;
	allowCancel();
	add_relaxed(&commits, 1);
	return true;
}

static void *worker(void *arg)
{
	struct transaction *t = arg;
	struct cancel_task_options o = {
		.struct_size = sizeof o,
		.flags = CANCEL_CANCELLABLE,
		.action = act,
		.action_arg = t,
	};
	while (!load_relaxed(&race_over)) {
		t->cancelled = false;
		struct cancel_task task = createCancel(&o);
		store_relaxed(&t->id, task.id);
		for (int i = 0; i < 50 && commit(t); i++)
			;
		freeCancel(task);
	}
	return NULL;
}

static void *canceller(void *ignored)
{
	(void)ignored;
	for (uint32_t i = 0; !load_relaxed(&race_over); i++) {
		struct delivery d = {
			.task = load_relaxed(&transactions[i % WORKERS].id),
			.reason = CANCEL_REASON_CULPRIT,
		};
		if (!deliver_push(&d))
			sched_yield();
	}
	return NULL;
}

static bool enough(void)
{
	return load_relaxed(&reached) && load_relaxed(&commits) && load_relaxed(&refused);
}

static void no_action_runs_in_a_blocked_phase(void **state)
{
	struct race race;
	(void)state;
	start_quietly();
	race_begin(&race);
	for (int i = 0; i < WORKERS; i++)
		race_add(&race, worker, &transactions[i]);
	race_add(&race, canceller, NULL);
	race_run(&race, enough);
	assert_int_equal(stopCancel(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_action_runs_in_a_blocked_phase),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
