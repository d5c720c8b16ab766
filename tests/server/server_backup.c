/* SPDX-License-Identifier: Apache-2.0 */
/* BACKUP TO: what is copied, who may, and what ends it. An open transaction of another session
 * holds a backup up for as long as a test wants. */
#include "wire_client.h"

#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define ROWS 3000

static struct wire_server server;
static struct wire_client boss, holder, watcher;
static char copy[128];

static int start(void **state)
{
	const char *const options[] = { "--set", "roles.boss=system raise", "--set",
		"server.drain_s=0", NULL };
	(void)state;
	wire_server_start(&server, options);
	snprintf(copy, sizeof copy, "%s/copy.db", server.dir);
	wire_login(&boss, &server, "boss");
	wire_login(&holder, &server, "u");
	wire_login(&watcher, &server, "u");
	assert_null(strstr(wire_query(&holder, "create table t(n int, text text)"), "E("));
	assert_null(strstr(wire_query(&holder, "insert into t select n, 'some text of some length' "
					       "from generate_series(1, 3000) n"),
		"E("));
	return 0;
}

static int clean(void **state)
{
	(void)state;
	wire_close(&boss);
	wire_close(&holder);
	wire_close(&watcher);
	wire_server_clean(&server);
	return 0;
}

/* -1: it is no database, or not whole. */
static int64_t rows_of(const char *path)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *stmt = NULL;
	int64_t rows = -1;
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
		sqlite3_prepare_v2(db,
			"SELECT count(*) FROM t, pragma_integrity_check WHERE integrity_check='ok'",
			-1, &stmt, NULL) == SQLITE_OK &&
		sqlite3_step(stmt) == SQLITE_ROW)
		rows = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return rows;
}

static bool exists(const char *suffix)
{
	char path[160];
	snprintf(path, sizeof path, "%s%s", copy, suffix);
	return access(path, F_OK) == 0;
}

static void hold_everything_up(void)
{
	assert_null(strstr(wire_query(&holder, "begin; select count(*) from t"), "E("));
}

static void let_go(void)
{
	assert_string_equal(wire_query(&holder, "rollback"), "C(ROLLBACK) Z(I)");
}

/* Asks a view, which nothing can hold up, until the backup of `process` waits for its lock. */
static void await_waiting_of(uint32_t process)
{
	char sql[160];
	snprintf(sql, sizeof sql,
		"select count(*) from cancel_tasks where background and process = %u and "
		"waits_for is not null and statement like 'backup to%%'",
		process);
	while (!strstr(wire_query(&watcher, sql), "D(1)"))
		assert_null(strstr(watcher.said, "E("));
}

static void begin_waiting_backup(void)
{
	hold_everything_up();
	wire_send_query(&boss, "backup to 'copy.db'");
	await_waiting_of(boss.process);
}

/* ---- What it is ----------------------------------------------------------------------------- */

static void the_copy_is_a_whole_database(void **state)
{
	(void)state;
	assert_string_equal(wire_query(&boss, "backup to 'copy.db'"), "C(BACKUP) Z(I)");
	assert_int_equal(rows_of(copy), ROWS);
	assert_false(exists(".partial"));
	/* what is there is replaced; an absolute path is taken as it is */
	char sql[256];
	wire_query(&holder, "delete from t where n > 5");
	snprintf(sql, sizeof sql, "backup to '%s'; select count(*) from t;", copy);
	assert_string_equal(wire_query(&boss, sql), "C(BACKUP) T(count:20) D(5) C(SELECT 1) Z(I)");
	assert_int_equal(rows_of(copy), 5);
	assert_int_equal(wire_server_stop(&server), 0);
}

static void the_extended_protocol_takes_one_too(void **state)
{
	(void)state;
	wire_parse(&boss, "b", "backup to 'copy.db'");
	wire_describe(&boss, 'S', "b");
	wire_bind(&boss, "", "b", NULL, 0, 0);
	wire_describe(&boss, 'P', "");
	wire_execute(&boss, "", 0);
	wire_sync(&boss);
	assert_string_equal(wire_talk(&boss), "1 t() n 2 n C(BACKUP) Z(I)");
	assert_int_equal(rows_of(copy), ROWS);
}

static void others_are_served_while_it_waits_and_it_ends_when_they_do(void **state)
{
	(void)state;
	begin_waiting_backup();
	assert_null(strstr(wire_query(&holder, "update t set n = 0 where n = 1"), "E("));
	assert_string_equal(wire_query(&holder, "commit"), "C(COMMIT) Z(I)");
	assert_string_equal(wire_talk(&boss), "C(BACKUP) Z(I)");
	assert_int_equal(rows_of(copy), ROWS);
}

