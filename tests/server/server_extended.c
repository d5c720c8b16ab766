/* SPDX-License-Identifier: Apache-2.0 */
/* The extended protocol: names, parameters, portals, pipelines, errors up to the Sync. */
#include "tests/server/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct wire_client client;

static int login(void **state)
{
	(void)state;
	wire_login(&client, &server, "demo");
	wire_query(&client,
		"drop table if exists t; create table t(id integer primary key, a int, "
		"b text, c bytea); insert into t values (1,10,'x','ab'), (2,20,'y',null)");
	return 0;
}

static int logout(void **state)
{
	(void)state;
	wire_close(&client);
	return 0;
}

#define assert_said(said) assert_string_equal(wire_talk(&client), said)

static void run(const char *sql, const char *const *values, uint16_t count)
{
	wire_parse(&client, "", sql);
	wire_bind(&client, "", "", values, count, 0);
	wire_describe(&client, 'P', "");
	wire_execute(&client, "", 0);
	wire_sync(&client);
}

static void a_statement_with_parameters_runs(void **state)
{
	(void)state;
	const char *const values[] = { "1", "2" };
	run("select a, b from t where id = $1 or id = $2 order by id", values, 2);
	assert_said("1 2 T(a:23,b:25) D(10,x) D(20,y) C(SELECT 2) Z(I)");
	const char *const swapped[] = { "x", "1" };
	run("select a from t where id = $2 and b = $1", swapped, 2);
	assert_said("1 2 T(a:23) D(10) C(SELECT 1) Z(I)");
	const char *const null[] = { NULL };
	run("update t set b = $1 where id = 1", null, 1);
	assert_said("1 2 n C(UPDATE 1) Z(I)");
}

static void a_parameter_is_held_to_its_column_s_type(void **state)
{
	(void)state;
	wire_query(&client, "drop table if exists typed; create table typed(i int, v varchar(2), "
			    "b boolean)");
	const char *const fine[] = { "12", "ab ", "on" };
	run("insert into typed values ($1, $2, $3) returning i, v, b", fine, 3);
	assert_said("1 2 T(i:23,v:1043,b:16) D(12,ab,t) C(INSERT 0 1) Z(I)");
	const char *const word[] = { "x" }, *const large[] = { "3000000000" };
	run("update typed set i = $1", word, 1);
	assert_said("1 E(22P02) Z(I)");
	run("update typed set i = $1", large, 1);
	assert_said("1 E(22003) Z(I)");
	/* int8 in binary: 1 << 32 */
	static const char parse[] = "\0update typed set i = $1\0\0\1\0\0\0\24";
	static const char bind[] = "\0\0\0\1\0\1\0\1\0\0\0\10\0\0\0\1\0\0\0\0\0";
	wire_message(&client, 'P', parse, sizeof parse - 1);
	wire_message(&client, 'B', bind, sizeof bind);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	assert_said("1 2 E(22003) Z(I)");
	const char *const wide[] = { "abc" };
	run("update typed set v = $1", wide, 1);
	assert_said("1 2 n E(22001) Z(I)");
	/* which stays what it was when the statement was prepared */
	const char *const later[] = { "abcd" };
	wire_parse(&client, "s", "insert into typed values ($1)");
	wire_sync(&client);
	wire_talk(&client);
	wire_query(&client, "drop table typed; create table typed(v varchar(4))");
	wire_bind(&client, "", "s", later, 1, 0);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	assert_said("E(22P02) Z(I)");
	wire_close_named(&client, 'S', "s");
	wire_sync(&client);
	wire_talk(&client);
}

#define BEGUN "C(BEGIN) T(b:25) D(x) C(SELECT 1) Z(T)"

/* Two connections to SQLite: one is pinned by a transaction, the other has seen the table before.
 */
