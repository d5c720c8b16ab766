/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator sees: tasks, resources, status, decisions, listeners. */
#include "runtime.h"

#include <pthread.h>
#include <semaphore.h>

#include "libcancel/control/decisions.h"
#include "libcancel/control/recording.h"
#include "libcancel/recorder/text.h"
#include "libcancel/track/library_state.h"

static const struct cancel_class classes[] = { { .name = "reads", .slo_ns = 5000000 },
	{ .name = "dump", .slo_ns = 1000000000 } };
static struct cancel_resource table, pool, workers;

static int start(void **state)
{
	struct cancel_resource_options eight = { .struct_size = sizeof eight, .capacity = 8 };
	(void)state;
	start_with((struct cancel_config){ .window_ms = 10, .classes = classes, .class_count = 2 });
	table = createResource("table", CANCEL_LOCK, NULL);
	pool = createResource("page_pool", CANCEL_MEMORY, &eight);
	workers = createResource("workers", CANCEL_QUEUE, &eight);
	return 0;
}

static int stop_listening(void **state)
{
	(void)state;
	cancel_set_listener(NULL, NULL);
	cancel_set_window_listener(NULL, NULL);
	return stopCancel();
}

static struct cancel_task parked(uint64_t key)
{
	struct cancel_task_options o = { .struct_size = sizeof o, .key = key, .class_index = 1 };
	struct cancel_task task = createCancel(&o);
	getResourceAt(table, 3, CANCEL_SHARED);
	getResource(workers, 2);
	slowByResource(pool, 1);
	setProgress(4, 10);
	unbindCancel(task, CANCEL_QUEUED);
	return task;
}

static void live_tasks_are_listed_with_what_they_hold(void **state)
{
	struct cancel_task_info info[4];
	struct cancel_task first = parked(11), second = parked(12);
	(void)state;
	assert_int_equal(cancel_snapshot_tasks(info, 4), 2);
	assert_int_equal(cancel_snapshot_tasks(info, 1), 1);
	assert_int_equal(cancel_read_task(second, &info[0]), 0);
	assert_int_equal(info[0].key, 12);
	assert_string_equal(info[0].class_name, "dump");
	assert_int_equal(info[0].state, CANCEL_RUNNING);
	assert_false(info[0].bound);
	assert_int_equal(info[0].slo_ns, 1000000000);
	assert_int_not_equal(info[0].episode_ns, 0);
	assert_int_equal(info[0].progress_done, 4);
	assert_int_equal(info[0].entry_count, 3);
	assert_int_equal(info[0].entries[0].instance, 3);
	assert_int_equal(info[0].entries[1].held, 2);
	assert_int_not_equal(info[0].entries[2].waiting_since_ns, 0);
	freeCancel(first);
	freeCancel(second);
	assert_int_equal(cancel_snapshot_tasks(info, 4), 0);
	assert_int_equal(cancel_read_task(second, &info[0]), CANCEL_ENOTASK);
}

static void resources_are_listed_with_holders_and_waiters(void **state)
{
	struct cancel_resource_info info[3];
	struct cancel_task first = parked(11), second = parked(12);
	(void)state;
	assert_int_equal(cancel_snapshot_resources(info, 3), 3);
	assert_string_equal(info[0].name, "table");
	assert_int_equal(info[0].holders, 2);
	assert_int_equal(info[0].held, 2);
	assert_int_equal(info[0].ledger.conflicts[1], 3);
	assert_string_equal(info[1].name, "page_pool");
	assert_int_equal(info[1].waiters, 2);
	assert_int_equal(info[1].ledger.capacity, 8);
	assert_int_equal(info[2].held, 4);
	assert_int_equal(cancel_snapshot_resources(info, 1), 1);
	freeCancel(first);
	freeCancel(second);
}

static void status_says_how_it_is(void **state)
{
	struct cancel_status status;
	(void)state;
	struct cancel_task task = parked(1);
	WAIT_UNTIL((cancel_read_status(&status), status.live_tasks == 1));
	assert_true(status.running);
	assert_false(status.acting);
	assert_false(status.turned_off);
	assert_false(status.action_stuck);
	assert_int_equal(status.resource_count, 3);
	assert_int_equal(status.class_count, 2);
	assert_int_equal(status.slo_ns[0], 5000000);
	assert_int_equal(status.overload, CANCEL_HEALTHY);
	assert_int_not_equal(status.turn_last_ns, 0);
	assert_true(status.turn_worst_ns >= status.turn_last_ns);
	freeCancel(task);
}

