/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol's bytes: what a client may send, what it must not, and what it is answered. */
#include "demo-db/server/net/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static enum wire_status decode(const void *data, size_t bytes, struct wire_message *m, size_t *used)
{
	const char *error = NULL;
	enum wire_status status = wire_decode(data, bytes, false, m, used, &error);
	assert_int_equal(status == WIRE_BROKEN, error != NULL);
	return status;
}

static void a_query_is_decoded_whole_and_only_whole(void **state)
{
	(void)state;
	static const char bytes[] = "Q\0\0\0\x0eselect 1;\0rest";
	struct wire_message m;
	size_t used = 0;
	for (size_t part = 0; part < 15; part++)
		assert_int_equal(decode(bytes, part, &m, &used), WIRE_MORE);
	assert_int_equal(decode(bytes, sizeof bytes, &m, &used), WIRE_OK);
	assert_int_equal(m.kind, WIRE_QUERY);
	assert_string_equal(m.query.sql, "select 1;");
	assert_int_equal(used, 15);
}

static void a_text_without_its_end_is_broken(void **state)
{
	(void)state;
	struct wire_message m;
	size_t used;
	assert_int_equal(decode("Q\0\0\0\x05x", 6, &m, &used), WIRE_BROKEN);
	assert_int_equal(decode("Q\0\0\0\x07x\0y", 8, &m, &used), WIRE_BROKEN);
}

static void lengths_out_of_range_are_broken(void **state)
{
	(void)state;
	struct wire_message m;
	size_t used;
	assert_int_equal(decode("Q\0\0\0\x03", 5, &m, &used), WIRE_BROKEN);
	assert_int_equal(decode("Q\xff\xff\xff\xff", 5, &m, &used), WIRE_BROKEN);
	assert_int_equal(decode("Q\x7f\0\0\0", 5, &m, &used), WIRE_BROKEN);
}

static void unknown_types_are_broken(void **state)
{
	(void)state;
	struct wire_message m;
	size_t used;
	assert_int_equal(decode("z\0\0\0\x04", 5, &m, &used), WIRE_BROKEN);
	assert_int_equal(decode("\x02\0\0\0\x04", 5, &m, &used), WIRE_BROKEN);
}

static void a_bind_gives_its_values_one_by_one(void **state)
{
	(void)state;
	static const char bytes[] = "B\0\0\0\x1f"  /* 31 */
				    "\0s\0"	   /* portal "", statement "s" */
				    "\0\x01\0\x00" /* one format: text */
				    "\0\x03\0\0\0\x02"
				    "42"
				    "\xff\xff\xff\xff"
				    "\0\0\0\0"
				    "\0\x01\0\x01"; /* one result format: binary */
	struct wire_message m;
	size_t used;
	assert_int_equal(decode(bytes, sizeof bytes - 1, &m, &used), WIRE_OK);
	assert_string_equal(m.bind.statement, "s");
	assert_int_equal(m.bind.value_count, 3);
	const uint8_t *cursor = m.bind.values;
	struct wire_bytes first = wire_next_value(&cursor), second = wire_next_value(&cursor),
			  third = wire_next_value(&cursor);
	assert_int_equal(first.length, 2);
	assert_memory_equal(first.data, "42", 2);
	assert_int_equal(second.length, -1);
	assert_int_equal(third.length, 0);
	assert_int_equal(wire_word16(m.bind.result_formats, 0), 1);
}

static void a_bind_whose_value_runs_past_the_message_is_broken(void **state)
{
	(void)state;
	static const char bytes[] = "B\0\0\0\x10"
				    "\0\0"
				    "\0\0"
				    "\0\x01\0\0\0\x63"
				    "x\0";
	struct wire_message m;
	size_t used;
	assert_int_equal(decode(bytes, sizeof bytes - 1, &m, &used), WIRE_BROKEN);
}

static void startup_requests_are_told_apart(void **state)
{
	(void)state;
	struct wire_message m;
	size_t used;
	const char *error;
	const void *ssl = "\0\0\0\x08\x04\xd2\x16\x2f", *gss = "\0\0\0\x08\x04\xd2\x16\x30";
	assert_int_equal(wire_decode(ssl, 8, true, &m, &used, &error), WIRE_OK);
	assert_int_equal(m.kind, WIRE_SSL_REQUEST);
	assert_int_equal(wire_decode(gss, 8, true, &m, &used, &error), WIRE_OK);
	assert_int_equal(m.kind, WIRE_GSS_REQUEST);
	const void *cancel = "\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x07\0\0\0\x09";
	assert_int_equal(wire_decode(cancel, 16, true, &m, &used, &error), WIRE_OK);
	assert_int_equal(m.kind, WIRE_CANCEL_REQUEST);
	assert_int_equal(m.cancel.process, 7);
	assert_int_equal(m.cancel.secret, 9);
}

