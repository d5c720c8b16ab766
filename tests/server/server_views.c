/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime in SQL and over HTTP: it answers while everything else is stuck. */
#include "patience.h"
#include "wire_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

static struct wire_server server;
static struct wire_client holder, waiter, operator;

static int clean(void **state)
{
	(void)state;
	wire_close(&holder);
	wire_close(&waiter);
	wire_close(&operator);
	wire_server_clean(&server);
	return 0;
}

static void wait_for_gate(void)
{
	wire_send_query(&waiter, "update t set a = 3");
	WAIT_UNTIL(
		strstr(wire_query(&operator,
			       "select process from cancel_tasks where waits_for = 'write_gate'"),
			"D("));
}

/* One worker; a transaction holds the write gate, and a statement that waits for it has the worker.
 * The library judges nothing, however long that lasts. */
static void get_stuck(void)
{
	const char *const options[] = { "--workers", "1", "--set", "cancel.warm_up_ms=3600000",
		NULL };
	wire_server_start(&server, options);
	wire_login(&holder, &server, "u");
	wire_login(&waiter, &server, "u");
	wire_login(&operator, & server, "u");
	wire_query(&holder, "create table t(a int); insert into t values (1)");
	assert_string_equal(
		wire_query(&holder, "begin; update t set a = 2"), "C(BEGIN) C(UPDATE 1) Z(T)");
	wait_for_gate();
}

/* Only the asker's own is left. */
static void await_no_transaction(void)
{
	WAIT_UNTIL(strstr(
		wire_query(&operator,
			"select count(*) from cancel_sessions where transaction_ms is not null"),
		"D(1)"));
}

/* The holder's block is idle; the waiter's statement is a transaction by itself. */
static void a_session_tells_how_long_its_transaction_lasts(void **state)
{
	(void)state;
	get_stuck();
	wire_send_query(&operator,
		"select a.transaction_ms > b.transaction_ms, b.transaction_ms > 0 "
		"from cancel_sessions a, cancel_sessions b, cancel_tasks t "
		"where a.transaction_state = 'T' and t.waits_for = 'write_gate' "
		"and b.process = t.process");
	assert_string_equal(
		wire_talk(&operator), "T(?column?:16,?column?:16) D(t,t) C(SELECT 1) Z(I)");
	wire_query(&holder, "rollback");
	wire_talk(&waiter);
	await_no_transaction(); /* an answer is out a little before its statement is over */
}

static void views_answer_while_every_worker_is_stuck(void **state)
{
	(void)state;
	get_stuck();
	assert_non_null(strstr(
		wire_query(&operator, "select resource, mode, wanted_mode from cancel_holds where "
				      "resource = 'write_gate' order by mode"),
		"D(write_gate,exclusive,~) D(write_gate,~,exclusive) C(SELECT 2)"));
	assert_non_null(
		strstr(wire_query(&operator, "select statement from cancel_tasks where waits_for = "
					     "'write_gate'"),
			"D(update t set a = $1)"));
	assert_non_null(
		strstr(wire_query(&operator, "select * from cancel_resources"), "write_gate"));
	assert_non_null(
		strstr(wire_query(&operator, "select * from cancel_admission"), "analytical"));
	assert_non_null(strstr(wire_query(&operator, "select * from cancel_held_back"), "warm-up"));
	assert_non_null(
		strstr(wire_query(&operator, "select * from cancel_decisions"), "SELECT 0"));
	assert_string_equal(wire_query(&operator, "update cancel_settings set value = 'act' where "
						  "name = 'mode'"),
		"C(UPDATE 1) Z(I)");
	assert_string_equal(wire_query(&holder, "commit"), "C(COMMIT) Z(I)");
	assert_string_equal(wire_talk(&waiter), "C(UPDATE 1) Z(I)");
}

static void an_operator_cancels_a_task_by_its_id(void **state)
{
	char sql[160];
	(void)state;
	get_stuck();
	const char *said =
		wire_query(&operator, "select id from cancel_tasks where waits_for = 'write_gate'");
	const char *id = strstr(said, "D(");
	assert_non_null(id);
	snprintf(sql, sizeof sql, "select cancel_task(%lld)", atoll(id + 2));
	assert_string_equal(wire_query(&operator, sql), "T(cancel_task:16) D(t) C(SELECT 1) Z(I)");
	assert_string_equal(wire_talk(&waiter), "E(57014) Z(I)");
	assert_string_equal(wire_query(&operator, sql), "T(cancel_task:16) D(f) C(SELECT 1) Z(I)");
	/* and a session by its process number */
	wait_for_gate();
	snprintf(sql, sizeof sql, "select pg_cancel_backend(%u)", waiter.process);
	assert_string_equal(
		wire_query(&operator, sql), "T(pg_cancel_backend:16) D(t) C(SELECT 1) Z(I)");
	assert_string_equal(wire_talk(&waiter), "E(57014) Z(I)");
}

