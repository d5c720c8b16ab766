/* SPDX-License-Identifier: Apache-2.0 */
/* Simple queries: what a client sees of statements, transactions and errors. */
#include "tests/server/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct wire_client client, other;

static int login(void **state)
{
	(void)state;
	wire_login(&client, &server, "demo");
	wire_login(&other, &server, "demo");
	wire_query(&client, "drop table if exists t; create table t(id serial primary key, "
			    "a int not null, b varchar(9) unique)");
	return 0;
}

static int logout(void **state)
{
	(void)state;
	wire_close(&client);
	wire_close(&other);
	return 0;
}

#define assert_answer(sql, said) assert_string_equal(wire_query(&client, sql), said)

static void rows_come_with_their_types(void **state)
{
	(void)state;
	assert_answer("insert into t(a, b) values (1,'x'), (2, null)", "C(INSERT 0 2) Z(I)");
	assert_answer("select id, a, b, a + 1, count(*), a = 1 from t where id = 1",
		"T(id:23,a:23,b:1043,?column?:23,count:20,?column?:16) D(1,1,x,2,1,t) C(SELECT 1) "
		"Z(I)");
	assert_answer("select b from t where id = 2", "T(b:1043) D(~) C(SELECT 1) Z(I)");
	assert_answer("select a + 1 from t where id = 99", "T(?column?:23) C(SELECT 0) Z(I)");
	assert_answer("update t set a = a + 1", "C(UPDATE 2) Z(I)");
	assert_answer("delete from t where a = 3 returning b", "T(b:1043) D(~) C(DELETE 1) Z(I)");
	assert_answer("truncate t", "C(TRUNCATE TABLE) Z(I)");
	assert_answer("values (1, 'a'), (2, 'b')",
		"T(column1:23,column2:25) D(1,a) D(2,b) C(SELECT 2) Z(I)");
}

static void an_empty_query_is_answered_as_such(void **state)
{
	(void)state;
	assert_answer("", "I Z(I)");
	assert_answer(" ; -- nothing\n ;", "I Z(I)");
	assert_answer("; select 1 ;;", "T(?column?:23) D(1) C(SELECT 1) Z(I)");
}

static void several_statements_are_one_transaction(void **state)
{
	(void)state;
	assert_answer("insert into t(a) values (1); insert into t(a) values (2)",
		"C(INSERT 0 1) C(INSERT 0 1) Z(I)");
	assert_answer("insert into t(a) values (3); insert into t(a) values (null); select 1",
		"C(INSERT 0 1) E(23502) Z(I)");
	assert_answer("select count(*) from t", "T(count:20) D(2) C(SELECT 1) Z(I)");
	/* an explicit COMMIT in between keeps what came before it */
	assert_answer("insert into t(a) values (4); commit; insert into t(a) values (null)",
		"C(INSERT 0 1) N(25P01) C(COMMIT) E(23502) Z(I)");
	assert_answer("select count(*) from t", "T(count:20) D(3) C(SELECT 1) Z(I)");
	/* BEGIN in the middle makes the block the client's */
	assert_answer("insert into t(a) values (5); begin; insert into t(a) values (6)",
		"C(INSERT 0 1) C(BEGIN) C(INSERT 0 1) Z(T)");
	assert_answer("rollback", "C(ROLLBACK) Z(I)");
	assert_answer("select count(*) from t", "T(count:20) D(3) C(SELECT 1) Z(I)");
}

static void a_transaction_is_seen_when_it_commits(void **state)
{
	(void)state;
	assert_answer("begin", "C(BEGIN) Z(T)");
	assert_answer("insert into t(a) values (1)", "C(INSERT 0 1) Z(T)");
	assert_string_equal(
		wire_query(&other, "select count(*) from t"), "T(count:20) D(0) C(SELECT 1) Z(I)");
	assert_answer("commit", "C(COMMIT) Z(I)");
	assert_string_equal(
		wire_query(&other, "select count(*) from t"), "T(count:20) D(1) C(SELECT 1) Z(I)");
}

static void an_error_ends_the_block(void **state)
{
	(void)state;
	assert_answer("begin; insert into t(a) values (1)", "C(BEGIN) C(INSERT 0 1) Z(T)");
	assert_answer("select nope from t", "E(42703) Z(E)");
	assert_answer("select 1", "E(25P02) Z(E)");
	assert_answer("set application_name = 'x'", "E(25P02) Z(E)");
	assert_answer("commit", "C(ROLLBACK) Z(I)");
	assert_answer("select count(*) from t", "T(count:20) D(0) C(SELECT 1) Z(I)");
}

