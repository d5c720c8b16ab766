/* SPDX-License-Identifier: Apache-2.0 */
/* Values as clients see and send them. */
#include "demo-db/server/types/values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void assert_column(struct db_value v, const struct wire_column *column, const char *expected)
{
	struct wire_out out = { 0 };
	value_write(&out, v, column);
	assert_int_equal(out.bytes, 4 + strlen(expected));
	assert_memory_equal(out.data + 4, expected, strlen(expected));
	wire_out_free(&out);
}

static void assert_text(struct db_value v, enum pg_type type, const char *expected)
{
	assert_column(v, &(struct wire_column){ .type = type }, expected);
}

static void a_declared_scale_is_kept(void **state)
{
	(void)state;
	const struct wire_column money = { .type = PG_NUMERIC, .scaled = true, .scale = 2 };
	assert_int_equal(value_scale("numeric(8, 2)"), 2);
	assert_int_equal(value_scale("DECIMAL(5,0)"), 0);
	assert_int_equal(value_scale("numeric(8)"), 0);
	assert_int_equal(value_scale("varchar(8,2)"), -1);
	assert_int_equal(value_scale("numeric(8,999999999)"), -1);
	assert_int_equal(value_scale(NULL), -1);
	assert_column((struct db_value){ DB_REAL, .real = 4.5 }, &money, "4.50");
	assert_column((struct db_value){ DB_INTEGER, .integer = -7 }, &money, "-7.00");
	assert_column((struct db_value){ DB_TEXT, .length = 1, .data = "x" }, &money, "x");
}

static void values_are_written_as_postgresql_prints_them(void **state)
{
	(void)state;
	assert_text((struct db_value){ DB_INTEGER, .integer = INT64_MIN }, PG_INT8,
		"-9223372036854775808");
	assert_text((struct db_value){ DB_INTEGER, .integer = 0 }, PG_INT8, "0");
	assert_text((struct db_value){ DB_INTEGER, .integer = 1 }, PG_BOOL, "t");
	assert_text((struct db_value){ DB_REAL, .real = 0.1 }, PG_FLOAT8, "0.1");
	assert_text((struct db_value){ DB_REAL, .real = 1.0 / 3 }, PG_FLOAT8, "0.3333333333333333");
	assert_text(
		(struct db_value){ DB_BLOB, .length = 2, .data = "\x0a\xff" }, PG_BYTEA, "\\x0aff");
	assert_text((struct db_value){ DB_TEXT, .length = 4, .data = "\\x0a" }, PG_BYTEA, "\\x0a");
	assert_text((struct db_value){ DB_TEXT, .length = 2, .data = "hi" }, PG_TEXT, "hi");
}

static void nulls_have_no_bytes(void **state)
{
	(void)state;
	struct wire_out out = { 0 };
	value_write(&out, (struct db_value){ .type = DB_NULL },
		&(struct wire_column){ .type = PG_INT8, .format = 1 });
	assert_memory_equal(out.data, "\xff\xff\xff\xff", 4);
	assert_int_equal(out.bytes, 4);
	wire_out_free(&out);
}

static void binary_numbers_are_big_endian(void **state)
{
	(void)state;
	struct wire_out out = { 0 };
	value_write(&out, (struct db_value){ DB_INTEGER, .integer = -2 },
		&(struct wire_column){ .type = PG_INT4, .format = 1 });
	value_write(&out, (struct db_value){ DB_REAL, .real = 1.5 },
		&(struct wire_column){ .type = PG_FLOAT8, .format = 1 });
	assert_memory_equal(out.data, "\0\0\0\x04\xff\xff\xff\xfe", 8);
	assert_memory_equal(out.data + 8, "\0\0\0\x08\x3f\xf8\0\0\0\0\0\0", 12);
	wire_out_free(&out);
}

static void assert_binary(struct db_value v, enum pg_type type, const char *expected, size_t bytes)
{
	const struct wire_column column = { .type = type, .format = 1 };
	struct wire_out out = { 0 };
	assert_true(value_has_binary(type) && value_fits(v, &column));
	value_write(&out, v, &column);
	assert_int_equal(out.bytes, 4 + bytes);
	assert_int_equal(out.data[3], bytes);
	assert_memory_equal(out.data + 4, expected, bytes);
	wire_out_free(&out);
}

#define text_value(text)                                                                           \
	{                                                                                          \
		DB_TEXT, .length = sizeof text - 1, .data = text                                   \
	}
