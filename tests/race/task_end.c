/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule: when cancel_task_end returns, the action is not running and never will; so what its
 * argument points to may be freed at once.
 *
 * cancel_task_end leaves for ENDING only from a state other than DELIVERING, and waits while the
 * state is DELIVERING; only the delivery thread leaves that, after the action has returned
 * (state_word.c, rule 3). The argument is heap memory freed right behind cancel_task_end; an action
 * that still ran would read freed memory, which ASan sees, or race with the free, which TSan sees.
 * The same for cancel_set_action and the old argument.
 */
#include "threads.h"

#include <stdlib.h>

#define WORKERS 4

static _Atomic uint32_t reached;

static void act(const struct cancel_request *request, void *arg)
{
	uint64_t *alive = arg;
	(void)request;
	race_expect(*alive == 1);
	*alive = 2;
	sched_yield();
	race_expect(*alive == 2);
	*alive = 1;
	add_relaxed(&reached, 1);
}

static uint64_t *new_argument(void)
{
	uint64_t *alive = malloc(sizeof *alive);
	*alive = 1;
	return alive;
}

static void drop_argument(uint64_t *alive)
{
	race_expect(*alive == 1);
	*alive = 0;
	free(alive);
}

static void *worker(void *ignored)
{
	(void)ignored;
	while (!load_relaxed(&race_over)) {
		uint64_t *first = new_argument(), *second = new_argument();
		struct cancel_task_options o = {
			.struct_size = sizeof o,
			.flags = CANCEL_CANCELLABLE,
			.action = act,
			.action_arg = first,
		};
		struct cancel_task task = createCancel(&o);
		race_expect(deliverCancel(task) != CANCEL_ENOTASK);
		setCancelAction(act, second);
		drop_argument(first);
		(void)!deliverCancel(task);
		freeCancel(task);
		drop_argument(second);
	}
	return NULL;
}

static bool enough(void)
{
	return load_relaxed(&reached) > 0;
}

static void after_free_no_action_touches_its_argument(void **state)
{
	struct race race;
	(void)state;
	start_quietly();
	race_begin(&race);
	for (int i = 0; i < WORKERS; i++)
		race_add(&race, worker, NULL);
	race_run(&race, enough);
	assert_int_equal(stopCancel(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_free_no_action_touches_its_argument),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
