/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions get the names PostgreSQL gives them, and a type where their form tells one. */
#include "demo-db/server/dialect/columns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct columns columns;

static void assert_named(const char *from, const char *to)
{
	assert_int_equal(columns_read(from, strlen(from), &columns), 0);
	assert_string_equal(columns.sql, to);
	free(columns.sql);
}

static void assert_type(const char *expression, enum pg_type type)
{
	char sql[128];
	snprintf(sql, sizeof sql, "select %s from t", expression);
	assert_int_equal(columns_read(sql, strlen(sql), &columns), 0);
	free(columns.sql);
	assert_int_equal(columns.count, 1);
	if (columns.types[0] != type)
		fail_msg("%s: type %d, not %d", expression, (int)columns.types[0], (int)type);
}

static void expressions_without_an_alias_are_named(void **state)
{
	(void)state;
	assert_named("select 1, count(*), a+1 from t",
		"select 1 AS \"?column?\", count(*) AS \"count\", a+1 AS \"?column?\" from t");
	assert_named("select a::int, lower(b)::text, 5::bigint",
		"select a::int AS \"a\", lower(b)::text AS \"text\", 5::bigint AS \"int8\"");
	assert_named("select case when a then 1 end, exists (select 1), (select 2)",
		"select case when a then 1 end AS \"case\", exists (select 1) AS \"exists\", "
		"(select 2) AS \"?column?\"");
	assert_named("select sum(a) over (order by b), pg_catalog.version() from t",
		"select sum(a) over (order by b) AS \"sum\", pg_catalog.version() AS \"?column?\" "
		"from t");
}

static void columns_and_aliases_stay(void **state)
{
	(void)state;
	assert_named("select a, t.b, *, t.* from t", "select a, t.b, *, t.* from t");
	assert_named("select count(*) n, a+1 as \"b c\", 'x' y from t",
		"select count(*) n, a+1 as \"b c\", 'x' y from t");
	assert_named("select distinct on (a) a from t", "select distinct on (a) a from t");
	assert_named("update t set a = 1 where b = 2", "update t set a = 1 where b = 2");
	assert_named("insert into t select 1, 2", "insert into t select 1, 2");
}

static void only_the_outer_list_counts(void **state)
{
	(void)state;
	assert_named("with x as (select 1) select count(*) from x",
		"with x as (select 1) select count(*) AS \"count\" from x");
	assert_named("insert into t values (1) returning id, a+1",
		"insert into t values (1) returning id, a+1 AS \"?column?\"");
	assert_named(
		"select 1::character varying(2), cast(2 as character varying), 3::character(4)",
		"select 1::character varying(2) AS \"varchar\", cast(2 as character varying) AS "
		"\"varchar\", 3::character(4) AS \"bpchar\"");
	assert_named("select a is null, not b from t where (select 1) = 1",
		"select a is null AS \"?column?\", not b AS \"?column?\" from t where (select 1) = "
		"1");
}

static void the_form_tells_the_type(void **state)
{
	(void)state;
	assert_type("count(*)", PG_INT8);
	assert_type("1", PG_INT4);
	assert_type("'x'", PG_TEXT);
	assert_type("2.5", PG_NUMERIC);
	assert_type("a = 1", PG_BOOL);
	assert_type("a is not null as b", PG_BOOL);
	assert_type("a::float8", PG_FLOAT8);
	assert_type("a::int", PG_INT4);
	assert_type("now()", PG_TIMESTAMPTZ);
	assert_type("true", PG_BOOL);
	assert_type("lower(a)", PG_TEXT);
	assert_type("max(a)", PG_UNKNOWN);
	assert_type("a", PG_UNKNOWN);
	assert_type("a + 1", PG_UNKNOWN);
	assert_type("case when a = 1 then 2 end", PG_UNKNOWN);
}

static void after_a_star_no_place_is_known(void **state)
{
	(void)state;
	const char *sql = "select count(*), *, 1 from t";
	assert_int_equal(columns_read(sql, strlen(sql), &columns), 0);
	assert_int_equal(columns.count, 1);
	free(columns.sql);
}

static void unfinished_text_is_left_as_it_is(void **state)
{
	(void)state;
	assert_named("select (a", "select (a");
	assert_named("select 'a", "select 'a");
	assert_named("", "");
	assert_named("select", "select");
	assert_named("select ::int", "select ::int AS \"int4\""); /* found by fuzzing */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_without_an_alias_are_named),
		cmocka_unit_test(columns_and_aliases_stay),
		cmocka_unit_test(only_the_outer_list_counts),
		cmocka_unit_test(the_form_tells_the_type),
		cmocka_unit_test(after_a_star_no_place_is_known),
		cmocka_unit_test(unfinished_text_is_left_as_it_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