#define UUID_TEXT "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
#define UUID_FORM "\xa0\xee\xbc\x99\x9c\x0b\x4e\xf8\xbb\x6d\x6b\xb9\xbd\x38\x0a\x11"

static void every_type_has_its_binary_form(void **state)
{
	(void)state;
	assert_binary((struct db_value)text_value(UUID_TEXT), PG_UUID, UUID_FORM, 16);
	assert_binary(
		(struct db_value)text_value("00:00:01.5"), PG_TIME, "\0\0\0\0\0\x16\xe3\x60", 8);
	assert_binary((struct db_value)text_value("{}"), PG_JSONB, "\1{}", 3);
	assert_binary((struct db_value)text_value("{}"), PG_JSON, "{}", 2);
	assert_binary((struct db_value)text_value("pg_class"), PG_NAME, "pg_class", 8);
	assert_binary((struct db_value){ DB_INTEGER, .integer = UINT32_MAX }, PG_OID,
		"\xff\xff\xff\xff", 4);
}

static void what_has_no_such_form_does_not_fit(void **state)
{
	(void)state;
	static const struct {
		enum pg_type type;
		struct db_value value;
	} cases[] = { { PG_UUID, text_value("a0eebc99") }, { PG_UUID, text_value(UUID_TEXT "0") },
		{ PG_UUID, { DB_INTEGER, .integer = 5 } }, { PG_UUID, text_value("") },
		{ PG_TIME, text_value("noon") }, { PG_TIME, text_value("") },
		{ PG_TIME, { DB_INTEGER, .integer = 5 } },
		{ PG_JSONB, { DB_INTEGER, .integer = 5 } },
		{ PG_OID, { DB_INTEGER, .integer = -1 } },
		{ PG_OID, { DB_INTEGER, .integer = 1LL << 32 } },
		{ PG_INT4, { DB_INTEGER, .integer = 1LL << 31 } } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct wire_column column = { .type = cases[i].type, .format = 1 };
		if (value_fits(cases[i].value, &column))
			fail_msg("case %zu fits", i);
	}
}

static int read_as(
	const void *data, int32_t bytes, enum pg_type type, uint16_t format, struct db_value *v)
{
	static uint64_t storage[16];
	struct value_error error = { 0 };
	int status = value_read((struct wire_bytes){ .data = data, .length = bytes }, type, format,
		storage, v, &error);
	assert_int_equal(status != 0, error.sqlstate != NULL);
	return status;
}

static void parameters_are_read_by_their_type(void **state)
{
	(void)state;
	struct db_value v;
	assert_int_equal(read_as("-12", 3, PG_INT4, 0, &v), 0);
	assert_int_equal(v.integer, -12);
	assert_int_equal(read_as(" -2147483648\n", 13, PG_INT4, 0, &v), 0);
	assert_int_equal(v.integer, INT32_MIN);
	assert_int_equal(read_as("\xff\xfe", 2, PG_INT2, 1, &v), 0);
	assert_int_equal(v.integer, -2);
	assert_int_equal(read_as("\x3f\xc0\0\0", 4, PG_FLOAT4, 1, &v), 0);
	assert_true(v.type == DB_REAL && v.real == 1.5);
	assert_int_equal(read_as("\\x0aFF", 6, PG_BYTEA, 0, &v), 0);
	assert_int_equal(v.length, 2);
	assert_memory_equal(v.data, "\x0a\xff", 2);
	assert_int_equal(read_as("TRUE", 4, PG_BOOL, 0, &v), 0);
	assert_int_equal(v.integer, 1);
	assert_int_equal(read_as(NULL, -1, PG_INT4, 0, &v), 0);
	assert_int_equal(v.type, DB_NULL);
	assert_int_equal(read_as("\xff\xff\xff\xff", 4, PG_OID, 1, &v), 0);
	assert_int_equal(v.integer, UINT32_MAX);
}

static void assert_read_text(const void *data, int32_t bytes, enum pg_type type, const char *text)
{
	struct db_value v;
	assert_int_equal(read_as(data, bytes, type, 1, &v), 0);
	assert_int_equal(v.type, DB_TEXT);
	assert_int_equal(v.length, strlen(text));
	assert_memory_equal(v.data, text, v.length);
}

static void binary_parameters_become_what_columns_keep(void **state)
{
	(void)state;
	assert_read_text(UUID_FORM, 16, PG_UUID, UUID_TEXT);
	assert_read_text("\0\0\0\0\0\x16\xe3\x60", 8, PG_TIME, "00:00:01.5");
	assert_read_text("\1{}", 3, PG_JSONB, "{}");
	assert_read_text("{}", 2, PG_JSON, "{}");
	assert_read_text("pg_class", 8, PG_NAME, "pg_class");
}

