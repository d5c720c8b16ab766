/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's messages in PostgreSQL's words, and where they point. */
#include "demo-db/server/dialect/error_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void assert_worded(
	const char *sqlstate, const char *from, const char *message, const char *detail)
{
	struct error_text told;
	const struct error_text_source source = {
		.sqlstate = sqlstate, .message = from, .offset = -1
	};
	error_text_of(&source, &told);
	assert_string_equal(told.message, message);
	assert_string_equal(told.detail, detail);
}

static void messages_are_the_known_ones(void **state)
{
	(void)state;
	assert_worded("42P01", "no such table: t", "relation \"t\" does not exist", "");
	assert_worded("42703", "no such column: a.b", "column a.b does not exist", "");
	assert_worded(
		"42601", "near \"selec\": syntax error", "syntax error at or near \"selec\"", "");
	assert_worded("42601", "incomplete input", "syntax error at end of input", "");
	assert_worded("42P07", "table \"t\" already exists", "relation \"t\" already exists", "");
	assert_worded("23505", "UNIQUE constraint failed: t.a, t.b",
		"duplicate key value violates unique constraint \"t_a_b_key\"",
		"Key (a, b) already exists.");
	assert_worded("23502", "NOT NULL constraint failed: t.a",
		"null value in column \"a\" of relation \"t\" violates not-null constraint", "");
	assert_worded("53100", "disk full: x", "disk full: x", "");
}

static void long_names_are_cut_not_overrun(void **state)
{
	(void)state;
	char message[2000] = "UNIQUE constraint failed: ";
	struct error_text told;
	struct error_text_source source = { .sqlstate = "23505", .message = message, .offset = -1 };
	memset(message + strlen(message), 'x', 1500);
	error_text_of(&source, &told);
	assert_true(strlen(told.message) < ERROR_TEXT_MAX);
	memcpy(message, "no such table: ", 15);
	source.sqlstate = "42P01";
	error_text_of(&source, &told);
	assert_true(strlen(told.message) < ERROR_TEXT_MAX);
}

static void positions_count_characters_of_the_clients_text(void **state)
{
	(void)state;
	const char *text = "select 'ä', nope::int frm t";
	const char *sql = "select 'ä', CAST(nope AS INTEGER) frm t";
	assert_int_equal(
		error_text_position(text, strlen(text), text, (int)(strstr(text, "frm") - text)),
		23);
	/* the translation has other tokens before it */
	assert_int_equal(
		error_text_position(text, strlen(text), sql, (int)(strstr(sql, "frm") - sql)), 23);
	assert_int_equal(
		error_text_position(text, strlen(text), sql, (int)(strstr(sql, "CAST") - sql)), 0);
	const char *numbers = "select a from t where b = 17 and c ==== 2";
	const char *taken = "select a from t where b = ?1 and c ==== ?2";
	assert_int_equal(error_text_position(numbers, strlen(numbers), taken,
				 (int)(strstr(taken, "====") - taken)),
		(int)(strstr(numbers, "====") - numbers) + 1);
	const char *row = "insert into t values (1,)";
	const char *assigned = "insert into t values (pg_assign(1, 't', 0),)";
	assert_int_equal(
		error_text_position(row, strlen(row), assigned, (int)strlen(assigned) - 1), 25);
	const char *query = "insert into t select (1) x x returning (a)";
	const char *named = "insert into t WITH pg_source(c1) AS (select (1) x x) SELECT "
			    "pg_assign(c1, 't', 0) FROM pg_source WHERE true "
			    "returning (a)";
	assert_int_equal(error_text_position(query, strlen(query), named,
				 (int)(strstr(named, "x x") + 2 - named)),
		28);
	assert_int_equal(
		error_text_position(query, strlen(query), named, (int)strlen(named) - 1), 42);
	const char *rows = "insert into t values (1, default), (2, 3) returning f(a) b c";
	const char *taken_from = "insert into t SELECT pg_assign(column1, 't', 0), "
				 "pg_assign(column2, 't', 1) FROM (values (1, pg_default('t', 1)), "
				 "(2, 3)) returning f(a) b c";
	assert_int_equal(error_text_position(rows, strlen(rows), taken_from,
				 (int)(strstr(taken_from, ") b") - taken_from)),
		56);
	assert_int_equal(error_text_position(rows, strlen(rows), taken_from,
				 (int)(strstr(taken_from, "2, 3") - taken_from)),
		37);
	assert_int_equal(error_text_position("a", 1, "a", 99), 0);
	assert_int_equal(error_text_position("a", 1, "a", -1), 0);
}

