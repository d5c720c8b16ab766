/* SPDX-License-Identifier: Apache-2.0 */
/* The bench's connections against the real server, started as the bench starts it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/cases/case.h"
#include "bench/experiment/tasks.h"
#include "bench/target/server_process.h"
#include "bench/target/wire.h"

#include "patience.h"

static struct server_process server;
static struct event_base *base;
static struct wire_pool *pool;
static char error[SERVER_ERROR_MAX];

struct heard {
	uint32_t count;
	enum wire_status status;
	uint32_t retry_after_ms;
	char value[64], message[128];
	struct heard *before; /* must have been heard earlier */
};

static void on_answer(void *arg, const struct wire_answer *answer)
{
	struct heard *heard = arg;
	heard->count++;
	heard->status = answer->status;
	heard->retry_after_ms = answer->retry_after_ms;
	snprintf(heard->value, sizeof heard->value, "%s", wire_value(answer, 0, 0));
	snprintf(heard->message, sizeof heard->message, "%s", answer->message);
}

static void on_wait_over(int fd, short events, void *arg)
{
	(void)fd;
	(void)events;
	*(bool *)arg = true;
}

static void await(const struct heard *heard)
{
	bool over = false;
	const struct timeval wait = { .tv_sec = patience_s() };
	struct event *alarm = event_new(base, -1, 0, on_wait_over, &over);
	event_add(alarm, &wait);
	while (!heard->count && !over)
		event_base_loop(base, EVLOOP_ONCE);
	event_free(alarm);
	if (over)
		fail_msg("no answer within %u s", patience_s());
}

static struct wire_stats stats(void)
{
	struct wire_stats now;
	wire_pool_stats(pool, &now);
	return now;
}

static void start(const char *setting, uint32_t limit)
{
	struct server_settings settings = { 0 };
	char data[SERVER_PATH_MAX];
	const char *scratch = server_scratch(error);
	assert_non_null(scratch);
	snprintf(data, sizeof data, "%.200s/data", scratch);
	mkdir(data, 0700);
	server_set(&settings, "server.workers=1");
	server_set(&settings, "server.service_ms=5");
	server_set(&settings, "roles.load=auto raise");
	if (setting)
		server_set(&settings, "%s", setting);
	if (server_process_start(&server, data, &settings, error) != 0)
		fail_msg("%s", error);
	base = event_base_new();
	const struct wire_pool_options options = { .struct_size = sizeof options,
		.base = base,
		.socket_dir = server.socket_dir,
		.port = SERVER_PORT,
		.user = "load",
		.limit = limit };
	pool = wire_pool_new(&options);
	assert_non_null(pool);
}

static int stop(void **state)
{
	(void)state;
	wire_pool_free(pool);
	pool = NULL;
	if (base)
		event_base_free(base);
	base = NULL;
	server_process_stop(&server);
	return 0;
}

static void a_statement_is_answered_and_its_connection_used_again(void **state)
{
	(void)state;
	start(NULL, 1);
	for (int i = 0; i < 3; i++) {
		struct heard heard = { 0 };
		assert_int_equal(
			wire_ask(pool, "set cancel.user='u'; select 40 + 2", on_answer, &heard), 0);
		await(&heard);
		assert_int_equal(heard.status, WIRE_OK);
		assert_string_equal(heard.value, "42");
	}
	assert_int_equal(stats().connections, 1);
	assert_int_equal(stats().busy, 0);
}

static void each_statement_in_flight_has_a_connection_up_to_the_limit(void **state)
{
	struct heard heard[3] = { { 0 } };
	(void)state;
	start("server.service_ms=20", 2);
	assert_int_equal(wire_ask(pool, "select 1", on_answer, &heard[0]), 0);
	assert_int_equal(wire_ask(pool, "select 2", on_answer, &heard[1]), 0);
	assert_int_equal(wire_ask(pool, "select 3", on_answer, &heard[2]), -1);
	assert_int_equal(stats().busy, 2);
	await(&heard[0]);
	await(&heard[1]);
	assert_string_equal(heard[0].value, "1");
	assert_string_equal(heard[1].value, "2");
	assert_int_equal(heard[2].count, 0);
}

static void an_error_is_an_answer_and_the_connection_goes_on(void **state)
{
	struct heard heard = { 0 }, next = { 0 };
	(void)state;
	start(NULL, 1);
	assert_int_equal(wire_ask(pool, "select x", on_answer, &heard), 0);
	await(&heard);
	assert_int_equal(heard.status, WIRE_FAILED);
	assert_non_null(strstr(heard.message, "x"));
	assert_int_equal(wire_ask(pool, "select 1", on_answer, &next), 0);
	await(&next);
	assert_int_equal(next.status, WIRE_OK);
}

