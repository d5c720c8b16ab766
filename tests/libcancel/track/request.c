/* SPDX-License-Identifier: Apache-2.0 */
/* A cancel as its task meets it: delivered, seen, kept out of blocked phases, escalated. */
#include "runtime.h"

#include <pthread.h>
#include <semaphore.h>

#include "libcancel/control/deliver.h"
#include "libcancel/track/event.h"

static struct cancel_resource table, other;
static sem_t action_entered, action_may_end;
static struct cancel_request told;
static _Atomic uint32_t actions_run;

static int start(void **state)
{
	(void)state;
	/* No window ends during a test: the events stay where the test finds them. */
	start_with((struct cancel_config){ .window_ms = 60000 });
	table = createResource("table", CANCEL_LOCK, NULL);
	other = createResource("other", CANCEL_LOCK, NULL);
	sem_init(&action_entered, 0, 0);
	sem_init(&action_may_end, 0, 0);
	store_relaxed(&actions_run, 0);
	return 0;
}

static void note_action(const struct cancel_request *request, void *arg)
{
	(void)arg;
	told = *request;
	add_relaxed(&actions_run, 1);
	sem_post(&action_entered);
}

static void hold_action(const struct cancel_request *request, void *arg)
{
	note_action(request, arg);
	sem_wait(&action_may_end);
}

static struct cancel_task cancellable(cancel_action action)
{
	struct cancel_task_options o = {
		.struct_size = sizeof o,
		.key = 42,
		.flags = CANCEL_CANCELLABLE,
		.action = action,
	};
	return createCancel(&o);
}

static void deliver(struct cancel_task task, enum cancel_reason reason)
{
	struct delivery d = {
		.task = task.id,
		.serial = 5,
		.blamed_mask = (uint64_t)1 << cancel_resource_index(table),
		.reason = reason,
	};
	assert_true(deliver_push(&d));
}

static uint32_t events_of(enum cancel_event_kind kind)
{
	struct cancel_event events[EVENTS_MAX];
	uint32_t n = events_take(events), found = 0;
	for (uint32_t i = 0; i < n; i++)
		found += events[i].kind == kind;
	return found;
}

static void an_action_is_told_whom_and_why(void **state)
{
	struct cancel_task task = cancellable(note_action);
	(void)state;
	deliver(task, CANCEL_REASON_CULPRIT);
	sem_wait(&action_entered);
	assert_int_equal(told.task.id, task.id);
	assert_int_equal(told.key, 42);
	assert_int_equal(told.serial, 5);
	assert_int_equal(told.reason, CANCEL_REASON_CULPRIT);
	freeCancel(task);
}

static void the_request_is_seen_while_the_action_still_runs(void **state)
{
	struct cancel_task task = cancellable(hold_action);
	(void)state;
	assert_false(cancelRequested());
	deliver(task, CANCEL_REASON_CULPRIT);
	sem_wait(&action_entered);
	assert_true(cancelRequested());
	assert_true(cancelRequested());
	assert_int_equal(inspect_current().task.state, CANCEL_DELIVERING);
	sem_post(&action_may_end);
	freeCancel(task);
}

static void the_first_look_is_the_acknowledgement(void **state)
{
	struct cancel_task task = cancellable(note_action);
	(void)state;
	deliver(task, CANCEL_REASON_CULPRIT);
	sem_wait(&action_entered);
	assert_int_equal(events_of(CANCEL_EVENT_ACKNOWLEDGED), 0);
	assert_true(cancelRequested());
	assert_true(cancelRequested());
	assert_int_equal(events_of(CANCEL_EVENT_ACKNOWLEDGED), 1);
	freeCancel(task);
}

