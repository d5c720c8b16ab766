/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the reading and writing of dates and times, and the calendar.
 */
#include "demo-db/server/types/datetime.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define DAY_MICROS (86400ll * 1000000)
#define DIGITS_MAX 8 /* of a number outside a fraction */

/* ---- The calendar ---------------------------------------------------------------------------- */

static int days_of(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return month == 2 && leap ? 29 : days[month - 1];
}

/* By the civil calendar counted from March. */
int64_t stamp_days(const struct stamp *s)
{
	int64_t year = s->year - (s->month <= 2), month = (s->month + 9) % 12;
	return 365 * year + year / 4 - year / 100 + year / 400 + (month * 306 + 5) / 10 + s->day -
	       1 - 719468;
}

void stamp_set_days(struct stamp *s, int64_t days)
{
	int64_t year = (days + 719468) * 400 / 146097;
	struct stamp first = { .month = 1, .day = 1 };
	for (s->year = (int)year + 1;; s->year--) { /* the first guess is one or two too late */
		first.year = s->year;
		if (stamp_days(&first) <= days)
			break;
	}
	int64_t left = days - stamp_days(&first);
	for (s->month = 1; left >= days_of(s->year, s->month); s->month++)
		left -= days_of(s->year, s->month);
	s->day = (int)left + 1;
}

static int64_t micros_of_day(const struct stamp *s)
{
	return ((s->hour * 60ll + s->minute) * 60 + s->second) * 1000000 + s->micros;
}

/* Puts `micros` of the day, which may lie in another day, into the fields. */
static void set_micros(struct stamp *s, int64_t micros)
{
	int64_t days = micros / DAY_MICROS - (micros % DAY_MICROS < 0);
	if (days && s->dated)
		stamp_set_days(s, stamp_days(s) + days);
	micros -= days * DAY_MICROS;
	s->micros = (int)(micros % 1000000);
	s->second = (int)(micros / 1000000 % 60);
	s->minute = (int)(micros / 60000000 % 60);
	s->hour = (int)(micros / 3600000000ll);
}

void stamp_to_utc(struct stamp *s)
{
	if (!s->infinite)
		set_micros(s, micros_of_day(s) - s->offset_s * 1000000ll);
	s->offset_s = 0;
}

void stamp_round(struct stamp *s, int digits)
{
	int64_t unit = 1;
	for (int i = digits; i < 6; i++)
		unit *= 10;
	if (!s->infinite && unit > 1)
		set_micros(s, (micros_of_day(s) + unit / 2) / unit * unit);
}

/* ---- Numbers and words ----------------------------------------------------------------------- */

struct number {
	int value, digits; /* no digits: there is none */
};

static struct number take_number(const char **at)
{
	struct number n = { 0, 0 };
	for (; isdigit((unsigned char)**at); (*at)++)
		if (++n.digits <= DIGITS_MAX)
			n.value = n.value * 10 + (**at - '0');
	return n;
}

static bool take_char(const char **at, const char *which)
{
	if (!**at || !strchr(which, **at))
		return false;
	(*at)++;
	return true;
}

static void skip_blanks(const char **at)
{
	while (isspace((unsigned char)**at))
		(*at)++;
}

static size_t word_bytes(const char *at)
{
	size_t bytes = 0;
	while (isalpha((unsigned char)at[bytes]))
		bytes++;
	return bytes;
}

static bool take_word(const char **at, const char *word)
{
	size_t bytes = word_bytes(*at);
	if (bytes != strlen(word) || strncasecmp(*at, word, bytes) != 0)
		return false;
	*at += bytes;
	return true;
}

/* A month's name, or its first three letters; 0: none. */
static int take_month(const char **at)
{
	static const char *const months[] = { "january", "february", "march", "april", "may",
		"june", "july", "august", "september", "october", "november", "december" };
	size_t bytes = word_bytes(*at);
	for (int i = 0; i < 12; i++) {
		bool whole = bytes == 3 || bytes == strlen(months[i]) || (i == 8 && bytes == 4);
		if (whole && strncasecmp(*at, months[i], bytes) == 0) {
			*at += bytes;
			return i + 1;
		}
	}
	return 0;
}

/* ---- Dates ----------------------------------------------------------------------------------- */

#define BETWEEN "-/. ,"

static int full_year(struct number year)
{
	return year.digits > 2 ? year.value : year.value + (year.value < 70 ? 2000 : 1900);
}

static bool set_date(struct stamp *s, struct number year, int month, int day)
{
	s->year = full_year(year);
	s->month = month;
	s->day = day;
	return year.digits > 0 && year.digits <= 6;
}

/* Feb 29, 2024 */
static bool read_month_first(const char **at, struct stamp *s)
{
	int month = take_month(at);
	while (take_char(at, BETWEEN))
		continue;
	struct number day = take_number(at);
	bool apart = false;
	while (take_char(at, BETWEEN))
		apart = true;
	return month && day.digits && day.digits <= 2 && apart &&
	       set_date(s, take_number(at), month, day.value);
}

