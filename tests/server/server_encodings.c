/* SPDX-License-Identifier: Apache-2.0 */
/* Clients log in whatever encoding their surroundings name, and are told what cannot be sent in it. */
#include "tests/server/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct wire_client client;

static void login_as(const char *encoding)
{
	const char *const pairs[] = { "user", "u", "client_encoding", encoding, NULL };
	wire_open(&client, &server);
	wire_startup(&client, pairs);
	assert_string_equal(wire_talk(&client), "Z(I)");
}

static int logout(void **state)
{
	(void)state;
	wire_close(&client);
	return 0;
}

static void assert_shown(const char *encoding)
{
	char said[96];
	snprintf(said, sizeof said, "T(client_encoding:25) D(%s) C(SHOW) Z(I)", encoding);
	assert_string_equal(wire_query(&client, "show client_encoding"), said);
}

static void the_spellings_of_an_encoding_are_those_of_postgresql(void **state)
{
	static const char *const ways[][2] = { { "UTF8", "UTF8" }, { "'utf-8'", "UTF8" },
		{ "unicode", "UTF8" }, { "SQL_ASCII", "SQL_ASCII" }, { "latin1", "LATIN1" },
		{ "ISO_8859_1", "LATIN1" } };
	(void)state;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		login_as(ways[i][0]);
		assert_shown(ways[i][1]);
		wire_close(&client);
	}
	login_as("UTF8");
	assert_string_equal(wire_query(&client, "set client_encoding = 'BIG5'"), "E(22023) Z(I)");
}

static void sql_ascii_passes_bytes_that_are_utf8(void **state)
{
	(void)state;
	login_as("SQL_ASCII");
	assert_string_equal(wire_query(&client, "select 'gr\xc3\xbc' as a"),
		"T(a:25) D(gr\xc3\xbc) C(SELECT 1) Z(I)");
	assert_string_equal(wire_query(&client, "select 'gr\xfc' as a"), "E(22021) Z(I)");
}

static void latin1_is_converted_both_ways(void **state)
{
	const char *const values[] = { "\xfc\xff" };
	(void)state;
	login_as("LATIN1");
	assert_string_equal(
		wire_query(&client, "select 'gr\xfc' as \"\xe4\", length('gr\xfc') as n"),
		"T(\xe4:25,n:23) D(gr\xfc,3) C(SELECT 1) Z(I)");
	for (int binary = 0; binary < 2; binary++) {
		wire_parse(&client, "", "select $1::text || '\xe9' as a");
		wire_bind(&client, "", "", values, 1, binary);
		wire_execute(&client, "", 0);
		wire_sync(&client);
		assert_string_equal(wire_talk(&client), "1 2 D(\xfc\xff\xe9) C(SELECT 1) Z(I)");
	}
	wire_query(&client, "select \"\xfc\"");
	assert_non_null(strstr(client.last_error, "\"\xfc\""));
}

static void what_latin1_lacks_is_refused_by_the_statement(void **state)
{
	(void)state;
	login_as("UTF8");
	wire_query(&client, "create table euro(a text); insert into euro values ('\xe2\x82\xac')");
	wire_close(&client);
	login_as("LATIN1");
	assert_string_equal(wire_query(&client, "select a from euro"), "T(a:25) E(22P05) Z(I)");
	assert_string_equal(client.last_error, "character with byte sequence 0xe2 0x82 0xac in "
					       "encoding \"UTF8\" has no equivalent "
					       "in encoding \"LATIN1\"");
	assert_string_equal(wire_query(&client, "set client_encoding = 'utf8'; select a from euro"),
		"C(SET) T(a:25) D(\xe2\x82\xac) C(SELECT 1) Z(I)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			the_spellings_of_an_encoding_are_those_of_postgresql, logout),
		cmocka_unit_test_teardown(sql_ascii_passes_bytes_that_are_utf8, logout),
		cmocka_unit_test_teardown(latin1_is_converted_both_ways, logout),
		cmocka_unit_test_teardown(what_latin1_lacks_is_refused_by_the_statement, logout),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
