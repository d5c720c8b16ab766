/* SPDX-License-Identifier: Apache-2.0 */
/* Every type of the table: whoever is asked for it says the same. */
#include "demo-db/server/types/pg_types.h"
#include "tests/server/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct wire_client client;

static int start_and_login(void **state)
{
	start(state);
	wire_login(&client, &server, "demo");
	return 0;
}

static int logout_and_stop(void **state)
{
	wire_close(&client);
	return stop(state);
}

static const struct {
	const char *word; /* as a column is declared */
	int oid;
	const char *name, *spelling;
	bool binary;
} types[] = {
#define BINARY	  true
#define TEXT_ONLY false
#define PG_TYPE(id, oid, name, spelling, affinity, cast, length, binary)                           \
	{ name, oid, name, spelling, binary }, { spelling, oid, name, spelling, binary },
#include "demo-db/server/types/pg_types.def"
}, words[] = {
#define PG_WORD(word, id) { word, PG_##id, NULL, NULL, false },
#include "demo-db/server/types/pg_types.def"
};
#define TYPES (sizeof types / sizeof *types)
#define WORDS (sizeof words / sizeof *words)

__attribute__((format(printf, 2, 3))) static void assert_answer(
	const char *sql, const char *format, ...)
{
	char expected[256];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(expected, sizeof expected, format, arguments);
	va_end(arguments);
	const char *said = wire_query(&client, sql);
	if (strcmp(said, expected) != 0)
		fail_msg("%s\n  answers %s\n  and not %s", sql, said, expected);
}

static void make_table(const char *declared)
{
	char sql[128];
	snprintf(sql, sizeof sql, "drop table if exists t; create table t (a %s)", declared);
	wire_query(&client, sql);
}

static void a_row_description_and_the_catalog_agree(void **state)
{
	(void)state;
	for (size_t i = 0; i < TYPES; i++) {
		int oid = types[i].oid;
		make_table(types[i].word);
		assert_answer("select a from t", "T(a:%d) C(SELECT 0) Z(I)", oid);
		assert_answer("select t.typname as n, format_type(c.atttypid, -1) as f from "
			      "pg_attribute c join pg_type t on t.oid = c.atttypid where "
			      "c.attrelid = 't'::regclass and c.attname = 'a'",
			"T(n:25,f:25) D(%s,%s) C(SELECT 1) Z(I)", types[i].name, types[i].spelling);
		assert_answer("select atttypid from pg_attribute where attrelid = 't'::regclass",
			"T(atttypid:23) D(%d) C(SELECT 1) Z(I)", oid);
	}
}

static void a_described_statement_agrees(void **state)
{
	char expected[64];
	(void)state;
	for (size_t i = 0; i < TYPES; i++) {
		make_table(types[i].word);
		wire_parse(&client, "", "select a from t");
		wire_describe(&client, 'S', "");
		wire_sync(&client);
		snprintf(expected, sizeof expected, "1 t() T(a:%d) Z(I)", types[i].oid);
		assert_string_equal(wire_talk(&client), expected);
	}
}

static void another_word_is_the_same_type(void **state)
{
	(void)state;
	for (size_t i = 0; i < WORDS; i++) {
		char expected[32];
		make_table(words[i].word);
		assert_answer("select a from t", "T(a:%d) C(SELECT 0) Z(I)", words[i].oid);
		snprintf(expected, sizeof expected, "D(%d)", words[i].oid);
		assert_non_null(strstr(wire_query(&client, "select atttypid from pg_attribute "
							   "where attrelid = 't'::regclass"),
			expected));
	}
}

static void a_cast_and_a_typed_literal_have_their_type(void **state)
{
	char sql[128];
	(void)state;
	for (size_t i = 0; i < TYPES; i += 2) { /* the names */
		const char *name = types[i].name;
		int oid = types[i].oid == PG_UNKNOWN_LITERAL ? PG_TEXT : types[i].oid;
		if (types[i].oid == PG_TIMETZ || types[i].oid == PG_INTERVAL)
			continue;
		snprintf(sql, sizeof sql, "select null::%s", name);
		assert_answer(sql, "T(%s:%d) D(~) C(SELECT 1) Z(I)", name, oid);
		snprintf(sql, sizeof sql, "select cast(null as %s)", name);
		assert_answer(sql, "T(%s:%d) D(~) C(SELECT 1) Z(I)", name, oid);
		snprintf(sql, sizeof sql, "select %s '1' where false", name);
		assert_answer(sql, "T(%s:%d) C(SELECT 0) Z(I)", name, oid);
	}
}

static void a_cast_that_is_not_there_is_refused(void **state)
{
	(void)state;
	assert_answer("select '12:00'::timetz", "E(0A000) Z(I)");
	assert_answer("select cast('12:00' as time with time zone)", "E(0A000) Z(I)");
	assert_answer("select '1 day'::interval", "E(0A000) Z(I)");
	assert_answer("select '1'::serial", "E(42704) Z(I)");
	assert_answer("select '1'::blob", "E(42704) Z(I)");
}

static void a_parameter_s_type_is_told_back(void **state)
{
	char expected[64], body[64];
	(void)state;
	for (size_t i = 0; i < TYPES; i += 2) {
		int oid = types[i].oid;
		int bytes = snprintf(body, sizeof body, "%cselect $1%c%c%c", 0, 0, 0, 1);
		const char id[] = { (char)(oid >> 24), (char)(oid >> 16), (char)(oid >> 8),
			(char)oid };
		memcpy(body + bytes, id, sizeof id);
		wire_message(&client, 'P', body, (size_t)bytes + sizeof id);
		wire_describe(&client, 'S', "");
		wire_sync(&client);
		int told = oid == 705 ? 25 : oid; /* unknown is taken for text */
		snprintf(expected, sizeof expected, "1 t(%d) T(?column?:%d) Z(I)", told, told);
		assert_string_equal(wire_talk(&client), expected);
	}
}

