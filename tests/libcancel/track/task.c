/* SPDX-License-Identifier: Apache-2.0 */
/* A task's life: create, hand over, episodes, end. */
#include "runtime.h"

#include <pthread.h>

#include "libcancel/track/state_word.h"

#define SLO_NS 5000000u

static const struct cancel_class classes[] = { { .name = "reads", .slo_ns = SLO_NS },
	{ .name = "jobs", .slo_ns = 1, .exempt = true } };

static int start(void **state)
{
	(void)state;
	start_with((struct cancel_config){ .classes = classes, .class_count = 2, .max_tasks = 8 });
	return 0;
}

static struct totals ended(void)
{
	struct totals totals;
	totals_sum(&totals, CANCEL_RESOURCES_MAX);
	return totals;
}

static void an_id_is_never_used_twice(void **state)
{
	struct cancel_task first = createCancel(NULL);
	(void)state;
	assert_int_equal(currentCancel().id, first.id);
	freeCancel(first);
	assert_int_equal(currentCancel().id, 0);
	struct cancel_task second = createCancel(NULL);
	assert_int_equal(id_index(second.id), id_index(first.id));
	assert_int_not_equal(second.id, first.id);
	freeCancel(second);
}

static void options_are_seen(void **state)
{
	struct cancel_task_options o = {
		.struct_size = sizeof o,
		.key = 7,
		.signature = 8,
		.slo_ns = 9,
		.rollback_ns = 10,
		.origin = 11,
		.class_index = 1,
		.flags = CANCEL_CANCELLABLE,
	};
	(void)state;
	struct cancel_task task = createCancel(&o);
	struct inspection seen = inspect_current();
	assert_int_equal(seen.task.id, task.id);
	assert_int_equal(seen.task.key, 7);
	assert_int_equal(seen.task.signature, 8);
	assert_int_equal(seen.task.origin, 11);
	assert_int_equal(seen.task.slo_ns, 9);
	assert_int_equal(seen.task.rollback_ns, 10);
	assert_int_equal(seen.task.class_index, 1);
	assert_int_equal(seen.task.flags, CANCEL_CANCELLABLE | CANCEL_EXEMPT);
	assert_int_equal(seen.task.state, CANCEL_RUNNING);
	freeCancel(task);
}

/* A caller compiled against an older header knows fewer fields. */
static void an_older_options_struct_is_a_prefix(void **state)
{
	struct cancel_task_options o = {
		.struct_size = offsetof(struct cancel_task_options, slo_ns),
		.key = 7,
		.slo_ns = 999,
	};
	(void)state;
	struct cancel_task task = createCancel(&o);
	assert_int_equal(inspect_current().task.key, 7);
	assert_int_equal(inspect_current().task.slo_ns, SLO_NS);
	freeCancel(task);
}

static void host_flags_cannot_claim_a_rerun(void **state)
{
	struct cancel_task_options o = { .struct_size = sizeof o, .flags = 0xff };
	(void)state;
	struct cancel_task task = createCancel(&o);
	assert_int_equal(inspect_current().task.flags, CANCEL_CANCELLABLE | CANCEL_BACKGROUND |
							       CANCEL_THREAD | CANCEL_MAINTENANCE |
							       CANCEL_ENDS_SESSION);
	freeCancel(task);
}

static void a_background_task_does_not_bear_its_class_slo(void **state)
{
	struct cancel_task_options o = { .struct_size = sizeof o, .flags = CANCEL_BACKGROUND };
	(void)state;
	struct cancel_task task = createCancel(&o);
	assert_int_equal(inspect_current().task.slo_ns, 0);
	freeCancel(task);
	o.slo_ns = 77;
	task = createCancel(&o);
	assert_int_equal(inspect_current().task.slo_ns, 77);
	freeCancel(task);
}

static void an_episode_ends_with_the_task(void **state)
{
	struct totals before = ended();
	struct cancel_task task = createCancel(NULL);
	(void)state;
	freeCancel(task);
	assert_int_equal(ended().completed, before.completed + 1);
	assert_int_equal(ended().late, before.late);
	assert_true(ended().ended_active_ns > before.ended_active_ns);
}

static void time_before_the_task_counts_from_its_arrival(void **state)
{
	struct cancel_task_options o = { .struct_size = sizeof o };
	struct totals before = ended();
	(void)state;
	o.start_ns = cancel_now_ns() - 3 * SLO_NS;
	struct cancel_task task = createCancel(&o);
	assert_int_equal(inspect_current().task.episode_start_ns, o.start_ns);
	assert_true(inspect_current().task.active_ns >= 3 * SLO_NS);
	freeCancel(task);
	assert_int_equal(ended().late, before.late + 1);
}

