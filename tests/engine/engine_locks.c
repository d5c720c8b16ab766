/* SPDX-License-Identifier: Apache-2.0 */
/* Table locks, the global lock and the write gate, through SQL. */
#include "engine_fixture.h"

#include <stdio.h>
#include <string.h>

#define CLIENTS 6

static struct fixture fixture;
static struct db_session *s[CLIENTS];
static struct pending p[CLIENTS];

static void open_clients(void)
{
	for (int i = 0; i < CLIENTS; i++)
		s[i] = open_session(&fixture);
}

static void close_clients(void)
{
	for (int i = 0; i < CLIENTS; i++)
		db_session_close(s[i]);
}

static int set_up(void **state)
{
	(void)state;
	fixture_open(&fixture, NULL);
	open_clients();
	must(s[0], "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER)");
	must(s[0], "CREATE TABLE u(id INTEGER PRIMARY KEY, n INTEGER)");
	must(s[0], "INSERT INTO t VALUES (1, 0)");
	must(s[0], "INSERT INTO u VALUES (1, 0)");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close_clients();
	fixture_close(&fixture);
	return 0;
}

static void lock(struct db_session *session, const char *table, const char *mode)
{
	char sql[128];
	snprintf(sql, sizeof(sql), "LOCK TABLE %s IN %s MODE", table, mode);
	must(session, "BEGIN");
	must(session, sql);
}

/* Does taking `mode` wait while another holds `held`? */
static bool waits_for(const char *held, const char *mode)
{
	char sql[128];
	lock(s[0], "t", held);
	must(s[1], "BEGIN");
	snprintf(sql, sizeof(sql), "LOCK TABLE t IN %s MODE", mode);
	begin(&p[1], s[1], sql);
	struct db_activity activity[4];
	bool waited = false;
	while (!is_done(&p[1]) && !waited)
		for (uint32_t i = 0, n = db_activities(fixture.engine, activity, 4); i < n; i++)
			waited = waited || activity[i].waiting == DB_WAIT_TABLE;
	must(s[0], "ROLLBACK");
	assert_int_equal(await(&p[1]), DB_OK);
	must(s[1], "ROLLBACK");
	return waited;
}

static void modes_conflict_as_in_postgresql(void **state)
{
	(void)state;
	static const char *const modes[] = { "ACCESS SHARE", "ROW EXCLUSIVE", "SHARE",
		"ACCESS EXCLUSIVE" };
	static const bool conflicts[4][4] = { { false, false, false, true },
		{ false, false, true, true }, { false, true, false, true },
		{ true, true, true, true } };
	for (int held = 0; held < 4; held++)
		for (int wanted = 0; wanted < 4; wanted++)
			assert_int_equal(
				waits_for(modes[held], modes[wanted]), conflicts[held][wanted]);
}

static void a_reader_waits_for_an_exclusive_lock_and_another_table_does_not(void **state)
{
	(void)state;
	lock(s[0], "t", "ACCESS EXCLUSIVE");
	begin(&p[1], s[1], "SELECT * FROM t");
	await_wait(&fixture, s[1], DB_WAIT_TABLE);
	must(s[2], "SELECT * FROM u");
	assert_false(is_done(&p[1]));
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[1]), DB_OK);
	assert_true(p[1].result.lock_ns > 0);
}

static void nobody_overtakes_a_waiter(void **state)
{
	(void)state;
	lock(s[0], "t", "ACCESS SHARE");
	must(s[1], "BEGIN");
	begin(&p[1], s[1], "LOCK TABLE t IN ACCESS EXCLUSIVE MODE");
	await_waiters(&fixture, 1, 0);
	/* compatible with the holder, yet behind the waiter */
	begin(&p[2], s[2], "SELECT * FROM t");
	await_waiters(&fixture, 2, 0);
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[1]), DB_OK);
	assert_false(is_done(&p[2]));
	must(s[1], "COMMIT");
	assert_int_equal(await(&p[2]), DB_OK);
}

static void a_holder_asks_again_past_the_waiters(void **state)
{
	(void)state;
	lock(s[0], "t", "ACCESS SHARE");
	must(s[1], "BEGIN");
	begin(&p[1], s[1], "LOCK TABLE t IN ACCESS EXCLUSIVE MODE");
	await_waiters(&fixture, 1, 0);
	must(s[0], "SELECT * FROM t");			  /* re-entrant */
	must(s[0], "LOCK TABLE t IN ROW EXCLUSIVE MODE"); /* an upgrade nothing bars */
	must(s[0], "UPDATE t SET n = 1");
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[1]), DB_OK);
	must(s[1], "COMMIT");
}