/* The holder's block, which is idle; the waiter, which has been waiting for it, is answered. */
static void cancel_the_idle_block(void)
{
	char sql[160];
	snprintf(sql, sizeof sql, "select cancel_task(id) from cancel_tasks where process = %u",
		holder.process);
	wait_for_gate();
	assert_non_null(strstr(wire_query(&operator, sql), "D(t)"));
	assert_string_equal(wire_talk(&waiter), "C(UPDATE 1) Z(I)");
	await_no_transaction(); /* until it is rolled back */
}

static void a_block_cancelled_while_idle_tells_its_client_why(void **state)
{
	static const char begin[] = "begin; update t set a = 2";
	(void)state;
	get_stuck();
	wire_query(&holder, "rollback");
	wire_talk(&waiter);
	wire_query(&holder, begin);
	cancel_the_idle_block();
	assert_string_equal(wire_query(&holder, "select 1"), "E(57014) Z(E)");
	assert_non_null(strstr(holder.last_error, "while it was idle"));
	assert_string_equal(wire_query(&holder, "select 1"), "E(25P02) Z(E)");
	assert_string_equal(wire_query(&holder, "rollback"), "C(ROLLBACK) Z(I)");
	/* what the server answers by itself, and the extended protocol */
	wire_query(&holder, begin);
	cancel_the_idle_block();
	assert_string_equal(wire_query(&holder, "show timezone"), "E(57014) Z(E)");
	assert_string_equal(wire_query(&holder, "rollback"), "C(ROLLBACK) Z(I)");
	wire_query(&holder, begin);
	cancel_the_idle_block();
	wire_parse(&holder, "", "lock table t");
	wire_bind(&holder, "", "", NULL, 0, 0);
	wire_describe(&holder, 'P', "");
	wire_execute(&holder, "", 0);
	wire_sync(&holder);
	assert_string_equal(wire_talk(&holder), "1 2 n E(57014) Z(E)");
	assert_string_equal(wire_query(&holder, "rollback"), "C(ROLLBACK) Z(I)");
	/* not even COMMIT is taken for success */
	wire_query(&holder, begin);
	cancel_the_idle_block();
	assert_string_equal(wire_query(&holder, "commit"), "E(57014) Z(I)");
	assert_string_equal(
		wire_query(&holder, "select 1"), "T(?column?:23) D(1) C(SELECT 1) Z(I)");
}

static void settings_are_checked_and_shown(void **state)
{
	(void)state;
	get_stuck();
	assert_string_equal(wire_query(&operator, "update cancel_settings set value = 'nonsense' "
						  "where name = 'policy'"),
		"E(22023) Z(I)");
	assert_non_null(strstr(operator.last_error,
		"\"nonsense\", must be one of multi-objective, greedy"));
	assert_string_equal(
		wire_query(&operator, "update cancel_settings set value = 'greedy' where "
				      "name = 'policy'"),
		"C(UPDATE 1) Z(I)");
	assert_string_equal(
		wire_query(&operator, "select value from cancel_settings where name = 'policy'"),
		"T(value:25) D(greedy) C(SELECT 1) Z(I)");
	assert_string_equal(
		wire_query(&operator,
			"select value, changes from cancel_settings where name = 'server.workers'"),
		"T(value:25,changes:16) D(1,f) C(SELECT 1) Z(I)");
	assert_string_equal(
		wire_query(&operator, "update cancel_settings set value = '2' where name "
				      "= 'server.workers'"),
		"E(22023) Z(I)");
	assert_string_equal(wire_query(&operator, "delete from cancel_settings"), "E(22023) Z(I)");
	assert_string_equal(wire_query(&operator, "insert into cancel_settings values (1,2,3,4)"),
		"E(22023) Z(I)");
	assert_string_equal(
		wire_query(&operator, "update cancel_tasks set id = 1"), "E(42000) Z(I)");
	assert_string_equal(
		wire_query(&operator, "update cancel_settings set what = '' where name = 'mode'"),
		"E(22023) Z(I)");
	assert_string_equal(
		wire_query(&operator, "update cancel_settings set name = 'x' where name = 'mode'"),
		"E(22023) Z(I)");
}

