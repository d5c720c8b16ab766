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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_name_in_double_quotes_is_no_text),
		TEST(a_schema_with_texts_in_double_quotes_still_opens),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