static void a_pause_does_not_hold_it(void **state)
{
	(void)state;
	assert_string_equal(wire_query(&boss, "pause; backup to 'copy.db'; resume"),
		"C(PAUSE) C(BACKUP) C(RESUME) Z(I)");
	assert_int_equal(rows_of(copy), ROWS);
}

/* ---- What is refused ------------------------------------------------------------------------ */

static void only_who_may_control_takes_one_and_never_in_a_block(void **state)
{
	(void)state;
	assert_string_equal(wire_query(&holder, "backup to 'copy.db'"), "E(42501) Z(I)");
	assert_string_equal(
		wire_query(&boss, "begin; backup to 'copy.db'"), "C(BEGIN) E(25001) Z(E)");
	assert_string_equal(wire_query(&boss, "rollback"), "C(ROLLBACK) Z(I)");
	assert_string_equal(wire_query(&boss, "select 1; backup to 'copy.db'"),
		"T(?column?:23) D(1) C(SELECT 1) E(25001) Z(I)");
	assert_false(exists(""));
	assert_false(exists(".partial"));
}

static void a_path_that_cannot_be_is_an_error_at_once(void **state)
{
	(void)state;
	hold_everything_up();
	assert_string_equal(wire_query(&boss, "backup to ''"), "E(22023) Z(I)");
	assert_string_equal(wire_query(&boss, "backup to 'demo.db'"), "E(22023) Z(I)");
	assert_non_null(strstr(boss.last_error, "belongs to the database"));
	assert_string_equal(wire_query(&boss, "backup to './demo.db-wal'"), "E(22023) Z(I)");
	assert_string_equal(wire_query(&boss, "backup to 'lock'"), "E(22023) Z(I)");
	assert_string_equal(wire_query(&boss, "backup to '.'"), "E(22023) Z(I)");
	assert_string_equal(wire_query(&boss, "backup to 'no/such/folder'"), "E(58030) Z(I)");
	assert_non_null(strstr(boss.last_error, "No such file or directory"));
	assert_string_equal(wire_query(&boss, "backup to '/proc/version'"), "E(58030) Z(I)");
	let_go();
	assert_string_equal(wire_query(&boss, "select count(*) from t"),
		"T(count:20) D(3000) C(SELECT 1) Z(I)");
}

static void a_folder_that_is_closed_to_it_is_no_permission(void **state)
{
	(void)state;
	assert_string_equal(wire_query(&boss, "backup to '/sys/copy.db'"), "E(42501) Z(I)");
	assert_non_null(strstr(boss.last_error, "cannot write the backup /sys/copy.db"));
}

static void there_is_one_at_a_time(void **state)
{
	static struct wire_client second;
	(void)state;
	wire_login(&second, &server, "boss");
	begin_waiting_backup();
	assert_string_equal(wire_query(&second, "backup to 'other.db'"), "E(55006) Z(I)");
	assert_string_equal(second.last_error, "another backup is running");
	/* whoever was refused has none to cancel */
	wire_cancel(&server, second.process, second.secret);
	let_go();
	assert_string_equal(wire_talk(&boss), "C(BACKUP) Z(I)");
	assert_string_equal(wire_query(&second, "backup to 'other.db'"), "C(BACKUP) Z(I)");
	wire_close(&second);
}

/* ---- What ends it --------------------------------------------------------------------------- */

static void a_cancel_request_ends_it_and_not_the_next_statement(void **state)
{
	(void)state;
	begin_waiting_backup();
	wire_cancel(&server, boss.process, boss.secret);
	assert_string_equal(wire_talk(&boss), "E(57014) Z(I)");
	assert_string_equal(boss.last_error, "canceling statement due to user request");
	assert_false(exists(""));
	assert_false(exists(".partial"));
	/* one that comes when it is over hits nothing, now or later */
	wire_cancel(&server, boss.process, boss.secret);
	assert_string_equal(wire_query(&boss, "select 1"), "T(?column?:23) D(1) C(SELECT 1) Z(I)");
	let_go();
	assert_string_equal(wire_query(&boss, "backup to 'copy.db'"), "C(BACKUP) Z(I)");
	wire_cancel(&server, boss.process, boss.secret);
	assert_string_equal(wire_query(&boss, "backup to 'copy.db'"), "C(BACKUP) Z(I)");
}

