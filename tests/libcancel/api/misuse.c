/* SPDX-License-Identifier: Apache-2.0 */
/* Every misuse has a defined answer: counted, said once, otherwise without effect. */
#include "runtime.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static int start(void **state)
{
	(void)state;
	start_quietly();
	return 0;
}

static void hot_calls(struct cancel_resource r)
{
	struct cancel_task none = { 0 };
	slowByResource(r, 1);
	getResource(r, 1);
	freeResource(r, 1);
	giveUpResource(r);
	evictResource(r, none, 1);
	missResource(r, none);
	setProgress(1, 2);
	assert_false(cancelRequested());
	assert_int_equal(blockCancel(), 0);
	allowCancel();
	setCancelAction(NULL, NULL);
}

static void without_a_current_task_calls_do_nothing(void **state)
{
	(void)state;
	hot_calls(createResource("table", CANCEL_LOCK, NULL));
	assert_int_equal(counters_now().no_task, 11);
}

static void before_start_calls_do_nothing(void **state)
{
	struct cancel_resource r = { 0 };
	(void)state;
	assert_int_equal(createCancel(NULL).id, 0);
	assert_int_equal(createResource("table", CANCEL_LOCK, NULL).id, 0);
	hot_calls(r);
	assert_int_equal(counters_now().not_running, 13);
	assert_int_equal(stopCancel(), CANCEL_ESTATE);
	assert_int_equal(deliverCancel((struct cancel_task){ .id = 1 }), CANCEL_ESTATE);
	assert_int_equal(cancel_set_option("mode", "act"), CANCEL_ESTATE);
}

static void the_untracked_id_is_accepted_everywhere(void **state)
{
	struct cancel_task none = { 0 };
	struct cancel_ticket ticket = { 0 };
	(void)state;
	bindCancel(none);
	unbindCancel(none, CANCEL_IDLE);
	freeCancel(none);
	assert_int_equal(rerunCancel(none, &ticket), CANCEL_RERUN);
	struct cancel_task task = createCancel(NULL);
	hot_calls((struct cancel_resource){ 0 });
	assert_int_equal(inspect_current().task.entry_count, 0);
	freeCancel(task);
	struct cancel_counters counters = counters_now();
	assert_int_equal(counters.stale_task, 0);
	assert_int_equal(counters.bad_resource, 0);
	assert_int_equal(counters.no_task, 0);
}

static void a_second_start_is_refused(void **state)
{
	(void)state;
	assert_int_equal(startCancel(NULL), CANCEL_ESTATE);
}

static void a_second_task_on_a_thread_is_untracked(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	assert_int_equal(createCancel(NULL).id, 0);
	bindCancel(task);
	assert_int_equal(counters_now().nested_task, 2);
	assert_int_equal(currentCancel().id, task.id);
	freeCancel(task);
}

static void a_double_free_reaches_nobody(void **state)
{
	struct cancel_task first = createCancel(NULL);
	(void)state;
	freeCancel(first);
	struct cancel_task second = createCancel(NULL);
	freeCancel(first);
	assert_int_equal(currentCancel().id, second.id);
	assert_int_equal(counters_now().stale_task, 1);
	freeCancel(second);
	freeCancel(second);
	assert_int_equal(counters_now().stale_task, 2);
}

static void an_id_from_nowhere_is_stale(void **state)
{
	struct cancel_task wild = { .id = UINT64_MAX };
	(void)state;
	freeCancel(wild);
	bindCancel(wild);
	unbindCancel(wild, CANCEL_IDLE);
	assert_int_equal(counters_now().stale_task, 3);
}

static void *free_it(void *arg)
{
	freeCancel(*(struct cancel_task *)arg);
	bindCancel(*(struct cancel_task *)arg);
	unbindCancel(*(struct cancel_task *)arg, CANCEL_IDLE);
	return NULL;
}

static void another_threads_task_is_left_alone(void **state)
{
	struct cancel_task task = createCancel(NULL);
	pthread_t thread;
	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, free_it, &task), 0);
	pthread_join(thread, NULL);
	assert_int_equal(counters_now().wrong_thread, 3);
	assert_int_equal(currentCancel().id, task.id);
	freeCancel(task);
	assert_int_equal(counters_now().stale_task, 0);
}

static void a_release_without_an_acquire_is_counted(void **state)
{
	struct cancel_resource table = createResource("table", CANCEL_LOCK, NULL);
	struct cancel_task task = createCancel(NULL);
	(void)state;
	freeResource(table, CANCEL_SHARED);
	assert_int_equal(counters_now().release_without_acquire, 1);
	freeCancel(task);
}

static void a_double_release_is_counted(void **state)
{
	struct cancel_resource table = createResource("table", CANCEL_LOCK, NULL);
	struct cancel_resource pool = createResource("pool", CANCEL_MEMORY, NULL);
	struct cancel_task task = createCancel(NULL);
	(void)state;
	getResource(table, CANCEL_SHARED);
	freeResource(table, CANCEL_EXCLUSIVE); /* not the mode it holds */
	assert_int_equal(inspect_current().entries[0].held_modes, 1);
	freeResource(table, CANCEL_SHARED);
	freeResource(table, CANCEL_SHARED);
	assert_int_equal(counters_now().double_release, 2);
	getResource(pool, 10);
	freeResource(pool, 11);
	assert_int_equal(inspect_current().entries[1].held, 0);
	assert_int_equal(counters_now().double_release, 3);
	freeCancel(task);
	assert_int_equal(counters_now().leaked_holds, 0);
}