static void an_error_the_engine_never_saw_ends_it_too(void **state)
{
	(void)state;
	assert_answer("begin; insert into t(a) values (1)", "C(BEGIN) C(INSERT 0 1) Z(T)");
	assert_answer("copy t from stdin", "E(0A000) Z(E)");
	assert_answer("rollback", "C(ROLLBACK) Z(I)");
	assert_answer("begin", "C(BEGIN) Z(T)");
	assert_answer("set nonsense = 1", "E(42704) Z(E)");
	assert_answer("end", "C(ROLLBACK) Z(I)");
}

static void a_savepoint_brings_a_failed_block_back(void **state)
{
	(void)state;
	assert_answer("begin; insert into t(a) values (1); savepoint s",
		"C(BEGIN) C(INSERT 0 1) C(SAVEPOINT) Z(T)");
	assert_answer("insert into t(a) values (null)", "E(23502) Z(E)");
	assert_answer("release s", "E(25P02) Z(E)");
	assert_answer("rollback to s", "C(ROLLBACK) Z(T)");
	assert_answer("copy t from stdin", "E(0A000) Z(E)"); /* the engine never saw it */
	assert_answer("rollback transaction to savepoint s; insert into t(a) values (2)",
		"C(ROLLBACK) C(INSERT 0 1) Z(T)");
	assert_answer("release savepoint s; commit", "C(RELEASE) C(COMMIT) Z(I)");
	assert_answer("select count(*) from t", "T(count:20) D(2) C(SELECT 1) Z(I)");
	assert_answer("select 1; savepoint s", "T(?column?:23) D(1) C(SELECT 1) E(25P01) Z(I)");
}

static void the_catalog_answers_while_a_table_is_locked(void **state)
{
	(void)state;
	assert_answer("begin; lock table t", "C(BEGIN) C(LOCK TABLE) Z(T)");
	assert_string_equal(
		wire_query(&other, "select c.relname, a.attname from pg_catalog.pg_class c join "
				   "pg_catalog.pg_attribute a on a.attrelid = c.oid where "
				   "c.relname = 't' and a.attnum = 2"),
		"T(relname:25,attname:25) D(t,a) C(SELECT 1) Z(I)");
	/* what it reads of the schema is the transaction's own */
	assert_answer("create table made(x int); select count(*) from pg_class where relname = "
		      "'made'",
		"C(CREATE TABLE) T(count:20) D(1) C(SELECT 1) Z(T)");
	assert_string_equal(
		wire_query(&other, "select count(*) from pg_class where relname = 'made'"),
		"T(count:20) D(0) C(SELECT 1) Z(I)");
	assert_answer("rollback", "C(ROLLBACK) Z(I)");
	assert_answer("insert into pg_class(oid) values (1)", "E(42000) Z(I)");
}

static void errors_say_what_and_where(void **state)
{
	(void)state;
	assert_answer("select 1;\nselec 2", "T(?column?:23) D(1) C(SELECT 1) E(42601) Z(I)");
	assert_string_equal(client.last_error, "syntax error at or near \"selec\"");
	assert_int_equal(client.last_position, 11);
	assert_answer("insert into t(a,b) values (1,'x')", "C(INSERT 0 1) Z(I)");
	assert_answer("insert into t(a,b) values (1,'x')", "E(23505) Z(I)");
	assert_string_equal(client.last_detail, "Key (b)=(x) already exists.");
	assert_answer("copy t from stdin", "E(0A000) Z(I)");
	assert_non_null(strstr(client.last_hint, "INSERT"));
	assert_answer("select $1", "E(42P02) Z(I)");
	assert_answer("select '\xff'", "E(22021) Z(I)");
	assert_answer("create table t(a int)", "E(42P07) Z(I)");
	assert_answer("select * from nope", "E(42P01) Z(I)");
	assert_answer("select nofunc(1)", "E(42883) Z(I)");
}

static void settings_follow_the_transaction(void **state)
{
	(void)state;
	assert_answer("set application_name = 'a'; show application_name",
		"C(SET) T(application_name:25) D(a) C(SHOW) Z(I)");
	assert_answer("begin; set application_name = 'b'; rollback; show application_name",
		"C(BEGIN) C(SET) C(ROLLBACK) T(application_name:25) D(a) C(SHOW) Z(I)");
	assert_answer("begin; set local application_name = 'c'; commit; show application_name",
		"C(BEGIN) C(SET) C(COMMIT) T(application_name:25) D(a) C(SHOW) Z(I)");
	assert_answer("reset all", "C(RESET) Z(I)");
	assert_answer("discard all", "C(DISCARD ALL) Z(I)");
}

