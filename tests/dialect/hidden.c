/* SPDX-License-Identifier: Apache-2.0 */
/* The way around the columns every table of SQLite has. */
#include "demo-db/server/dialect/hidden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void assert_avoided(const char *sql, const char *wanted)
{
	char *avoided = hidden_avoid(sql);
	assert_non_null(avoided);
	assert_string_equal(avoided, wanted);
	free(avoided);
}

static void only_the_words_themselves_are_names_of_hidden_columns(void **state)
{
	(void)state;
	assert_true(hidden_is_said("select rowid from t"));
	assert_true(hidden_is_said("select t.OID from t"));
	assert_true(hidden_is_said("select \"_RowId_\" from t"));
	assert_true(hidden_is_said("oid"));
	assert_false(
		hidden_is_said("select 'rowid', void, rowids, \"oid \" /* oid */ from t -- rowid"));
	assert_false(hidden_is_said("id"));
	assert_false(hidden_is_said(""));
	assert_false(hidden_is_said("'oid"));
}

static void a_table_is_read_as_a_common_table(void **state)
{
	(void)state;
	assert_avoided("select oid from t", "WITH pg_common1 AS (SELECT*FROM t) select oid from "
					    "pg_common1 AS t");
	assert_avoided("select a.oid from t a, main.\"U u\" as b where a.x = b.x",
		"WITH pg_common1 AS (SELECT*FROM t), pg_common2 AS (SELECT*FROM main.\"U u\") "
		"select a.oid from pg_common1 a, pg_common2 as b where a.x = b.x");
	assert_avoided("select oid from t join u on f(a, b) = c, v group by a, b",
		"WITH pg_common1 AS (SELECT*FROM t), pg_common2 AS (SELECT*FROM u), "
		"pg_common3 AS (SELECT*FROM v) select oid from pg_common1 AS t join pg_common2 AS "
		"u "
		"on f(a, b) = c, pg_common3 AS v group by a, b");
	assert_avoided("select oid from (t join u on a = b) order by a, b",
		"WITH pg_common1 AS (SELECT*FROM t), pg_common2 AS (SELECT*FROM u) select oid from "
		"(pg_common1 AS t join pg_common2 AS u on a = b) order by a, b");
	assert_avoided("select oid from f(1, 2)",
		"WITH pg_common1 AS (SELECT*FROM f(1, 2)) select oid from pg_common1 AS f");
}

static void a_word_that_may_be_a_name_ends_no_list_of_tables(void **state)
{
	(void)state;
	assert_avoided("select oid from t join u on window = offset, v",
		"WITH pg_common1 AS (SELECT*FROM t), pg_common2 AS (SELECT*FROM u), "
		"pg_common3 AS (SELECT*FROM v) select oid from pg_common1 AS t join pg_common2 AS "
		"u "
		"on window = offset, pg_common3 AS v");
	assert_avoided("select sum(oid) over w from t window w as (order by a), x as (order by b)",
		"WITH pg_common1 AS (SELECT*FROM t) select sum(oid) over w from pg_common1 AS t "
		"window w as (order by a), x as (order by b)");
	assert_avoided("select oid from t join u on t.where = 1, v",
		"WITH pg_common1 AS (SELECT*FROM t), pg_common2 AS (SELECT*FROM u), "
		"pg_common3 AS (SELECT*FROM v) select oid from pg_common1 AS t join pg_common2 AS "
		"u "
		"on t.where = 1, pg_common3 AS v");
}

static void a_subquery_has_its_own(void **state)
{
	(void)state;
	assert_avoided("select oid from (select a from t) s",
		"WITH pg_common2 AS (WITH pg_common1 AS (SELECT*FROM t) select a from pg_common1 "
		"AS "
		"t) select oid from pg_common2 s");
	assert_avoided("select 1 where exists (select 1 from t where oid is distinct from 2)",
		"select 1 where exists (WITH pg_common1 AS (SELECT*FROM t) select 1 from "
		"pg_common1 "
		"AS t where oid is distinct from 2)");
}

