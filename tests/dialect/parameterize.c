/* SPDX-License-Identifier: Apache-2.0 */
/* Which numbers of a simple query are values, and which belong to the text. */
#include "demo-db/server/dialect/parameterize.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static struct parameterized taken;

static void assert_taken(const char *sql, const char *text, uint32_t count)
{
	if (!parameterize(sql, strlen(sql), &taken))
		fail_msg("declined: %s", sql);
	assert_string_equal(taken.text, text);
	assert_int_equal(taken.count, count);
}

static void assert_declined(const char *sql)
{
	if (parameterize(sql, strlen(sql), &taken))
		fail_msg("taken: %s as %s", sql, taken.text);
}

static void numbers_behind_comparisons_are_values(void **state)
{
	(void)state;
	assert_taken("SELECT abalance FROM pgbench_accounts WHERE aid = 4711;",
		"SELECT abalance FROM pgbench_accounts WHERE aid = $1", 1);
	assert_int_equal(taken.values[0].type, DB_INTEGER);
	assert_int_equal(taken.values[0].integer, 4711);
	assert_taken("select a from t where b between 5 and 10 and c<>-3",
		"select a from t where b between $1 and $2 and c<>-$3", 3);
}

static void numbers_in_set_and_values_are_values(void **state)
{
	(void)state;
	assert_taken(
		"UPDATE t SET a = a + -12 WHERE b = 1", "UPDATE t SET a = a + -$1 WHERE b = $2", 2);
	assert_taken("insert into t(a1, b) values (1, -2, 'x3', 4.5), (9, now())",
		"insert into t(a1, b) values ($1, -$2, 'x3', 4.5), ($3, now())", 3);
	assert_int_equal(taken.values[2].integer, 9);
	assert_taken("insert into t values (f(1), '5'::numeric(8, 2) + 3, cast(4 as varchar (2)))",
		"insert into t values (f($1), '5'::numeric(8, 2) + $2, cast($3 as varchar (2)))",
		3);
	assert_declined("insert into t values ('5'::numeric(8");
}

static void numbers_that_mean_a_place_or_a_name_stay(void **state)
{
	(void)state;
	assert_taken("select 1, a + 2 from t order by 1", "select 1, a + 2 from t order by 1", 0);
	assert_taken("select a from t where b = 1 group by 1 having count(*) > 2 order by 3",
		"select a from t where b = $1 group by 1 having count(*) > 2 order by 3", 1);
	assert_taken("select a from t where substr(b, 2, 3) = 'x'",
		"select a from t where substr(b, 2, 3) = 'x'", 0);
	assert_taken("select a from t where b = 12345678901234567890",
		"select a from t where b = 12345678901234567890", 0);
	assert_taken("select a from t where b = 1e5 or b = 0x1f",
		"select a from t where b = 1e5 or b = 0x1f", 0);
}

static void what_it_is_not_sure_of_is_declined(void **state)
{
	(void)state;
	assert_declined("create table t(a varchar(10))");
	assert_declined("select a from t where b = 1 -- comment");
	assert_declined("select a /* 1 */ from t");
	assert_declined("select a from t where b = $1");
	assert_declined("select E'a\\'' from t where b = 1");
	assert_declined("select a from t where b = $$x$$");
	assert_declined("insert into t values (1) on conflict (a) where b = 1 do nothing");
	assert_declined("select 'open");
	assert_declined("select");
}

static void only_the_first_statement_is_used(void **state)
{
	(void)state;
	const char *sql = "select a from t where b = ';' and c = 7; select 2";
	assert_taken(sql, "select a from t where b = ';' and c = $1", 1);
	assert_int_equal(taken.used, strlen(sql) - strlen(" select 2"));
}

static void the_same_statement_has_the_same_hash(void **state)
{
	(void)state;
	assert_taken("select a from t where b = 1", "select a from t where b = $1", 1);
	uint64_t hash = taken.hash;
	assert_taken("select a from t where b = 22", "select a from t where b = $1", 1);
	assert_true(taken.hash == hash);
	assert_taken("select a from t where b < 22", "select a from t where b < $1", 1);
	assert_true(taken.hash != hash);
}

static void long_statements_are_left_alone(void **state)
{
	(void)state;
	char sql[LITERALS_TEXT_MAX + 100] = "select a from t where b = 1";
	memset(sql + strlen(sql), ' ', 10);
	for (size_t at = 37; at + 10 < sizeof sql; at += 10)
		memcpy(sql + at, " or b = 10", 11);
	assert_declined(sql);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_behind_comparisons_are_values),
		cmocka_unit_test(numbers_in_set_and_values_are_values),
		cmocka_unit_test(numbers_that_mean_a_place_or_a_name_stay),
		cmocka_unit_test(what_it_is_not_sure_of_is_declined),
		cmocka_unit_test(only_the_first_statement_is_used),
		cmocka_unit_test(the_same_statement_has_the_same_hash),
		cmocka_unit_test(long_statements_are_left_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