static struct error_text worded(const char *sqlstate, const char *message, const char *text,
	const char *sql, const char *at)
{
	struct error_text told;
	const struct error_text_source source = { .sqlstate = sqlstate,
		.message = message,
		.text = text,
		.text_bytes = strlen(text),
		.sql = sql,
		.offset = at ? (int)(at - sql) : -1 };
	error_text_of(&source, &told);
	return told;
}

static void the_statement_tells_what_sqlite_leaves_out(void **state)
{
	(void)state;
	struct error_text w =
		worded("42703", "no such column: x.a", "select x.a from t", NULL, NULL);
	assert_string_equal(w.message, "missing FROM-clause entry for table \"x\"");
	assert_string_equal(w.sqlstate, "42P01");
	w = worded("42703", "no such column: t.a", "select t.a from t", NULL, NULL);
	assert_string_equal(w.message, "column t.a does not exist");
	assert_string_equal(w.sqlstate, "42703");
	w = worded("42703", "no such column: pg_parent.a",
		"create table t (b int references p (a))", NULL, NULL);
	assert_string_equal(
		w.message, "column \"a\" referenced in foreign key constraint does not exist");
	w = worded("42P01", "no such table: nope", "select 1 from nope", NULL, NULL);
	assert_int_equal(w.position, 15);
	w = worded("42P01", "no such table: nope", "drop table nope", NULL, NULL);
	assert_string_equal(w.message, "table \"nope\" does not exist");
	assert_int_equal(w.position, 0);
	w = worded(
		"23514", "CHECK constraint failed: a > 0", "insert into t values (0)", NULL, NULL);
	assert_string_equal(
		w.message, "new row for relation \"t\" violates check constraint \"t_a_check\"");
}

static void a_column_is_found_by_its_name_where_sqlite_does_not_say(void **state)
{
	(void)state;
	struct error_text w = worded("42703", "no such column: a",
		"select x.a, t.b as a from t join x on \"a\" = 1", NULL, NULL);
	assert_string_equal(w.message, "column \"a\" does not exist");
	assert_int_equal(w.position, 39);
	w = worded("42703", "no such column: x.a", "select a from t join x on \"x\".\"a\" = 1",
		NULL, NULL);
	assert_int_equal(w.position, 27);
	w = worded("42703", "no such column: a", "update \"T\" set b = a, \"a\" = 1", NULL, NULL);
	assert_string_equal(w.message, "column \"a\" of relation \"T\" does not exist");
	assert_int_equal(w.position, 23);
	w = worded("42703", "no such column: excluded.a",
		"insert into t values (1) on conflict (b) do update set b = excluded.a", NULL,
		NULL);
	assert_string_equal(w.message, "column excluded.a does not exist");
	w = worded("42703", "no such column: \"\"a\"\"", "alter table t drop column \"a\"", NULL,
		NULL);
	assert_string_equal(w.message, "column \"a\" of relation \"t\" does not exist");
	assert_int_equal(w.position, 0);
}

static void what_the_catalog_lacks_has_a_hint(void **state)
{
	(void)state;
	struct error_text w =
		worded("42P01", "no such table: pg_proc", "select 1 from pg_proc", NULL, NULL);
	assert_string_equal(w.sqlstate, "0A000");
	assert_non_null(w.hint);
	w = worded("42P01", "no such table: pgbench", "select 1 from pgbench", NULL, NULL);
	assert_string_equal(w.sqlstate, "42P01");
	assert_null(w.hint);
}

static void names_the_server_inserted_are_not_blamed(void **state)
{
	(void)state;
	const char *sql = "select 1 + AS \"?column?\", 2 AS \"?column?\"";
	struct error_text w = worded(
		"42601", "near \"AS\": syntax error", "select 1 +, 2", sql, strstr(sql, "AS"));
	assert_string_equal(w.message, "syntax error at or near \",\"");
	assert_int_equal(w.position, 11);
	sql = "select 1 + AS \"?column?\"";
	w = worded("42601", "near \"AS\": syntax error", "select 1 +", sql, strstr(sql, "AS"));
	assert_string_equal(w.message, "syntax error at end of input");
	assert_int_equal(w.position, 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_the_known_ones),
		cmocka_unit_test(long_names_are_cut_not_overrun),
		cmocka_unit_test(positions_count_characters_of_the_clients_text),
		cmocka_unit_test(the_statement_tells_what_sqlite_leaves_out),
		cmocka_unit_test(a_column_is_found_by_its_name_where_sqlite_does_not_say),
		cmocka_unit_test(what_the_catalog_lacks_has_a_hint),
		cmocka_unit_test(names_the_server_inserted_are_not_blamed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