static void a_request_is_counted_without_a_task(void **state)
{
	struct totals before = ended();
	uint64_t start_ns = cancel_now_ns();
	(void)state;
	countRequest(0, start_ns, start_ns + SLO_NS);
	assert_int_equal(ended().completed, before.completed + 1);
	assert_int_equal(ended().late, before.late);
	assert_int_equal(ended().ended_active_ns, before.ended_active_ns + SLO_NS);
	countRequest(0, start_ns, start_ns + SLO_NS + 1);
	assert_int_equal(ended().late, before.late + 1);
	countRequest(0, start_ns, start_ns - 1);
	assert_int_equal(ended().completed, before.completed + 3);
	assert_int_equal(ended().ended_active_ns, before.ended_active_ns + 2 * SLO_NS + 1);
}

static void an_arrival_in_the_future_is_now(void **state)
{
	struct cancel_task_options o = { .struct_size = sizeof o };
	(void)state;
	o.start_ns = cancel_now_ns() + 3600000000000u;
	struct cancel_task task = createCancel(&o);
	assert_true(inspect_current().task.episode_start_ns <= cancel_now_ns());
	freeCancel(task);
}

static void queued_keeps_the_episode_open_and_idle_closes_it(void **state)
{
	struct totals before = ended();
	struct cancel_task task = createCancel(NULL);
	uint64_t start_ns = inspect_current().task.episode_start_ns;
	(void)state;
	unbindCancel(task, CANCEL_QUEUED);
	bindCancel(task);
	assert_int_equal(inspect_current().task.episode_start_ns, start_ns);
	assert_int_equal(ended().completed, before.completed);
	unbindCancel(task, CANCEL_IDLE);
	assert_int_equal(ended().completed, before.completed + 1);
	struct cancel_task_info info;
	assert_int_equal(cancel_read_task(task, &info), 0);
	assert_int_equal(info.episode_ns, 0);
	assert_false(info.bound);
	bindCancel(task);
	assert_true(inspect_current().task.episode_start_ns > start_ns);
	freeCancel(task);
	assert_int_equal(ended().completed, before.completed + 2);
}

static void *take_over(void *arg)
{
	struct cancel_task *task = arg;
	struct cancel_resource queue = createResource("queue", CANCEL_QUEUE, NULL);
	bindCancel(*task);
	getResource(queue, 1);
	freeResource(queue, 1);
	freeCancel(*task);
	return NULL;
}

/* As through a server's own queue: the wait begins here and ends on the worker. */
static void a_wait_may_begin_on_one_thread_and_end_on_another(void **state)
{
	struct cancel_resource_info before[1], after[1];
	pthread_t thread;
	(void)state;
	struct cancel_resource queue = createResource("queue", CANCEL_QUEUE, NULL);
	cancel_snapshot_resources(before, 1);
	struct cancel_task task = createCancel(NULL);
	slowByResource(queue, 1);
	unbindCancel(task, CANCEL_QUEUED);
	assert_int_equal(pthread_create(&thread, NULL, take_over, &task), 0);
	pthread_join(thread, NULL);
	cancel_snapshot_resources(after, 1);
	assert_int_equal(after[0].ledger.acquires, before[0].ledger.acquires + 1);
	assert_int_equal(after[0].ledger.waits, before[0].ledger.waits + 1);
	assert_int_equal(counters_now().leaked_waits, 0);
}

static void an_unbound_task_can_be_freed_by_anyone(void **state)
{
	struct cancel_task task = createCancel(NULL);
	struct cancel_task_info info;
	(void)state;
	unbindCancel(task, CANCEL_QUEUED);
	freeCancel(task);
	assert_int_equal(cancel_read_task(task, &info), CANCEL_ENOTASK);
	assert_int_equal(counters_now().wrong_thread, 0);
}

static void freeing_another_task_leaves_the_current_one(void **state)
{
	struct cancel_task first = createCancel(NULL);
	(void)state;
	unbindCancel(first, CANCEL_QUEUED);
	struct cancel_task second = createCancel(NULL);
	freeCancel(first);
	assert_int_equal(currentCancel().id, second.id);
	freeCancel(second);
}

static void a_full_table_leaves_the_task_untracked(void **state)
{
	struct cancel_task tasks[8];
	(void)state;
	for (int i = 0; i < 8; i++) {
		tasks[i] = createCancel(NULL);
		assert_int_not_equal(tasks[i].id, 0);
		unbindCancel(tasks[i], CANCEL_QUEUED);
	}
	struct cancel_task more = createCancel(NULL);
	assert_int_equal(more.id, 0);
	assert_int_equal(counters_now().tasks_refused, 1);
	freeCancel(tasks[3]);
	more = createCancel(NULL);
	assert_int_not_equal(more.id, 0);
	freeCancel(more);
	for (int i = 0; i < 8; i++)
		if (i != 3)
			freeCancel(tasks[i]);
}

static void *leave_bound(void *arg)
{
	struct cancel_task *task = arg;
	*task = createCancel(NULL);
	return NULL;
}

