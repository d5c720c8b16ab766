/* SPDX-License-Identifier: Apache-2.0 */
/* How much a statement matters, by its words. */
#include "demo-db/server/dialect/priority.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static struct business_kind kind_of(const char *sql)
{
	return business_of(sql, strlen(sql));
}

static void assert_business(const char *sql, enum business business)
{
	if (kind_of(sql).business != business)
		fail_msg("%s is %s", sql, business_name(kind_of(sql).business));
}

static void statements_are_told_apart_by_kind(void **state)
{
	(void)state;
	assert_business("select a from t where id = 1", BUSINESS_READ);
	assert_business("select 1", BUSINESS_READ);
	assert_business("select a from t limit 10", BUSINESS_READ);
	assert_business("select a from t", BUSINESS_ANALYTICAL);
	assert_business("select sum(a) from t where b = 1 group by c", BUSINESS_ANALYTICAL);
	assert_business("select a from t where b=1 union select 2", BUSINESS_ANALYTICAL);
	assert_business("insert into t select * from u", BUSINESS_WRITE);
	assert_business("update t set a = 1", BUSINESS_WRITE);
	assert_business("create table t(a int)", BUSINESS_WRITE);
	assert_business("vacuum", BUSINESS_ANALYTICAL);
	assert_business("BEGIN", BUSINESS_WRITE);
}

static void only_the_runtimes_own_views_are_system(void **state)
{
	(void)state;
	assert_business("select * from cancel_tasks", BUSINESS_SYSTEM);
	assert_true(kind_of("select * from cancel_tasks t join cancel_resources r on 1=1").view);
	assert_true(kind_of("select cancel_task(17)").view);
	assert_true(kind_of("update cancel_settings set value = 'act' where name = 'mode'").view);
	/* nobody reaches the front of the queue by naming one of them beside a table of his */
	assert_false(kind_of("select * from cancel_tasks, big").view);
	assert_false(kind_of("select * from big join cancel_tasks on 1=1").view);
	assert_false(kind_of("select * from (select * from big), cancel_tasks").view);
	assert_false(kind_of("select * from cancel_tasks where a in (select b from big)").view);
	assert_false(kind_of("select * from t").view);
	assert_business("with x as (select 1) insert into t select * from x", BUSINESS_WRITE);
	assert_business("with x as (select 1) select * from x where 1 = 1", BUSINESS_READ);
	assert_false(kind_of("select * from cancel_requests").view);
	assert_false(kind_of("delete from cancel_requests").view);
	assert_true(kind_of("select * from \"cancel_tasks\"").view);
	/* nor writes his own by reading them */
	assert_false(kind_of("insert into log select * from cancel_tasks").view);
	assert_business("insert into log select * from cancel_tasks", BUSINESS_WRITE);
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
	assert_int_equal(kind_of("create index i on t(a)").keeps_out, KEEPS_OUT_WRITERS);
	assert_int_equal(kind_of("vacuum").keeps_out, KEEPS_OUT_ALL);
	assert_int_equal(kind_of("update t set a = 1").keeps_out, KEEPS_OUT_NOBODY);
	assert_true(kind_of("drop table t").definition);
	assert_false(kind_of("select a from t").definition);
}

static void names_are_found(void **state)
{
	(void)state;
	assert_int_equal(business_find("Analytical"), BUSINESS_ANALYTICAL);
	assert_int_equal(business_find("auto"), BUSINESS_AUTO);
	assert_true(business_find("other") > BUSINESS_AUTO);
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
