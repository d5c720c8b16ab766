/* SPDX-License-Identifier: Apache-2.0 */
/* Which queries a definition is checked with. */
#include "demo-db/server/dialect/checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void assert_checks(const char *sql, const char *wanted)
{
	char *checks = NULL;
	assert_int_equal(checks_of(sql, &checks), 0);
	if (wanted && checks)
		assert_string_equal(checks, wanted);
	else
		assert_true(wanted == checks);
	free(checks);
}

static void a_view_is_checked_with_its_query(void **state)
{
	(void)state;
	assert_checks("create view v as select a from t", "select a from t;");
	assert_checks("create temp view v (\"as\", b) as with c as (select 1) select * from c",
		"with c as (select 1) select * from c;");
	assert_checks("create view v", NULL);
	assert_checks("create view v (a", NULL);
}

static void a_reference_is_checked_with_its_columns(void **state)
{
	(void)state;
	assert_checks(
		"create table t (a int references p (x), foreign key (b, c) references \"Q q\" (x, "
		"\"y\"))",
		"SELECT 1, pg_parent.x FROM p AS pg_parent;"
		"SELECT 1, pg_parent.x, pg_parent.\"y\" FROM \"Q q\" AS pg_parent;");
	assert_checks("create temp table if not exists t (a int references p)",
		"SELECT 1 FROM p AS pg_parent;");
	assert_checks("alter table t add column a int references p (x) on delete cascade",
		"SELECT 1, pg_parent.x FROM p AS pg_parent;");
	assert_checks("create table t (a int references", NULL);
}

static void a_table_that_refers_to_itself_is_checked_with_the_columns_it_will_have(void **state)
{
	(void)state;
	assert_checks("create table t (a int, \"check\" numeric(3, 2) default (1), constraint u "
		      "unique (a), "
		      "foreign key (a) references T (x))",
		"SELECT 1, pg_parent.x FROM (SELECT NULL AS a, NULL AS \"check\") AS pg_parent;");
	assert_checks("alter table t add b int references t (a)",
		"SELECT 1, pg_parent.a FROM (SELECT *, NULL AS b FROM t) AS pg_parent;");
}

static void the_check_of_a_new_column_is_tried_on_rows_with_it(void **state)
{
	(void)state;
	assert_checks("alter table t add column b int check (b > (a)) check (c = 1)",
		"SELECT (b > (a)) FROM (SELECT *, NULL AS b FROM t) AS t;"
		"SELECT (c = 1) FROM (SELECT *, NULL AS b FROM t) AS t;");
	assert_checks("alter table t add column b int generated always as (a + 1)",
		"SELECT (a + 1) FROM (SELECT *, NULL AS b FROM t) AS t;");
}

static void a_common_table_nobody_reads_is_read(void **state)
{
	(void)state;
	assert_checks("with c as (select a from t), d (x) as (select 1) select x from d",
		"with c as (select a from t), d (x) as (select 1) SELECT 1 FROM c;");
	assert_checks(
		"with recursive c as not materialized (select 1) delete from t where a in (1)",
		"with recursive c as not materialized (select 1) SELECT 1 FROM c;");
	assert_checks("create view v as with c as (select a from t) select 1",
		"with c as (select a from t) SELECT 1 FROM c;"
		"with c as (select a from t) select 1;");
	assert_checks("with c as (select a from t) select 1 from C", NULL);
}

static void a_change_that_says_a_hidden_column_s_name_is_checked_without_its_table_s(void **state)
{
	(void)state;
#define T  "WITH pg_common1 AS (SELECT*FROM t) "
#define T2 "WITH pg_common2 AS (SELECT*FROM t) "
	assert_checks(
		"delete from t where oid = 1", T "SELECT 1 FROM pg_common1 AS t where oid = 1;");
	assert_checks("delete from t as x where x.oid = 1 returning a",
		T "SELECT 1 FROM pg_common1 AS x where x.oid = 1 ;" T2
		  "SELECT a FROM pg_common2 AS x;");
	assert_checks("update t set a = oid, (b, c) = (1, 2) where d returning oid",
		T "SELECT 1, t.a = oid, (t.b, t.c) = (1, 2) FROM pg_common1 AS t where d ;" T2
		  "SELECT oid FROM pg_common2 AS t;");
	assert_checks("update t set oid = 1",
		T "SELECT pg_target.oid FROM pg_common1 AS pg_target;" T2
		  "SELECT 1, t.oid = 1 FROM pg_common2 AS t ;");
	assert_checks("insert into t (oid, a) values (1, 2) returning a",
		T "SELECT pg_target.oid FROM pg_common1 AS pg_target;");
	assert_checks("insert into t as x values (1) on conflict (oid) do update set rowid = "
		      "excluded._rowid_ returning t.oid",
		T "SELECT oid FROM pg_common1 AS x;" T2
		  "SELECT pg_target.rowid FROM pg_common2 AS pg_target;"
		  "WITH pg_common3 AS (SELECT*FROM t) SELECT excluded._rowid_ FROM pg_common3 AS "
		  "excluded;"
		  "WITH pg_common4 AS (SELECT*FROM t) SELECT t.oid FROM pg_common4 AS t;");
	assert_checks("insert into t select oid from u returning a as oid", NULL);
	assert_checks("select oid from t", NULL);
}

static void a_definition_that_says_a_hidden_column_s_name_is_checked_without_it(void **state)
{
	(void)state;
	assert_checks(
		"create index i on t (a) where oid > 1", T "SELECT oid FROM pg_common1 AS t;");
	assert_checks("create table t (oid int, check (oid > 1))",
		"WITH pg_common1 AS (SELECT NULL AS oid) SELECT (oid > 1) FROM pg_common1 AS t;");
}

static void what_is_not_read_here_does_not_compile(void **state)
{
	(void)state;
	assert_checks("replace into t (oid) values (1)", "SELECT pg_beyond.oid;");
	assert_checks("update or ignore t set oid = 1", "SELECT pg_beyond.oid;");
	assert_checks("create temp trigger g after insert on t begin select new.rowid; end",
		"SELECT pg_beyond.rowid;");
	assert_checks("create trigger g after insert on t begin delete from u where oid = 1; end",
		"SELECT pg_beyond.oid;");
	assert_checks("update t set a = 1 returning oid, (select 1)",
		T "SELECT 1, t.a = 1 FROM pg_common1 AS t ;SELECT pg_beyond.oid;");
}

static void what_sqlite_looks_at_itself_is_not_checked(void **state)
{
	(void)state;
	assert_checks("select 1", NULL);
	assert_checks("", NULL);
	assert_checks("create table t (a int check (a > 1))", NULL);
	assert_checks("create table t as select a from u", NULL);
	assert_checks("create index i on t (a)", NULL);
	assert_checks("alter table t rename to u", NULL);
	assert_checks("alter table t drop column a", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_view_is_checked_with_its_query),
		cmocka_unit_test(a_reference_is_checked_with_its_columns),
		cmocka_unit_test(
			a_table_that_refers_to_itself_is_checked_with_the_columns_it_will_have),
		cmocka_unit_test(the_check_of_a_new_column_is_tried_on_rows_with_it),
		cmocka_unit_test(a_common_table_nobody_reads_is_read),
		cmocka_unit_test(
			a_change_that_says_a_hidden_column_s_name_is_checked_without_its_table_s),
		cmocka_unit_test(
			a_definition_that_says_a_hidden_column_s_name_is_checked_without_it),
		cmocka_unit_test(what_is_not_read_here_does_not_compile),
		cmocka_unit_test(what_sqlite_looks_at_itself_is_not_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