#define BOTH                                                                                       \
	"update cancel_settings set value = case name when 'mode' then 'act' else 'zzz' end "      \
	"where name in ('mode', 'policy')"
#define MODE "select value from cancel_settings where name = 'mode'"

static void settings_change_together_or_not_at_all(void **state)
{
	(void)state;
	wire_server_start(&server, NULL);
	wire_login(&operator, & server, "u");
	assert_string_equal(wire_query(&operator, BOTH), "E(22023) Z(I)");
	assert_string_equal(wire_query(&operator, MODE), "T(value:25) D(monitor) C(SELECT 1) Z(I)");
	wire_query(
		&operator, "begin; update cancel_settings set value = 'act' where name = 'mode'");
	assert_string_equal(wire_query(&operator, MODE), "T(value:25) D(act) C(SELECT 1) Z(T)");
	wire_query(&operator, "savepoint a");
	wire_query(&operator, "update cancel_settings set value = 'monitor' where name = 'mode'");
	assert_string_equal(wire_query(&operator, BOTH), "E(22023) Z(E)");
	wire_query(&operator, "rollback to a");
	assert_string_equal(wire_query(&operator, MODE), "T(value:25) D(act) C(SELECT 1) Z(T)");
	wire_query(&operator, "rollback");
	assert_string_equal(wire_query(&operator, MODE), "T(value:25) D(monitor) C(SELECT 1) Z(I)");
	wire_query(&operator,
		"begin; update cancel_settings set value = 'act' where name = 'mode'; "
		"commit");
	assert_string_equal(wire_query(&operator, MODE), "T(value:25) D(act) C(SELECT 1) Z(I)");
}

static void sessions_and_locks_are_shown_as_postgresql_does(void **state)
{
	const char *const pairs[] = { "user", "napper", "application_name", "nap", NULL };
	(void)state;
	wire_server_start(&server, NULL);
	wire_login(&operator, & server, "u");
	wire_query(&operator, "create table t(n int)");
	wire_open(&holder, &server);
	wire_startup(&holder, pairs);
	wire_talk(&holder);
	wire_query(&holder, "begin; alter table t add column m int");
	assert_string_equal(
		wire_query(&operator, "select usename, application_name, client_addr, state, "
				      "xact_start is not null as x, backend_start <= now() as b "
				      "from pg_stat_activity where usename = 'napper'"),
		"T(usename:19,application_name:25,client_addr:25,state:25,x:16,b:16) "
		"D(napper,nap,~,idle in transaction,t,t) C(SELECT 1) Z(I)");
	wire_login(&waiter, &server, "w");
	wire_send_query(&waiter, "select * from t");
	WAIT_UNTIL(strstr(wire_query(&operator, "select count(*) = 2 from pg_locks"), "D(t)"));
	assert_string_equal(
		wire_query(&operator,
			"select l.mode, l.granted, a.usename from pg_catalog.pg_locks l "
			"join pg_stat_activity a on a.pid = l.pid order by 2"),
		"T(mode:25,granted:16,usename:19) D(AccessShareLock,f,w) "
		"D(AccessExclusiveLock,t,napper) C(SELECT 2) Z(I)");
	assert_string_equal(wire_query(&operator, "select wait_event_type, wait_event from "
						  "pg_stat_activity where usename = 'w'"),
		"T(wait_event_type:25,wait_event:25) D(Lock,relation) C(SELECT 1) Z(I)");
	wire_query(&holder, "rollback");
	wire_talk(&waiter);
	wire_close(&waiter);
	wire_close(&holder);
	wire_close(&operator);
}

static void a_session_sleeps_until_it_is_cancelled_or_ended(void **state)
{
	(void)state;
	wire_server_start(&server, NULL);
	wire_login(&operator, & server, "u");
	wire_login(&waiter, &server, "w");
	assert_string_equal(wire_query(&waiter, "select pg_sleep(0.01)"),
		"T(pg_sleep:25) D() C(SELECT 1) Z(I)");
	assert_string_equal(
		wire_query(&waiter, "set statement_timeout = 50; select pg_sleep(3600)"),
		"C(SET) T(pg_sleep:25) E(57014) Z(I)");
	wire_query(&waiter, "reset statement_timeout");
	wire_send_query(&waiter, "select pg_sleep(3600)");
	WAIT_UNTIL(strstr(wire_query(&operator, "select pg_cancel_backend(pid) from "
						"pg_stat_activity where state = 'active' and "
						"usename = 'w'"),
		"D(t)"));
	assert_non_null(strstr(wire_talk(&waiter), "E(57014)"));
	wire_send_query(&waiter, "select pg_sleep(3600)");
	WAIT_UNTIL(strstr(wire_query(&operator, "select count(*) = 1 from pg_stat_activity where "
						"state = 'active' and usename = 'w'"),
		"D(t)"));
	assert_string_equal(wire_query(&operator, "select pg_terminate_backend(pid) as ended from "
						  "pg_stat_activity where usename = 'w'"),
		"T(ended:16) D(t) C(SELECT 1) Z(I)");
	assert_string_equal(wire_talk(&waiter), "T(pg_sleep:25) E(57014) Z(I)");
	assert_string_equal(wire_talk(&waiter), "E(57P01) EOF");
	assert_string_equal(wire_query(&operator, "select pg_terminate_backend(1) as ended"),
		"T(ended:16) D(f) C(SELECT 1) Z(I)");
	wire_close(&waiter);
	wire_close(&operator);
}

