/* SPDX-License-Identifier: Apache-2.0 */
/* Dates and times: what is read, what is refused and why, and what becomes of the calendar. */
#include "demo-db/server/types/datetime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void assert_read(const char *from, enum stamp_form form, const char *to)
{
	struct stamp s;
	char text[STAMP_TEXT_MAX];
	if (stamp_read(from, form != STAMP_TIME, &s) != STAMP_FINE)
		fail_msg("not read: %s", from);
	if (form == STAMP_TIMESTAMPTZ)
		stamp_to_utc(&s);
	stamp_write(&s, form, text);
	assert_string_equal(text, to);
}

static void assert_refused(const char *from, enum stamp_answer answer)
{
	struct stamp s;
	enum stamp_answer said = stamp_read(from, true, &s);
	if (said != answer)
		fail_msg("%s: %d, not %d", from, (int)said, (int)answer);
}

static void an_offset_moves_the_day(void **state)
{
	(void)state;
	assert_read("2024-03-01 00:30+01", STAMP_TIMESTAMPTZ, "2024-02-29 23:30:00+00");
	assert_read("2023-03-01 00:30+01", STAMP_TIMESTAMPTZ, "2023-02-28 23:30:00+00");
	assert_read("1999-12-31 23:59:59.5-00:01", STAMP_TIMESTAMPTZ, "2000-01-01 00:00:59.5+00");
	assert_read("1969-12-31 20:00 -0800", STAMP_TIMESTAMPTZ, "1970-01-01 04:00:00+00");
	assert_read("0001-01-02 00:00+02", STAMP_TIMESTAMPTZ, "0001-01-01 22:00:00+00");
	assert_read("2024-03-01 00:30+01", STAMP_TIMESTAMP, "2024-03-01 00:30:00");
}

static void what_is_carried_is_carried_far(void **state)
{
	struct stamp s;
	char text[STAMP_TEXT_MAX];
	(void)state;
	assert_read("2024-12-31 24:00", STAMP_TIMESTAMP, "2025-01-01 00:00:00");
	assert_read("2023-12-31 23:59:60", STAMP_DATE, "2024-01-01");
	assert_read("24:00", STAMP_TIME, "24:00:00");
	assert_int_equal(stamp_read("2024-02-28 23:59:59.96", true, &s), STAMP_FINE);
	stamp_round(&s, 1);
	stamp_write(&s, STAMP_TIMESTAMP, text);
	assert_string_equal(text, "2024-02-29 00:00:00");
}

static void days_are_counted_both_ways(void **state)
{
	struct stamp s;
	(void)state;
	for (int year = 1; year < 10000; year += 37) {
		struct stamp day = {
			.year = year, .month = year % 12 + 1, .day = 1, .dated = true
		};
		int64_t days = stamp_days(&day);
		day.offset_s = 1; /* a second into the day before, and back */
		stamp_to_utc(&day);
		assert_int_equal(stamp_days(&day), days - 1);
		day.offset_s = -1;
		stamp_to_utc(&day);
		assert_int_equal(day.year, year);
		assert_int_equal(day.month, year % 12 + 1);
		assert_int_equal(day.day, 1);
	}
	assert_int_equal(stamp_read("epoch", true, &s), STAMP_FINE);
	assert_int_equal(stamp_days(&s), 0);
	assert_int_equal(stamp_read("2000-03-01", true, &s), STAMP_FINE);
	assert_int_equal(stamp_days(&s), 11017);
}

static void words_stand_for_days(void **state)
{
	struct stamp before, day, after;
	(void)state;
	do {
		assert_int_equal(stamp_read("yesterday", true, &before), STAMP_FINE);
		assert_int_equal(stamp_read(" TODAY ", true, &day), STAMP_FINE);
		assert_int_equal(stamp_read("tomorrow", true, &after), STAMP_FINE);
	} while (stamp_days(&after) != stamp_days(&before) + 2); /* midnight came between */
	assert_int_equal(stamp_days(&day), stamp_days(&before) + 1);
	assert_int_equal(day.hour + day.minute + day.second + day.micros, 0);
	assert_read("-Infinity", STAMP_TIMESTAMPTZ, "-infinity");
	assert_refused("-now", STAMP_SYNTAX);
	assert_refused("nowish", STAMP_SYNTAX);
	assert_refused("now now", STAMP_SYNTAX);
}

static void what_is_no_date_is_told_from_one_there_never_is(void **state)
{
	static const char *const nonsense[] = { "", " ", "-", "2024", "2024-", "2024-1", "2024-1-",
		"2024-1-2-3", "2024-1-2 3", "2024-1-2 3:", "2024-1-2 3:4:", "2024-1-2 3:4 xm",
		"2024-1-2 3:4+", "2024-1-2 3:4+99", "Feb", "Feb 3", "Feb3,", "3 Feb",
		"123-Feb-4567", "99999999999-1-1", "1:2:3", "12345678901", "x2024-1-2" };
	(void)state;
	for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
		assert_refused(nonsense[i], STAMP_SYNTAX);
	assert_refused("20241301", STAMP_FIELD);
	assert_refused("2024-1-0", STAMP_FIELD);
	assert_refused("0000-1-1", STAMP_RANGE);
	assert_refused("1900-2-29", STAMP_RANGE);
	assert_refused("2024-1-2 24:00:01", STAMP_RANGE);
	assert_refused("2024-1-2 0:0:0 pm x", STAMP_SYNTAX);
}

static void what_is_kept_is_known_without_reading(void **state)
{
	static const char *const kept[] = { "2024-02-29", "12:34:56", "2024-12-01 00:00:00",
		"2024-12-01 23:59:59+00" };
	static const char *const others[] = { "2023-02-29", "2024-00-01", "2024-13-01",
		"0000-01-01", "2024-1-01", "24:00:00", "12:60:00", "12:34:60",
		"2024-12-01T00:00:00", "2024-12-01 00:00:00+01", "2024-12-01 00:00:00.10",
		"2024-12-01 00:00:00.", "2024-12-01 00:00:00.1234567", "2024-12-01 00:00:00.1x",
		"2024-12-01 00:00", "+00", "", "x" };
	(void)state;
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		enum stamp_form form = (enum stamp_form)i;
		assert_true(stamp_is_kept(kept[i], strlen(kept[i]), form));
		assert_read(kept[i], form, kept[i]);
	}
	assert_true(stamp_is_kept("2024-12-01 00:00:00.123456", 26, STAMP_TIMESTAMP));
	assert_true(stamp_is_kept("12:34:56.5", 10, STAMP_TIME));
	assert_true(stamp_is_kept("2024-12-01 00:00:00.01+00", 25, STAMP_TIMESTAMPTZ));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		for (enum stamp_form form = STAMP_DATE; form <= STAMP_TIMESTAMPTZ; form++)
			assert_false(stamp_is_kept(others[i], strlen(others[i]), form));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_offset_moves_the_day),
		cmocka_unit_test(what_is_carried_is_carried_far),
		cmocka_unit_test(days_are_counted_both_ways),
		cmocka_unit_test(what_is_kept_is_known_without_reading),
		cmocka_unit_test(words_stand_for_days),
		cmocka_unit_test(what_is_no_date_is_told_from_one_there_never_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
