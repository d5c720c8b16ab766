/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of feed.h, made by a small adapter. What lies between the two marks is quoted in
 * docs/adapter.md word for word; the rest is a toy server for it to look at.
 */
#include "runtime.h"

#include <sys/wait.h>
#include <unistd.h>
#include <cancel/feed.h>

/* ---- The toy server: sessions, and one lock for which they wait. --------------------------- */

struct session {
	uint64_t pid, transaction, statement, began_ns, waits_since_ns;
	bool holds;
};

#define SESSIONS 64

static struct session sessions[SESSIONS];
static uint64_t statements_done, time_taken_ns;
static uint64_t cancelled_pid, cancelled_statement;

static bool server_cancel(uint64_t pid, uint64_t statement)
{
	cancelled_pid = pid;
	cancelled_statement = statement;
	return true;
}

/* ---- adapter begins */
static struct cancel_resource rows;

static int adapter_start(enum cancel_mode mode)
{
	const struct cancel_class classes[] = { { .name = "app", .slo_ns = 50000000 } };
	const struct cancel_config config = { .struct_size = sizeof config,
		.mode = mode,
		.classes = classes,
		.class_count = 1,
		.log = keep_line };
	int error = cancel_start_feed(&config);
	if (!error)
		rows = cancel_create_resource("rows", CANCEL_LOCK, NULL);
	return error;
}

static void adapter_session(const struct session *s)
{
	const struct cancel_feed_task task = {
		.struct_size = sizeof task,
		.subject = (uint64_t)(s - sessions),
		.generation = s->transaction,
		.statement = s->statement,
		.key = s->pid,
		.start_ns = s->began_ns,
		.episode_start_ns = s->began_ns,
		.flags = CANCEL_CANCELLABLE,
	};
	int t = cancel_feed_add_task(&task);
	if (s->holds)
		cancel_feed_hold(t, rows, 1, CANCEL_EXCLUSIVE, 0);
	if (s->waits_since_ns)
		cancel_feed_wait(t, rows, 1, CANCEL_EXCLUSIVE, s->waits_since_ns);
}

/* Every 50 ms. */
static void adapter_look(uint64_t now_ns)
{
	struct cancel_order order = { .struct_size = sizeof order };
	cancel_feed_begin(now_ns);
	for (const struct session *s = sessions; s < sessions + SESSIONS; s++)
		if (s->transaction)
			adapter_session(s);
	cancel_feed_completed(0, statements_done, 0, time_taken_ns, NULL);
	if (!cancel_feed_end(&order))
		return;
	bool sent = server_cancel(sessions[order.subject].pid, order.statement);
	cancel_feed_answer(
		order.serial, sent ? CANCEL_EVENT_DELIVERED : CANCEL_EVENT_IGNORED, now_ns);
}
/* ---- adapter ends */

#define LOOK_NS UINT64_C(50000000)

static int set_up(void **state)
{
	(void)state;
	memset(sessions, 0, sizeof sessions);
	log_lines[0] = '\0';
	statements_done = time_taken_ns = cancelled_pid = cancelled_statement = 0;
	return 0;
}

/* 4 s of health, then session 0 takes the lock, and two more want it in each look. */
static void run_the_toy(void)
{
	uint64_t now_ns = 1000 * LOOK_NS;
	for (int i = 0; i < 80; i++, now_ns += LOOK_NS) {
		statements_done += 50;
		time_taken_ns += 50 * UINT64_C(1000000);
		adapter_look(now_ns);
	}
	sessions[0] = (struct session){
		.pid = 4711, .transaction = 1, .statement = 17, .began_ns = now_ns, .holds = true
	};
	for (uint64_t i = 1; i < SESSIONS && !cancelled_pid; i++) {
		sessions[i] = (struct session){
			.pid = i, .transaction = 1, .began_ns = now_ns, .waits_since_ns = now_ns
		};
		if (i % 2 == 0)
			adapter_look(now_ns += LOOK_NS);
	}
}

static void an_adapter_cancels_the_holder(void **state)
{
	struct cancel_decision_record record;
	struct cancel_status status;
	(void)state;
	assert_int_equal(adapter_start(CANCEL_ACT), 0);
	run_the_toy();
	assert_int_equal(cancelled_pid, 4711);
	assert_int_equal(cancelled_statement, 17);
	cancel_read_status(&status);
	assert_true(status.running);
	assert_true(status.acting);
	assert_int_equal(cancel_recent_decisions(&record, 1), 1);
	assert_int_equal(record.decision.target.key, 4711);
	assert_true(was_logged("task 4711"));
}