static void an_upgrade_waits_in_front_of_those_who_hold_nothing(void **state)
{
	(void)state;
	lock(s[0], "t", "SHARE");
	lock(s[1], "t", "SHARE");
	begin(&p[2], s[2], "UPDATE t SET n = 1");
	await_waiters(&fixture, 1, 0);
	begin(&p[0], s[0], "LOCK TABLE t IN ACCESS EXCLUSIVE MODE");
	await_waiters(&fixture, 2, 0);
	must(s[1], "COMMIT");
	assert_int_equal(await(&p[0]), DB_OK);
	assert_false(is_done(&p[2]));
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[2]), DB_OK);
}

static void a_lock_timeout_is_55P03_and_lets_the_next_pass(void **state)
{
	(void)state;
	const struct db_session_options options = { .struct_size = sizeof(options),
		.lock_timeout_ns = 20000000 };
	struct db_session *hasty;
	assert_int_equal(db_session_open(fixture.engine, &options, &hasty), DB_OK);
	lock(s[0], "t", "ACCESS SHARE");
	must_fail(hasty, "DROP TABLE t", DB_ELOCKTIMEOUT);
	assert_string_equal(last_result.sqlstate, "55P03");
	assert_non_null(strstr(last_result.message, "ACCESS EXCLUSIVE on t"));
	must(s[1], "SELECT * FROM t");
	must(s[0], "COMMIT");
	db_session_close(hasty);
}

static void a_view_locks_what_it_reads(void **state)
{
	(void)state;
	must(s[0], "CREATE VIEW v AS SELECT * FROM t");
	lock(s[0], "t", "ACCESS EXCLUSIVE");
	begin(&p[1], s[1], "SELECT * FROM v");
	await_wait(&fixture, s[1], DB_WAIT_TABLE);
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[1]), DB_OK);
}

static void a_trigger_locks_what_it_writes(void **state)
{
	(void)state;
	must(s[0], "CREATE TRIGGER g AFTER UPDATE ON t BEGIN UPDATE u SET n = n + 1; END");
	lock(s[0], "u", "ACCESS EXCLUSIVE");
	begin(&p[1], s[1], "UPDATE t SET n = 1");
	await_wait(&fixture, s[1], DB_WAIT_TABLE);
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[1]), DB_OK);
	assert_int_equal(ask(s[0], "SELECT n FROM u"), 1);
}

static void a_foreign_key_locks_the_other_table(void **state)
{
	(void)state;
	must(s[0], "CREATE TABLE child(id INTEGER PRIMARY KEY, "
		   "parent INTEGER REFERENCES t(id) ON DELETE CASCADE)");
	must_fail(s[0], "INSERT INTO child VALUES (1, 99)", DB_EFOREIGNKEY);
	assert_string_equal(last_result.sqlstate, "23503");
	must(s[0], "INSERT INTO child VALUES (1, 1)");
	lock(s[0], "t", "ACCESS EXCLUSIVE");
	begin(&p[1], s[1], "INSERT INTO child VALUES (2, 1)");
	await_wait(&fixture, s[1], DB_WAIT_TABLE);
	must(s[0], "ROLLBACK");
	assert_int_equal(await(&p[1]), DB_OK);
	lock(s[0], "child", "ACCESS EXCLUSIVE");
	begin(&p[1], s[1], "DELETE FROM t");
	await_wait(&fixture, s[1], DB_WAIT_TABLE);
	must(s[0], "ROLLBACK");
	assert_int_equal(await(&p[1]), DB_OK);
	assert_int_equal(ask(s[0], "SELECT count(*) FROM child"), 0);
}

static void an_integrity_check_locks_every_table_however_it_is_asked(void **state)
{
	(void)state;
	static const char *const checks[] = { "PRAGMA integrity_check",
		"SELECT * FROM pragma_integrity_check", "SELECT * FROM PRAGMA_QUICK_CHECK(3)",
		"SELECT count(*) FROM pragma_foreign_key_check('t')",
		"SELECT sum(pageno) FROM dbstat" };
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		lock(s[0], "u", "ACCESS EXCLUSIVE");
		begin(&p[1], s[1], checks[i]);
		await_wait(&fixture, s[1], DB_WAIT_TABLE);
		must(s[0], "COMMIT");
		assert_int_equal(await(&p[1]), DB_OK);
	}
	must(s[0], "SELECT * FROM pragma_table_info('t')");
}