static void counters_have_names_and_texts(void **state)
{
	(void)state;
	for (int i = 0; i < CANCEL_COUNTER_COUNT; i++) {
		assert_true(strlen(cancel_counter_name((enum cancel_counter)i)) > 2);
		assert_true(strlen(cancel_counter_text((enum cancel_counter)i)) > 5);
	}
	assert_string_equal(cancel_counter_name(CANCEL_COUNT_no_task), "no_task");
	assert_string_equal(cancel_counter_name(CANCEL_COUNTER_COUNT), "");
}

static void resource_names_are_found_by_index(void **state)
{
	char name[CANCEL_NAME_MAX];
	(void)state;
	cancel_resource_name(cancel_resource_index(pool), name);
	assert_string_equal(name, "page_pool");
	cancel_resource_name(3, name);
	assert_string_equal(name, "");
	cancel_resource_name(-1, name);
	assert_string_equal(name, "");
}

/* ---- Decisions ------------------------------------------------------------------------------- */

static struct cancel_verdict verdict;

static void a_decision(uint64_t serial)
{
	memset(&verdict, 0, sizeof verdict);
	struct cancel_decision *d = &verdict.decision;
	verdict.decided = true;
	verdict.now_ns = 1000;
	d->serial = serial;
	d->acted = true;
	d->top_resource = 1;
	d->blamed_mask = 2;
	d->contention_ppm[1] = 614000;
	d->target.task = 4711;
	d->target.key = 812;
	d->target.class_index = 1;
	d->target.gain_micro[1] = 930000;
	d->runner_up.task = 9;
	d->runner_up.gain_micro[1] = 40000;
}

static void a_decision_reads_as_one_line(void **state)
{
	char text[CANCEL_TEXT_MAX];
	(void)state;
	a_decision(1);
	text_of_decision(&verdict.decision, &library_names, text);
	assert_string_equal(text,
		"task 812 (dump) cancelled: 61 % of execution time lost to page_pool; gain 0.93; "
		"runner-up 0.04");
	verdict.decision.acted = false;
	verdict.decision.runner_up.task = 0;
	verdict.decision.target.key = 0;
	verdict.decision.target.sequence = 33;
	text_of_decision(&verdict.decision, &library_names, text);
	assert_string_equal(text, "task #33 (dump) would be cancelled: 61 % of execution time lost "
				  "to page_pool; gain "
				  "0.93");
}

static void what_was_held_back_reads_as_one_line(void **state)
{
	char text[CANCEL_TEXT_MAX];
	(void)state;
	memset(&verdict, 0, sizeof verdict);
	verdict.held_back = CANCEL_CAUSE_BLOCKED;
	verdict.held.task = 1;
	verdict.held.key = 7;
	verdict.held.blame_ppm = 830000;
	verdict.held.held_back = CANCEL_CAUSE_BLOCKED;
	text_of_held(&verdict, &library_names, text);
	assert_non_null(strstr(text, "task 7 (reads) carries 83 %"));
	assert_non_null(strstr(text, cancel_cause_name(CANCEL_CAUSE_BLOCKED)));
	verdict.held_back = CANCEL_CAUSE_NONE;
	text_of_held(&verdict, &library_names, text);
	assert_string_equal(text, "");
}

static uint32_t told[CANCEL_CHANGE_FINAL + 1];

static void an_origin_in_quarantine_is_told_by_a_call_and_an_event(void **state)
{
	struct cancel_quarantine list[CANCEL_QUARANTINE_MAX];
	uint64_t until_ns = cancel_now_ns() + 3600000000000u;
	(void)state;
	assert_int_equal(stopCancel(), 0); /* here the test stands in for the controller */
	assert_int_equal(cancel_quarantined(77), 0);
	for (int acted = 0; acted <= 1; acted++) {
		static struct cancel_decision_record record;
		a_decision(1 + (uint64_t)acted);
		verdict.decision.acted = acted;
		verdict.decision.target.origin = 77;
		verdict.decision.decided_ns = until_ns - 10000000000u;
		verdict.decision.quarantine_until_ns = until_ns;
		decisions_take(&verdict);
		/* for ten seconds of this clock, whatever clock the looks have */
		uint64_t asked_ns = cancel_now_ns(), kept_ns = cancel_quarantined(77);
		assert_int_equal(kept_ns > asked_ns, acted);
		assert_true(kept_ns <= asked_ns + 10000000000u);
		assert_int_equal(cancel_quarantined(78), 0);
		assert_int_equal(cancel_snapshot_quarantine(list, CANCEL_QUARANTINE_MAX), 1);
		assert_int_equal(list[0].acted, acted);
		assert_int_equal(cancel_recent_decisions(&record, 1), 1);
		assert_non_null(strstr(record.text, acted ? "; its origin is kept out for 10.0 s"
							  : "would be kept out for 10.0 s"));
	}
	decisions_forget();
	start_with((struct cancel_config){ .window_ms = 10 });
	assert_int_equal(cancel_quarantined(77), 0); /* a new start forgets */
}