/* Whenever the request comes: before, while or after it copies. */
static void a_cancel_request_never_outlives_it(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++) {
		wire_send_query(&boss, "backup to 'copy.db'");
		wire_cancel(&server, boss.process, boss.secret);
		const char *said = wire_talk(&boss);
		assert_true(
			strcmp(said, "C(BACKUP) Z(I)") == 0 || strcmp(said, "E(57014) Z(I)") == 0);
		assert_string_equal(wire_query(&boss, i % 2 ? "backup to 'copy.db'" : "select 1"),
			i % 2 ? "C(BACKUP) Z(I)" : "T(?column?:23) D(1) C(SELECT 1) Z(I)");
	}
	assert_int_equal(wire_server_stop(&server), 0);
}

static void a_cancel_by_sql_ends_it(void **state)
{
	char sql[64];
	(void)state;
	begin_waiting_backup();
	static struct wire_client second;
	wire_login(&second, &server, "boss");
	snprintf(sql, sizeof sql, "select pg_cancel_backend(%u)", boss.process);
	wire_send_query(&second, sql);
	assert_string_equal(wire_talk(&boss), "E(57014) Z(I)");
	let_go();
	assert_null(strstr(wire_talk(&second), "E("));
	wire_close(&second);
}

/* By hand it is for good; by an overload the engine makes it again (engine_cancel). */
static void its_task_can_be_cancelled_as_any(void **state)
{
	static struct wire_client second;
	char sql[96];
	(void)state;
	begin_waiting_backup();
	wire_login(&second, &server, "boss");
	snprintf(sql, sizeof sql, "select cancel_task(id) from cancel_tasks where process = %u",
		boss.process);
	wire_send_query(&second, sql);
	assert_string_equal(wire_talk(&boss), "E(57014) Z(I)");
	assert_string_equal(boss.last_error, "backup cancelled while it waited for a lock");
	let_go();
	assert_null(strstr(wire_talk(&second), "E("));
	wire_close(&second);
}

static void a_timeout_ends_it(void **state)
{
	(void)state;
	hold_everything_up();
	wire_query(&boss, "set statement_timeout = 200");
	assert_string_equal(wire_query(&boss, "backup to 'copy.db'"), "E(57014) Z(I)");
	assert_string_equal(boss.last_error, "canceling statement due to statement timeout");
	let_go();
	wire_query(&boss, "set statement_timeout = 0");
	assert_string_equal(wire_query(&boss, "backup to 'copy.db'"), "C(BACKUP) Z(I)");
}

static void it_ends_with_its_client(void **state)
{
	static struct wire_client second;
	(void)state;
	begin_waiting_backup();
	wire_login(&second, &server, "boss");
	wire_close(&boss);
	/* its place is free: the lock is still held, so only that end can have freed it */
	wire_query(&second, "set statement_timeout = 1");
	while (strstr(wire_query(&second, "backup to 'copy.db'"), "E(55006)"))
		continue;
	assert_string_equal(second.said, "E(57014) Z(I)");
	assert_false(exists(".partial"));
	wire_close(&second);
	wire_login(&boss, &server, "boss");
}

static void the_way_down_does_not_wait_for_it(void **state)
{
	(void)state;
	begin_waiting_backup();
	assert_int_equal(wire_server_stop(&server), 0);
	assert_string_equal(wire_until(&boss, 'x'), "E(57014) Z(I) E(57P01) EOF");
	assert_false(exists(""));
	assert_false(exists(".partial"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, clean)
	const struct CMUnitTest tests[] = {
		TEST(the_copy_is_a_whole_database),
		TEST(the_extended_protocol_takes_one_too),
		TEST(others_are_served_while_it_waits_and_it_ends_when_they_do),
		TEST(a_pause_does_not_hold_it),
		TEST(only_who_may_control_takes_one_and_never_in_a_block),
		TEST(a_path_that_cannot_be_is_an_error_at_once),
		TEST(a_folder_that_is_closed_to_it_is_no_permission),
		TEST(there_is_one_at_a_time),
		TEST(a_cancel_request_ends_it_and_not_the_next_statement),
		TEST(a_cancel_request_never_outlives_it),
		TEST(a_cancel_by_sql_ends_it),
		TEST(its_task_can_be_cancelled_as_any),
		TEST(a_timeout_ends_it),
		TEST(it_ends_with_its_client),
		TEST(the_way_down_does_not_wait_for_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
