/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions as the engine means them: isolation, failed blocks, what a cancel leaves behind. */
#include "engine_fixture.h"

#include "demo-db/engine/session/state.h"

#include <stdio.h>
#include <string.h>

static struct fixture fixture;
static struct db_session *a, *b;

static int set_up(void **state)
{
	(void)state;
	fixture_open(&fixture, NULL);
	a = open_session(&fixture);
	b = open_session(&fixture);
	must(a, "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER)");
	must(a, "INSERT INTO t VALUES (1, 0), (2, 0)");
	must(a, "CREATE TABLE u(id INTEGER PRIMARY KEY, n INTEGER)");
	must(a, "INSERT INTO u VALUES (1, 0)");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	db_session_close(a);
	db_session_close(b);
	fixture_close(&fixture);
	return 0;
}

static void each_read_of_a_read_committed_block_has_its_own_snapshot(void **state)
{
	(void)state;
	must(a, "BEGIN");
	assert_int_equal(ask(a, "SELECT n FROM t WHERE id = 1"), 0);
	must(b, "UPDATE t SET n = 7 WHERE id = 1");
	assert_int_equal(ask(a, "SELECT n FROM t WHERE id = 1"), 7);
	must(a, "COMMIT");
}

static void a_block_that_read_may_write_after_others_committed(void **state)
{
	(void)state;
	must(a, "BEGIN");
	ask(a, "SELECT n FROM t WHERE id = 1");
	must(b, "UPDATE t SET n = 7 WHERE id = 1");
	must(a, "UPDATE t SET n = n + 1 WHERE id = 1");
	assert_int_equal(ask(a, "SELECT n FROM t WHERE id = 1"), 8);
	must(a, "COMMIT");
	assert_int_equal(ask(b, "SELECT n FROM t WHERE id = 1"), 8);
}

static void repeatable_read_keeps_one_snapshot(void **state)
{
	(void)state;
	must(a, "BEGIN ISOLATION LEVEL REPEATABLE READ");
	assert_int_equal(ask(a, "SELECT n FROM t WHERE id = 1"), 0);
	must(b, "UPDATE t SET n = 7 WHERE id = 1");
	assert_int_equal(ask(a, "SELECT n FROM t WHERE id = 1"), 0);
	must(a, "COMMIT");
	assert_int_equal(ask(a, "SELECT n FROM t WHERE id = 1"), 7);
}

static void repeatable_read_cannot_write_over_a_later_commit(void **state)
{
	(void)state;
	must(a, "BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE");
	ask(a, "SELECT n FROM t WHERE id = 1");
	must(b, "UPDATE t SET n = 7 WHERE id = 1");
	must_fail(a, "UPDATE t SET n = 8 WHERE id = 1", DB_ESERIALIZE);
	assert_string_equal(last_result.sqlstate, "40001");
	assert_int_equal(last_result.transaction, 'E');
	must(a, "ROLLBACK");
	must(b, "UPDATE t SET n = 9 WHERE id = 1"); /* the gate was given back */
}

static void repeatable_read_may_write_first(void **state)
{
	(void)state;
	must(a, "BEGIN ISOLATION LEVEL REPEATABLE READ");
	must(a, "UPDATE t SET n = 5 WHERE id = 1");
	must(a, "COMMIT");
	assert_int_equal(ask(b, "SELECT n FROM t WHERE id = 1"), 5);
}

static void nobody_sees_an_open_block(void **state)
{
	(void)state;
	must(a, "BEGIN");
	must(a, "UPDATE u SET n = 7 WHERE id = 1");
	assert_int_equal(ask(a, "SELECT n FROM u"), 7);
	assert_int_equal(ask(b, "SELECT n FROM u"), 0);
	must(a, "ROLLBACK");
	assert_int_equal(ask(a, "SELECT n FROM u"), 0);
}