static void monitor_names_and_orders_nothing(void **state)
{
	struct cancel_decision_record record;
	(void)state;
	assert_int_equal(adapter_start(CANCEL_MONITOR), 0);
	run_the_toy();
	assert_int_equal(cancelled_pid, 0);
	assert_int_equal(cancel_recent_decisions(&record, 1), 1);
	assert_int_equal(record.decision.target.key, 4711);
	assert_false(record.decision.acted);
}

static void the_mode_changes_while_it_runs(void **state)
{
	(void)state;
	assert_int_equal(adapter_start(CANCEL_MONITOR), 0);
	assert_int_equal(cancel_set_option("mode", "act"), 0);
	run_the_toy();
	assert_int_equal(cancelled_pid, 4711);
}

static void misuse_is_counted(void **state)
{
	struct cancel_feed_task task = { .subject = 1 };
	struct cancel_order order = { .struct_size = sizeof order };
	struct cancel_counters counters;
	(void)state;
	cancel_feed_begin(1);
	assert_int_equal(cancel_feed_add_task(&task), CANCEL_ESTATE);
	assert_int_equal(adapter_start(CANCEL_ACT), 0);
	assert_int_equal(cancel_start_feed(NULL), CANCEL_ESTATE);
	assert_int_equal(cancel_start(NULL), CANCEL_ESTATE);
	assert_int_equal(createCancel(NULL).id, 0);
	assert_false(cancel_feed_end(&order));
	task.struct_size = sizeof task;
	assert_int_equal(cancel_feed_add_task(&task), CANCEL_ESTATE);
	cancel_feed_begin(2);
	task.struct_size = 0;
	assert_int_equal(cancel_feed_add_task(&task), CANCEL_EINVAL);
	task.struct_size = sizeof task;
	task.class_index = 9;
	int t = cancel_feed_add_task(&task);
	assert_int_equal(t, 0);
	struct cancel_resource none = { 0 };
	cancel_feed_hold(t, none, 1, 1, 0);
	cancel_feed_hold(t, cancel_create_resource("pool", CANCEL_MEMORY, NULL), 1, 1, 0);
	cancel_feed_hold(t, rows, 1, 8, 0);
	cancel_feed_hold(-1, rows, 1, 1, 0);
	assert_false(cancel_feed_end(&order));
	cancel_feed_answer(99, CANCEL_EVENT_DELIVERED, 3);
	cancel_read_counters(&counters);
	assert_int_equal(counters.not_running, 1);
	assert_int_equal(counters.bad_class, 1);
	assert_int_equal(counters.bad_resource, 1);
	assert_int_equal(counters.wrong_type, 1);
	assert_int_equal(counters.wrong_mode, 1);
}

static void a_feed_can_be_followed_by_tracking(void **state)
{
	(void)state;
	assert_int_equal(adapter_start(CANCEL_ACT), 0);
	assert_int_equal(cancel_stop(), 0);
	start_quietly();
	struct cancel_task task = createCancel(NULL);
	assert_int_not_equal(task.id, 0);
	freeCancel(task);
}

/* Else both processes would give the same orders about the same sessions. */
static void a_forked_child_has_no_feed(void **state)
{
	(void)state;
	assert_int_equal(adapter_start(CANCEL_ACT), 0);
	cancel_feed_begin(1);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct cancel_feed_task task = { .struct_size = sizeof task, .subject = 1 };
		cancel_feed_begin(2);
		_exit(cancel_feed_add_task(&task) == CANCEL_ESTATE ? 0 : 1);
	}
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(misuse_is_counted, set_up, stop),
		cmocka_unit_test_setup_teardown(an_adapter_cancels_the_holder, set_up, stop),
		cmocka_unit_test_setup_teardown(monitor_names_and_orders_nothing, set_up, stop),
		cmocka_unit_test_setup_teardown(the_mode_changes_while_it_runs, set_up, stop),
		cmocka_unit_test_setup_teardown(a_feed_can_be_followed_by_tracking, set_up, stop),
		cmocka_unit_test_setup_teardown(a_forked_child_has_no_feed, set_up, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