static void what_another_connection_made_of_a_table_counts(void **state)
{
	(void)state;
	struct wire_client other;
	const char *const word[] = { "abc" }, *const number[] = { "1" };
	wire_login(&other, &server, "demo");
	wire_query(&client, "drop table if exists typed; create table typed(i int, v text)");
	wire_parse(&client, "s", "insert into typed (i) values ($1)");
	wire_sync(&client);
	wire_talk(&client);
	assert_string_equal(wire_query(&other, "begin; select b from t where id = 1"), BEGUN);
	for (int i = 0; i < 2; i++) {
		wire_bind(&client, "", "s", i ? word : number, 1, 0);
		wire_execute(&client, "", 0);
		wire_sync(&client);
		assert_said(i ? "E(22P02) Z(I)" : "2 C(INSERT 0 1) Z(I)");
	}
	assert_string_equal(wire_query(&other, "drop table typed; create table typed(v int, i "
					       "varchar(3)); commit"),
		"C(DROP TABLE) C(CREATE TABLE) C(COMMIT) Z(I)");
	assert_string_equal(wire_query(&other, "begin; select b from t where id = 1"), BEGUN);
	wire_bind(&client, "", "s", number, 1, 0);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	assert_said("2 C(INSERT 0 1) Z(I)");
	wire_query(&other, "rollback");
	wire_close(&other);
	wire_close_named(&client, 'S', "s");
	wire_sync(&client);
	wire_talk(&client);
}

static void types_of_expressions_come_from_the_statement(void **state)
{
	(void)state;
	run("select max(a), max(b), sum(a) + 0.5 from t", NULL, 0);
	assert_said("1 2 T(max:23,max:25,?column?:1700) D(20,y,30.5) C(SELECT 1) Z(I)");
}

static void statements_keep_their_names(void **state)
{
	(void)state;
	const char *const values[] = { "2" };
	wire_parse(&client, "s", "select a from t where id = $1");
	wire_describe(&client, 'S', "s");
	wire_sync(&client);
	assert_said("1 t(20) T(a:23) Z(I)");
	for (int i = 0; i < 3; i++) {
		wire_bind(&client, "", "s", values, 1, 0);
		wire_execute(&client, "", 0);
		wire_sync(&client);
		assert_said("2 D(20) C(SELECT 1) Z(I)");
	}
	wire_parse(&client, "s", "select 1");
	wire_sync(&client);
	assert_said("E(42P05) Z(I)");
	wire_close_named(&client, 'S', "s");
	wire_sync(&client);
	assert_said("3 Z(I)");
	wire_bind(&client, "", "s", values, 1, 0);
	wire_sync(&client);
	assert_said("E(26000) Z(I)");
}

/* The error is told when the Sync comes, and is the transaction's all the same. */
static void a_describe_that_fails_undoes_what_came_before(void **state)
{
	(void)state;
	for (int in_block = 0; in_block < 2; in_block++) {
		if (in_block)
			wire_query(&client, "begin");
		wire_parse(&client, "", "insert into t values (3,3,'z',null)");
		wire_bind(&client, "", "", NULL, 0, 0);
		wire_execute(&client, "", 0);
		wire_parse(&client, "", "select nope from t");
		wire_bind(&client, "", "", NULL, 0, 0);
		wire_describe(&client, 'P', "");
		wire_sync(&client);
		assert_said(in_block ? "1 2 C(INSERT 0 1) 1 2 E(42703) Z(E)"
				     : "1 2 C(INSERT 0 1) 1 2 E(42703) Z(I)");
	}
	wire_query(&client, "rollback");
	run("select count(*) from t", NULL, 0);
	assert_said("1 2 T(count:20) D(2) C(SELECT 1) Z(I)");
}

static void after_an_error_everything_is_skipped_up_to_the_sync(void **state)
{
	(void)state;
	wire_parse(&client, "", "select nope from t");
	wire_bind(&client, "", "", NULL, 0, 0);
	wire_execute(&client, "", 0);
	wire_parse(&client, "", "insert into t values (3,3,'z',null)");
	wire_bind(&client, "", "", NULL, 0, 0);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	run("select count(*) from t", NULL, 0);
	assert_said("1 2 E(42703) Z(I)");
	assert_said("1 2 T(count:20) D(2) C(SELECT 1) Z(I)");
}

