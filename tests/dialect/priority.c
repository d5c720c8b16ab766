/* SPDX-License-Identifier: Apache-2.0 */
/* How much a statement matters, by its words. */
#include "demo-db/server/dialect/priority.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static struct statement_kind kind_of(const char *sql)
{
	return priority_of(sql, strlen(sql));
}

static void assert_priority(const char *sql, enum priority priority)
{
	if (kind_of(sql).priority != priority)
		fail_msg("%s is %s", sql, priority_name(kind_of(sql).priority));
}

static void statements_are_told_apart_by_kind(void **state)
{
	(void)state;
	assert_priority("select a from t where id = 1", PRIORITY_READ);
	assert_priority("select 1", PRIORITY_READ);
	assert_priority("select a from t limit 10", PRIORITY_READ);
	assert_priority("select a from t", PRIORITY_ANALYTICAL);
	assert_priority("select sum(a) from t where b = 1 group by c", PRIORITY_ANALYTICAL);
	assert_priority("select a from t where b=1 union select 2", PRIORITY_ANALYTICAL);
	assert_priority("insert into t select * from u", PRIORITY_WRITE);
	assert_priority("update t set a = 1", PRIORITY_WRITE);
	assert_priority("create table t(a int)", PRIORITY_WRITE);
	assert_priority("vacuum", PRIORITY_ANALYTICAL);
	assert_priority("BEGIN", PRIORITY_WRITE);
}

static void only_the_runtimes_own_views_are_system(void **state)
{
	(void)state;
	assert_priority("select * from cancel_tasks", PRIORITY_SYSTEM);
	assert_true(kind_of("select * from cancel_tasks t join cancel_resources r on 1=1").view);
	assert_true(kind_of("select cancel_task(17)").view);
	assert_true(kind_of("update cancel_settings set value = 'act' where name = 'mode'").view);
	/* nobody reaches the front of the queue by naming one of them beside a table of his */
	assert_false(kind_of("select * from cancel_tasks, big").view);
	assert_false(kind_of("select * from big join cancel_tasks on 1=1").view);
	assert_false(kind_of("select * from (select * from big), cancel_tasks").view);
	assert_false(kind_of("select * from cancel_tasks where a in (select b from big)").view);
	assert_false(kind_of("select * from t").view);
	assert_priority("with x as (select 1) insert into t select * from x", PRIORITY_WRITE);
	assert_priority("with x as (select 1) select * from x where 1 = 1", PRIORITY_READ);
	assert_false(kind_of("select * from cancel_requests").view);
	assert_false(kind_of("delete from cancel_requests").view);
	assert_true(kind_of("select * from \"cancel_tasks\"").view);
	/* nor writes his own by reading them */
	assert_false(kind_of("insert into log select * from cancel_tasks").view);
	assert_priority("insert into log select * from cancel_tasks", PRIORITY_WRITE);
	assert_false(kind_of("with x as (select * from cancel_tasks) insert into log select 1 from "
			     "x")
			     .view);
	assert_false(kind_of("with x as (select * from cancel_tasks) update log set a = 1").view);
	assert_false(kind_of("update log set a = (select count(*) from cancel_tasks)").view);
}

static void definitions_are_noted(void **state)
{
	(void)state;
	assert_true(kind_of("create index i on t(a) where b = 1").partial);
	assert_false(kind_of("create index i on t(a)").partial);
	assert_int_equal(kind_of("create index i on t(a)").blocks, BLOCKS_WRITERS);
	assert_int_equal(kind_of("vacuum").blocks, BLOCKS_ALL);
	assert_int_equal(kind_of("update t set a = 1").blocks, BLOCKS_NOBODY);
	assert_true(kind_of("drop table t").definition);
	assert_false(kind_of("select a from t").definition);
}

static void names_are_found(void **state)
{
	(void)state;
	assert_int_equal(priority_find("Analytical"), PRIORITY_ANALYTICAL);
	assert_int_equal(priority_find("auto"), PRIORITY_AUTO);
	assert_true(priority_find("other") > PRIORITY_AUTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statements_are_told_apart_by_kind),
		cmocka_unit_test(only_the_runtimes_own_views_are_system),
		cmocka_unit_test(definitions_are_noted),
		cmocka_unit_test(names_are_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