static void a_task_that_ignores_its_cancels_is_told_of_once_and_shown(void **state)
{
	struct cancel_task task = parked(812);
	struct cancel_task_info info;
	struct cancel_counters before, after;
	(void)state;
	assert_int_equal(stopCancel(), 0); /* here the test stands in for the controller */
	a_decision(1);
	verdict.decision.target.task = task.id;
	cancel_read_counters(&before);
	decisions_take(&verdict);
	verdict.decided = false;
	verdict.outcome_count = 1;
	verdict.outcomes[0] = (struct cancel_outcome){
		.serial = 1, .task = task.id, .final = true, .excluded = true
	};
	decisions_take(&verdict);
	cancel_read_counters(&after);
	assert_int_equal(after.excluded, before.excluded + 1);
	assert_true(was_logged("task 812 (dump) has ignored two cancels and is left alone"));
	assert_int_equal(cancel_read_task(task, &info), 0);
	assert_true(info.flags & CANCEL_IGNORES);
	decisions_forget();
	freeCancel(task);
	start_with((struct cancel_config){ .window_ms = 10 });
}

static void note_change(
	enum cancel_change change, const struct cancel_decision_record *record, void *arg)
{
	assert_ptr_equal(arg, told);
	assert_int_equal(record->decision.target.key, 812);
	told[change]++;
}

/* The records are the controller thread's; here the test stands in for it before a start. */
static void records_follow_their_decision(void **state)
{
	static struct cancel_decision_record records[CANCEL_RECORDS_KEPT];
	(void)state;
	decisions_forget();
	memset(told, 0, sizeof told);
	cancel_set_listener(note_change, told);
	a_decision(1);
	decisions_take(&verdict);
	assert_int_equal(told[CANCEL_CHANGE_DECIDED], 1);
	verdict.decided = false;
	verdict.outcome_count = 2;
	verdict.outcomes[0] = (struct cancel_outcome){ .serial = 1, .times.delivered_ns = 2000 };
	verdict.outcomes[1] = (struct cancel_outcome){ .serial = 99 }; /* forgotten long ago */
	decisions_take(&verdict);
	assert_int_equal(told[CANCEL_CHANGE_OUTCOME], 1);
	verdict.outcome_count = 1;
	verdict.outcomes[0].final = true;
	verdict.outcomes[0].wasted_ns = 5;
	decisions_take(&verdict);
	assert_int_equal(told[CANCEL_CHANGE_FINAL], 1);
	assert_int_equal(cancel_recent_decisions(records, CANCEL_RECORDS_KEPT), 1);
	assert_int_equal(records[0].outcome.times.delivered_ns, 2000);
	assert_int_equal(records[0].outcome.wasted_ns, 5);
	cancel_set_listener(NULL, NULL);
	decisions_forget();
}

static void the_last_decisions_are_kept_newest_first(void **state)
{
	static struct cancel_decision_record records[CANCEL_RECORDS_KEPT + 1];
	(void)state;
	decisions_forget();
	for (uint64_t serial = 1; serial <= CANCEL_RECORDS_KEPT + 5; serial++) {
		a_decision(serial);
		decisions_take(&verdict);
	}
	assert_int_equal(
		cancel_recent_decisions(records, CANCEL_RECORDS_KEPT + 1), CANCEL_RECORDS_KEPT);
	assert_int_equal(records[0].serial, CANCEL_RECORDS_KEPT + 5);
	assert_int_equal(records[CANCEL_RECORDS_KEPT - 1].serial, 6);
	assert_int_equal(cancel_recent_decisions(records, 1), 1);
	assert_int_equal(records[0].serial, CANCEL_RECORDS_KEPT + 5);
	decisions_forget();
}

