/* SPDX-License-Identifier: Apache-2.0 */
/* Whom the server cancels when told to act. What chokes it here stays until somebody is cancelled or
 * the test lets go of it, so that no test depends on how fast the machine is. */
#include "patience.h"
#include "wire_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define READERS	  8
#define SLO	  "cancel.slo_ms=20,analytical=20"
#define LONG_ROWS "8000" /* more than a client may leave unread */

static struct wire_server server;
static struct wire_client holder, waiter, boss, operator, readers[READERS];

static int clean(void **state)
{
	(void)state;
	wire_server_clean(&server);
	return 0;
}

static void start_with(const char *setting, const char *slo)
{
	const char *const options[] = { "--workers", "16", "--set", setting, "--set",
		"cancel.mode=act", "--set", slo, "--set", "cancel.warm_up_ms=1", "--set",
		"output.soft_kb=64", "--set", "output.soft_s=3600", NULL };
	wire_server_start(&server, options);
	wire_login(&holder, &server, "u");
	wire_login(&waiter, &server, "u");
	wire_login(&boss, &server, "boss");
	for (int i = 0; i < READERS; i++)
		wire_login(&readers[i], &server, "u");
	assert_null(
		strstr(wire_query(&boss, "create table t(n int); insert into t values (1)"), "E("));
}

static void start(void)
{
	start_with("server.judge_sessions=off", SLO);
}

static void stop(void)
{
	wire_close(&holder);
	wire_close(&waiter);
	wire_close(&boss);
	for (int i = 0; i < READERS; i++)
		wire_close(&readers[i]);
	assert_int_equal(wire_server_stop(&server), 0);
}

static void wait_until(const char *sql)
{
	WAIT_UNTIL(strstr(wire_query(&boss, sql), "D(t)"));
}

/* A SELECT whose client does not read keeps its table; nobody else is in its way. */
static void hold_the_table(void)
{
	wire_send_query(&holder,
		"with recursive n(i) as (select 1 union all select i + 1 from n where i "
		"< " LONG_ROWS ") select i, printf('%.100c', 'x') from n, t");
	wait_until("select unread_bytes > 0 as t from cancel_sessions order by unread_bytes desc "
		   "limit 1");
}

static void a_ddl_queue_gives_up_the_ddl(void **state)
{
	(void)state;
	start();
	hold_the_table();
	wire_send_query(&waiter, "alter table t add column more int");
	wait_until("select count(*) > 0 as t from cancel_tasks where waits_for = 'table_locks'");
	for (int i = 0; i < READERS; i++)
		wire_send_query(&readers[i], "select count(*) from t");
	assert_string_equal(wire_talk(&waiter), "E(57014) Z(I)");
	for (int i = 0; i < READERS; i++)
		assert_non_null(strstr(wire_talk(&readers[i]), "C(SELECT 1) Z(I)"));
	assert_non_null(strstr(wire_talk(&holder), "C(SELECT " LONG_ROWS ") Z(I)"));
	assert_non_null(strstr(wire_query(&boss, "select count(*) from cancel_decisions"), "D(1)"));
	stop();
}

/* A backup waits for an open transaction and bars everybody meanwhile. It is maintenance: the
 * transaction goes, and the backup is made. */
static void behind_a_backup_the_transaction_it_waits_for_goes(void **state)
{
	(void)state;
	start();
	wire_query(&holder, "begin");
	wire_query(&holder, "update t set n = 2");
	wire_login(&operator, & server, "boss");
	wire_send_query(&operator, "backup to 'copy.db'");
	wait_until("select count(*) > 0 as t from cancel_tasks where waits_for = 'global_lock'");
	for (int i = 0; i < READERS; i++)
		wire_send_query(&readers[i], "select count(*) from t");
	assert_string_equal(wire_talk(&operator), "C(BACKUP) Z(I)");
	for (int i = 0; i < READERS; i++)
		assert_non_null(strstr(wire_talk(&readers[i]), "C(SELECT 1) Z(I)"));
	assert_string_equal(wire_query(&holder, "select 1"), "E(57014) Z(E)");
	wire_close(&operator);
	stop();
}

static void is_known_by(const char *sql)
{
	char text[512];
	snprintf(text, sizeof text,
		"select count(*) > 0 as t from cancel_tasks where statement = '%s'", sql);
	assert_non_null(strstr(wire_query(&boss, text), "D(t)"));
}

static void a_transaction_is_known_by_what_it_does(void **state)
{
	(void)state;
	start();
	wire_query(&holder, "begin");
	is_known_by("begin");
	wire_query(&holder, "select n from t");
	is_known_by("select n from t");
	wire_query(&holder, "select n + 1 from t");
	is_known_by("select n from t");
	wire_query(&holder, "lock table t in row exclusive mode");
	is_known_by("lock table t in row exclusive mode");
	wire_query(&holder, "update t set n = 2");
	is_known_by("lock table t in row exclusive mode");
	wire_query(&holder, "commit");
	wire_query(&holder, "begin");
	is_known_by("begin");
	stop();
}

