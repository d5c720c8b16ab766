/* SPDX-License-Identifier: Apache-2.0 */
/* A name that is no column, by simple and by extended query, with and without parameters. */
#include "wire_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct wire_server server;
static struct wire_client client;

static int start(void **state)
{
	(void)state;
	wire_server_start(&server, NULL);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	int status = wire_server_stop(&server);
	wire_server_clean(&server);
	return status;
}

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

/* The second time its translation is there already. */
static void a_simple_query_with_a_misspelt_name_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * MISSPELT; i++)
		if (strcmp(wire_query(&client, misspelt[i / 2]), "E(42703) Z(I)") != 0)
			fail_msg("%s: %s", misspelt[i / 2], client.said);
	assert_nothing_changed();
}

static void an_execute_of_a_misspelt_name_is_refused(void **state)
{
	const char *const values[] = { "1" };
	char text[256];
	(void)state;
	for (size_t i = 0; i < MISSPELT; i++) {
		uint16_t count = put_parameter(misspelt[i], text, sizeof text);
		wire_parse(&client, "", text);
		wire_bind(&client, "", "", values, count, 0);
		wire_execute(&client, "", 0);
		wire_sync(&client);
		if (strcmp(wire_talk(&client), "1 2 E(42703) Z(I)") != 0)
			fail_msg("%s: %s", text, client.said);
	}
	assert_nothing_changed();
}

static void a_describe_of_a_misspelt_name_is_refused_too(void **state)
{
	char text[256];
	(void)state;
	for (size_t i = 0; i < MISSPELT; i++) {
		put_parameter(misspelt[i], text, sizeof text);
		wire_parse(&client, "", text);
		wire_describe(&client, 'S', "");
		wire_sync(&client);
		if (strcmp(wire_talk(&client), "1 E(42703) Z(I)") != 0)
			fail_msg("%s: %s", text, client.said);
	}
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
		TEST(a_simple_query_with_a_misspelt_name_is_refused),
		TEST(an_execute_of_a_misspelt_name_is_refused),
		TEST(a_describe_of_a_misspelt_name_is_refused_too),
		TEST(the_error_says_where_the_name_stands),
		TEST(a_prepared_statement_with_a_misspelt_name_changes_nothing),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
