/* SPDX-License-Identifier: Apache-2.0 */
/* A name that is no column, by simple and by extended query, with and without parameters. */
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
	wire_query(&client, "drop table if exists o; drop table if exists line; "
			    "create table o(id integer primary key, status text, total int); "
			    "create table line(o_id int, note text); "
			    "insert into o values (1, 'x', 10), (2, 'y', 20)");
	return 0;
}

static int logout(void **state)
{
	(void)state;
	wire_close(&client);
	return 0;
}

#define assert_answer(sql, said) assert_string_equal(wire_query(&client, sql), said)
#define assert_said(said)	 assert_string_equal(wire_talk(&client), said)

/* The number in it is a parameter in the extended protocol. */
static const char *const misspelt[] = {
	"delete from o where \"x\" = 'x'",
	"delete from o where \"x\" = 7",
	"delete from o where id = 7 and \"x\" = 'x'",
	"select \"stauts\" from o where id = 7",
	"select status || \":\" from o",
	"select id from o where id > 7 order by \"nope\"",
	"select count(*) from o group by \"nope\" having count(*) > 7",
	"select id from o join line on o_id = \"nope\" and id = 7",
	"select id from o where id in (select \"nope\" from line where o_id = 7)",
	"with c as (select \"nope\" from o where id = 7) select 1 from c",
	"insert into o values (7, \"draft\")",
	"insert into o values (7, 'draft', 1) returning \"nope\"",
	"insert into o values (7, 'draft', 1) on conflict (id) do update set total = \"nope\"",
	"insert into o (id, \"stauts\") values (7, 'draft')",
	"insert into o select o_id, \"nope\", 7 from line",
	"update o set status = \"draft\" where id = 7",
	"update o set \"stauts\" = 'draft' where id = 7",
	"update o set total = 7 returning \"nope\"",
	"values (7, \"draft\")",
	"create table bad (a int check (a > \"nope\"))",
	"create index bad on o (\"nope\")",
	"create index bad on o (id) where \"nope\" = 'x'",
	"create view bad as select \"nope\" from o",
	"create view bad as select id from o where exists (select 1 from line where nope = id)",
	"create table bad (a int references o (\"nope\"))",
	"alter table o add column c int check (\"nope\" > 1)",
};
/* SQLite has them in every table. */
static const char *const hidden[] = {
	"select rowid from o where id = 7",
	"select id from o where rowid = 7",
	"select id from o where o.OID > 7 order by 1",
	"select id from o order by _rowid_ limit 7",
	"select max(\"rowid\") from o where id < 7",
	"select id from o join line on line.rowid = 7",
	"select s.rowid from (select id from o where id = 7) s",
	"select id from o where id in (select oid from line where o_id = 7)",
	"with c as (select rowid from o where id = 7) select 1 from c",
	"insert into o (rowid, status) values (7, 'draft')",
	"insert into o values (7, 'draft', 1) returning rowid",
	"insert into o values (1, 'draft', 7) on conflict (id) do update set total = excluded.oid",
	"insert into o select rowid, 'draft', 7 from line",
	"update o set rowid = 7 where id = 1",
	"update o set total = rowid where id = 7",
	"update o set total = 7 where rowid = 1",
	"update o set total = 7 from line where line.rowid = 1",
	"delete from o where rowid = 7",
	"delete from o where o.oid in (select o_id from line where o_id = 7)",
	"delete from o where id = 7 returning _rowid_",
	"create table bad (a int check (rowid > 0))",
	"create index bad on o (rowid)",
	"create index bad on o (id) where oid > 0",
	"create view bad as select rowid from o",
	"explain select rowid from o",
};
#define HIDDEN (sizeof hidden / sizeof *hidden)

#define MISSPELT (sizeof misspelt / sizeof *misspelt)

/* $1 for the 7, if it has one. */
static uint16_t put_parameter(const char *sql, char *text, size_t bytes)
{
	const char *seven = strchr(sql, '7');
	if (!seven)
		snprintf(text, bytes, "%s", sql);
	else
		snprintf(text, bytes, "%.*s$1%s", (int)(seven - sql), sql, seven + 1);
	return seven != NULL;
}

static void assert_nothing_changed(void)
{
	assert_answer("select id, status, total from o order by id",
		"T(id:23,status:25,total:23) D(1,x,10) D(2,y,20) C(SELECT 2) Z(I)");
}

/* Twice: the second time its translation is there already. */
static void assert_refused_simply(const char *sql)
{
	for (int i = 0; i < 2; i++)
		if (strcmp(wire_query(&client, sql), "E(42703) Z(I)") != 0)
			fail_msg("%s: %s", sql, client.said);
}

static void assert_refused_by_execute(const char *sql)
{
	const char *const values[] = { "1" };
	char text[256];
	uint16_t count = put_parameter(sql, text, sizeof text);
	wire_parse(&client, "", text);
	wire_bind(&client, "", "", values, count, 0);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	if (strcmp(wire_talk(&client), "1 2 E(42703) Z(I)") != 0)
		fail_msg("%s: %s", text, client.said);
}

