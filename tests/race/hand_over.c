/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule: one thread at a time owns a task, and what the former owner stored is the next one's.
 *
 * The binding is a bit of the state word (state_word.c): two threads that bind the same task swap
 * the same word and one fails; unbind releases, bind acquires. Here threads snatch ids from one
 * place without telling each other, so several try the same task at once: the winner must find the
 * plain owner-only fields of the slot as the last owner left them (TSan watches those), and its
 * nesting count must fit what was acquired so far.
 */
#include "threads.h"

#include "libcancel/control/deliver.h"

#define TASKS	3
#define THREADS 5
#define DEEPEST 1000

static struct cancel_resource table;
static _Atomic uint64_t tasks[TASKS];
static _Atomic uint32_t turns, refusals;
static uint64_t depth[TASKS]; /* plain: whoever is bound to the task */

static uint64_t held_now(void)
{
	struct inspection seen = inspect_current();
	return seen.task.entry_count ? seen.entries[0].held : 0;
}

static void work(uint32_t i)
{
	race_expect(held_now() == depth[i]);
	if (depth[i] < DEEPEST) {
		getResource(table, CANCEL_SHARED);
		depth[i]++;
	} else {
		for (; depth[i]; depth[i]--)
			freeResource(table, CANCEL_SHARED);
	}
	race_expect(blockCancel() == 0);
	allowCancel();
	add_relaxed(&turns, 1);
}

static void *worker(void *arg)
{
	uint32_t i = (uint32_t)(uintptr_t)arg % TASKS;
	while (!load_relaxed(&race_over)) {
		struct cancel_task task = { .id = load_relaxed(&tasks[i]) };
		bindCancel(task);
		if (currentCancel().id == task.id) {
			work(i);
			unbindCancel(task, i ? CANCEL_QUEUED : CANCEL_IDLE);
		} else {
			add_relaxed(&refusals, 1);
		}
		i = (i + 1) % TASKS;
	}
	return NULL;
}

static bool enough(void)
{
	return load_relaxed(&turns) > 0;
}

static void a_task_has_one_owner_at_a_time(void **state)
{
	struct race race;
	(void)state;
	start_quietly();
	table = createResource("table", CANCEL_LOCK, NULL);
	for (int i = 0; i < TASKS; i++) {
		struct cancel_task task = createCancel(NULL);
		unbindCancel(task, CANCEL_QUEUED);
		store_relaxed(&tasks[i], task.id);
		depth[i] = 0;
	}
	race_begin(&race);
	for (uintptr_t i = 0; i < THREADS; i++)
		race_add(&race, worker, (void *)i);
	race_run(&race, enough);
	for (int i = 0; i < TASKS; i++) {
		struct cancel_task task = { .id = load_relaxed(&tasks[i]) };
		bindCancel(task);
		assert_int_equal(held_now(), depth[i]);
		freeCancel(task);
	}
	assert_int_equal(counters_now().stale_task, 0);
	assert_int_equal(stopCancel(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_has_one_owner_at_a_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