static void an_error_fails_the_block_and_undoes_it(void **state)
{
	(void)state;
	must(a, "BEGIN");
	must(a, "UPDATE t SET n = 7 WHERE id = 1");
	must_fail(a, "INSERT INTO t VALUES (1, 1)", DB_EUNIQUE);
	assert_int_equal(last_result.transaction, 'E');
	must_fail(a, "SELECT 1", DB_EFAILED);
	assert_string_equal(last_result.sqlstate, "25P02");
	must_fail(a, "BEGIN", DB_EFAILED);
	must(b, "UPDATE t SET n = n + 1 WHERE id = 1"); /* locks and gate are free at once */
	assert_int_equal(ask(b, "SELECT n FROM t WHERE id = 1"), 1);
	must(a, "ROLLBACK");
	assert_int_equal(last_result.transaction, 'I');
	must(a, "SELECT 1");
}

/* The engine's answer to the text when what does not compile is to spare the block. */
static int run_sparing(struct db_session *session, const char *sql)
{
	struct db_request request = { .struct_size = sizeof request, .sql = sql };
	struct db_result result;
	request.flags = DB_SPARE_BLOCK;
	return db_execute(session, &request, &result);
}

static void what_does_not_compile_may_spare_the_block(void **state)
{
	(void)state;
	must(a, "BEGIN");
	assert_int_equal(run_sparing(a, "INSERT INTO t VALUES (9)"), DB_ESQL);
	assert_int_equal(db_session_transaction(a), 'T');
	must(a, "INSERT INTO t VALUES (9, 9)");
	assert_int_equal(run_sparing(a, "INSERT INTO t VALUES (10)"), DB_ESQL);
	assert_int_equal(ask(a, "SELECT count(*) FROM t"), 3);
	assert_int_equal(run_sparing(a, "INSERT INTO t VALUES (9, 9)"), DB_EUNIQUE);
	assert_int_equal(db_session_transaction(a), 'E');
	must(a, "ROLLBACK");
	assert_int_equal(run_sparing(a, "INSERT INTO t VALUES (9)"), DB_ESQL);
	assert_int_equal(db_session_transaction(a), 'I');
	assert_int_equal(ask(b, "SELECT count(*) FROM t"), 2);
}

static void commit_of_a_failed_block_is_a_rollback(void **state)
{
	(void)state;
	must(a, "BEGIN");
	must(a, "UPDATE t SET n = 7 WHERE id = 1");
	must_fail(a, "SELECT * FROM nowhere", DB_ENOTABLE);
	must(a, "COMMIT");
	assert_string_equal(last_result.tag, "ROLLBACK");
	assert_int_equal(ask(a, "SELECT n FROM t WHERE id = 1"), 0);
}

static void begin_inside_and_commit_outside_a_block_are_notices(void **state)
{
	(void)state;
	must(a, "COMMIT");
	assert_string_equal(last_result.sqlstate, "25P01");
	must(a, "BEGIN");
	must(a, "BEGIN");
	assert_string_equal(last_result.sqlstate, "25001");
	assert_int_equal(last_result.transaction, 'T');
	must(a, "END");
	assert_string_equal(last_result.tag, "COMMIT");
	must(a, "START TRANSACTION READ ONLY");
	must(a, "ABORT");
	assert_string_equal(last_result.tag, "ROLLBACK");
}

static void a_read_only_block_refuses_writes(void **state)
{
	(void)state;
	must(a, "BEGIN READ ONLY");
	must_fail(a, "UPDATE t SET n = 1", DB_EREADONLY);
	assert_string_equal(last_result.sqlstate, "25006");
	must(a, "ROLLBACK");
	must_fail(a, "BEGIN NONSENSE", DB_ESYNTAX);
	assert_int_equal(last_result.transaction, 'I');
}

static void definitions_are_transactional(void **state)
{
	(void)state;
	must(a, "BEGIN");
	must(a, "CREATE TABLE v(x)");
	must(a, "INSERT INTO v VALUES (1)");
	must(a, "ROLLBACK");
	must_fail(a, "SELECT * FROM v", DB_ENOTABLE);
	must(a, "BEGIN");
	must(a, "CREATE TABLE v(x)");
	must(a, "COMMIT");
	must(b, "SELECT * FROM v");
}

static void vacuum_is_refused_inside_a_block(void **state)
{
	(void)state;
	must(a, "VACUUM");
	must(a, "BEGIN");
	must_fail(a, "VACUUM", DB_EACTIVE);
	must(a, "ROLLBACK");
}

/* SQLite rolls an interrupted write back by itself and returns to autocommit; were its state ours,
 * the second INSERT would commit alone. */