static sem_t in_listener, leave_listener;
static _Atomic uint32_t windows;
static _Atomic bool removed;

static void note_window(
	const struct cancel_ledger *ledger, const struct cancel_verdict *v, void *arg)
{
	(void)arg;
	if (ledger->now_ns != v->now_ns)
		return;
	if (add_relaxed(&windows, 1) == 0) {
		sem_post(&in_listener);
		sem_wait(&leave_listener);
	}
}

static void *remove_listener(void *ignored)
{
	(void)ignored;
	cancel_set_window_listener(NULL, NULL);
	store_relaxed(&removed, true);
	return NULL;
}

static _Atomic int set_answer, list_answer;

static void change_options(
	const struct cancel_ledger *ledger, const struct cancel_verdict *v, void *arg)
{
	const char *name;
	char value[CANCEL_TEXT_MAX];
	bool writable;
	(void)ledger;
	(void)v;
	(void)arg;
	store_relaxed(&list_answer, cancel_option(0, &name, value, &writable));
	store_release(&set_answer, cancel_set_option("policy", "greedy") - 1);
}

/* Stop waits for the listener, and the listener would wait for stop. */
static void a_listener_that_asks_for_options_is_refused(void **state)
{
	(void)state;
	cancel_set_window_listener(change_options, NULL);
	WAIT_UNTIL(load_acquire(&set_answer) != 0);
	cancel_set_window_listener(NULL, NULL);
	assert_int_equal(load_relaxed(&set_answer), CANCEL_ESTATE - 1);
	assert_int_equal(load_relaxed(&list_answer), CANCEL_ESTATE);
	assert_true(counters_now().called_from_action >= 2);
}

static void removing_a_listener_waits_until_it_is_not_running(void **state)
{
	pthread_t thread;
	(void)state;
	sem_init(&in_listener, 0, 0);
	sem_init(&leave_listener, 0, 0);
	cancel_set_window_listener(note_window, NULL);
	sem_wait(&in_listener);
	assert_int_equal(pthread_create(&thread, NULL, remove_listener, NULL), 0);
	assert_false(load_relaxed(&removed));
	sem_post(&leave_listener);
	pthread_join(thread, NULL);
	uint32_t seen = load_relaxed(&windows);
	uint64_t turns = counters_now().turns;
	WAIT_UNTIL(counters_now().turns > turns + 2);
	assert_int_equal(load_relaxed(&windows), seen);
}

static void a_fault_turns_the_library_off_and_is_said_once(void **state)
{
	struct cancel_status status;
	(void)state;
	struct cancel_task task = createCancel(NULL);
	library_disable("a test says so");
	library_disable("and again");
	WAIT_UNTIL(was_logged("internal inconsistency: a test says so"));
	assert_false(was_logged("and again"));
	cancel_read_status(&status);
	assert_true(status.turned_off);
	assert_false(status.running);
	assert_int_equal(createResource("more", CANCEL_LOCK, NULL).id, 0);
	getResource(table, CANCEL_SHARED); /* what lives goes on harmlessly */
	freeResource(table, CANCEL_SHARED);
	freeCancel(task);
	assert_int_equal(createCancel(NULL).id, 0);
	assert_int_equal(counters_now().internal_faults, 2);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, start, stop_listening)
	const struct CMUnitTest tests[] = {
		EACH(live_tasks_are_listed_with_what_they_hold),
		EACH(resources_are_listed_with_holders_and_waiters),
		EACH(status_says_how_it_is),
		EACH(counters_have_names_and_texts),
		EACH(resource_names_are_found_by_index),
		EACH(a_decision_reads_as_one_line),
		EACH(what_was_held_back_reads_as_one_line),
		EACH(an_origin_in_quarantine_is_told_by_a_call_and_an_event),
		EACH(a_task_that_ignores_its_cancels_is_told_of_once_and_shown),
		cmocka_unit_test(records_follow_their_decision),
		cmocka_unit_test(the_last_decisions_are_kept_newest_first),
		EACH(a_listener_that_asks_for_options_is_refused),
		EACH(removing_a_listener_waits_until_it_is_not_running),
		EACH(a_fault_turns_the_library_off_and_is_said_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