static void what_stands_between_two_syncs_is_one_transaction(void **state)
{
	(void)state;
	wire_parse(&client, "", "insert into t values (3,3,'z',null)");
	wire_bind(&client, "", "", NULL, 0, 0);
	wire_execute(&client, "", 0);
	wire_parse(&client, "", "insert into t values (3,4,'again',null)");
	wire_bind(&client, "", "", NULL, 0, 0);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	assert_said("1 2 C(INSERT 0 1) 1 2 E(23505) Z(I)");
	run("select count(*) from t", NULL, 0);
	assert_said("1 2 T(count:20) D(2) C(SELECT 1) Z(I)");
}

static void a_pipeline_of_queries_is_answered_in_order(void **state)
{
	(void)state;
	const char *const one[] = { "1" }, *const two[] = { "2" };
	run("select a from t where id = $1", one, 1);
	run("select a from t where id = $1", two, 1);
	wire_message(&client, 'Q', "select 7", 9);
	run("select b from t where id = $1", one, 1);
	assert_said("1 2 T(a:23) D(10) C(SELECT 1) Z(I)");
	assert_said("1 2 T(a:23) D(20) C(SELECT 1) Z(I)");
	assert_said("T(?column?:23) D(7) C(SELECT 1) Z(I)");
	assert_said("1 2 T(b:25) D(x) C(SELECT 1) Z(I)");
}

static void a_portal_gives_its_rows_in_parts(void **state)
{
	(void)state;
	wire_query(&client, "begin");
	wire_parse(&client, "", "values (1),(2),(3),(4),(5)");
	wire_bind(&client, "p", "", NULL, 0, 0);
	wire_execute(&client, "p", 2);
	wire_sync(&client);
	assert_said("1 2 D(1) D(2) s Z(T)");
	wire_execute(&client, "p", 2);
	wire_execute(&client, "p", 2);
	wire_sync(&client);
	assert_said("D(3) D(4) s D(5) C(SELECT 1) Z(T)");
	wire_bind(&client, "p", "", NULL, 0, 0);
	wire_sync(&client);
	assert_said("E(42P03) Z(E)");
	wire_query(&client, "rollback");
	wire_execute(&client, "p", 2);
	wire_sync(&client);
	assert_said("E(34000) Z(I)");
}

static void a_portal_keeps_only_so_many_rows(void **state)
{
	(void)state;
	wire_parse(&client, "",
		"with recursive n(i) as (select 1 union all select i+1 from n where i < 1000000) "
		"select i, 'some text that makes the rows larger than they are' from n");
	wire_bind(&client, "", "", NULL, 0, 0);
	wire_execute(&client, "", 1);
	wire_sync(&client);
	assert_said("1 2 D(1,some text that makes the rows larger than they are) E(54000) Z(I)");
}

static void binary_results_are_binary(void **state)
{
	(void)state;
	wire_parse(&client, "", "select id, a, c from t where id = 1");
	wire_bind(&client, "", "", NULL, 0, 1);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	/* eight bytes, four bytes, the raw bytes: the text shown ends at the first NUL */
	assert_said("1 2 D(,,ab) C(SELECT 1) Z(I)");
}

/* It was sent as the number 0. */
static void values_that_cannot_become_one_type_are_an_error(void **state)
{
	(void)state;
	wire_parse(&client, "",
		"select case a when 1 then 1 else 'abc' end from (values (1), (2)) v (a)");
	wire_bind(&client, "", "", NULL, 0, 1);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	const char *said = wire_talk(&client);
	assert_non_null(strstr(said, "E(22P02) Z(I)"));
	assert_null(strstr(said, "C(SELECT"));
}