static void assert_refused_by_describe(const char *sql)
{
	char text[256];
	put_parameter(sql, text, sizeof text);
	wire_parse(&client, "", text);
	wire_describe(&client, 'S', "");
	wire_sync(&client);
	if (strcmp(wire_talk(&client), "1 E(42703) Z(I)") != 0)
		fail_msg("%s: %s", text, client.said);
}

static void a_misspelt_name_is_refused_in_every_clause(void **state)
{
	(void)state;
	for (size_t i = 0; i < MISSPELT; i++) {
		assert_refused_simply(misspelt[i]);
		assert_refused_by_execute(misspelt[i]);
		assert_refused_by_describe(misspelt[i]);
	}
	assert_nothing_changed();
}

static void a_hidden_column_is_refused_in_every_clause(void **state)
{
	(void)state;
	for (size_t i = 0; i < HIDDEN; i++) {
		assert_refused_simply(hidden[i]);
		assert_refused_by_execute(hidden[i]);
		assert_refused_by_describe(hidden[i]);
	}
	assert_nothing_changed();
}

static void a_column_with_the_name_of_a_hidden_one_is_a_column(void **state)
{
	const char *const values[] = { "7" };
	(void)state;
	wire_query(&client, "drop table if exists n; create table n(oid int, rowid varchar(5)); "
			    "insert into n values (7, 'a'), (8, 'b')");
	wire_parse(&client, "", "select oid, n.rowid, oid + 1 from n where oid = $1");
	wire_describe(&client, 'S', "");
	wire_bind(&client, "", "", values, 1, 0);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	assert_said("1 t(23) T(oid:23,rowid:1043,?column?:23) 2 D(7,a,8) C(SELECT 1) Z(I)");
	wire_parse(&client, "", "update n set rowid = 'c' where oid = $1 returning rowid");
	wire_bind(&client, "", "", values, 1, 0);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	assert_said("1 2 D(c) C(UPDATE 1) Z(I)");
	assert_answer("delete from n where oid = 7", "C(DELETE 1) Z(I)");
	assert_answer("insert into n values (9)", "C(INSERT 0 1) Z(I)");
	assert_answer("select rowid, oid from n order by oid",
		"T(rowid:1043,oid:23) D(b,8) D(~,9) C(SELECT 2) Z(I)");
}

/* It is compiled again by itself, and finds the hidden column. */
static void a_statement_whose_column_is_gone_does_not_take_the_hidden_one(void **state)
{
	const char *const values[] = { "1" };
	(void)state;
	wire_query(&client, "drop table if exists n; create table n(rowid int, a int); "
			    "insert into n values (5, 1), (6, 2)");
	wire_parse(&client, "gone", "delete from n where rowid = $1");
	wire_parse(&client, "shown", "select a from n where rowid = $1");
	for (int i = 0; i < 2; i++) {
		wire_bind(&client, "", "gone", values, 1, 0);
		wire_execute(&client, "", 0);
		wire_bind(&client, "", "shown", values, 1, 0);
		wire_execute(&client, "", 0);
	}
	wire_sync(&client);
	assert_said("1 1 2 C(DELETE 0) 2 C(SELECT 0) 2 C(DELETE 0) 2 C(SELECT 0) Z(I)");
	assert_answer("delete from n where rowid = 1", "C(DELETE 0) Z(I)");
	assert_answer("alter table n rename column rowid to r", "C(ALTER TABLE) Z(I)");
	assert_answer("delete from n where rowid = 1", "E(42703) Z(I)");
	wire_bind(&client, "", "gone", values, 1, 0);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	assert_said("2 E(42703) Z(I)");
	wire_bind(&client, "", "shown", values, 1, 0);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	assert_said("2 E(42703) Z(I)");
	assert_answer(
		"select r, a from n order by r", "T(r:23,a:23) D(5,1) D(6,2) C(SELECT 2) Z(I)");
}

static void the_error_says_where_the_name_stands(void **state)
{
	(void)state;
	assert_answer("delete from o where \"x\" = 'x'", "E(42703) Z(I)");
	assert_string_equal(client.last_error, "column \"x\" does not exist");
	assert_int_equal(client.last_position, 21);
	wire_parse(&client, "", "delete from o where id = $1 and \"x\" = 'x'");
	wire_describe(&client, 'S', "");
	wire_sync(&client);
	assert_said("1 E(42703) Z(I)");
	assert_string_equal(client.last_error, "column \"x\" does not exist");
	assert_int_equal(client.last_position, 33);
}

static void a_prepared_statement_with_a_misspelt_name_changes_nothing(void **state)
{
	(void)state;
	assert_answer(
		"prepare p(int) as delete from o where id = $1 or \"x\" = 'x'", "C(PREPARE) Z(I)");
	assert_answer("execute p(1)", "E(42703) Z(I)");
	assert_answer("explain delete from o where \"x\" = 'x'", "E(42703) Z(I)");
	assert_nothing_changed();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, login, logout)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_misspelt_name_is_refused_in_every_clause),
		TEST(a_hidden_column_is_refused_in_every_clause),
		TEST(a_column_with_the_name_of_a_hidden_one_is_a_column),
		TEST(a_statement_whose_column_is_gone_does_not_take_the_hidden_one),
		TEST(the_error_says_where_the_name_stands),
		TEST(a_prepared_statement_with_a_misspelt_name_changes_nothing),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
