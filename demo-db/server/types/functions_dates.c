/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the casts to dates and times and the functions of them. How they are written is in
 * datetime.c.
 */
#include "demo-db/server/types/casts.h"
#include "demo-db/server/types/functions_text.h"
#include "demo-db/server/types/datetime.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const names[] = { [STAMP_DATE] = "date",
	[STAMP_TIME] = "time",
	[STAMP_TIMESTAMP] = "timestamp",
	[STAMP_TIMESTAMPTZ] = "timestamp with time zone" };

/* False: an error was told, or the value is NULL. */
static bool take_stamp(
	sqlite3_context *c, sqlite3_value *value, enum stamp_form form, struct stamp *s)
{
	const char *text = (const char *)sqlite3_value_text(value);
	if (!text)
		return false;
	enum stamp_answer answer = stamp_read(text, form != STAMP_TIME, s);
	if (answer == STAMP_SYNTAX)
		cast_refuse(c, "invalid input syntax for type %s: \"%.100s\"", names[form], text);
	else if (answer != STAMP_FINE) /* error_text.c makes a hint of the second */
		cast_refuse(c, "date/time field value out of range: \"%.100s\"%s", text,
			answer == STAMP_FIELD ? " (datestyle)" : "");
	return answer == STAMP_FINE;
}

static void give_stamp(sqlite3_context *c, const struct stamp *s, enum stamp_form form)
{
	char text[STAMP_TEXT_MAX];
	stamp_write(s, form, text);
	sqlite3_result_text(c, text, -1, SQLITE_TRANSIENT);
}

static void cast_stamp(sqlite3_context *c, sqlite3_value *from, enum stamp_form form, int digits)
{
	struct stamp s;
	const char *text = (const char *)sqlite3_value_text(from);
	if (text && digits == STAMP_DIGITS &&
		stamp_is_kept(text, (size_t)sqlite3_value_bytes(from), form)) {
		sqlite3_result_value(c, from);
		return;
	}
	if (!take_stamp(c, from, form, &s))
		return;
	if (form == STAMP_TIMESTAMPTZ)
		stamp_to_utc(&s);
	stamp_round(&s, digits);
	give_stamp(c, &s, form);
}

void cast_date(sqlite3_context *c, sqlite3_value *from, const struct cast *cast)
{
	(void)cast;
	cast_stamp(c, from, STAMP_DATE, STAMP_DIGITS);
}

static int digits_of(const struct cast *cast)
{
	return cast->first < 0 || cast->first > STAMP_DIGITS ? STAMP_DIGITS : cast->first;
}

void cast_time(sqlite3_context *c, sqlite3_value *from, const struct cast *cast)
{
	cast_stamp(c, from, STAMP_TIME, digits_of(cast));
}

void cast_timestamp(sqlite3_context *c, sqlite3_value *from, const struct cast *cast)
{
	bool zoned = cast->type == PG_TIMESTAMPTZ;
	cast_stamp(c, from, zoned ? STAMP_TIMESTAMPTZ : STAMP_TIMESTAMP, digits_of(cast));
}

/* ---- Functions ------------------------------------------------------------------------------- */

static int field_of(const char *word, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (strcasecmp(word, words[i]) == 0)
			return i;
	return -1;
}

static void date_part(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	static const char *const fields[] = { "year", "month", "day", "hour", "minute", "second",
		"dow", "doy", "epoch", "quarter", NULL };
	const char *word = (const char *)sqlite3_value_text(argv[0]);
	struct stamp s;
	(void)argc;
	if (!word || !take_stamp(c, argv[1], STAMP_TIMESTAMP, &s) || s.infinite)
		return;
	int64_t days = stamp_days(&s);
	const struct stamp first = { .year = s.year, .month = 1, .day = 1 };
	double second = s.second + s.micros / 1e6;
	double seconds = (double)(days * 86400 + s.hour * 3600 + s.minute * 60) + second;
	const double values[] = { s.year, s.month, s.day, s.hour, s.minute, second,
		(double)((days % 7 + 11) % 7), (double)(days - stamp_days(&first) + 1), seconds,
		(s.month + 2) / 3 };
	int field = field_of(word, fields);
	if (field < 0)
		sqlite3_result_error(c, "date_part of this field is not supported", -1);
	else if (values[field] == (double)(int64_t)values[field])
		sqlite3_result_int64(c, (int64_t)values[field]);
	else
		sqlite3_result_double(c, values[field]);
}