/* 20240229, or 240229 */
static bool set_compact(struct stamp *s, struct number n)
{
	struct number year = { n.value / 10000, n.digits - 4 };
	return set_date(s, year, n.value / 100 % 100, n.value % 100);
}

/* 2024-02-29, 2/29/2024, 29-Feb-2024, 2024-Feb-29, 29 February 2024 */
static bool read_date(const char **at, struct stamp *s)
{
	if (isalpha((unsigned char)**at))
		return read_month_first(at, s);
	struct number first = take_number(at);
	if (first.digits == 8 || first.digits == 6)
		return set_compact(s, first);
	bool blank = **at == ' ';
	if (!first.digits || !take_char(at, "-/. "))
		return false;
	bool named = isalpha((unsigned char)**at);
	struct number second = { 0, 0 };
	if (named)
		second.value = take_month(at);
	else if (!blank)
		second = take_number(at);
	if ((!named && !second.digits) || second.digits > 2 || (named && !second.value) ||
		!take_char(at, BETWEEN))
		return false;
	struct number third = take_number(at);
	if (first.digits > 2)
		return third.digits && third.digits <= 2 &&
		       set_date(s, first, second.value, third.value);
	return set_date(
		s, third, named ? second.value : first.value, named ? first.value : second.value);
}

/* ---- Times ----------------------------------------------------------------------------------- */

/* Digits behind the point; the seventh rounds. */
static int take_micros(const char **at)
{
	int micros = 0, unit = 100000;
	bool up = isdigit((unsigned char)**at) && strspn(*at, "0123456789") > 6 && (*at)[6] >= '5';
	for (; isdigit((unsigned char)**at); (*at)++, unit /= 10)
		micros += (**at - '0') * unit;
	return micros + up;
}

static void take_half_of_day(const char **at, struct stamp *s, bool *wrong)
{
	skip_blanks(at);
	bool noon = take_word(at, "pm");
	if (!noon && !take_word(at, "am"))
		return;
	*wrong |= s->hour > 12;
	s->hour = s->hour % 12 + 12 * noon;
}

/* 12:34[:56[.789]] [PM], 1234, 123456 */
static bool read_time(const char **at, struct stamp *s, bool *wrong)
{
	struct number hour = take_number(at);
	if (**at != ':' && (hour.digits == 6 || (hour.digits == 4 && s->dated))) {
		int seconds = hour.digits == 6 ? hour.value % 100 : 0;
		int minutes = hour.digits == 6 ? hour.value / 100 : hour.value;
		s->hour = minutes / 100;
		s->minute = minutes % 100;
		s->second = seconds;
	} else {
		if (!hour.digits || hour.digits > 2 || !take_char(at, ":"))
			return false;
		struct number minute = take_number(at), second = { 0, 1 };
		if (take_char(at, ":"))
			second = take_number(at);
		if (!minute.digits || minute.digits > 2 || !second.digits || second.digits > 2)
			return false;
		s->hour = hour.value;
		s->minute = minute.value;
		s->second = second.value;
	}
	if (take_char(at, "."))
		s->micros = take_micros(at);
	bool late = s->hour == 24 && (s->minute || s->second || s->micros);
	*wrong = s->hour > 24 || late || s->minute > 59 || s->second > 60;
	take_half_of_day(at, s, wrong);
	return true;
}

/* Z, UTC, +02, -05:30, +0530; none is fine. */
static bool read_zone(const char **at, struct stamp *s)
{
	static const char *const names[] = { "z", "utc", "gmt", "zulu", NULL };
	skip_blanks(at);
	for (const char *const *name = names; *name; name++)
		if (take_word(at, *name))
			return true;
	if (**at != '+' && **at != '-')
		return true;
	int sign = *(*at)++ == '-' ? -1 : 1;
	struct number hours = take_number(at), minutes = { 0, 0 };
	if (hours.digits == 4) {
		minutes.value = hours.value % 100;
		hours.value /= 100;
	} else if (take_char(at, ":")) {
		minutes = take_number(at);
	}
	s->offset_s = sign * (hours.value * 60 + minutes.value) * 60;
	return hours.digits && hours.value <= 15 && minutes.value < 60;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void read_clock(struct stamp *s, bool timed)
{
	struct timespec now;
	timespec_get(&now, TIME_UTC);
	stamp_set_days(s, now.tv_sec / 86400);
	if (timed)
		set_micros(s, now.tv_sec % 86400 * 1000000ll + now.tv_nsec / 1000);
}

static bool read_word(const char *at, struct stamp *s)
{
	static const struct {
		const char *word;
		int infinite, days;
		bool now, epoch;
	} words[] = { { "now", 0, 0, true, false }, { "today", 0, 0, false, false },
		{ "tomorrow", 0, 1, false, false }, { "yesterday", 0, -1, false, false },
		{ "epoch", 0, 0, false, true }, { "infinity", 1, 0, false, false } };
	bool negative = *at == '-';
	at += negative;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const char *behind = at;
		if (!take_word(&behind, words[i].word) || (negative && !words[i].infinite))
			continue;
		skip_blanks(&behind);
		*s = (struct stamp){ .infinite = negative ? -1 : words[i].infinite, .dated = true };
		read_clock(s, words[i].now);
		if (words[i].epoch)
			stamp_set_days(s, 0);
		stamp_set_days(s, stamp_days(s) + words[i].days);
		return *behind == '\0';
	}
	return false;
}

