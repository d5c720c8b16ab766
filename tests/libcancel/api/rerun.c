/* SPDX-License-Identifier: Apache-2.0 */
/* What a cancelled task is told: run again, wait, or drop. Verdicts are made by the test. */
#include "runtime.h"

#include "hanging_action.h"

#include <semaphore.h>

#include "libcancel/control/deliver.h"
#include "libcancel/control/rerun.h"
#include "libcancel/track/event.h"

#define SECOND_NS 1000000000u
#define LONG_NS	  (3600 * (uint64_t)SECOND_NS)

static struct cancel_resource table;
static sem_t delivered;

static int start(void **state)
{
	(void)state;
	/* The controller's own verdicts come once a minute and say nothing is calm: the tests are
	 * over by then. */
	start_with((struct cancel_config){ .window_ms = 60000 });
	table = createResource("table", CANCEL_LOCK, NULL);
	sem_init(&delivered, 0, 0);
	return 0;
}

static void act(const struct cancel_request *request, void *arg)
{
	(void)request;
	(void)arg;
	sem_post(&delivered);
}

static struct cancel_task cancelled(struct cancel_task_options o, enum cancel_reason reason)
{
	o.struct_size = sizeof o;
	o.action = act;
	o.flags |= CANCEL_CANCELLABLE;
	struct cancel_task task = createCancel(&o);
	struct delivery d = { .task = task.id, .blamed_mask = 1, .reason = reason };
	assert_true(deliver_push(&d));
	sem_wait(&delivered);
	WAIT_UNTIL(inspect_current().task.state == CANCEL_DELIVERED);
	return task;
}

/* The core says that table has been calm for `ns` and the second before. */
static void calm_for(uint64_t ns)
{
	static struct cancel_verdict v;
	memset(&v, 0, sizeof v);
	v.now_ns = cancel_now_ns() - LONG_NS;
	rerun_turn(&v);
	v.calm_mask = 1;
	v.now_ns = cancel_now_ns() - ns;
	rerun_turn(&v);
}

static void not_calm(void)
{
	static struct cancel_verdict v;
	memset(&v, 0, sizeof v);
	rerun_turn(&v);
}

static void has_returned(uint64_t signature)
{
	static struct cancel_verdict v;
	memset(&v, 0, sizeof v);
	v.decided = true;
	v.decision.returning = true;
	v.decision.target.signature = signature;
	rerun_turn(&v);
}

static void a_task_never_cancelled_may_go_on(void **state)
{
	struct cancel_ticket ticket = { 0 };
	struct cancel_task task = createCancel(NULL);
	(void)state;
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_RERUN);
	assert_int_equal(inspect_current().task.flags & CANCEL_RERUNNING, 0);
	freeCancel(task);
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_DROP); /* it has ended */
}

static void it_waits_until_the_resource_is_calm(void **state)
{
	struct cancel_ticket ticket = { 0 };
	(void)state;
	struct cancel_task task =
		cancelled((struct cancel_task_options){ 0 }, CANCEL_REASON_CULPRIT);
	not_calm();
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_WAIT);
	assert_int_not_equal(ticket.id, 0);
	uint64_t first = ticket.id;
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_WAIT);
	assert_int_equal(ticket.id, first);
	calm_for(0);
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_RERUN);
	freeCancel(task);
}

static void what_runs_again_is_a_new_attempt_that_is_never_chosen(void **state)
{
	struct cancel_ticket ticket = { 0 };
	(void)state;
	struct cancel_task task =
		cancelled((struct cancel_task_options){ 0 }, CANCEL_REASON_CULPRIT);
	assert_true(cancelRequested());
	calm_for(0);
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_RERUN);
	assert_false(cancelRequested());
	assert_int_equal(inspect_current().task.state, CANCEL_RUNNING);
	assert_true(inspect_current().task.flags & CANCEL_RERUNNING);
	assert_int_equal(blockCancel(), 0);
	allowCancel();
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_RERUN);
	assert_int_equal(counters_now().reruns, 1);
	freeCancel(task);
}

/* A task whose action keeps the delivery thread busy until may_leave is posted. */
static struct cancel_task busy_delivery(void)
{
	struct cancel_task_options o = {
		.struct_size = sizeof o, .flags = CANCEL_CANCELLABLE, .action = hang
	};
	prepare_hang();
	struct cancel_task task = createCancel(&o);
	unbindCancel(task, CANCEL_QUEUED);
	assert_int_equal(deliverCancel(task), 0);
	sem_wait(&entered);
	return task;
}

/* The second attempt at it stood in the queue when it began again. */
static void a_late_second_attempt_does_not_reach_the_rerun(void **state)
{
	struct cancel_ticket ticket = { 0 };
	(void)state;
	struct cancel_task task =
		cancelled((struct cancel_task_options){ 0 }, CANCEL_REASON_CULPRIT);
	unbindCancel(task, CANCEL_QUEUED);
	struct cancel_task other = busy_delivery();
	bindCancel(task);
	struct delivery again = { .task = task.id, .reason = CANCEL_REASON_ESCALATION };
	assert_true(deliver_push(&again));
	calm_for(0);
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_RERUN);
	uint64_t settled = counters_now().delivered + counters_now().ignored;
	sem_post(&may_leave);
	WAIT_UNTIL(counters_now().delivered + counters_now().ignored == settled + 2);
	assert_false(cancelRequested());
	assert_int_equal(counters_now().ignored, 1);
	freeCancel(task);
	freeCancel(other);
}