static void after_a_cancelled_write_the_next_statement_cannot_commit_alone(void **state)
{
	(void)state;
	struct pending endless;
	must(a, "BEGIN");
	must(a, "INSERT INTO u VALUES (10, 10)");
	begin(&endless, a,
		"INSERT INTO u WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n) "
		"SELECT i, i FROM n");
	await_wait(&fixture, a, DB_WAIT_NONE);
	assert_true(db_cancel_session(a));
	assert_int_equal(await(&endless), DB_ECANCELLED);
	assert_string_equal(endless.result.sqlstate, "57014");
	assert_int_equal(endless.result.transaction, 'E');
	must_fail(a, "INSERT INTO u VALUES (11, 11)", DB_EFAILED);
	must(a, "COMMIT");
	assert_string_equal(last_result.tag, "ROLLBACK");
	assert_int_equal(ask(b, "SELECT count(*) FROM u"), 1);
}

static void closing_a_session_rolls_its_block_back(void **state)
{
	(void)state;
	struct db_session *c = open_session(&fixture);
	must(c, "BEGIN");
	must(c, "UPDATE t SET n = 99");
	db_session_close(c);
	must(b, "UPDATE t SET n = n + 1");
	assert_int_equal(ask(b, "SELECT sum(n) FROM t"), 2);
}

static void a_read_committed_block_between_statements_pins_no_log(void **state)
{
	(void)state;
	must(a, "BEGIN");
	ask(a, "SELECT n FROM t WHERE id = 1");
	must(b, "UPDATE t SET n = 1");
	/* TRUNCATE succeeds only if nobody has a snapshot */
	assert_int_equal(db_checkpoint(fixture.engine, DB_CHECKPOINT_TRUNCATE), DB_OK);
	struct db_stats stats;
	db_stats(fixture.engine, &stats);
	assert_int_equal(stats.wal_bytes, 0);
	assert_int_equal(stats.idle_in_transaction, 1);
	must(a, "COMMIT");
}

static void a_repeatable_read_block_pins_the_log(void **state)
{
	(void)state;
	must(a, "BEGIN ISOLATION LEVEL REPEATABLE READ");
	ask(a, "SELECT n FROM t WHERE id = 1");
	must(b, "UPDATE t SET n = 1");
	assert_int_equal(db_checkpoint(fixture.engine, DB_CHECKPOINT_TRUNCATE), DB_OK);
	struct db_stats stats;
	db_stats(fixture.engine, &stats);
	assert_true(stats.wal_bytes > 0);
	must(a, "COMMIT");
	assert_int_equal(db_checkpoint(fixture.engine, DB_CHECKPOINT_TRUNCATE), DB_OK);
	db_stats(fixture.engine, &stats);
	assert_int_equal(stats.wal_bytes, 0);
}

/* While the reader waits for its table lock the log can be emptied: it has no snapshot yet. And
 * when it gets the lock it sees what was committed while it waited. */
static void no_snapshot_is_held_across_a_lock_wait(void **state)
{
	(void)state;
	struct pending reader;
	must(a, "BEGIN");
	must(a, "LOCK TABLE t IN ACCESS EXCLUSIVE MODE");
	begin(&reader, b, "UPDATE t SET n = n + 1 WHERE id = 1");
	await_waiters(&fixture, 1, 0);
	assert_int_equal(db_checkpoint(fixture.engine, DB_CHECKPOINT_TRUNCATE), DB_OK);
	struct db_stats stats;
	db_stats(fixture.engine, &stats);
	assert_int_equal(stats.wal_bytes, 0);
	must(a, "UPDATE t SET n = 5 WHERE id = 1");
	must(a, "COMMIT");
	assert_int_equal(await(&reader), DB_OK);
	assert_int_equal(ask(a, "SELECT n FROM t WHERE id = 1"), 6);
}