static void untyped_integers_are_bound_as_integers_only_if_they_print_alike(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum db_type type;
	} cases[] = { { "5", DB_INTEGER }, { "-7", DB_INTEGER }, { "0", DB_INTEGER },
		{ "007", DB_TEXT }, { "+5", DB_TEXT }, { "-0", DB_TEXT }, { "5 ", DB_TEXT },
		{ "", DB_TEXT }, { "-", DB_TEXT }, { "9223372036854775807", DB_INTEGER },
		{ "9223372036854775808", DB_TEXT }, { "-9223372036854775808", DB_INTEGER },
		{ "1.5", DB_TEXT } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct db_value v;
		assert_int_equal(
			read_as(cases[i].text, (int32_t)strlen(cases[i].text), PG_UNKNOWN, 0, &v),
			0);
		if (v.type != cases[i].type)
			fail_msg("\"%s\" became type %d", cases[i].text, (int)v.type);
	}
}

static void what_is_not_of_its_type_is_an_error(void **state)
{
	(void)state;
	struct db_value v;
	assert_int_equal(read_as("12x", 3, PG_INT4, 0, &v), -1);
	assert_int_equal(read_as("2147483648", 10, PG_INT4, 0, &v), -1);
	assert_int_equal(read_as("-32769", 6, PG_INT2, 0, &v), -1);
	assert_int_equal(read_as("9223372036854775808", 19, PG_INT8, 0, &v), -1);
	assert_int_equal(read_as("1 2", 3, PG_INT4, 0, &v), -1);
	assert_int_equal(read_as("  ", 2, PG_INT4, 0, &v), -1);
	assert_int_equal(read_as("\0\0\0\0\0", 5, PG_INT4, 1, &v), -1);
	assert_int_equal(read_as("", 0, PG_FLOAT8, 0, &v), -1);
	assert_int_equal(read_as("\0\0\0", 3, PG_INT4, 1, &v), -1);
	assert_int_equal(read_as("\\x0", 3, PG_BYTEA, 0, &v), -1);
	assert_int_equal(read_as("\\x0g", 4, PG_BYTEA, 0, &v), -1);
	assert_int_equal(read_as("\xff", 1, PG_TEXT, 0, &v), -1);
	assert_int_equal(read_as("1", 1, PG_NUMERIC, 1, &v), -1);
	assert_int_equal(read_as("1", 1, PG_TEXT, 2, &v), -1);
	assert_int_equal(read_as("1", 1, PG_UUID, 1, &v), -1);
	assert_int_equal(read_as("\0\0\1\0\0\0\0\0", 8, PG_TIME, 1, &v), -1);
	assert_int_equal(read_as("\2{}", 3, PG_JSONB, 1, &v), -1);
	assert_int_equal(read_as("", 0, PG_JSONB, 1, &v), -1);
	assert_int_equal(read_as("12345678", 8, (enum pg_type)1007, 1, &v), -1); /* int4[] */
}

static void columns_answer_their_declared_type(void **state)
{
	(void)state;
	assert_int_equal(value_pg_type("VARCHAR(20)", DB_NULL), PG_VARCHAR);
	assert_int_equal(value_pg_type("INTEGER", DB_NULL), PG_INT4);
	assert_int_equal(value_pg_type("int", DB_TEXT), PG_INT4);
	assert_int_equal(value_pg_type("double precision", DB_NULL), PG_FLOAT8);
	assert_int_equal(value_pg_type(NULL, DB_INTEGER), PG_INT8);
	assert_int_equal(value_pg_type("something else", DB_NULL), PG_TEXT);
	assert_int_equal(value_pg_type("uuid", DB_TEXT), PG_UUID);
	assert_int_equal(value_pg_type("character varying(3)", DB_TEXT), PG_VARCHAR);
	assert_int_equal(value_pg_type("TIMESTAMP(3) WITH TIME ZONE", DB_TEXT), PG_TIMESTAMPTZ);
	assert_int_equal(value_pg_type("time with time zone", DB_TEXT), PG_TIMETZ);
	assert_int_equal(value_pg_type("time without time zone", DB_TEXT), PG_TIME);
	assert_int_equal(value_pg_type("blob", DB_NULL), PG_BYTEA);
	assert_int_equal(value_pg_type("bigserial", DB_NULL), PG_INT8);
}