static void a_mode_the_lock_has_not_is_counted(void **state)
{
	struct cancel_resource table = createResource("table", CANCEL_LOCK, NULL);
	struct cancel_task task = createCancel(NULL);
	(void)state;
	getResource(table, 0);
	getResource(table, 3);
	slowByResource(table, UINT64_MAX);
	freeResource(table, 9);
	assert_int_equal(counters_now().wrong_mode, 4);
	assert_int_equal(inspect_current().task.entry_count, 0);
	freeCancel(task);
}

static void an_id_that_is_no_resource_is_counted(void **state)
{
	struct cancel_resource wild = { .id = 0xffffffff }, typeless = { .id = 3 };
	struct cancel_task task = createCancel(NULL);
	(void)state;
	getResource(wild, 1);
	getResource(typeless, 1);
	giveUpResource(wild);
	evictResource(wild, task, 1);
	assert_int_equal(counters_now().bad_resource, 4);
	assert_int_equal(cancel_resource_index(wild), -1);
	freeCancel(task);
}

/* Its index is another resource's by now, of another type even. */
static void an_id_from_before_the_last_stop_is_no_resource(void **state)
{
	struct cancel_resource old = createResource("table", CANCEL_LOCK, NULL);
	struct cancel_task none = { 0 };
	(void)state;
	assert_int_equal(stopCancel(), 0);
	start_quietly();
	assert_int_equal(cancel_resource_index(old), -1);
	struct cancel_resource pool = createResource("pool", CANCEL_MEMORY, NULL);
	assert_int_equal(cancel_resource_index(pool), 0);
	struct cancel_task task = createCancel(NULL);
	slowByResource(old, CANCEL_SHARED);
	assert_int_equal(inspect_current().task.entry_count, 0);
	getResource(pool, 1);
	freeResource(pool, 1);
	getResource(old, CANCEL_SHARED); /* though "pool" is what the task used last */
	freeResource(old, CANCEL_SHARED);
	giveUpResource(old);
	evictResource(old, none, 1);
	missResource(old, none);
	assert_int_equal(counters_now().bad_resource, 6);
	struct inspection seen = inspect_current();
	assert_int_equal(seen.task.entry_count, 1);
	assert_int_equal(seen.entries[0].resource, 0);
	assert_int_equal(seen.entries[0].held, 0);
	freeCancel(task);
	assert_int_equal(counters_now().leaked_holds, 0);
}

static void leaks_are_counted_and_released(void **state)
{
	struct cancel_resource table = createResource("table", CANCEL_LOCK, NULL);
	struct cancel_task task = createCancel(NULL);
	(void)state;
	getResourceAt(table, 1, CANCEL_SHARED);
	slowByResourceAt(table, 2, CANCEL_SHARED);
	freeCancel(task);
	assert_int_equal(counters_now().leaked_holds, 1);
	assert_int_equal(counters_now().leaked_waits, 1);
}

static void the_65th_resource_is_untracked(void **state)
{
	char name[CANCEL_NAME_MAX];
	(void)state;
	for (int i = 0; i < CANCEL_RESOURCES_MAX; i++) {
		snprintf(name, sizeof name, "r%d", i);
		assert_int_equal(cancel_resource_index(createResource(name, CANCEL_LOCK, NULL)), i);
	}
	assert_int_equal(createResource("one more", CANCEL_LOCK, NULL).id, 0);
	assert_int_equal(counters_now().resources_refused, 1);
	/* One that exists is still found. */
	assert_int_equal(cancel_resource_index(createResource("r7", CANCEL_LOCK, NULL)), 7);
}

static void a_resource_needs_a_name_a_type_and_symmetric_conflicts(void **state)
{
	struct cancel_resource_options lopsided = {
		.struct_size = sizeof lopsided,
		.conflicts = { 2, 0 },
	};
	(void)state;
	assert_int_equal(createResource(NULL, CANCEL_LOCK, NULL).id, 0);
	assert_int_equal(createResource("", CANCEL_LOCK, NULL).id, 0);
	assert_int_equal(createResource("x", (enum cancel_resource_type)0, NULL).id, 0);
	assert_int_equal(createResource("x", (enum cancel_resource_type)4, NULL).id, 0);
	assert_int_equal(createResource("x", CANCEL_LOCK, &lopsided).id, 0);
	assert_int_equal(counters_now().resources_refused, 5);
}

static void allow_without_block_is_counted(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	allowCancel();
	assert_int_equal(counters_now().allow_without_block, 1);
	assert_int_equal(blockCancel(), 0);
	freeCancel(task);
	assert_int_equal(counters_now().ended_blocked, 1);
}

