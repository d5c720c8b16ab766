/* SPDX-License-Identifier: Apache-2.0 */
/* Statements and their results: rows, parameters, errors with their SQLSTATE, what is refused. */
#include "engine_fixture.h"

#include "demo-db/engine/base/failure.h"

#include <string.h>

static struct fixture fixture;
static struct db_session *session;

static int set_up(void **state)
{
	(void)state;
	fixture_open(&fixture, NULL);
	session = open_session(&fixture);
	must(session, "CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER NOT NULL, b TEXT UNIQUE, "
		      "CHECK (a < 1000))");
	must(session, "INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, NULL)");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	db_session_close(session);
	fixture_close(&fixture);
	return 0;
}

static void a_change_reports_its_tag_and_its_rows(void **state)
{
	(void)state;
	must(session, "UPDATE t SET a = a + 1 WHERE id < 3");
	assert_string_equal(last_result.tag, "UPDATE");
	assert_int_equal(last_result.changes, 2);
	must(session, "DELETE FROM t");
	assert_string_equal(last_result.tag, "DELETE");
	assert_int_equal(last_result.changes, 3);
	must(session, "WITH v AS (SELECT 7 AS n) INSERT INTO t SELECT n, n, 'z' FROM v");
	assert_string_equal(last_result.tag, "INSERT");
	assert_int_equal(last_result.changes, 1);
}

static void rows_are_counted_when_nobody_takes_them(void **state)
{
	(void)state;
	must(session, "SELECT * FROM t");
	assert_int_equal(last_result.rows, 3);
	assert_string_equal(last_result.tag, "SELECT");
}

struct seen {
	uint32_t headers, rows;
	char names[64];
	enum db_type types[3];
	uint32_t stop_after;
};

static int on_columns(void *arg, const struct db_row *row)
{
	struct seen *seen = arg;
	seen->headers++;
	for (uint32_t i = 0; i < db_row_columns(row); i++) {
		strcat(seen->names, db_row_name(row, i));
		strcat(seen->names, " ");
	}
	return 0;
}

static int on_row(void *arg, const struct db_row *row)
{
	struct seen *seen = arg;
	for (uint32_t i = 0; i < 3 && i < db_row_columns(row); i++)
		seen->types[i] = db_row_value(row, i).type;
	seen->rows++;
	return seen->stop_after && seen->rows == seen->stop_after;
}

static void columns_are_told_before_the_first_row(void **state)
{
	(void)state;
	struct seen seen = { 0 };
	struct db_request request = { .struct_size = sizeof(request),
		.sql = "SELECT id, b AS name, 1.5 FROM t WHERE id = 3",
		.on_columns = on_columns,
		.on_row = on_row,
		.arg = &seen };
	assert_int_equal(db_execute(session, &request, &last_result), DB_OK);
	assert_int_equal(seen.headers, 1);
	assert_string_equal(seen.names, "id name 1.5 ");
	assert_int_equal(seen.types[0], DB_INTEGER);
	assert_int_equal(seen.types[1], DB_NULL);
	assert_int_equal(seen.types[2], DB_REAL);
	request.sql = "SELECT id, b FROM t WHERE id = 99";
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(db_execute(session, &request, &last_result), DB_OK);
	assert_int_equal(seen.headers, 1);
	assert_int_equal(seen.rows, 0);
}

static void the_receiver_of_rows_can_stop_the_statement(void **state)
{
	(void)state;
	struct seen seen = { .stop_after = 2 };
	const struct db_request request = { .struct_size = sizeof(request),
		.sql = "SELECT id FROM t",
		.on_row = on_row,
		.arg = &seen };
	assert_int_equal(db_execute(session, &request, &last_result), DB_ESTOPPED);
	assert_int_equal(seen.rows, 2);
	assert_int_equal(ask(session, "SELECT count(*) FROM t"), 3);
}