static void a_kept_session_keeps_its_transaction(void **state)
{
	struct heard begun = { 0 }, row = { 0 }, other = { 0 };
	(void)state;
	start(NULL, 2);
	struct wire_session *session = wire_session_take(pool);
	assert_non_null(session);
	wire_session_ask(session, "begin; create table t(a int); insert into t values (7)",
		on_answer, &begun);
	await(&begun);
	assert_int_equal(begun.status, WIRE_OK);
	wire_session_ask(session, "select a from t; rollback", on_answer, &row);
	await(&row);
	assert_int_equal(row.status, WIRE_OK);
	wire_session_give(session);
	assert_int_equal(wire_ask(pool, "select a from t", on_answer, &other), 0);
	await(&other);
	assert_int_equal(other.status, WIRE_FAILED);
}

static void rows_are_taken_at_the_clients_pace_while_others_are_answered(void **state)
{
	struct heard never = { 0 }, slow = { 0 }, other = { 0 };
	(void)state;
	start(NULL, 3);
	struct wire_session *sessions[2] = { wire_session_take(pool), wire_session_take(pool) };
	assert_non_null(sessions[1]);
	assert_int_equal(wire_session_stream(sessions[0], 1, 3600000), 0);
	assert_int_equal(wire_session_stream(sessions[1], 1, 10), 0);
	wire_session_ask(sessions[0], "select * from generate_series(1, 5)", on_answer, &never);
	wire_session_ask(sessions[1], "select * from generate_series(1, 5)", on_answer, &slow);
	assert_int_equal(wire_ask(pool, "select 1", on_answer, &other), 0);
	await(&other);
	await(&slow);
	assert_int_equal(slow.status, WIRE_OK);
	assert_string_equal(slow.value, ""); /* they were read and forgotten */
	assert_int_equal(never.count, 0);
	wire_session_give(sessions[1]);
}

static void a_session_given_back_reads_whole_answers_again(void **state)
{
	struct heard streamed = { 0 }, whole = { 0 };
	(void)state;
	start(NULL, 1);
	struct wire_session *session = wire_session_take(pool);
	assert_non_null(session);
	assert_int_equal(wire_session_stream(session, 1, 1), 0);
	wire_session_ask(session, "select 41", on_answer, &streamed);
	await(&streamed);
	assert_string_equal(streamed.value, "");
	wire_session_give(session);
	assert_int_equal(wire_ask(pool, "select 42", on_answer, &whole), 0);
	await(&whole);
	assert_string_equal(whole.value, "42");
}

static void the_server_waits_for_a_client_that_reads_slowly(void **state)
{
	struct heard slow = { 0 };
	(void)state;
	start("output.soft_kb=64", 3);
	struct wire_session *session = wire_session_take(pool);
	assert_non_null(session);
	assert_int_equal(wire_session_stream(session, 1, 1000), 0);
	wire_session_ask(session, "select hex(zeroblob(2000)) from generate_series(1, 1000)",
		on_answer, &slow);
	for (bool waits = false; !waits;) {
		struct heard seen = { 0 };
		assert_int_equal(
			wire_ask(pool, "select count(*) from cancel_sessions where unread_ms > 0",
				on_answer, &seen),
			0);
		await(&seen);
		waits = strcmp(seen.value, "1") == 0;
		assert_int_equal(slow.count, 0);
	}
}

static void connections_can_be_opened_beforehand(void **state)
{
	struct heard heard = { 0 };
	(void)state;
	start(NULL, 8);
	wire_pool_open(pool, 5);
	assert_int_equal(stats().connections, 5);
	assert_int_equal(wire_ask(pool, "select 1", on_answer, &heard), 0);
	await(&heard);
	wire_pool_open(pool, 100);
	assert_int_equal(stats().connections, 8);
	assert_int_equal(stats().lost, 0);
}

static void a_refusal_tells_when_to_come_again(void **state)
{
	enum { CLIENTS = 12 };
	const struct heard *refused = NULL;
	struct heard heard[CLIENTS];
	char sql[64];
	(void)state;
	start("admission.window_ms=150",
		CLIENTS);  /* some rounds: arrivals and waits in each window */
	while (!refused) { /* 12 at once on one worker of 5 ms a statement */
		memset(heard, 0, sizeof heard);
		for (int i = 0; i < CLIENTS; i++) {
			snprintf(sql, sizeof sql, "set cancel.user = 'u%d'; select 1", i);
			assert_int_equal(wire_ask(pool, sql, on_answer, &heard[i]), 0);
		}
		for (int i = 0; i < CLIENTS; i++) {
			await(&heard[i]);
			refused = heard[i].status == WIRE_REFUSED ? &heard[i] : refused;
		}
	}
	assert_non_null(strstr(refused->message, "overloaded"));
	assert_true(refused->retry_after_ms > 0);
}