#define UUID_TEXT "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
#define UUID_FORM "\xa0\xee\xbc\x99\x9c\x0b\x4e\xf8\xbb\x6d\x6b\xb9\xbd\x38\x0a\x11"

static void a_value_comes_in_its_binary_form(void **state)
{
	(void)state;
	wire_query(&client, "drop table if exists t; create table t (u uuid, j json, jb jsonb, "
			    "o oid, n name, d date)");
	wire_query(&client, "insert into t values ('" UUID_TEXT "', '{}', '{}', 4294967295, 'n', "
			    "'2024-02-29')");
	wire_parse(&client, "", "select * from t");
	wire_bind(&client, "", "", NULL, 0, 1);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	assert_string_equal(wire_talk(&client), "1 2 D(" UUID_FORM ",{},\1{},\xff\xff\xff\xff,n,"
						") C(SELECT 1) Z(I)"); /* 8825 days */
}

static void a_value_is_taken_in_its_binary_form(void **state)
{
	(void)state;
	static const char parse[] = "\0insert into t values ($1, $2)\0\0\2\0\0\x0b\x86\0\0\x04\x3b";
	static const char bind[] =
		"\0\0\0\1\0\1\0\2\0\0\0\20" UUID_FORM "\0\0\0\10\0\0\0\0\0\x16\xe3\x60\0\0";
	wire_query(&client, "drop table if exists t; create table t (u uuid, ti time)");
	wire_message(&client, 'P', parse, sizeof parse - 1);
	wire_message(&client, 'B', bind, sizeof bind - 1);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	assert_string_equal(wire_talk(&client), "1 2 C(INSERT 0 1) Z(I)");
	assert_answer("select u, ti from t",
		"T(u:2950,ti:1083) D(" UUID_TEXT ",00:00:01.5) C(SELECT 1) Z(I)");
}

/* A bigserial is an INTEGER of 64 bits here: a row is refused rather than cut. */
static void an_integer_beyond_its_type_is_not_sent_in_binary(void **state)
{
	(void)state;
	wire_query(&client, "drop table if exists t; create table t (id bigserial primary key)");
	wire_query(&client, "insert into t values (3000000000)");
	assert_answer("select id from t", "T(id:23) D(3000000000) C(SELECT 1) Z(I)");
	wire_parse(&client, "", "select id from t");
	wire_bind(&client, "", "", NULL, 0, 1);
	wire_execute(&client, "", 0);
	wire_sync(&client);
	assert_string_equal(wire_talk(&client), "1 2 E(42804) Z(I)");
}

/* Each of these wrote or read past an array. */
static void what_is_too_large_is_refused(void **state)
{
	static const char *const inputs[] = { "select 1e-300 * 1e-300", "select round(0.0, 100000)",
		"select 0.0 / 1e399", "select '0'::numeric(1000,900)",
		"select round(1.5, 2147483647)",
		"select 1 union select 1,2,3,4,5,6,7,8 union select 1" };
	(void)state;
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
		assert_non_null(strstr(wire_query(&client, inputs[i]), "E("));
	assert_non_null(strstr(wire_query(&client, "select round(15.5, -2147483648)"), "D(0)"));
	assert_non_null(strstr(wire_query(&client, "(with c as (select 1 a, 2 b, 3 d) select a "
						   "from c) union select 2.5 order by 1"),
		"D(1) D(2.5)"));
	assert_non_null(strstr(
		wire_query(&client, "values (exists (select 1, 2, 3)) union select true"), "D(t)"));
}

static void a_chain_of_casts_is_too_deep(void **state)
{
	enum { CASTS = 100000, CAST = 5 };
	static char sql[16 + CASTS * CAST];
	size_t used = (size_t)sprintf(sql, "select 1");
	(void)state;
	for (int i = 0; i < CASTS; i++, used += CAST)
		memcpy(sql + used, "::int", CAST);
	assert_non_null(strstr(wire_query(&client, sql), "E("));
}

/* A numeric that is no column is a text below. */
static void numerics_are_not_compared_as_texts(void **state)
{
	(void)state;
	assert_answer("select 1 in (select 1.0)", "E(0A000) Z(I)");
	assert_answer("select nullif(1, 2.5) = 1", "E(0A000) Z(I)");
	assert_non_null(strstr(wire_query(&client, "select 1 in (select 1)"), "D(t)"));
	assert_non_null(strstr(wire_query(&client, "select nullif(1.5, 2)"), "D(1.5)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_description_and_the_catalog_agree),
		cmocka_unit_test(a_described_statement_agrees),
		cmocka_unit_test(another_word_is_the_same_type),
		cmocka_unit_test(a_cast_and_a_typed_literal_have_their_type),
		cmocka_unit_test(a_cast_that_is_not_there_is_refused),
		cmocka_unit_test(a_parameter_s_type_is_told_back),
		cmocka_unit_test(a_value_comes_in_its_binary_form),
		cmocka_unit_test(a_value_is_taken_in_its_binary_form),
		cmocka_unit_test(an_integer_beyond_its_type_is_not_sent_in_binary),
		cmocka_unit_test(what_is_too_large_is_refused),
		cmocka_unit_test(a_chain_of_casts_is_too_deep),
		cmocka_unit_test(numerics_are_not_compared_as_texts),
	};
	return cmocka_run_group_tests(tests, start_and_login, logout_and_stop);
}