static void parameters_of_every_type_arrive(void **state)
{
	(void)state;
	const unsigned char bytes[] = { 0, 1, 2 };
	const struct db_value values[] = { { .type = DB_INTEGER, .integer = -5 },
		{ .type = DB_REAL, .real = 0.5 },
		{ .type = DB_TEXT, .length = 3, .data = "abcdef" },
		{ .type = DB_BLOB, .length = 3, .data = bytes }, { .type = DB_NULL } };
	struct db_request request = { .struct_size = sizeof(request),
		.sql = "CREATE TABLE v AS SELECT ?1 AS i, ?2 AS r, ?3 AS s, ?4 AS b, ?5 AS n" };
	must(session, "CREATE TABLE v(i, r, s, b, n)");
	request.sql = "INSERT INTO v VALUES (?1, ?2, ?3, ?4, ?5)";
	request.parameters = values;
	request.parameter_count = 5;
	assert_int_equal(db_execute(session, &request, &last_result), DB_OK);
	assert_int_equal(ask(session, "SELECT i FROM v"), -5);
	assert_string_equal(ask_text(session, "SELECT s FROM v"), "abc");
	assert_string_equal(ask_text(session, "SELECT hex(b) FROM v"), "000102");
	assert_int_equal(ask(session, "SELECT n IS NULL FROM v"), 1);
	request.parameter_count = 6;
	assert_int_equal(db_execute(session, &request, &last_result), DB_EINVAL);
}

static void a_prepared_statement_keeps_no_parameter_of_its_last_run(void **state)
{
	(void)state;
	struct db_statement statement;
	assert_int_equal(
		db_prepare(fixture.engine, "SELECT coalesce(?1, 'none')", &statement, NULL), DB_OK);
	const struct db_value value = { .type = DB_TEXT, .length = 2, .data = "hi" };
	struct db_request request = { .struct_size = sizeof(request),
		.statement = statement,
		.parameters = &value,
		.parameter_count = 1 };
	assert_int_equal(db_execute(session, &request, &last_result), DB_OK);
	assert_string_equal(ask_text(session, "SELECT coalesce(?1, 'none')"), "none");
	request.parameter_count = 0;
	assert_int_equal(db_execute(session, &request, &last_result), DB_OK);
}

static void the_same_text_prepared_twice_is_one_statement(void **state)
{
	(void)state;
	struct db_statement first, second;
	char message[DB_MESSAGE_MAX];
	assert_int_equal(db_prepare(fixture.engine, "SELECT a FROM t", &first, message), DB_OK);
	assert_int_equal(db_prepare(fixture.engine, "SELECT a FROM t", &second, message), DB_OK);
	assert_int_equal(first.id, second.id);
	assert_int_equal(
		db_prepare(fixture.engine, "SELECT a FROM nowhere", &first, message), DB_ENOTABLE);
	assert_string_equal(message, "no such table: nowhere");
	assert_int_equal(first.id, 0);
}