static void it_is_released_with_the_last_hold_on_a_blamed_resource(void **state)
{
	struct cancel_task task = cancellable(note_action);
	(void)state;
	getResourceAt(table, 1, CANCEL_SHARED);
	getResourceAt(table, 2, CANCEL_SHARED);
	getResource(other, CANCEL_SHARED);
	deliver(task, CANCEL_REASON_CULPRIT);
	sem_wait(&action_entered);
	assert_true(cancelRequested());
	freeResourceAt(table, 1, CANCEL_SHARED);
	assert_int_equal(events_of(CANCEL_EVENT_RELEASED), 0);
	freeResourceAt(table, 2, CANCEL_SHARED);
	assert_int_equal(events_of(CANCEL_EVENT_RELEASED), 1);
	freeResource(other, CANCEL_SHARED);
	freeCancel(task);
	assert_int_equal(events_of(CANCEL_EVENT_RELEASED), 0);
}

static void a_task_that_ends_with_its_holds_is_released_by_that(void **state)
{
	struct cancel_task task = cancellable(note_action);
	(void)state;
	getResource(table, CANCEL_SHARED);
	deliver(task, CANCEL_REASON_CULPRIT);
	sem_wait(&action_entered);
	freeCancel(task);
	struct cancel_event events[EVENTS_MAX];
	uint32_t n = events_take(events);
	assert_int_equal(n, 3);
	assert_int_equal(events[0].kind, CANCEL_EVENT_DELIVERED);
	assert_int_equal(events[1].kind, CANCEL_EVENT_RELEASED);
	assert_int_equal(events[2].kind, CANCEL_EVENT_ENDED);
	assert_true(events[2].wasted_ns > 0);
}

/* Work is wasted, waiting afterwards is not. */
static void wasted_is_what_it_worked_until_it_stopped(void **state)
{
	struct cancel_task task = cancellable(note_action);
	struct cancel_event events[EVENTS_MAX];
	(void)state;
	deliver(task, CANCEL_REASON_CULPRIT);
	sem_wait(&action_entered);
	assert_true(cancelRequested());
	uint64_t at_most_ns = inspect_current().task.active_ns;
	struct timespec pause = { .tv_nsec = 20000000 };
	nanosleep(&pause, NULL); /* as long as it waits for a rerun */
	assert_true(inspect_current().task.active_ns >= at_most_ns + 20000000);
	freeCancel(task);
	uint32_t n = events_take(events);
	assert_int_equal(events[n - 1].kind, CANCEL_EVENT_ENDED);
	assert_true(events[n - 1].wasted_ns > 0 && events[n - 1].wasted_ns <= at_most_ns);
}

/* The deliverer reaches it before this delivery; then the blocked one. */
static void in_a_blocked_phase_no_action_starts(void **state)
{
	struct cancel_task task = cancellable(note_action);
	(void)state;
	assert_int_equal(blockCancel(), 0);
	assert_int_equal(blockCancel(), 0);
	assert_int_equal(inspect_current().task.state, CANCEL_BLOCKED);
	deliver(task, CANCEL_REASON_CULPRIT);
	WAIT_UNTIL(counters_now().ignored);
	allowCancel();
	assert_int_equal(inspect_current().task.state, CANCEL_BLOCKED);
	allowCancel();
	assert_int_equal(inspect_current().task.state, CANCEL_RUNNING);
	assert_false(cancelRequested());
	assert_int_equal(load_relaxed(&actions_run), 0);
	assert_int_equal(events_of(CANCEL_EVENT_IGNORED), 1);
	freeCancel(task);
}

static void after_a_delivery_nothing_can_be_blocked(void **state)
{
	struct cancel_task task = cancellable(note_action);
	(void)state;
	deliver(task, CANCEL_REASON_CULPRIT);
	sem_wait(&action_entered);
	assert_int_equal(blockCancel(), CANCEL_EREQUESTED);
	assert_int_equal(blockCancel(), CANCEL_EREQUESTED);
	freeCancel(task);
	assert_int_equal(counters_now().ended_blocked, 0);
	assert_int_equal(counters_now().allow_without_block, 0);
}

