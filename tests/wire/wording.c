/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's messages in PostgreSQL's words, and where they point. */
#include "demo-db/server/wording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void assert_worded(
	const char *sqlstate, const char *from, const char *message, const char *detail)
{
	struct wording wording;
	wording_of(sqlstate, from, &wording);
	assert_string_equal(wording.message, message);
	assert_string_equal(wording.detail, detail);
}

static void messages_are_the_known_ones(void **state)
{
	(void)state;
	assert_worded("42P01", "no such table: t", "relation \"t\" does not exist", "");
	assert_worded("42703", "no such column: a.b", "column \"a.b\" does not exist", "");
	assert_worded(
		"42601", "near \"selec\": syntax error", "syntax error at or near \"selec\"", "");
	assert_worded("42601", "incomplete input", "syntax error at end of input", "");
	assert_worded("42P07", "table \"t\" already exists", "relation \"t\" already exists", "");
	assert_worded("23505", "UNIQUE constraint failed: t.a, t.b",
		"duplicate key value violates unique constraint \"t_a_b_key\"",
		"Key (a, b) already exists in \"t\".");
	assert_worded("23502", "NOT NULL constraint failed: t.a",
		"null value in column \"a\" of relation \"t\" violates not-null constraint", "");
	assert_worded("53100", "disk full: x", "disk full: x", "");
}

static void long_names_are_cut_not_overrun(void **state)
{
	(void)state;
	char message[2000] = "UNIQUE constraint failed: ";
	struct wording wording;
	memset(message + strlen(message), 'x', 1500);
	wording_of("23505", message, &wording);
	assert_true(strlen(wording.message) < WORDING_MAX);
	memcpy(message, "no such table: ", 15);
	wording_of("42P01", message, &wording);
	assert_true(strlen(wording.message) < WORDING_MAX);
}

static void positions_count_characters_of_the_clients_text(void **state)
{
	(void)state;
	const char *text = "select 'ä', nope::int frm t";
	const char *sql = "select 'ä', CAST(nope AS INTEGER) frm t";
	assert_int_equal(
		wording_position(text, strlen(text), text, (int)(strstr(text, "frm") - text)), 23);
	/* the translation has other tokens: not believed */
	assert_int_equal(
		wording_position(text, strlen(text), sql, (int)(strstr(sql, "frm") - sql)), 0);
	const char *numbers = "select a from t where b = 17 and c ==== 2";
	const char *taken = "select a from t where b = ?1 and c ==== ?2";
	assert_int_equal(wording_position(numbers, strlen(numbers), taken,
				 (int)(strstr(taken, "====") - taken)),
		(int)(strstr(numbers, "====") - numbers) + 1);
	assert_int_equal(wording_position("a", 1, "a", 99), 0);
	assert_int_equal(wording_position("a", 1, "a", -1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_the_known_ones),
		cmocka_unit_test(long_names_are_cut_not_overrun),
		cmocka_unit_test(positions_count_characters_of_the_clients_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