static void wrong_messages_get_their_errors(void **state)
{
	(void)state;
	const char *const values[] = { "1", "x" };
	wire_parse(&client, "", "select 1; select 2");
	wire_sync(&client);
	assert_said("E(42601) Z(I)");
	wire_parse(&client, "", "select $1");
	wire_bind(&client, "", "", values, 2, 0);
	wire_sync(&client);
	assert_said("1 E(08P01) Z(I)");
	wire_parse(&client, "", "copy t to stdout");
	wire_sync(&client);
	assert_said("E(0A000) Z(I)");
	wire_execute(&client, "none", 0);
	wire_sync(&client);
	assert_said("E(34000) Z(I)");
	wire_describe(&client, 'S', "none");
	wire_sync(&client);
	assert_said("E(26000) Z(I)");
	wire_parse(&client, "", "");
	wire_bind(&client, "", "", NULL, 0, 0);
	wire_describe(&client, 'P', "");
	wire_execute(&client, "", 0);
	wire_sync(&client);
	assert_said("1 2 n I Z(I)");
}

static void a_portal_that_is_done_runs_no_second_time(void **state)
{
	(void)state;
	wire_parse(&client, "", "select 1");
	wire_bind(&client, "", "", NULL, 0, 0);
	wire_execute(&client, "", 0);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	assert_said("1 2 D(1) C(SELECT 1) C(SELECT 0) Z(I)");
	wire_parse(&client, "", "insert into t values (9,9,'z',null)");
	wire_bind(&client, "", "", NULL, 0, 0);
	wire_execute(&client, "", 0);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	assert_said("1 2 C(INSERT 0 1) E(55000) Z(I)");
	assert_string_equal(client.last_error, "portal \"\" cannot be run");
}

/* They were taken for $65535, and NULL. */
static void parameters_have_numbers_the_protocol_can_tell(void **state)
{
	(void)state;
	wire_parse(&client, "", "select $65536");
	wire_sync(&client);
	assert_said("E(42P02) Z(I)");
	wire_parse(&client, "", "select $0");
	wire_sync(&client);
	assert_said("E(42P02) Z(I)");
	assert_string_equal(client.last_error, "there is no parameter $0");
}

static void values_that_are_no_text_are_refused(void **state)
{
	static const uint8_t nul[] = "\0\0\0\0\0\001\0\0\0\003a\0b\0";
	static const uint8_t formats[] = "\0\0\0\002\0\0\0\001\0\001\0\0\0\001a\0";
	(void)state;
	wire_parse(&client, "", "select $1");
	wire_message(&client, 'B', nul, sizeof nul);
	wire_sync(&client);
	assert_said("1 E(22021) Z(I)");
	wire_message(&client, 'B', formats, sizeof formats);
	wire_sync(&client);
	assert_said("E(08P01) Z(I)"); /* two formats for one parameter: no reason to part */
}

/* The rest of the message came before its Sync did. */
static void vacuum_does_not_depend_on_how_the_bytes_come(void **state)
{
	(void)state;
	wire_parse(&client, "", "vacuum");
	wire_bind(&client, "", "", NULL, 0, 0);
	wire_execute(&client, "", 0);
	wire_flush(&client);
	assert_string_equal(wire_until(&client, 'C'), "1 2 C(VACUUM)");
	wire_sync(&client);
	assert_said("Z(I)");
}

#define PARENTS "create table parents(id int primary key)"
#define CHILDREN                                                                                   \
	"create table children(id int primary key, parent int references parents(id) deferrable "  \
	"initially deferred, n int check (n > 0))"