static void a_server_that_dies_is_an_error_for_all_who_wait(void **state)
{
	struct heard heard = { 0 }, after = { 0 };
	(void)state;
	start("server.service_ms=10000", 4);
	assert_int_equal(wire_ask(pool, "select 1", on_answer, &heard), 0);
	wire_pool_open(pool, 1);
	kill(server.pid, SIGKILL);
	await(&heard);
	assert_int_equal(heard.status, WIRE_FAILED);
	if (wire_ask(pool, "select 1", on_answer, &after) == 0)
		await(&after);
	assert_int_equal(after.count ? after.status : WIRE_FAILED, WIRE_FAILED);
	assert_true(stats().lost > 0);
	assert_int_equal(stats().busy, 0);
}

static void a_bad_setting_is_the_servers_own_line(void **state)
{
	struct server_settings settings = { 0 };
	(void)state;
	server_set(&settings, "server.workers=0");
	assert_int_equal(
		server_process_start(&server, server_scratch(error), &settings, error), -1);
	assert_non_null(strstr(error, "workers is 0"));
	assert_int_equal(server.pid, 0);
	/* of the library too, and nothing before it */
	settings.count = 0;
	server_set(&settings, "cancel.mode=foo");
	assert_int_equal(
		server_process_start(&server, server_scratch(error), &settings, error), -1);
	assert_non_null(strstr(error, "serve: cancel.mode is foo, but must be monitor or act"));
}

/* ---- A task beside the load, on the server as a target --------------------------------------- */

static struct target *target;

static int close_target(void **state)
{
	(void)state;
	target_close(target);
	target = NULL;
	return 0;
}

static void ignore(void *arg, const struct target_decision *decision)
{
	(void)arg;
	(void)decision;
}

static void open_target(void)
{
	char data[SERVER_PATH_MAX];
	struct target_options options = { .struct_size = sizeof options,
		.kind = SERVER_TARGET,
		.data_dir = data,
		.pool_mb = 4,
		.workers = 2,
		.connections = 4,
		.gate_window_ms = 100,
		.gate_threshold_ms = 20,
		.slo_ns = CASE_NS_PER_S,
		.on_decision = ignore };
	const char *scratch = server_scratch(error);
	assert_non_null(scratch);
	snprintf(data, sizeof data, "%.200s/data", scratch);
	mkdir(data, 0700);
	if (target_open(&options, &target, error) != 0)
		fail_msg("%s", error);
}

static void step(struct tasks *tasks)
{
	tasks_step(tasks, target_now_ns());
	target_wait(target, tasks_busy(tasks) ? UINT64_MAX : tasks_next_ns(tasks));
}

static void a_culprit_is_sent_again_only_after_a_cancel(void **state)
{
	static struct samples samples;
	static struct tasks tasks;
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct target_client *operator_client;
	struct actor actor = case_lock_actor;
	char sql[128];
	(void)state;
	open_target();
	assert_int_equal(target_client_open(target, true, &operator_client), 0);
	assert_int_equal(target_client_do(operator_client,
				 "create table if not exists items(id int)", error),
		0);
	tasks = (struct tasks){ .target = target, .data = &samples, .data_lock = &lock };
	actor.statements[0] = NULL; /* it has the table, and that is all */
	actor.hold_ns = 3600ull * CASE_NS_PER_S;
	actor.resends = 2;
	assert_int_equal(tasks_add(&tasks, &actor), 0);
	struct task *task = &tasks.list[0];
	while (!samples.tasks[0].taken_ns)
		step(&tasks);
	task->actor.hold_ns = 0; /* the next one ends as soon as it has the table */
	snprintf(sql, sizeof sql, "select cancel_task(id) from cancel_tasks where process = %u",
		(unsigned)target_client_key(task->client));
	assert_int_equal(target_client_do(operator_client, sql, error), 0);
	task->next_ns = 0; /* its client hears of the cancel from the next answer */
	task->actor.statements[0] = "SELECT 1";
	while (task->state != TASK_OVER)
		step(&tasks);
	assert_string_equal(task->error, "");
	assert_int_equal(samples.task_count, 2);
	assert_true(samples.tasks[0].cancelled);
	assert_true(samples.tasks[1].completed);
	assert_int_equal(task->actor.resends, 1);
	tasks_end(&tasks);
	target_client_close(operator_client);
}

#define TEST(name) cmocka_unit_test_teardown(name, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_statement_is_answered_and_its_connection_used_again),
		TEST(each_statement_in_flight_has_a_connection_up_to_the_limit),
		TEST(an_error_is_an_answer_and_the_connection_goes_on),
		TEST(a_kept_session_keeps_its_transaction),
		TEST(rows_are_taken_at_the_clients_pace_while_others_are_answered),
		TEST(a_session_given_back_reads_whole_answers_again),
		TEST(the_server_waits_for_a_client_that_reads_slowly),
		TEST(connections_can_be_opened_beforehand),
		TEST(a_refusal_tells_when_to_come_again),
		TEST(a_server_that_dies_is_an_error_for_all_who_wait),
		TEST(a_bad_setting_is_the_servers_own_line),
		cmocka_unit_test_teardown(
			a_culprit_is_sent_again_only_after_a_cancel, close_target),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