static enum stamp_answer judge(struct stamp *s, bool wrong)
{
	if (s->dated && (s->month < 1 || s->month > 12 || s->day < 1 || s->day > 31))
		return STAMP_FIELD;
	if (wrong || (s->dated && (s->year < 1 || s->day > days_of(s->year, s->month))))
		return STAMP_RANGE;
	if (s->dated || s->second == 60 || s->micros == 1000000)
		set_micros(s, micros_of_day(s));
	return STAMP_FINE;
}

enum stamp_answer stamp_read(const char *text, bool dated, struct stamp *s)
{
	const char *at = text;
	bool wrong = false, timed;
	skip_blanks(&at);
	if (read_word(at, s))
		return STAMP_FINE;
	*s = (struct stamp){ .dated = dated || strspn(at, "0123456789") > 2 || !strchr(at, ':') ||
				      strcspn(at, ":") > 2 };
	if (s->dated && !read_date(&at, s))
		return STAMP_SYNTAX;
	const char *behind = at;
	skip_blanks(&at);
	timed = !s->dated || at > behind || (take_char(&at, "Tt") && isdigit((unsigned char)*at));
	if (timed && *at && !(read_time(&at, s, &wrong) && read_zone(&at, s)))
		return STAMP_SYNTAX;
	skip_blanks(&at);
	return *at ? STAMP_SYNTAX : judge(s, wrong);
}

/* ---- The kept form --------------------------------------------------------------------------- */

/* Do digits stand where `shape` has a 0, and else what it has? */
static bool has_shape(const char *text, const char *shape)
{
	for (; *shape; shape++, text++)
		if (*shape == '0' ? *text < '0' || *text > '9' : *text != *shape)
			return false;
	return true;
}

static int two(const char *digits)
{
	return (digits[0] - '0') * 10 + digits[1] - '0';
}

static bool is_kept_date(const char *text)
{
	if (!has_shape(text, "0000-00-00"))
		return false;
	int year = two(text) * 100 + two(text + 2), month = two(text + 5), day = two(text + 8);
	return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= days_of(year, month);
}

/* Up to `end`. */
static bool is_kept_time(const char *text, const char *end)
{
	if (!has_shape(text, "00:00:00") || two(text) > 23 || two(text + 3) > 59 ||
		two(text + 6) > 59)
		return false;
	text += 8;
	if (text == end)
		return true;
	size_t digits = *text == '.' ? strspn(text + 1, "0123456789") : 0;
	return digits > 0 && digits <= STAMP_DIGITS && text + 1 + digits == end && end[-1] != '0';
}

bool stamp_is_kept(const char *text, size_t bytes, enum stamp_form form)
{
	const char *end = text + bytes;
	if (form == STAMP_TIMESTAMPTZ) {
		if (bytes < 3 || strcmp(end - 3, "+00") != 0)
			return false;
		end -= 3;
	}
	if (form == STAMP_TIME)
		return is_kept_time(text, end);
	if (form == STAMP_DATE)
		return bytes == 10 && is_kept_date(text);
	return is_kept_date(text) && text[10] == ' ' && is_kept_time(text + 11, end);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void write_micros(char *text, int micros)
{
	char digits[16];
	if (!micros)
		return;
	int bytes = snprintf(digits, sizeof digits, ".%06d", micros);
	while (digits[bytes - 1] == '0')
		digits[--bytes] = '\0';
	strcat(text, digits);
}

void stamp_write(const struct stamp *s, enum stamp_form form, char text[STAMP_TEXT_MAX])
{
	int bytes = 0;
	text[0] = '\0';
	if (s->infinite) {
		strcpy(text, s->infinite > 0 ? "infinity" : "-infinity");
		return;
	}
	if (form != STAMP_TIME)
		bytes = snprintf(text, STAMP_TEXT_MAX, "%04d-%02d-%02d", s->year, s->month, s->day);
	if (form == STAMP_DATE)
		return;
	snprintf(text + bytes, STAMP_TEXT_MAX - (size_t)bytes, "%s%02d:%02d:%02d", bytes ? " " : "",
		s->hour, s->minute, s->second);
	write_micros(text, s->micros);
	if (form == STAMP_TIMESTAMPTZ)
		strcat(text, "+00");
}