static void connections_are_limited_by_open_transactions(void **state)
{
	(void)state;
	struct db_options options = fixture_options(&fixture);
	options.connection_limit = 2;
	db_session_close(a);
	db_session_close(b);
	fixture_reopen(&fixture, &options);
	a = open_session(&fixture);
	b = open_session(&fixture);
	struct db_session *c = open_session(&fixture);
	must(a, "BEGIN ISOLATION LEVEL REPEATABLE READ");
	must(a, "SELECT * FROM t");
	must(b, "BEGIN ISOLATION LEVEL REPEATABLE READ");
	must(b, "SELECT * FROM t");
	must_fail(c, "SELECT * FROM t", DB_ECONNECTIONS);
	assert_string_equal(last_result.sqlstate, "53300");
	must(b, "COMMIT");
	must(c, "SELECT * FROM t");
	must(a, "COMMIT");
	db_session_close(c);
}

/* As a reader does that must read the log's header again: SQLite's write lock, past the gate. */
static sqlite3 *take_write_lock(void)
{
	sqlite3 *db;
	char path[256];
	snprintf(path, sizeof(path), "%s/demo.db", fixture.dir);
	assert_int_equal(
		sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, fixture.engine->storage.vfs),
		SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	return db;
}

static void a_writer_outlasts_a_reader_that_holds_sqlites_write_lock(void **state)
{
	(void)state;
	struct pending p[2] = { 0 };
	must(b, "BEGIN ISOLATION LEVEL REPEATABLE READ");
	ask(b, "SELECT n FROM t WHERE id = 1");
	sqlite3 *reader = take_write_lock();
	begin(&p[0], b, "UPDATE u SET n = 1");
	await_wait(&fixture, b, DB_WAIT_NONE);
	assert_int_equal(sqlite3_exec(reader, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(await(&p[0]), DB_OK);
	must(b, "COMMIT");
	assert_int_equal(sqlite3_exec(reader, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	begin(&p[1], a, "UPDATE t SET n = n + 1");
	await_wait(&fixture, a, DB_WAIT_NONE);
	sqlite3_close(reader);
	assert_int_equal(await(&p[1]), DB_OK);
}

static void temporary_tables_stay_with_their_session_and_need_no_lock(void **state)
{
	(void)state;
	must(a, "CREATE TEMP TABLE mine(x)");
	must(a, "INSERT INTO mine VALUES (1)");
	must(b, "BEGIN");
	must(b, "UPDATE t SET n = 1"); /* the gate is taken */
	must(a, "INSERT INTO mine VALUES (2)");
	must(b, "ROLLBACK");
	assert_int_equal(ask(a, "SELECT count(*) FROM mine"), 2);
	must_fail(b, "SELECT * FROM mine", DB_ENOTABLE);
	db_session_close(a);
	a = open_session(&fixture);
	must_fail(a, "SELECT * FROM mine", DB_ENOTABLE);
}

static void a_rollback_undoes_temporary_rows_too(void **state)
{
	(void)state;
	must(a, "CREATE TEMP TABLE mine(x)");
	must(a, "BEGIN");
	must(a, "INSERT INTO mine VALUES (1)");
	must(a, "ROLLBACK");
	assert_int_equal(ask(a, "SELECT count(*) FROM mine"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_read_of_a_read_committed_block_has_its_own_snapshot),
		TEST(a_block_that_read_may_write_after_others_committed),
		TEST(repeatable_read_keeps_one_snapshot),
		TEST(repeatable_read_cannot_write_over_a_later_commit),
		TEST(repeatable_read_may_write_first),
		TEST(nobody_sees_an_open_block),
		TEST(an_error_fails_the_block_and_undoes_it),
		TEST(what_does_not_compile_may_spare_the_block),
		TEST(commit_of_a_failed_block_is_a_rollback),
		TEST(begin_inside_and_commit_outside_a_block_are_notices),
		TEST(a_read_only_block_refuses_writes),
		TEST(definitions_are_transactional),
		TEST(vacuum_is_refused_inside_a_block),
		TEST(after_a_cancelled_write_the_next_statement_cannot_commit_alone),
		TEST(closing_a_session_rolls_its_block_back),
		TEST(a_read_committed_block_between_statements_pins_no_log),
		TEST(a_repeatable_read_block_pins_the_log),
		TEST(no_snapshot_is_held_across_a_lock_wait),
		TEST(connections_are_limited_by_open_transactions),
		TEST(a_writer_outlasts_a_reader_that_holds_sqlites_write_lock),
		TEST(temporary_tables_stay_with_their_session_and_need_no_lock),
		TEST(a_rollback_undoes_temporary_rows_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