/* As PostgreSQL 15 sends them. */
static const struct {
	enum pg_type type;
	const char *text;
	int scale;
	uint8_t bytes;
	const char *form;
} forms[] = {
	{ PG_NUMERIC, "12345.678", -1, 14, "\0\3\0\1\0\0\0\3\0\1\x09\x29\x1a\x7c" },
	{ PG_NUMERIC, "-0.00010", -1, 10, "\0\1\xff\xff\x40\0\0\5\0\1" },
	{ PG_NUMERIC, "0.00", -1, 8, "\0\0\0\0\0\0\0\2" },
	{ PG_NUMERIC, "NaN", -1, 8, "\0\0\0\0\xc0\0\0\0" },
	{ PG_NUMERIC, "100000000", -1, 10, "\0\1\0\2\0\0\0\0\0\1" },
	{ PG_DATE, "2024-02-29", -1, 4, "\0\0\x22\x79" },
	{ PG_DATE, "1999-12-31", -1, 4, "\xff\xff\xff\xff" },
	{ PG_DATE, "infinity", -1, 4, "\x7f\xff\xff\xff" },
	{ PG_TIMESTAMP, "2000-01-02 00:00:01.5", -1, 8, "\0\0\0\x14\x1d\xee\x43\x60" },
	{ PG_TIMESTAMPTZ, "1999-12-31 23:59:59.999999+00", -1, 8,
		"\xff\xff\xff\xff\xff\xff\xff\xff" },
};

static void numbers_and_dates_have_postgresql_s_binary_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		const struct wire_column column = { .type = forms[i].type, .format = 1 };
		struct wire_out out = { 0 };
		struct db_value value = { DB_TEXT, .length = (uint32_t)strlen(forms[i].text),
			.data = forms[i].text };
		assert_true(value_fits(value, &column));
		value_write(&out, value, &column);
		assert_int_equal(out.bytes, forms[i].bytes + 4);
		assert_memory_equal(out.data + 4, forms[i].form, forms[i].bytes);
		_Alignas(8) char storage[512];
		struct value_error error;
		const struct wire_bytes form = { (const uint8_t *)forms[i].form, forms[i].bytes };
		assert_int_equal(value_read(form, forms[i].type, 1, storage, &value, &error), 0);
		assert_int_equal(value.length, strlen(forms[i].text));
		assert_memory_equal(value.data, forms[i].text, value.length);
		wire_out_free(&out);
	}
}

static void a_binary_form_that_is_none_is_refused(void **state)
{
	static const struct {
		enum pg_type type;
		int32_t bytes;
		const char *form;
	} wrong[] = { { PG_NUMERIC, 7, "\0\0\0\0\0\0\0" }, { PG_NUMERIC, 8, "\0\1\0\0\0\0\0\0" },
		{ PG_NUMERIC, 10, "\0\1\0\0\0\0\0\0\x27\x10" },
		{ PG_NUMERIC, 10, "\0\1\x7f\0\0\0\0\0\0\1" },
		{ PG_NUMERIC, 8, "\0\0\0\0\0\0\x7f\xff" }, { PG_DATE, 3, "\0\0\0" },
		{ PG_DATE, 4, "\x7f\0\0\0" }, { PG_TIMESTAMP, 8, "\x7f\0\0\0\0\0\0\0" } };
	_Alignas(8) char storage[512];
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct db_value value;
		struct value_error error = { .sqlstate = "" };
		const struct wire_bytes form = { (const uint8_t *)wrong[i].form, wrong[i].bytes };
		assert_int_equal(value_read(form, wrong[i].type, 1, storage, &value, &error), -1);
		assert_true(*error.sqlstate != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_dates_have_postgresql_s_binary_form),
		cmocka_unit_test(a_binary_form_that_is_none_is_refused),
		cmocka_unit_test(values_are_written_as_postgresql_prints_them),
		cmocka_unit_test(a_declared_scale_is_kept),
		cmocka_unit_test(nulls_have_no_bytes),
		cmocka_unit_test(binary_numbers_are_big_endian),
		cmocka_unit_test(every_type_has_its_binary_form),
		cmocka_unit_test(what_has_no_such_form_does_not_fit),
		cmocka_unit_test(binary_parameters_become_what_columns_keep),
		cmocka_unit_test(parameters_are_read_by_their_type),
		cmocka_unit_test(untyped_integers_are_bound_as_integers_only_if_they_print_alike),
		cmocka_unit_test(what_is_not_of_its_type_is_an_error),
		cmocka_unit_test(columns_answer_their_declared_type),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