static void date_trunc(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	static const char *const fields[] = { "year", "month", "day", "hour", "minute", "second",
		NULL };
	const char *word = (const char *)sqlite3_value_text(argv[0]);
	struct stamp s;
	(void)argc;
	if (!word || !take_stamp(c, argv[1], STAMP_TIMESTAMP, &s))
		return;
	int field = field_of(word, fields);
	if (field < 0) {
		sqlite3_result_error(c, "date_trunc to this field is not supported", -1);
		return;
	}
	s.micros = 0;
	s.second = field < 5 ? 0 : s.second;
	s.minute = field < 4 ? 0 : s.minute;
	s.hour = field < 3 ? 0 : s.hour;
	s.day = field < 2 ? 1 : s.day;
	s.month = field < 1 ? 1 : s.month;
	give_stamp(c, &s, STAMP_TIMESTAMP);
}

/* ---- Arithmetic ------------------------------------------------------------------------------ */

#define DAY_MICROS INT64_C(86400000000)

/* pg_date_days(a, b): the days between two dates. */
static void date_days(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	struct stamp a, b;
	(void)argc;
	if (!take_stamp(c, argv[0], STAMP_DATE, &a) || !take_stamp(c, argv[1], STAMP_DATE, &b))
		return;
	if (a.infinite || b.infinite)
		sqlite3_result_error(c, "cannot subtract infinite dates", -1);
	else
		sqlite3_result_int64(c, stamp_days(&a) - stamp_days(&b));
}

/* pg_date_add(date, days) */
static void date_add(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	struct stamp s;
	(void)argc;
	if (sqlite3_value_type(argv[1]) == SQLITE_NULL || !take_stamp(c, argv[0], STAMP_DATE, &s))
		return;
	if (s.infinite) {
		sqlite3_result_value(c, argv[0]);
		return;
	}
	int64_t days = stamp_days(&s) + sqlite3_value_int64(argv[1]);
	if (days >= STAMP_FIRST_DAY && days <= STAMP_LAST_DAY) {
		stamp_set_days(&s, days);
		give_stamp(c, &s, STAMP_DATE);
	} else {
		sqlite3_result_error(c, "date out of range", -1);
	}
}

static int64_t micros_of(const struct stamp *s)
{
	return stamp_days(s) * DAY_MICROS +
	       ((s->hour * 60 + s->minute) * 60 + s->second) * INT64_C(1000000) + s->micros;
}

/* pg_timestamp_between(a, b): the interval, in days and a time. */
static void timestamp_between(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	struct stamp a, b;
	char text[64], *at = text;
	(void)argc;
	if (!take_stamp(c, argv[0], STAMP_TIMESTAMP, &a) ||
		!take_stamp(c, argv[1], STAMP_TIMESTAMP, &b))
		return;
	if (a.infinite || b.infinite) {
		sqlite3_result_error(c, "cannot subtract infinite timestamps", -1);
		return;
	}
	int64_t micros = micros_of(&a) - micros_of(&b), days = micros / DAY_MICROS;
	int64_t rest = micros % DAY_MICROS, seconds = (rest < 0 ? -rest : rest) / 1000000;
	int fraction = (int)((rest < 0 ? -rest : rest) % 1000000);
	if (days)
		at += sprintf(at, "%lld day%s", (long long)days, days == 1 ? "" : "s");
	if (rest || !days)
		at += sprintf(at, "%s%s%02d:%02d:%02d", days ? " " : "", rest < 0 ? "-" : "",
			(int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60));
	if (fraction)
		at += sprintf(at, ".%06d", fraction);
	while (fraction && at[-1] == '0')
		at--;
	sqlite3_result_text(c, text, (int)(at - text), SQLITE_TRANSIENT);
}

int functions_dates_install(sqlite3 *db)
{
	int rc = sqlite3_create_function_v2(
		db, "date_part", 2, FUNCTIONS_FLAGS, NULL, date_part, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function_v2(
			db, "date_trunc", 2, FUNCTIONS_FLAGS, NULL, date_trunc, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function_v2(
			db, "pg_date_days", 2, FUNCTIONS_FLAGS, NULL, date_days, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function_v2(
			db, "pg_date_add", 2, FUNCTIONS_FLAGS, NULL, date_add, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function_v2(db, "pg_timestamp_between", 2, FUNCTIONS_FLAGS,
			NULL, timestamp_between, NULL, NULL, NULL);
	return rc;
}