static void a_thread_that_ends_leaves_its_task_unbound(void **state)
{
	struct cancel_task task;
	pthread_t thread;
	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, leave_bound, &task), 0);
	pthread_join(thread, NULL);
	assert_int_equal(counters_now().thread_ended, 1);
	freeCancel(task);
	assert_int_equal(counters_now().stale_task, 0);
}

static pthread_key_t late_key;
static struct cancel_task late_task;

static void begin_late(void *ignored)
{
	(void)ignored;
	late_task = createCancel(NULL);
}

static void *end_with_a_task(void *ignored)
{
	(void)ignored;
	freeCancel(createCancel(NULL));
	pthread_setspecific(late_key, &late_key);
	return NULL;
}

/* By the destructor of a key that was made after the library's own. */
static void a_task_begun_while_its_thread_ends_is_left_unbound_too(void **state)
{
	pthread_t thread;
	(void)state;
	uint64_t ended_before = counters_now().thread_ended;
	assert_int_equal(pthread_key_create(&late_key, begin_late), 0);
	assert_int_equal(pthread_create(&thread, NULL, end_with_a_task, NULL), 0);
	pthread_join(thread, NULL);
	pthread_key_delete(late_key);
	assert_int_not_equal(late_task.id, 0);
	assert_int_equal(counters_now().thread_ended, ended_before + 1);
	uint64_t wrong = counters_now().wrong_thread;
	freeCancel(late_task);
	assert_int_equal(counters_now().wrong_thread, wrong);
}

static void progress_is_seen(void **state)
{
	struct cancel_task task = createCancel(NULL);
	(void)state;
	setProgress(40, 100);
	assert_int_equal(inspect_current().task.progress_done, 40);
	assert_int_equal(inspect_current().task.progress_expected, 100);
	freeCancel(task);
	task = createCancel(NULL);
	assert_int_equal(inspect_current().task.progress_expected, 0);
	freeCancel(task);
}

static void what_a_task_is_may_be_told_late(void **state)
{
	struct cancel_task_options maintenance = { .struct_size = sizeof maintenance,
		.flags = CANCEL_MAINTENANCE | CANCEL_CANCELLABLE };
	struct cancel_task task = createCancel(NULL);
	(void)state;
	assert_int_equal(inspect_current().task.signature, 0);
	setCancelSignature(4711);
	setCancelMaintenance(true);
	assert_int_equal(inspect_current().task.signature, 4711);
	assert_int_equal(inspect_current().task.flags, CANCEL_MAINTENANCE);
	setCancelMaintenance(false);
	assert_int_equal(inspect_current().task.flags, 0);
	freeCancel(task);
	setCancelSignature(1); /* no task: nothing to tell it of */
	setCancelMaintenance(true);
	task = createCancel(&maintenance);
	assert_int_equal(inspect_current().task.signature, 0);
	assert_int_equal(inspect_current().task.flags, CANCEL_MAINTENANCE | CANCEL_CANCELLABLE);
	freeCancel(task);
}

static void the_rank_of_its_class_is_in_the_ledger(void **state)
{
	const struct cancel_class ranked[] = { { .name = "reads" },
		{ .name = "backup", .rank = 3 } };
	struct cancel_task_options options = { .struct_size = sizeof options, .class_index = 1 };
	(void)state;
	assert_int_equal(stopCancel(), 0);
	start_with((struct cancel_config){ .classes = ranked, .class_count = 2 });
	struct cancel_task task = createCancel(NULL);
	assert_int_equal(inspect_current().task.rank, 0);
	freeCancel(task);
	task = createCancel(&options);
	assert_int_equal(inspect_current().task.rank, 3);
	freeCancel(task);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_is_never_used_twice),
		cmocka_unit_test(options_are_seen),
		cmocka_unit_test(an_older_options_struct_is_a_prefix),
		cmocka_unit_test(host_flags_cannot_claim_a_rerun),
		cmocka_unit_test(a_background_task_does_not_bear_its_class_slo),
		cmocka_unit_test(an_episode_ends_with_the_task),
		cmocka_unit_test(time_before_the_task_counts_from_its_arrival),
		cmocka_unit_test(a_request_is_counted_without_a_task),
		cmocka_unit_test(an_arrival_in_the_future_is_now),
		cmocka_unit_test(queued_keeps_the_episode_open_and_idle_closes_it),
		cmocka_unit_test(a_wait_may_begin_on_one_thread_and_end_on_another),
		cmocka_unit_test(an_unbound_task_can_be_freed_by_anyone),
		cmocka_unit_test(freeing_another_task_leaves_the_current_one),
		cmocka_unit_test(a_full_table_leaves_the_task_untracked),
		cmocka_unit_test(a_thread_that_ends_leaves_its_task_unbound),
		cmocka_unit_test(a_task_begun_while_its_thread_ends_is_left_unbound_too),
		cmocka_unit_test(progress_is_seen),
		cmocka_unit_test(what_a_task_is_may_be_told_late),
		cmocka_unit_test(the_rank_of_its_class_is_in_the_ledger),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