/* The server's end, once: the COMMIT belongs to no statement. */
static void a_commit_that_fails_at_the_sync_is_an_error(void **state)
{
	(void)state;
	assert_string_equal(wire_query(&client, PARENTS), "C(CREATE TABLE) Z(I)");
	assert_string_equal(wire_query(&client, CHILDREN), "C(CREATE TABLE) Z(I)");
	for (int i = 0; i < 2; i++) {
		wire_parse(&client, "",
			i ? "insert into children values (2, 7)"
			  : "insert into children values (1, 7)");
		wire_bind(&client, "", "", NULL, 0, 0);
		wire_execute(&client, "", 0);
	}
	wire_sync(&client);
	assert_said("1 2 C(INSERT 0 1) 1 2 C(INSERT 0 1) E(23503) Z(I)");
	assert_string_equal(
		client.last_error, "insert, update or delete violates foreign key constraint");
	assert_string_equal(wire_query(&client, "select count(*) from children"),
		"T(count:20) D(0) C(SELECT 1) Z(I)");
	/* EXECUTE's errors tell the table, and no place in another text */
	wire_query(&client, "prepare c(int) as insert into children values (3, null, $1)");
	assert_string_equal(wire_query(&client, "execute c(-1)"), "E(23514) Z(I)");
	assert_string_equal(client.last_error,
		"new row for relation \"children\" violates check constraint \"children_n_check\"");
	assert_int_equal(client.last_position, 0);
}

static void a_refused_message_fails_the_block(void **state)
{
	(void)state;
	wire_query(&client, "begin");
	wire_message(&client, 'F', "\0\0\0\001\0\0\0\0\0\0", 10);
	assert_said("E(0A000) Z(E)");
	assert_string_equal(wire_query(&client, "rollback"), "C(ROLLBACK) Z(I)");
}

static void transactions_work_as_statements_do(void **state)
{
	(void)state;
	run("begin", NULL, 0);
	assert_said("1 2 n C(BEGIN) Z(T)");
	run("insert into t(id) values (1)", NULL, 0);
	assert_said("1 2 n E(23505) Z(E)");
	run("select 1", NULL, 0);
	assert_said("E(25P02) Z(E)");
	run("commit", NULL, 0);
	assert_said("1 2 n C(ROLLBACK) Z(I)");
	run("show transaction isolation level", NULL, 0);
	assert_said("1 2 T(transaction_isolation:25) D(read committed) C(SHOW) Z(I)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_statement_with_parameters_runs, login, logout),
		cmocka_unit_test_setup_teardown(
			a_parameter_is_held_to_its_column_s_type, login, logout),
		cmocka_unit_test_setup_teardown(
			what_another_connection_made_of_a_table_counts, login, logout),
		cmocka_unit_test_setup_teardown(
			types_of_expressions_come_from_the_statement, login, logout),
		cmocka_unit_test_setup_teardown(statements_keep_their_names, login, logout),
		cmocka_unit_test_setup_teardown(
			after_an_error_everything_is_skipped_up_to_the_sync, login, logout),
		cmocka_unit_test_setup_teardown(
			a_describe_that_fails_undoes_what_came_before, login, logout),
		cmocka_unit_test_setup_teardown(
			what_stands_between_two_syncs_is_one_transaction, login, logout),
		cmocka_unit_test_setup_teardown(
			a_pipeline_of_queries_is_answered_in_order, login, logout),
		cmocka_unit_test_setup_teardown(a_portal_gives_its_rows_in_parts, login, logout),
		cmocka_unit_test_setup_teardown(a_portal_keeps_only_so_many_rows, login, logout),
		cmocka_unit_test_setup_teardown(binary_results_are_binary, login, logout),
		cmocka_unit_test_setup_teardown(
			values_that_cannot_become_one_type_are_an_error, login, logout),
		cmocka_unit_test_setup_teardown(wrong_messages_get_their_errors, login, logout),
		cmocka_unit_test_setup_teardown(transactions_work_as_statements_do, login, logout),
		cmocka_unit_test_setup_teardown(
			a_portal_that_is_done_runs_no_second_time, login, logout),
		cmocka_unit_test_setup_teardown(
			parameters_have_numbers_the_protocol_can_tell, login, logout),
		cmocka_unit_test_setup_teardown(values_that_are_no_text_are_refused, login, logout),
		cmocka_unit_test_setup_teardown(
			a_commit_that_fails_at_the_sync_is_an_error, login, logout),
		cmocka_unit_test_setup_teardown(a_refused_message_fails_the_block, login, logout),
		cmocka_unit_test_setup_teardown(
			vacuum_does_not_depend_on_how_the_bytes_come, login, logout),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