/* How often somebody of this process was decided for such a reason. */
static int decided(uint32_t process, const char *reason)
{
	char sql[256];
	int count = -1;
	snprintf(sql, sizeof sql,
		"select count(*) from cancel_decisions where process = %u and reason like '%s'",
		process, reason);
	sscanf(strstr(wire_query(&boss, sql), "D("), "D(%d", &count);
	return count;
}

/* Two transactions have nothing in common but their BEGIN. */
static void another_transaction_has_not_returned(void **state)
{
	static const char *const holds[] = { "lock table t", "update t set n = 3" };
	(void)state;
	start();
	for (int round = 0; round < 2; round++) {
		wire_query(&holder, "begin");
		wire_query(&holder, holds[round]);
		for (int i = 0; i < READERS; i++)
			wire_send_query(&readers[i], "update t set n = n + 1");
		for (int i = 0; i < READERS; i++)
			assert_non_null(strstr(wire_talk(&readers[i]), "C(UPDATE 1) Z(I)"));
		/* it is listed just after it was sent */
		WAIT_UNTIL(decided(holder.process, "%") > round);
		wire_query(&holder, "rollback");
	}
	assert_int_equal(decided(holder.process, "%returned%"), 0);
	stop();
}

/* Each statement keeps the write lock for some milliseconds, and is followed by the next. */
static void a_connection_of_many_short_statements_is_found(void **state)
{
	uint64_t end_ns = patience_end_ns();
	(void)state;
	/* shorter than any such statement, so that those behind it are late on every machine */
	start_with("server.judge_sessions=on", "cancel.slo_ms=1,analytical=1");
	while (decided(holder.process, "%") == 0 && patience_now_ns() < end_ns) {
		wire_send_query(&holder,
			"update t set n = (with recursive c(i) as (select 1 union all select i + 1 "
			"from c where i < 60000) select count(*) from c)");
		for (int i = 0; i < READERS; i++)
			wire_send_query(&readers[i], "update t set n = n + 1");
		for (int i = 0; i < READERS; i++)
			wire_talk(&readers[i]);
		wire_talk(&holder);
	}
	assert_true(decided(holder.process, "%") > 0);
	stop();
}

/* A client that takes the table and does nothing, again and again; others want it, too. */
static const char *choke(void)
{
	wire_query(&holder, "begin");
	const char *said = wire_query(&holder, "lock table t");
	if (strstr(said, "E("))
		return said;
	for (int i = 0; i < READERS; i++)
		wire_send_query(&readers[i], "select count(*) from t");
	return said;
}

static void everybody_is_served(void)
{
	for (int i = 0; i < READERS; i++)
		assert_non_null(strstr(wire_talk(&readers[i]), "C(SELECT 1) Z(I)"));
}

static void cancels_that_do_not_help_come_to_an_end(void **state)
{
	(void)state;
	start();
	for (int round = 0; round < 6; round++) {
		choke();
		everybody_is_served();
		wire_query(&holder, "rollback");
	}
	choke();
	wait_until("select verdicts > 0 as t from cancel_held_back where cause = "
		   "'cancels-do-not-help'");
	wire_query(&holder, "rollback");
	everybody_is_served();
	assert_int_equal(decided(holder.process, "%"), 6);
	stop();
}

static void what_is_in_quarantine_is_refused(void **state)
{
	(void)state;
	start_with("cancel.quarantine_ms=3600000", SLO);
	choke();
	everybody_is_served();
	wire_query(&holder, "rollback");
	assert_string_equal(choke(), "E(53000) Z(E)");
	assert_non_null(strstr(holder.last_hint, "Retry after 3"));
	assert_non_null(
		strstr(wire_query(&boss, "select statement, kept_out from cancel_quarantine"),
			"D(lock table t,t)"));
	wire_query(&holder, "rollback");
	assert_non_null(strstr(wire_query(&holder, "select count(*) from t"), "C(SELECT 1)"));
	WAIT_UNTIL(decided(holder.process, "%its origin is kept out%") == 1);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_ddl_queue_gives_up_the_ddl, clean),
		cmocka_unit_test_teardown(behind_a_backup_the_transaction_it_waits_for_goes, clean),
		cmocka_unit_test_teardown(a_transaction_is_known_by_what_it_does, clean),
		cmocka_unit_test_teardown(another_transaction_has_not_returned, clean),
		cmocka_unit_test_teardown(a_connection_of_many_short_statements_is_found, clean),
		cmocka_unit_test_teardown(cancels_that_do_not_help_come_to_an_end, clean),
		cmocka_unit_test_teardown(what_is_in_quarantine_is_refused, clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