static void mistakes_get_their_sqlstate(void **state)
{
	(void)state;
	static const struct {
		const char *sql;
		int status;
		const char *sqlstate;
	} cases[] = {
		{ "SELEC 1", DB_ESYNTAX, "42601" },
		{ "SELECT (1", DB_ESYNTAX, "42601" },
		{ "SELECT 1; SELECT 2", DB_ESYNTAX, "42601" },
		{ "SELECT * FROM nowhere", DB_ENOTABLE, "42P01" },
		{ "SELECT c FROM t", DB_ENOCOLUMN, "42703" },
		{ "SELECT no_such(1)", DB_ENOFUNCTION, "42883" },
		{ "CREATE TABLE t(a)", DB_EEXISTS, "42P07" },
		{ "INSERT INTO t VALUES (1, 1, 'q')", DB_EUNIQUE, "23505" },
		{ "INSERT INTO t VALUES (9, 1, 'x')", DB_EUNIQUE, "23505" },
		{ "INSERT INTO t VALUES (9, NULL, 'q')", DB_ENOTNULL, "23502" },
		{ "INSERT INTO t VALUES (9, 5000, 'q')", DB_ECHECK, "23514" },
		{ "INSERT INTO t(id, a) VALUES ('text', 1)", DB_EMISMATCH, "42804" },
		{ "SAVEPOINT s", DB_ENOBLOCK, "25P01" },
		{ "VACUUM INTO '/tmp/stolen.db'", DB_EUNSUPPORTED, "0A000" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(run_sql(session, cases[i].sql), cases[i].status);
		assert_string_equal(last_result.sqlstate, cases[i].sqlstate);
		assert_true(strlen(last_result.message) > 5);
	}
	assert_int_equal(ask(session, "SELECT sum(a) FROM t"), 60);
}

static void a_syntax_error_says_where(void **state)
{
	(void)state;
	must_fail(session, "SELECT id FORM t", DB_ESYNTAX);
	assert_int_equal(last_result.error_offset, 15);
}

static void attach_and_load_extension_are_refused(void **state)
{
	(void)state;
	must_fail(session, "ATTACH '/tmp/other.db' AS other", DB_EUNSUPPORTED);
	must_fail(session, "DETACH main", DB_EUNSUPPORTED);
	must_fail(session, "SELECT load_extension('x')", DB_EUNSUPPORTED);
	assert_string_equal(last_result.sqlstate, "0A000");
}

static void only_listed_pragmas_pass(void **state)
{
	(void)state;
	must(session, "PRAGMA table_info(t)");
	assert_int_equal(last_result.rows, 3);
	assert_string_equal(ask_text(session, "PRAGMA integrity_check"), "ok");
	assert_string_equal(ask_text(session, "PRAGMA journal_mode"), "wal");
	static const char *const refused[] = { "PRAGMA journal_mode=DELETE",
		"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA cache_size=1", "PRAGMA mmap_size=0",
		"PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA synchronous=OFF",
		"PRAGMA foreign_keys=OFF", "PRAGMA writable_schema=ON", "PRAGMA query_only=OFF",
		"PRAGMA max_page_count=1", "PRAGMA user_version=3" };
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		must_fail(session, refused[i], DB_EUNSUPPORTED);
}

static void an_empty_statement_is_no_error(void **state)
{
	(void)state;
	must(session, "");
	assert_string_equal(last_result.tag, "");
	must(session, " -- only a comment\n ; ");
}

static void a_second_statement_of_a_busy_session_is_refused(void **state)
{
	(void)state;
	struct pending endless;
	begin(&endless, session, ENDLESS);
	await_wait(&fixture, session, DB_WAIT_NONE);
	const struct db_request request = { .struct_size = sizeof(request), .sql = "SELECT 1" };
	assert_int_equal(db_submit(session, &request), DB_EBUSY);
	assert_true(db_cancel_session(session));
	assert_int_equal(await(&endless), DB_ECANCELLED);
	must(session, "SELECT 1");
}

static void nonsense_requests_are_refused(void **state)
{
	(void)state;
	struct db_request request = { .struct_size = 3, .sql = "SELECT 1" };
	assert_int_equal(db_submit(session, &request), DB_EINVAL);
	request = (struct db_request){ .struct_size = sizeof(request) };
	assert_int_equal(db_submit(session, &request), DB_EINVAL);
	request.sql = "SELECT 1";
	request.priority = DB_PRIORITIES;
	assert_int_equal(db_submit(session, &request), DB_EINVAL);
	request.priority = 0;
	request.statement.id = 99;
	assert_int_equal(db_submit(session, &request), DB_ENOTFOUND);
	assert_int_equal(db_execute(session, &request, &last_result), DB_ENOTFOUND);
	assert_string_equal(last_result.sqlstate, "26000");
	must(session, "SELECT 1");
}

static void sessions_are_limited(void **state)
{
	(void)state;
	struct fixture small;
	fixture_make_folder(&small);
	struct db_options options = fixture_options(&small);
	options.session_limit = 2;
	char message[DB_MESSAGE_MAX];
	assert_int_equal(db_open(&small.engine, &options, message), DB_OK);
	struct db_session *first = open_session(&small), *second = open_session(&small), *third;
	assert_int_equal(db_session_open(small.engine, NULL, &third), DB_ESESSIONS);
	db_session_close(first);
	first = open_session(&small);
	db_session_close(first);
	db_session_close(second);
	db_close(small.engine);
	fixture_remove_folder(&small);
}

static void describe_tells_columns_without_running(void **state)
{
	(void)state;
	struct seen seen = { 0 };
	uint32_t parameters = 0;
	assert_int_equal(db_describe(session, "SELECT id, a FROM t WHERE a > ?1 AND b = ?2", NULL,
				 &parameters, on_columns, &seen, NULL),
		DB_OK);
	assert_int_equal(parameters, 2);
	assert_string_equal(seen.names, "id a ");
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(
		db_describe(session, "DELETE FROM t", NULL, &parameters, on_columns, &seen, NULL),
		DB_OK);
	assert_int_equal(seen.headers, 0);
	assert_int_equal(ask(session, "SELECT count(*) FROM t"), 3);
	char message[DB_MESSAGE_MAX];
	assert_int_equal(db_describe(session, "SELECT x FROM t", NULL, NULL, NULL, NULL, message),
		DB_ENOCOLUMN);
}

static void describe_sees_what_the_open_block_defined(void **state)
{
	(void)state;
	struct seen seen = { 0 };
	must(session, "BEGIN");
	must(session, "CREATE TABLE fresh(x INTEGER)");
	assert_int_equal(
		db_describe(session, "SELECT * FROM fresh", NULL, NULL, on_columns, &seen, NULL),
		DB_OK);
	assert_string_equal(seen.names, "x ");
	must(session, "ROLLBACK");
	assert_int_equal(db_describe(session, "SELECT * FROM fresh", NULL, NULL, NULL, NULL, NULL),
		DB_ENOTABLE);
}

static void describe_of_a_busy_session_is_refused(void **state)
{
	(void)state;
	struct pending endless;
	begin(&endless, session, ENDLESS);
	assert_int_equal(db_describe(session, "SELECT 1", NULL, NULL, NULL, NULL, NULL), DB_EBUSY);
	while (!db_cancel_session(session))
		;
	assert_int_equal(await(&endless), DB_ECANCELLED);
	assert_int_equal(db_describe(session, "SELECT 1", NULL, NULL, NULL, NULL, NULL), DB_OK);
}

static void latency_counts_from_the_scheduled_arrival(void **state)
{
	(void)state;
	uint64_t arrival_ns = cancel_now_ns() - 5000000;
	const struct db_request request = {
		.struct_size = sizeof(request), .sql = "SELECT 1", .arrival_ns = arrival_ns
	};
	assert_int_equal(db_execute(session, &request, &last_result), DB_OK);
	assert_true(last_result.arrival_ns == arrival_ns);
	assert_true(last_result.start_ns >= arrival_ns + 5000000);
	assert_true(last_result.done_ns >= last_result.start_ns);
}

static void the_memory_of_a_statement_is_counted(void **state)
{
	(void)state;
	must(session, "SELECT 1");
	uint64_t small = last_result.memory_peak_bytes;
	must(session, "SELECT length(hex(zeroblob(2000000)))");
	assert_true(last_result.memory_peak_bytes > small + 2000000);
	struct db_stats stats;
	db_stats(fixture.engine, &stats);
	assert_int_equal(stats.statement_bytes, 0);
}

/* It was an internal error, and its words were those of a table that is not there. */
static void a_schema_that_keeps_changing_is_a_conflict(void **state)
{
	struct failure failure;
	(void)state;
	assert_int_equal(failure_sqlite(&failure, NULL, SQLITE_SCHEMA), DB_ESERIALIZE);
	assert_string_equal(failure.sqlstate, "40001");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_change_reports_its_tag_and_its_rows),
		TEST(rows_are_counted_when_nobody_takes_them),
		TEST(columns_are_told_before_the_first_row),
		TEST(the_receiver_of_rows_can_stop_the_statement),
		TEST(parameters_of_every_type_arrive),
		TEST(a_prepared_statement_keeps_no_parameter_of_its_last_run),
		TEST(the_same_text_prepared_twice_is_one_statement),
		TEST(mistakes_get_their_sqlstate),
		TEST(a_syntax_error_says_where),
		TEST(attach_and_load_extension_are_refused),
		TEST(only_listed_pragmas_pass),
		TEST(an_empty_statement_is_no_error),
		TEST(a_second_statement_of_a_busy_session_is_refused),
		TEST(nonsense_requests_are_refused),
		TEST(a_schema_that_keeps_changing_is_a_conflict),
		TEST(sessions_are_limited),
		TEST(describe_tells_columns_without_running),
		TEST(describe_sees_what_the_open_block_defined),
		TEST(describe_of_a_busy_session_is_refused),
		TEST(latency_counts_from_the_scheduled_arrival),
		TEST(the_memory_of_a_statement_is_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