static void a_table_may_be_named_like_a_pragma_and_is_locked_all_the_same(void **state)
{
	(void)state;
	must(s[0], "CREATE TABLE pragma_notes(n INTEGER)");
	lock(s[0], "pragma_notes", "ACCESS EXCLUSIVE");
	begin(&p[1], s[1], "SELECT * FROM pragma_notes");
	await_wait(&fixture, s[1], DB_WAIT_TABLE);
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[1]), DB_OK);
}

static void explain_locks_nothing_for_writing(void **state)
{
	(void)state;
	lock(s[0], "t", "SHARE");
	must(s[1], "EXPLAIN UPDATE t SET n = 1");
	must(s[0], "COMMIT");
}

static void must_wait_behind_a_reader(const char *sql)
{
	lock(s[0], "t", "ACCESS SHARE");
	begin(&p[1], s[1], sql);
	await_wait(&fixture, s[1], DB_WAIT_TABLE);
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[1]), DB_OK);
}

static void definitions_and_maintenance_lock_exclusively(void **state)
{
	(void)state;
	must(s[0], "CREATE INDEX i ON t(n)");
	must_wait_behind_a_reader("VACUUM");
	must_wait_behind_a_reader("REINDEX");
	must_wait_behind_a_reader("REINDEX i");
	must_wait_behind_a_reader("REINDEX t");
	must_wait_behind_a_reader("ALTER TABLE t ADD COLUMN extra");
	must_wait_behind_a_reader("CREATE TRIGGER g AFTER UPDATE ON t BEGIN SELECT 1; END");
	must_wait_behind_a_reader("DROP TRIGGER g");
	must_wait_behind_a_reader("DROP INDEX i");
	must_wait_behind_a_reader("DROP TABLE t");
}

static void create_index_lets_readers_pass(void **state)
{
	(void)state;
	lock(s[0], "t", "ACCESS SHARE");
	must(s[1], "CREATE INDEX i ON t(n)");
	must(s[0], "COMMIT");
}

static void reindex_of_one_table_leaves_the_other_alone(void **state)
{
	(void)state;
	must(s[0], "CREATE INDEX i ON u(n)");
	lock(s[0], "t", "ACCESS EXCLUSIVE");
	must(s[1], "REINDEX i");
	must(s[0], "COMMIT");
}

static void a_full_text_table_is_one_table(void **state)
{
	(void)state;
	must(s[0], "CREATE VIRTUAL TABLE docs USING fts5(body)");
	must(s[0], "INSERT INTO docs VALUES ('one two'), ('two three')");
	assert_int_equal(ask(s[1], "SELECT count(*) FROM docs WHERE docs MATCH 'two'"), 2);
	must(s[1], "UPDATE docs SET body = 'four' WHERE rowid = 1");
	must(s[1], "INSERT INTO docs(docs) VALUES ('optimize')");
	lock(s[0], "docs", "ACCESS EXCLUSIVE");
	begin(&p[1], s[1], "SELECT count(*) FROM docs_data");
	await_wait(&fixture, s[1], DB_WAIT_TABLE);
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[1]), DB_OK);
	must(s[2], "DROP TABLE docs");
	must_fail(s[1], "SELECT * FROM docs", DB_ENOTABLE);
}

static char names[64]; /* of a pending statement's columns */

static int take_name(void *arg, const struct db_row *row)
{
	(void)arg;
	strcat(names, db_row_name(row, 0));
	strcat(names, " ");
	return 0;
}

/* The view changes while the statement, compiled with the old one, waits for its lock. SQLite then
 * compiles it again and meets a table nobody locked. */
static void a_schema_change_during_the_wait_gets_the_new_locks(void **state)
{
	(void)state;
	must(s[0], "CREATE VIEW v AS SELECT n FROM t");
	must(s[1], "SELECT * FROM v");
	must(s[0], "BEGIN");
	must(s[0], "DROP VIEW v");
	must(s[0], "CREATE VIEW v AS SELECT n + 100 AS m FROM u");
	must(s[2], "BEGIN");
	names[0] = '\0';
	begin_request(&p[1], s[1],
		(struct db_request){ .struct_size = sizeof(struct db_request),
			.sql = "SELECT * FROM v",
			.on_columns = take_name });
	await_wait(&fixture, s[1], DB_WAIT_TABLE);
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[1]), DB_OK);
	assert_string_equal(names, "m "); /* told once, as they are now */
	struct db_stats stats;
	db_stats(fixture.engine, &stats);
	assert_int_equal(stats.lock_set_retries, 1);
	assert_int_equal(ask(s[1], "SELECT * FROM v"), 100);
	must(s[2], "ROLLBACK");
}