/* A decision of the library's own that comes after it gives it no second chance. */
static void an_operators_cancel_stays_final(void **state)
{
	struct cancel_ticket ticket = { 0 };
	(void)state;
	struct cancel_task task =
		cancelled((struct cancel_task_options){ 0 }, CANCEL_REASON_MANUAL);
	struct delivery later = { .task = task.id, .reason = CANCEL_REASON_CULPRIT };
	assert_true(deliver_push(&later));
	WAIT_UNTIL(counters_now().delivered == 2);
	calm_for(0);
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_DROP);
	freeCancel(task);
}

static void past_its_slo_it_is_dropped(void **state)
{
	struct cancel_ticket ticket = { 0 };
	(void)state;
	struct cancel_task task =
		cancelled((struct cancel_task_options){ .slo_ns = 1 }, CANCEL_REASON_CULPRIT);
	calm_for(LONG_NS / 2);
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_DROP);
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_DROP);
	assert_int_equal(counters_now().drops, 1);
	freeCancel(task);
}

static void within_its_slo_it_waits(void **state)
{
	struct cancel_ticket ticket = { 0 };
	(void)state;
	struct cancel_task task =
		cancelled((struct cancel_task_options){ .slo_ns = LONG_NS }, CANCEL_REASON_CULPRIT);
	not_calm();
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_WAIT);
	freeCancel(task);
}

static void background_work_runs_when_it_has_waited_long_enough(void **state)
{
	struct cancel_ticket ticket = { 0 };
	(void)state;
	rerun_limit_ms(0);
	struct cancel_task task = cancelled(
		(struct cancel_task_options){ .flags = CANCEL_BACKGROUND }, CANCEL_REASON_CULPRIT);
	not_calm();
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_RERUN);
	freeCancel(task);
}

static void without_an_slo_it_is_dropped_after_the_longest_wait(void **state)
{
	struct cancel_ticket ticket = { 0 };
	(void)state;
	rerun_limit_ms(0);
	struct cancel_task task =
		cancelled((struct cancel_task_options){ 0 }, CANCEL_REASON_CULPRIT);
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_DROP);
	freeCancel(task);
}

static void an_operators_cancel_is_final(void **state)
{
	struct cancel_ticket ticket = { 0 };
	(void)state;
	struct cancel_task task =
		cancelled((struct cancel_task_options){ 0 }, CANCEL_REASON_MANUAL);
	calm_for(LONG_NS / 2);
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_DROP);
	freeCancel(task);
}

static void one_runs_again_at_a_time_the_oldest_first(void **state)
{
	struct cancel_ticket first_ticket = { 0 }, second_ticket = { 0 };
	(void)state;
	not_calm();
	struct cancel_task first =
		cancelled((struct cancel_task_options){ 0 }, CANCEL_REASON_CULPRIT);
	assert_int_equal(rerunCancel(first, &first_ticket), CANCEL_WAIT);
	unbindCancel(first, CANCEL_QUEUED);
	struct cancel_task second =
		cancelled((struct cancel_task_options){ 0 }, CANCEL_REASON_CULPRIT);
	assert_int_equal(rerunCancel(second, &second_ticket), CANCEL_WAIT);
	calm_for(LONG_NS / 2);
	assert_int_equal(rerunCancel(second, &second_ticket), CANCEL_WAIT);
	assert_int_equal(rerunCancel(first, &first_ticket), CANCEL_RERUN);
	assert_int_equal(rerunCancel(second, &second_ticket), CANCEL_WAIT);
	freeCancel(first);
	freeCancel(second);
}

static void a_culprit_that_returns_waits_twice_as_long(void **state)
{
	struct cancel_ticket ticket = { 0 };
	(void)state;
	has_returned(77);
	struct cancel_task task =
		cancelled((struct cancel_task_options){ .signature = 77 }, CANCEL_REASON_CULPRIT);
	calm_for(0);
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_WAIT);
	calm_for(SECOND_NS);
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_RERUN);
	freeCancel(task);
}

static void the_core_hears_of_reruns_and_drops(void **state)
{
	struct cancel_event events[EVENTS_MAX];
	struct cancel_ticket ticket = { 0 };
	(void)state;
	struct cancel_task task =
		cancelled((struct cancel_task_options){ 0 }, CANCEL_REASON_CULPRIT);
	calm_for(0);
	events_take(events);
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_RERUN);
	assert_int_equal(events_take(events), 2);
	assert_int_equal(events[0].kind, CANCEL_EVENT_RELEASED); /* it holds nothing any more */
	assert_int_equal(events[1].kind, CANCEL_EVENT_RERUN);
	assert_int_equal(events[1].task, task.id);
	freeCancel(task);
	rerun_limit_ms(0);
	task = cancelled((struct cancel_task_options){ 0 }, CANCEL_REASON_CULPRIT);
	events_take(events);
	assert_int_equal(rerunCancel(task, &ticket), CANCEL_DROP);
	assert_int_equal(events_take(events), 1);
	assert_int_equal(events[0].kind, CANCEL_EVENT_DROPPED);
	freeCancel(task);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, start, stop)
	const struct CMUnitTest tests[] = {
		EACH(a_task_never_cancelled_may_go_on),
		EACH(it_waits_until_the_resource_is_calm),
		EACH(what_runs_again_is_a_new_attempt_that_is_never_chosen),
		EACH(a_late_second_attempt_does_not_reach_the_rerun),
		EACH(an_operators_cancel_stays_final),
		EACH(past_its_slo_it_is_dropped),
		EACH(within_its_slo_it_waits),
		EACH(background_work_runs_when_it_has_waited_long_enough),
		EACH(without_an_slo_it_is_dropped_after_the_longest_wait),
		EACH(an_operators_cancel_is_final),
		EACH(one_runs_again_at_a_time_the_oldest_first),
		EACH(a_culprit_that_returns_waits_twice_as_long),
		EACH(the_core_hears_of_reruns_and_drops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