static void those_who_may_not_control_are_refused(void **state)
{
	const char *const options[] = { "--set", "roles.boss=auto raise", NULL };
	(void)state;
	wire_server_start(&server, options);
	wire_login(&operator, & server, "boss");
	wire_login(&waiter, &server, "u");
	assert_string_equal(wire_query(&waiter, "select cancel_task(1)"), "E(42501) Z(I)");
	assert_string_equal(
		wire_query(&waiter, "update cancel_settings set value = 'act' where name "
				    "= 'mode'"),
		"E(42501) Z(I)");
	/* whatever it is written like */
	static const char *const ways[] = { "select \"cancel_task\"(1)",
		"select \"pg_cancel_backend\"(1)", "select pg_terminate_backend(1)",
		"with x as (select 1) update cancel_settings set value = 'act' where name = 'mode'",
		"update \"cancel_settings\" set value = 'act' where name = 'mode'",
		"insert into temp.cancel_settings values (1, 2, 3, 4)",
		"delete from \"temp\".\"cancel_settings\"", "create table cancel_tasks(n int)" };
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		assert_string_equal(wire_query(&waiter, ways[i]), "E(42501) Z(I)");
	assert_string_equal(wire_query(&waiter, "update main.cancel_settings set value = 'act'"),
		"E(42P01) Z(I)");
	assert_string_equal(wire_query(&waiter, "select cancel_task(1)"), "E(42501) Z(I)");
	assert_non_null(strstr(waiter.last_hint, "raise"));
	assert_string_equal(
		wire_query(&waiter, "prepare p as update cancel_settings set value = 'act' where "
				    "name = 'mode'; execute p"),
		"C(PREPARE) E(42501) Z(I)");
	assert_string_equal(
		wire_query(&operator, "select value from cancel_settings where name = 'mode'"),
		"T(value:25) D(monitor) C(SELECT 1) Z(I)");
	assert_non_null(strstr(wire_query(&waiter, "select * from cancel_tasks"), "C(SELECT 1)"));
	assert_null(strstr(wire_query(&operator, "select cancel_task(1)"), "E("));
	/* nobody takes away what the others see */
	assert_string_equal(wire_query(&operator, "drop table cancel_tasks"), "E(42501) Z(I)");
	assert_string_equal(
		wire_query(&operator, "alter table cancel_tasks rename to t"), "E(42501) Z(I)");
	/* or gives it another name */
	assert_string_equal(wire_query(&waiter, "create virtual table v2 using cancel_settings"),
		"E(42501) Z(I)");
	assert_string_equal(
		wire_query(&waiter, "create virtual table temp.v2 using cancel_settings"),
		"E(42501) Z(I)");
	/* a view cannot do it for them */
	assert_non_null(
		strstr(wire_query(&operator, "create view v as select cancel_task(1)"), "C("));
	assert_non_null(strstr(wire_query(&waiter, "select * from v"), "E("));
}

