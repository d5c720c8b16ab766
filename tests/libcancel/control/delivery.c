/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a decision that the delivery thread cannot take. The linker puts a pipeline in
 * between (--wrap), so that the test says when a turn decides, and sees what the next one is told.
 */
#include "runtime.h"

#include "hanging_action.h"

#define QUEUED_MAX 64 /* deliver.c's queue */

void __real_cancel_pipeline_step(struct cancel_pipeline *pipeline,
	const struct cancel_ledger *ledger, struct cancel_verdict *verdict);
void __wrap_cancel_pipeline_step(struct cancel_pipeline *pipeline,
	const struct cancel_ledger *ledger, struct cancel_verdict *verdict);

static _Atomic uint64_t decide_on;	    /* a task, once */
static _Atomic uint32_t delivered, ignored; /* events of that task */
static _Atomic uint64_t decided;
static _Atomic bool told_as_cancel; /* the verdict, as others hear it */
static _Atomic uint32_t hold_back;  /* a cause, for so many turns: */
static _Atomic uint32_t hold_turns;
void __wrap_cancel_pipeline_step(struct cancel_pipeline *pipeline,
	const struct cancel_ledger *ledger, struct cancel_verdict *verdict)
{
	__real_cancel_pipeline_step(pipeline, ledger, verdict);
	for (uint32_t i = 0; i < ledger->event_count; i++) {
		if (ledger->events[i].task != load_relaxed(&decided))
			continue;
		if (ledger->events[i].kind == CANCEL_EVENT_IGNORED)
			add_relaxed(&ignored, 1);
		else if (ledger->events[i].kind == CANCEL_EVENT_DELIVERED)
			add_relaxed(&delivered, 1);
	}
	verdict->held_back = CANCEL_CAUSE_NONE;
	if (load_relaxed(&hold_turns)) {
		add_relaxed(&hold_turns, (uint32_t)-1);
		verdict->held_back = (enum cancel_cause)load_relaxed(&hold_back);
	}
	uint64_t task = load_relaxed(&decide_on);
	if (!task)
		return;
	store_relaxed(&decide_on, 0);
	store_relaxed(&decided, task);
	verdict->decided = verdict->cancel = true;
	verdict->decision = (struct cancel_decision){
		.serial = 1,
		.acted = true,
		.policy = "test",
		.estimator = "test",
		.target = { .task = task },
		.decided_ns = ledger->now_ns,
	};
}

static struct cancel_task parked(cancel_action action)
{
	struct cancel_task_options o = {
		.struct_size = sizeof o,
		.flags = CANCEL_CANCELLABLE,
		.action = action,
	};
	struct cancel_task task = createCancel(&o);
	unbindCancel(task, CANCEL_QUEUED);
	return task;
}

static void on_window(
	const struct cancel_ledger *ledger, const struct cancel_verdict *verdict, void *arg)
{
	(void)ledger;
	(void)arg;
	if (verdict->decided)
		store_relaxed(&told_as_cancel, verdict->cancel);
}

static int start(void **state)
{
	(void)state;
	prepare_hang();
	store_relaxed(&delivered, 0);
	store_relaxed(&ignored, 0);
	store_relaxed(&told_as_cancel, false);
	start_with((struct cancel_config){ .mode = CANCEL_ACT, .window_ms = 10 });
	cancel_set_window_listener(on_window, NULL);
	return 0;
}

static struct cancel_decision_record the_record(void)
{
	static struct cancel_decision_record record;
	WAIT_UNTIL(cancel_recent_decisions(&record, 1) == 1);
	return record;
}

static void a_decision_that_is_delivered_is_told_so(void **state)
{
	struct cancel_task victim = parked(NULL);
	(void)state;
	store_relaxed(&decide_on, victim.id);
	WAIT_UNTIL(load_relaxed(&delivered) == 1);
	assert_true(the_record().decision.acted);
	WAIT_UNTIL(load_relaxed(&told_as_cancel));
	assert_int_equal(load_relaxed(&ignored), 0);
	freeCancel(victim);
	assert_int_equal(stopCancel(), 0);
}

static void a_decision_that_finds_the_queue_full_is_not_told_as_acted(void **state)
{
	struct cancel_task slow = parked(hang), queued = parked(NULL), victim = parked(NULL);
	(void)state;
	assert_int_equal(deliverCancel(slow), 0);
	sem_wait(&entered);
	for (int i = 0; i < QUEUED_MAX; i++)
		assert_int_equal(deliverCancel(queued), 0);
	store_relaxed(&decide_on, victim.id);
	WAIT_UNTIL(load_relaxed(&ignored) == 1);
	assert_false(the_record().decision.acted);
	assert_false(load_relaxed(&told_as_cancel));
	assert_int_equal(counters_now().deliveries_dropped, 1);
	sem_post(&may_leave);
	freeCancel(slow);
	freeCancel(queued);
	freeCancel(victim);
	assert_int_equal(stopCancel(), 0);
	assert_int_equal(load_relaxed(&delivered), 0);
}

static _Atomic uint64_t reached[2]; /* tasks, in the order of their actions */
static _Atomic uint32_t reached_count;

static void note(const struct cancel_request *request, void *arg)
{
	(void)arg;
	store_relaxed(&reached[load_relaxed(&reached_count) % 2], request->task.id);
	add_relaxed(&reached_count, 1);
}

static void cancels_that_wait_are_delivered_each_and_in_their_order(void **state)
{
	struct cancel_task slow = parked(hang), first = parked(note), second = parked(note);
	(void)state;
	assert_int_equal(deliverCancel(slow), 0);
	sem_wait(&entered);
	assert_int_equal(deliverCancel(first), 0);
	assert_int_equal(deliverCancel(second), 0);
	sem_post(&may_leave);
	WAIT_UNTIL(load_relaxed(&reached_count) == 2);
	assert_int_equal(load_relaxed(&reached[0]), first.id);
	assert_int_equal(load_relaxed(&reached[1]), second.id);
	freeCancel(slow);
	freeCancel(first);
	freeCancel(second);
	assert_int_equal(stopCancel(), 0);
}

static void each_verdict_that_holds_back_is_counted_under_its_cause(void **state)
{
	(void)state;
	store_relaxed(&hold_back, CANCEL_CAUSE_PACE);
	store_relaxed(&hold_turns, 3);
	WAIT_UNTIL(counters_now().held_back[CANCEL_CAUSE_PACE] >= 3);
	assert_int_equal(counters_now().held_back[CANCEL_CAUSE_PACE], 3);
	for (uint32_t cause = 0; cause < CANCEL_CAUSE_COUNT; cause++)
		if (cause != CANCEL_CAUSE_PACE)
			assert_int_equal(counters_now().held_back[cause], 0);
	assert_int_equal(stopCancel(), 0);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup(test, start)
	const struct CMUnitTest tests[] = {
		EACH(a_decision_that_is_delivered_is_told_so),
		EACH(a_decision_that_finds_the_queue_full_is_not_told_as_acted),
		EACH(cancels_that_wait_are_delivered_each_and_in_their_order),
		EACH(each_verdict_that_holds_back_is_counted_under_its_cause),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