static void a_delivery_to_an_ended_task_is_ignored(void **state)
{
	struct cancel_task first = cancellable(note_action);
	(void)state;
	freeCancel(first);
	struct cancel_task second = cancellable(note_action);
	assert_int_equal(id_index(second.id), id_index(first.id));
	deliver(first, CANCEL_REASON_CULPRIT);
	WAIT_UNTIL(counters_now().ignored);
	assert_false(cancelRequested());
	assert_int_equal(load_relaxed(&actions_run), 0);
	freeCancel(second);
}

static void an_escalation_runs_the_action_again(void **state)
{
	struct cancel_task task = cancellable(note_action);
	(void)state;
	deliver(task, CANCEL_REASON_CULPRIT);
	sem_wait(&action_entered);
	assert_true(cancelRequested());
	deliver(task, CANCEL_REASON_ESCALATION);
	sem_wait(&action_entered);
	assert_int_equal(told.reason, CANCEL_REASON_ESCALATION);
	freeCancel(task);
}

static void a_new_action_replaces_the_old_one(void **state)
{
	struct cancel_task task = cancellable(hold_action);
	(void)state;
	setCancelAction(note_action, NULL);
	deliver(task, CANCEL_REASON_CULPRIT);
	sem_wait(&action_entered);
	freeCancel(task); /* would hang if hold_action had run */
	assert_int_equal(load_relaxed(&actions_run), 1);
}

static void a_task_without_an_action_sees_the_request(void **state)
{
	struct cancel_task task = cancellable(NULL);
	(void)state;
	assert_int_equal(deliverCancel(task), 0);
	WAIT_UNTIL(cancelRequested());
	freeCancel(task);
}

/* The first action holds the queue for longer than a decision keeps. */
static void a_decision_that_waited_too_long_is_dropped(void **state)
{
	struct cancel_task first = cancellable(hold_action);
	struct timespec longer = { .tv_sec = 1, .tv_nsec = 50000000 };
	(void)state;
	unbindCancel(first, CANCEL_QUEUED);
	struct cancel_task second = cancellable(note_action);
	deliver(first, CANCEL_REASON_CULPRIT);
	sem_wait(&action_entered);
	deliver(second, CANCEL_REASON_CULPRIT);
	nanosleep(&longer, NULL);
	sem_post(&action_may_end);
	WAIT_UNTIL(counters_now().ignored);
	assert_false(cancelRequested());
	freeCancel(second);
	freeCancel(first);
}

static void an_operator_is_told_what_cannot_be(void **state)
{
	struct cancel_task none = { .id = 777777 };
	(void)state;
	assert_int_equal(deliverCancel(none), CANCEL_ENOTASK);
	struct cancel_task task = createCancel(NULL);
	assert_int_equal(deliverCancel(task), CANCEL_EINVAL);
	freeCancel(task);
	assert_int_equal(deliverCancel(task), CANCEL_ENOTASK);
	task = cancellable(note_action);
	assert_int_equal(blockCancel(), 0);
	assert_int_equal(deliverCancel(task), CANCEL_EBUSY);
	allowCancel();
	freeCancel(task);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, start, stop)
	const struct CMUnitTest tests[] = {
		EACH(an_action_is_told_whom_and_why),
		EACH(the_request_is_seen_while_the_action_still_runs),
		EACH(the_first_look_is_the_acknowledgement),
		EACH(it_is_released_with_the_last_hold_on_a_blamed_resource),
		EACH(a_task_that_ends_with_its_holds_is_released_by_that),
		EACH(wasted_is_what_it_worked_until_it_stopped),
		EACH(in_a_blocked_phase_no_action_starts),
		EACH(after_a_delivery_nothing_can_be_blocked),
		EACH(a_delivery_to_an_ended_task_is_ignored),
		EACH(an_escalation_runs_the_action_again),
		EACH(a_new_action_replaces_the_old_one),
		EACH(a_task_without_an_action_sees_the_request),
		EACH(a_decision_that_waited_too_long_is_dropped),
		EACH(an_operator_is_told_what_cannot_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