static void startup_parameters_are_found_by_name(void **state)
{
	(void)state;
	static const char bytes[] = "\0\0\0\x21\0\x03\0\0user\0demo\0database\0base\0";
	struct wire_message m;
	size_t used;
	const char *error;
	assert_int_equal(wire_decode((const uint8_t *)bytes, 33, true, &m, &used, &error), WIRE_OK);
	assert_string_equal(wire_startup_value(&m, "user"), "demo");
	assert_string_equal(wire_startup_value(&m, "database"), "base");
	assert_null(wire_startup_value(&m, "options"));
}

static void startup_pairs_that_do_not_close_are_broken(void **state)
{
	(void)state;
	struct wire_message m;
	size_t used;
	const char *error;
	const void *open = "\0\0\0\x0d\0\x03\0\0user\0";
	assert_int_equal(wire_decode(open, 13, true, &m, &used, &error), WIRE_BROKEN);
	const void *huge = "\x7f\xff\xff\xff\0\x03\0\0";
	assert_int_equal(wire_decode(huge, 8, true, &m, &used, &error), WIRE_BROKEN);
}

static void an_error_carries_its_fields_in_order(void **state)
{
	(void)state;
	struct wire_out out = { 0 };
	wire_error(&out, &(struct wire_report){ .severity = "ERROR",
				 .sqlstate = "42601",
				 .message = "no",
				 .hint = "try",
				 .position = 12 });
	static const char expected[] = "E\0\0\0\x2aSERROR\0VERROR\0C42601\0Mno\0Htry\0P12\0";
	assert_int_equal(out.bytes, sizeof expected);
	assert_memory_equal(out.data + 5, expected + 5, sizeof expected - 5);
	assert_int_equal(out.data[4], out.bytes - 1);
	wire_out_free(&out);
}

static void a_message_longer_than_the_buffer_grows_it(void **state)
{
	(void)state;
	struct wire_out out = { 0 };
	static const char block[3000];
	wire_begin(&out, 'D');
	for (int i = 0; i < 10; i++)
		wire_put_bytes(&out, block, sizeof block);
	wire_end(&out);
	wire_ready(&out, 'I');
	assert_int_equal(out.bytes, 5 + 30000 + 6);
	assert_int_equal(
		out.data[1] << 24 | out.data[2] << 16 | out.data[3] << 8 | out.data[4], 30004);
	wire_out_consume(&out, 30005);
	assert_memory_equal(out.data, "Z\0\0\0\x05I", 6);
	wire_out_free(&out);
}

static void utf8_is_checked_by_the_book(void **state)
{
	(void)state;
	assert_true(wire_utf8_valid("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10));
	assert_false(wire_utf8_valid("\xc0\xaf", 2));	      /* overlong */
	assert_false(wire_utf8_valid("\xed\xa0\x80", 3));     /* surrogate */
	assert_false(wire_utf8_valid("\xf4\x90\x80\x80", 4)); /* past U+10FFFF */
	assert_false(wire_utf8_valid("\xe2\x82", 2));	      /* cut off */
	assert_false(wire_utf8_valid("\x80", 1));	      /* continuation alone */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_is_decoded_whole_and_only_whole),
		cmocka_unit_test(a_text_without_its_end_is_broken),
		cmocka_unit_test(lengths_out_of_range_are_broken),
		cmocka_unit_test(unknown_types_are_broken),
		cmocka_unit_test(a_bind_gives_its_values_one_by_one),
		cmocka_unit_test(a_bind_whose_value_runs_past_the_message_is_broken),
		cmocka_unit_test(startup_requests_are_told_apart),
		cmocka_unit_test(startup_parameters_are_found_by_name),
		cmocka_unit_test(startup_pairs_that_do_not_close_are_broken),
		cmocka_unit_test(an_error_carries_its_fields_in_order),
		cmocka_unit_test(a_message_longer_than_the_buffer_grows_it),
		cmocka_unit_test(utf8_is_checked_by_the_book),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
