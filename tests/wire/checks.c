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
		cmocka_unit_test(what_sqlite_looks_at_itself_is_not_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
