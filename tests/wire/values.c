/* SPDX-License-Identifier: Apache-2.0 */
/* Values as clients see and send them. */
#include "demo-db/server/values.h"

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
	assert_int_equal(value_scale("numeric(8)"), -1);
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
	assert_int_equal(read_as("", 0, PG_FLOAT8, 0, &v), -1);
	assert_int_equal(read_as("\0\0\0", 3, PG_INT4, 1, &v), -1);
	assert_int_equal(read_as("\\x0", 3, PG_BYTEA, 0, &v), -1);
	assert_int_equal(read_as("\\x0g", 4, PG_BYTEA, 0, &v), -1);
	assert_int_equal(read_as("\xff", 1, PG_TEXT, 0, &v), -1);
	assert_int_equal(read_as("1", 1, PG_NUMERIC, 1, &v), -1);
	assert_int_equal(read_as("1", 1, PG_TEXT, 2, &v), -1);
}

static void columns_answer_their_declared_type(void **state)
{
	(void)state;
	assert_int_equal(value_pg_type("VARCHAR(20)", DB_NULL), PG_VARCHAR);
	assert_int_equal(value_pg_type("INTEGER", DB_NULL), PG_INT8);
	assert_int_equal(value_pg_type("int", DB_TEXT), PG_INT4);
	assert_int_equal(value_pg_type("double precision", DB_NULL), PG_FLOAT8);
	assert_int_equal(value_pg_type(NULL, DB_INTEGER), PG_INT8);
	assert_int_equal(value_pg_type("something else", DB_NULL), PG_TEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_written_as_postgresql_prints_them),
		cmocka_unit_test(a_declared_scale_is_kept),
		cmocka_unit_test(nulls_have_no_bytes),
		cmocka_unit_test(binary_numbers_are_big_endian),
		cmocka_unit_test(parameters_are_read_by_their_type),
		cmocka_unit_test(untyped_integers_are_bound_as_integers_only_if_they_print_alike),
		cmocka_unit_test(what_is_not_of_its_type_is_an_error),
		cmocka_unit_test(columns_answer_their_declared_type),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