static void common_tables_of_the_client_s_stay_in_front(void **state)
{
	(void)state;
	assert_avoided("with c (oid) as (select a from t) select oid from c",
		"with c (oid) as (WITH pg_common1 AS (SELECT*FROM t) select a from pg_common1 AS "
		"t), "
		"pg_common2 AS (SELECT*FROM c) select oid from pg_common2 AS c");
	assert_avoided(
		"with recursive r (oid) as (select 1 union all select oid from R, t) select 2",
		"with recursive r (oid) as (WITH pg_common1 AS (SELECT*FROM t) select 1 union all "
		"select oid from R, pg_common1 AS t) select 2");
}

static void what_is_changed_stays_and_what_is_read_does_not(void **state)
{
	(void)state;
	assert_avoided("update t set a = oid from u where b = 1 returning oid",
		"WITH pg_common1 AS (SELECT*FROM u) update t set a = oid from pg_common1 AS u "
		"where "
		"b = 1 returning oid");
	assert_avoided("delete from t where oid in (select a from u) returning (select b from v)",
		"delete from t where oid in (WITH pg_common1 AS (SELECT*FROM u) select a from "
		"pg_common1 AS u) returning (select b from v)");
	assert_avoided(
		"with c as (select 1) insert into t (a) WITH s(c1) AS (select oid from c) SELECT "
		"c1 FROM s",
		"with c as (select 1) insert into t (a) WITH s(c1) AS (WITH pg_common1 AS "
		"(SELECT*FROM c) select oid from pg_common1 AS c), pg_common2 AS (SELECT*FROM s) "
		"SELECT c1 FROM pg_common2 AS s");
	assert_avoided("create view v as select oid from t",
		"create view v as WITH pg_common1 AS (SELECT*FROM t) select oid from pg_common1 AS "
		"t");
	assert_avoided("select oid from t; select 1 from u",
		"WITH pg_common1 AS (SELECT*FROM t) select oid from pg_common1 AS t;WITH "
		"pg_common2 "
		"AS (SELECT*FROM u) select 1 from pg_common2 AS u");
}

static void broken_statements_stay_broken(void **state)
{
	(void)state;
	char deep[1024] = "select oid from t where ";
	assert_avoided("select oid from", "select oid from");
	assert_avoided("select oid from t)", "WITH pg_common1 AS (SELECT*FROM t) select oid from "
					     "pg_common1 AS t)");
	assert_avoided("select oid from (select 1", "WITH pg_common1 AS (select 1) select oid from "
						    "pg_common1");
	assert_avoided("select (oid, (", "select (oid, (");
	memset(deep + strlen(deep), '(', 500);
	assert_null(hidden_avoid(deep));
	assert_null(hidden_avoid("select oid from 'x"));
}

static void a_place_is_found_again(void **state)
{
	(void)state;
	const char *sql = "select x.a, oid from (select b from t where nope = 1) x";
	char *avoided = hidden_avoid(sql);
	assert_int_equal(hidden_place(sql, (int)(strstr(avoided, "nope") - avoided)),
		strstr(sql, "nope") - sql);
	assert_int_equal(hidden_place(sql, (int)(strstr(avoided, "oid") - avoided)),
		strstr(sql, "oid") - sql);
	assert_int_equal(hidden_place(sql, (int)(strstr(avoided, "pg_common2 x") - avoided)),
		strstr(sql, "(select") - sql);
	assert_int_equal(hidden_place(sql, 0), -1);
	assert_int_equal(hidden_place(sql, -1), -1);
	assert_int_equal(hidden_place(sql, 10000), -1);
	free(avoided);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_words_themselves_are_names_of_hidden_columns),
		cmocka_unit_test(a_table_is_read_as_a_common_table),
		cmocka_unit_test(a_word_that_may_be_a_name_ends_no_list_of_tables),
		cmocka_unit_test(a_subquery_has_its_own),
		cmocka_unit_test(common_tables_of_the_client_s_stay_in_front),
		cmocka_unit_test(what_is_changed_stays_and_what_is_read_does_not),
		cmocka_unit_test(broken_statements_stay_broken),
		cmocka_unit_test(a_place_is_found_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