static void give_up_without_a_wait_is_counted(void **state)
{
	struct cancel_resource table = createResource("table", CANCEL_LOCK, NULL);
	struct cancel_task task = createCancel(NULL);
	(void)state;
	giveUpResource(table);
	assert_int_equal(counters_now().give_up_without_wait, 1);
	freeCancel(task);
}

static void a_class_that_does_not_exist_is_class_0(void **state)
{
	struct cancel_task_options o = { .struct_size = sizeof o, .class_index = 5 };
	(void)state;
	struct cancel_task task = createCancel(&o);
	assert_int_equal(inspect_current().task.class_index, 0);
	assert_int_equal(counters_now().bad_class, 1);
	freeCancel(task);
	countRequest(255, 1, 2);
	assert_int_equal(counters_now().bad_class, 2);
}

static void options_without_their_size_are_defaults(void **state)
{
	struct cancel_task_options o = { .key = 5 };
	struct cancel_resource_options r = { .capacity = 7 };
	(void)state;
	assert_int_not_equal(createResource("pool", CANCEL_MEMORY, &r).id, 0);
	struct cancel_task task = createCancel(&o);
	assert_int_equal(inspect_current().task.key, 0);
	assert_int_equal(counters_now().bad_options, 2);
	freeCancel(task);
}

static void deeper_nesting_than_counted_is_counted(void **state)
{
	struct cancel_resource_options eight_modes = {
		.struct_size = sizeof eight_modes,
		.conflicts = { 128, 128, 128, 128, 128, 128, 128, 255 },
	};
	struct cancel_resource lock = createResource("eight", CANCEL_LOCK, &eight_modes);
	struct cancel_task task = createCancel(NULL);
	(void)state;
	for (int i = 0; i < 256; i++)
		getResource(lock, 5);
	assert_int_equal(inspect_current().entries[0].held, 255);
	assert_int_equal(counters_now().nesting_saturated, 1);
	for (int i = 0; i < 255; i++)
		freeResource(lock, 5);
	assert_int_equal(inspect_current().entries[0].held, 0);
	freeCancel(task);
}

static sem_t tried;
static struct cancel_task current_in_action;
static int answers[3];

static void call_back(const struct cancel_request *request, void *arg)
{
	struct cancel_ticket ticket = { 0 };
	(void)arg;
	current_in_action = createCancel(NULL);
	freeCancel(request->task);
	bindCancel(request->task);
	rerunCancel(request->task, &ticket);
	answers[0] = deliverCancel(request->task);
	answers[1] = stopCancel();
	answers[2] = startCancel(NULL);
	(void)cancelRequested();
	countRequest(0, 1, 2);
	sem_post(&tried);
}

static void an_action_that_calls_back_gets_nowhere(void **state)
{
	struct cancel_task_options o = {
		.struct_size = sizeof o,
		.flags = CANCEL_CANCELLABLE,
		.action = call_back,
	};
	(void)state;
	sem_init(&tried, 0, 0);
	struct cancel_task task = createCancel(&o);
	assert_int_equal(deliverCancel(task), 0);
	sem_wait(&tried);
	assert_int_equal(current_in_action.id, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(answers[i], CANCEL_ESTATE);
	assert_true(cancelRequested());
	freeCancel(task);
	assert_int_equal(counters_now().called_from_action, 9);
}

static void each_kind_of_misuse_is_said_once(void **state)
{
	struct cancel_resource table = { 0 };
	(void)state;
	start_quietly();
	table = createResource("table", CANCEL_LOCK, NULL);
	struct cancel_task task = createCancel(NULL);
	for (int i = 0; i < 3; i++)
		freeResource(table, CANCEL_SHARED);
	freeCancel(task);
	assert_int_equal(stopCancel(), 0);
	const char *line = strstr(log_lines, "release_without_acquire: ");
	assert_non_null(line);
	assert_null(strstr(line + 1, "release_without_acquire: "));
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, start, stop)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_start_calls_do_nothing),
		EACH(without_a_current_task_calls_do_nothing),
		EACH(the_untracked_id_is_accepted_everywhere),
		EACH(a_second_start_is_refused),
		EACH(a_second_task_on_a_thread_is_untracked),
		EACH(a_double_free_reaches_nobody),
		EACH(an_id_from_nowhere_is_stale),
		EACH(another_threads_task_is_left_alone),
		EACH(a_release_without_an_acquire_is_counted),
		EACH(a_double_release_is_counted),
		EACH(a_mode_the_lock_has_not_is_counted),
		EACH(an_id_that_is_no_resource_is_counted),
		EACH(an_id_from_before_the_last_stop_is_no_resource),
		EACH(leaks_are_counted_and_released),
		EACH(the_65th_resource_is_untracked),
		EACH(a_resource_needs_a_name_a_type_and_symmetric_conflicts),
		EACH(allow_without_block_is_counted),
		EACH(give_up_without_a_wait_is_counted),
		EACH(a_class_that_does_not_exist_is_class_0),
		EACH(options_without_their_size_are_defaults),
		EACH(deeper_nesting_than_counted_is_counted),
		EACH(an_action_that_calls_back_gets_nowhere),
		cmocka_unit_test(each_kind_of_misuse_is_said_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