static void a_schema_change_in_the_midst_of_a_block_does_not_end_it(void **state)
{
	(void)state;
	must(s[0], "CREATE VIEW v AS SELECT n FROM t");
	must(s[1], "BEGIN");
	must(s[1], "UPDATE u SET n = 5");
	must(s[1], "COMMIT");
	must(s[1], "SELECT * FROM v");
	must(s[0], "DROP VIEW v");
	must(s[0], "CREATE VIEW v AS SELECT n FROM u");
	must(s[1], "BEGIN");
	assert_int_equal(ask(s[1], "SELECT * FROM v"), 5);
	must(s[1], "UPDATE t SET n = (SELECT max(n) FROM v)");
	must(s[1], "COMMIT");
	assert_int_equal(ask(s[0], "SELECT n FROM t"), 5);
}

static void lock_table_needs_a_block_and_a_table(void **state)
{
	(void)state;
	must_fail(s[0], "LOCK TABLE t", DB_ENOBLOCK);
	must(s[0], "BEGIN");
	must_fail(s[0], "LOCK TABLE nowhere", DB_ENOTABLE);
	must(s[0], "ROLLBACK");
	must(s[0], "BEGIN");
	must_fail(s[0], "LOCK TABLE t IN LOUD MODE", DB_ESYNTAX);
	must(s[0], "ROLLBACK");
}

static void writers_pass_the_gate_in_their_order(void **state)
{
	(void)state;
	must(s[0], "BEGIN");
	must(s[0], "UPDATE t SET n = 1");
	begin(&p[1], s[1], "UPDATE u SET n = n * 10 + 1");
	await_waiters(&fixture, 0, 1);
	begin(&p[2], s[2], "UPDATE u SET n = n * 10 + 2");
	await_waiters(&fixture, 0, 2);
	begin(&p[3], s[3], "UPDATE u SET n = n * 10 + 3");
	await_waiters(&fixture, 0, 3);
	must(s[4], "SELECT * FROM u"); /* readers need no gate */
	must(s[0], "COMMIT");
	for (int i = 1; i <= 3; i++)
		assert_int_equal(await(&p[i]), DB_OK);
	assert_int_equal(ask(s[0], "SELECT n FROM u"), 123);
	assert_true(p[1].result.gate_ns > 0);
}

static void the_statement_after_a_wait_for_the_gate_sees_the_newest_state(void **state)
{
	(void)state;
	must(s[0], "BEGIN");
	must(s[0], "UPDATE t SET n = 41");
	must(s[1], "BEGIN");
	ask(s[1], "SELECT n FROM t");
	begin(&p[1], s[1], "UPDATE t SET n = n + 1");
	await_waiters(&fixture, 0, 1);
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[1]), DB_OK);
	must(s[1], "COMMIT");
	assert_int_equal(ask(s[0], "SELECT n FROM t"), 42);
}

static void names_of_tables_can_be_looked_up(void **state)
{
	(void)state;
	bool found = false;
	for (uint32_t i = 0; db_table_name(fixture.engine, i); i++)
		found = found || strcmp(db_table_name(fixture.engine, i), "t") == 0;
	assert_true(found);
	assert_null(db_table_name(fixture.engine, DB_TABLES_MAX));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(modes_conflict_as_in_postgresql),
		TEST(a_reader_waits_for_an_exclusive_lock_and_another_table_does_not),
		TEST(nobody_overtakes_a_waiter),
		TEST(a_holder_asks_again_past_the_waiters),
		TEST(an_upgrade_waits_in_front_of_those_who_hold_nothing),
		TEST(a_lock_timeout_is_55P03_and_lets_the_next_pass),
		TEST(a_view_locks_what_it_reads),
		TEST(a_trigger_locks_what_it_writes),
		TEST(a_foreign_key_locks_the_other_table),
		TEST(an_integrity_check_locks_every_table_however_it_is_asked),
		TEST(a_table_may_be_named_like_a_pragma_and_is_locked_all_the_same),
		TEST(explain_locks_nothing_for_writing),
		TEST(definitions_and_maintenance_lock_exclusively),
		TEST(create_index_lets_readers_pass),
		TEST(reindex_of_one_table_leaves_the_other_alone),
		TEST(a_full_text_table_is_one_table),
		TEST(a_schema_change_during_the_wait_gets_the_new_locks),
		TEST(a_schema_change_in_the_midst_of_a_block_does_not_end_it),
		TEST(lock_table_needs_a_block_and_a_table),
		TEST(writers_pass_the_gate_in_their_order),
		TEST(the_statement_after_a_wait_for_the_gate_sees_the_newest_state),
		TEST(names_of_tables_can_be_looked_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