static void a_culprit_is_cancelled_and_the_reason_is_in_sql(void **state)
{
	const char *const options[] = { "--workers", "4", "--set", "cancel.slo_ms=write=20,read=20",
		"--set", "cancel.warm_up_ms=1", NULL };
	static struct wire_client victims[4];
	(void)state;
	wire_server_start(&server, options);
	wire_login(&holder, &server, "u");
	wire_login(&operator, & server, "u");
	wire_query(&holder, "create table t(a integer primary key, b int); insert into t values "
			    "(1,1),(2,2),(3,3),(4,4)");
	for (int i = 0; i < 4; i++)
		wire_login(&victims[i], &server, "u");
	/* healthy for a while, so that there is something to compare with */
	for (int round = 0; round < 300; round++) {
		for (int i = 0; i < 4; i++)
			wire_send_query(&victims[i], "update t set b = b + 1 where a = 1");
		for (int i = 0; i < 4; i++)
			assert_null(strstr(wire_talk(&victims[i]), "E("));
		usleep(10000);
	}
	assert_string_equal(wire_query(&operator, "update cancel_settings set value = 'act' where "
						  "name = 'mode'"),
		"C(UPDATE 1) Z(I)");
	/* a transaction writes for ever: everybody else waits for the gate */
	assert_string_equal(wire_query(&holder, "begin; update t set b = 0 where a = 2"),
		"C(BEGIN) C(UPDATE 1) Z(T)");
	wire_send_query(&holder,
		"insert into t(b) with recursive n(i) as (select 1 union all select "
		"i+1 from n) select i from n");
	for (int i = 0; i < 4; i++)
		wire_send_query(&victims[i], "update t set b = b + 1 where a = 1");
	assert_string_equal(wire_talk(&holder), "E(57014) Z(E)");
	for (int i = 0; i < 4; i++)
		assert_string_equal(wire_talk(&victims[i]), "C(UPDATE 1) Z(I)");
	const char *said =
		wire_query(&operator, "select acted, resource, class from cancel_decisions");
	assert_non_null(strstr(said, "D(t,write_gate,write)"));
	assert_non_null(strstr(wire_query(&operator, "select reason from cancel_decisions"),
		"execution time lost"));
	WAIT_UNTIL(strstr(/* it is resolved a window later */
		wire_query(&operator, "select 1 from cancel_decisions where stack > ''"), "D(1)"));
	assert_non_null(strstr(wire_query(&operator, "select stack from cancel_decisions"),
		"(demo-db)")); /* after a function's name */
	for (int i = 0; i < 4; i++)
		wire_close(&victims[i]);
}

static const char *http(uint16_t port, const char *request)
{
	static char page[65536];
	struct wire_client client;
	size_t used = 0;
	ssize_t n;
	wire_open_tcp(&client, port);
	wire_raw(&client, request, strlen(request));
	wire_raw(&client, " HTTP/1.0\r\n\r\n", 13);
	wire_flush(&client);
	while ((n = recv(client.fd, page + used, sizeof page - 1 - used, 0)) > 0)
		used += (size_t)n;
	page[used] = '\0';
	wire_close(&client);
	return page;
}

static void metrics_and_health_are_served_over_http(void **state)
{
	static const struct {
		const char *request, *expected;
	} pages[] = { { "GET /healthz", "200 OK" }, { "GET /healthz", "ok" },
		{ "GET /metrics", "demo_db_statements_total" },
		{ "GET /metrics", "cancel_held_back_total{cause=\"no-culprit\"} 0" },
		{ "GET /metrics", "demo_db_admission_refused_total{priority=\"read\"} 0" },
		{ "GET /nothing", "404" }, { "HEAD /metrics", "200 OK" } };
	char port[8];
	uint16_t number = wire_free_port();
	(void)state;
	snprintf(port, sizeof port, "%u", number);
	const char *const options[] = { "--metrics-port", port, NULL };
	wire_server_start(&server, options);
	for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
		if (!strstr(http(number, pages[i].request), pages[i].expected))
			fail_msg("no %s in %s", pages[i].expected, pages[i].request);
	const char *end = strstr(http(number, "HEAD /metrics"), "\r\n\r\n");
	assert_non_null(end);
	assert_string_equal(end, "\r\n\r\n"); /* a head alone */
	assert_int_equal(wire_server_stop(&server), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_session_tells_how_long_its_transaction_lasts, clean),
		cmocka_unit_test_teardown(views_answer_while_every_worker_is_stuck, clean),
		cmocka_unit_test_teardown(an_operator_cancels_a_task_by_its_id, clean),
		cmocka_unit_test_teardown(a_block_cancelled_while_idle_tells_its_client_why, clean),
		cmocka_unit_test_teardown(settings_are_checked_and_shown, clean),
		cmocka_unit_test_teardown(those_who_may_not_control_are_refused, clean),
		cmocka_unit_test_teardown(sessions_and_locks_are_shown_as_postgresql_does, clean),
		cmocka_unit_test_teardown(a_session_sleeps_until_it_is_cancelled_or_ended, clean),
		cmocka_unit_test_teardown(settings_change_together_or_not_at_all, clean),
		cmocka_unit_test_teardown(a_culprit_is_cancelled_and_the_reason_is_in_sql, clean),
		cmocka_unit_test_teardown(metrics_and_health_are_served_over_http, clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
