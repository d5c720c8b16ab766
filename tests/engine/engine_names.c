/* SPDX-License-Identifier: Apache-2.0 */
/* What a name stands for: a column, or nothing. */
#include "engine_fixture.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static struct fixture fixture;
static struct db_session *session;

static int set_up(void **state)
{
	(void)state;
	fixture_open(&fixture, NULL);
	session = open_session(&fixture);
	must(session, "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)");
	must(session, "INSERT INTO t VALUES (1, 'x'), (2, 'y')");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	db_session_close(session);
	fixture_close(&fixture);
	return 0;
}

static void a_name_in_double_quotes_is_no_text(void **state)
{
	(void)state;
	static const char *const statements[] = {
		"DELETE FROM t WHERE \"x\" = 'x'",
		"UPDATE t SET a = \"x\"",
		"INSERT INTO t VALUES (3, \"x\")",
		"SELECT \"x\" FROM t",
		"SELECT id FROM t ORDER BY \"x\"",
		"CREATE INDEX i ON t(\"x\")",
		"CREATE INDEX i ON t(id) WHERE a = \"x\"",
		"CREATE TABLE u(b CHECK (b <> \"x\"))",
		"CREATE TABLE u AS SELECT \"x\" AS b",
	};
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		must_fail(session, statements[i], DB_ENOCOLUMN);
		assert_string_equal(last_result.sqlstate, "42703");
		assert_string_equal(last_result.message, "no such column: x");
	}
	assert_int_equal(ask(session, "SELECT count(*) FROM \"t\" WHERE \"a\" IN ('x', 'y')"), 2);
}

/* A file from elsewhere: what SQLite keeps parsed goes on, what it reads at each use is refused. */
static void a_schema_with_texts_in_double_quotes_still_opens(void **state)
{
	(void)state;
	char path[192];
	sqlite3 *db = NULL;
	db_session_close(session);
	db_close(fixture.engine);
	snprintf(path, sizeof(path), "%s/demo.db", fixture.dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 1, NULL);
	assert_int_equal(
		sqlite3_exec(db,
			"CREATE TABLE old(a INTEGER, b TEXT DEFAULT \"new\", CHECK (b <> \"bad\"));"
			"CREATE INDEX i ON old(a) WHERE b <> \"gone\";"
			"CREATE VIEW v AS SELECT \"text\" AS x FROM old;",
			NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	const struct db_options options = fixture_options(&fixture);
	assert_int_equal(db_open(&fixture.engine, &options, NULL), DB_OK);
	session = open_session(&fixture);
	must(session, "INSERT INTO old(a) VALUES (1)");
	assert_string_equal(
		ask_text(session, "SELECT b FROM old WHERE a = 1 AND b <> 'gone'"), "new");
	must_fail(session, "INSERT INTO old VALUES (2, 'bad')", DB_ECHECK);
	must_fail(session, "SELECT x FROM v", DB_ENOCOLUMN);
	must(session, "DROP VIEW v");
}

static int run_checked(const char *sql, const char *checks)
{
	const struct db_request request = {
		.struct_size = sizeof(request), .sql = sql, .checks = checks
	};
	return db_execute(session, &request, &last_result);
}

static void a_statement_runs_only_if_its_checks_compile(void **state)
{
	(void)state;
	char message[DB_MESSAGE_MAX];
	const char *sql = "DELETE FROM t", *checks = "SELECT a FROM t; SELECT b FROM t";
	assert_int_equal(run_checked(sql, checks), DB_ENOCOLUMN);
	assert_string_equal(last_result.message, "no such column: b");
	assert_int_equal(last_result.error_offset, -1);
	assert_int_equal(
		db_describe(session, sql, checks, NULL, NULL, NULL, message), DB_ENOCOLUMN);
	assert_string_equal(message, "no such column: b");
	assert_int_equal(ask(session, "SELECT count(*) FROM t"), 2);
	assert_int_equal(
		db_describe(session, sql, "SELECT a FROM t", NULL, NULL, NULL, NULL), DB_OK);
	assert_int_equal(run_checked(sql, "SELECT a FROM t"), DB_OK);
	assert_int_equal(ask(session, "SELECT count(*) FROM t"), 0);
}

/* SQLite compiles a statement again by itself, and then rowid is the hidden one. */
static void checks_are_made_again_when_the_schema_has_changed(void **state)
{
	(void)state;
	const char *sql = "DELETE FROM u WHERE rowid = 2";
	const char *checks = "WITH c AS (SELECT * FROM u) SELECT rowid FROM c";
	must(session, "CREATE TABLE u(rowid INTEGER, b TEXT)");
	must(session, "INSERT INTO u VALUES (2, 'x'), (3, 'y'), (4, 'z')");
	assert_int_equal(run_checked(sql, checks), DB_OK);
	assert_int_equal(last_result.changes, 1);
	must(session, "ALTER TABLE u RENAME COLUMN rowid TO r");
	assert_int_equal(run_checked(sql, checks), DB_ENOCOLUMN);
	assert_int_equal(ask(session, "SELECT count(*) FROM u"), 2);
	must(session, "ALTER TABLE u RENAME COLUMN r TO rowid");
	assert_int_equal(run_checked(sql, checks), DB_OK);
	must(session, "ALTER TABLE u ADD COLUMN c");
	assert_int_equal(run_checked(sql, checks), DB_OK);
	assert_int_equal(ask(session, "SELECT count(*) FROM u"), 2);
}

static void what_is_compiled_without_checks_does_not_pass_for_checked(void **state)
{
	(void)state;
	const char *sql = "DELETE FROM u WHERE rowid = 2";
	must(session, "CREATE TABLE u(rowid INTEGER, b TEXT)");
	must(session, "INSERT INTO u VALUES (3, 'x'), (4, 'y')");
	assert_int_equal(run_checked(sql, NULL), DB_OK);
	must(session, "ALTER TABLE u RENAME COLUMN rowid TO r");
	assert_int_equal(
		run_checked(sql, "WITH c AS (SELECT * FROM u) SELECT rowid FROM c"), DB_ENOCOLUMN);
	assert_int_equal(ask(session, "SELECT count(*) FROM u"), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_name_in_double_quotes_is_no_text),
		TEST(a_schema_with_texts_in_double_quotes_still_opens),
		TEST(a_statement_runs_only_if_its_checks_compile),
		TEST(checks_are_made_again_when_the_schema_has_changed),
		TEST(what_is_compiled_without_checks_does_not_pass_for_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