/* A pool hands the session on after it. */
static void discard_forgets_temporary_objects(void **state)
{
	(void)state;
	wire_query(&client, "create temp table mine(a int)");
	assert_string_equal(wire_query(&client, "begin; discard temp"), "C(BEGIN) E(25001) Z(E)");
	wire_query(&client, "rollback");
	assert_string_equal(wire_query(&client, "select a from mine"), "T(a:23) C(SELECT 0) Z(I)");
	assert_string_equal(wire_query(&client, "discard temp"), "C(DISCARD TEMP) Z(I)");
	assert_string_equal(wire_query(&client, "select a from mine"), "E(42P01) Z(I)");
	wire_query(&client, "create temp table mine(a int)");
	assert_string_equal(wire_query(&client, "discard all"), "C(DISCARD ALL) Z(I)");
	assert_string_equal(wire_query(&client, "select a from mine"), "E(42P01) Z(I)");
	assert_string_equal(wire_query(&client, "begin; discard temp; commit"),
		"C(BEGIN) C(DISCARD TEMP) C(COMMIT) Z(I)");
}

static void a_read_only_session_writes_nothing(void **state)
{
	(void)state;
	assert_answer("set default_transaction_read_only = on", "C(SET) Z(I)");
	assert_answer("insert into t(a) values (1)", "E(25006) Z(I)");
	assert_answer("begin", "C(BEGIN) Z(T)");
	assert_answer("insert into t(a) values (1)", "E(25006) Z(E)");
	assert_answer("rollback; begin read write; insert into t(a) values (1); commit",
		"C(ROLLBACK) C(BEGIN) C(INSERT 0 1) C(COMMIT) Z(I)");
}

static void numbers_in_statements_are_not_confused(void **state)
{
	(void)state;
	wire_query(&client, "insert into t(a,b) values (1,'x'), (2,'y')");
	assert_answer("select b from t where a = 1", "T(b:1043) D(x) C(SELECT 1) Z(I)");
	assert_answer("select b from t where a = 2", "T(b:1043) D(y) C(SELECT 1) Z(I)");
	/* the very text the numbers were taken out of is another statement */
	assert_answer("select b from t where a = $1", "E(42P02) Z(I)");
	assert_answer("select b from t where a = 2", "T(b:1043) D(y) C(SELECT 1) Z(I)");
	/* nor does a partial index lose its use */
	assert_answer("create index part on t(b) where a = 2", "C(CREATE INDEX) Z(I)");
	assert_non_null(strstr(
		wire_query(&client, "explain query plan select b from t where a = 2 order by b"),
		"part"));
	assert_answer("select b from t where a = 2 order by b", "T(b:1043) D(y) C(SELECT 1) Z(I)");
}

static void a_large_result_arrives_whole(void **state)
{
	(void)state;
	wire_send_query(&client, "with recursive n(i) as (select 1 union all select i+1 from n "
				 "where i < 200000) select i, 'a text that fills the row' from n");
	const char *said = wire_talk(&client);
	assert_int_equal(client.rows, 200000);
	assert_non_null(strstr(said, "D(200000,a text that fills the row) C(SELECT 200000) Z(I)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rows_come_with_their_types, login, logout),
		cmocka_unit_test_setup_teardown(an_empty_query_is_answered_as_such, login, logout),
		cmocka_unit_test_setup_teardown(
			several_statements_are_one_transaction, login, logout),
		cmocka_unit_test_setup_teardown(
			a_transaction_is_seen_when_it_commits, login, logout),
		cmocka_unit_test_setup_teardown(an_error_ends_the_block, login, logout),
		cmocka_unit_test_setup_teardown(
			an_error_the_engine_never_saw_ends_it_too, login, logout),
		cmocka_unit_test_setup_teardown(
			a_savepoint_brings_a_failed_block_back, login, logout),
		cmocka_unit_test_setup_teardown(
			the_catalog_answers_while_a_table_is_locked, login, logout),
		cmocka_unit_test_setup_teardown(errors_say_what_and_where, login, logout),
		cmocka_unit_test_setup_teardown(settings_follow_the_transaction, login, logout),
		cmocka_unit_test_setup_teardown(discard_forgets_temporary_objects, login, logout),
		cmocka_unit_test_setup_teardown(a_read_only_session_writes_nothing, login, logout),
		cmocka_unit_test_setup_teardown(
			numbers_in_statements_are_not_confused, login, logout),
		cmocka_unit_test_setup_teardown(a_large_result_arrives_whole, login, logout),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
