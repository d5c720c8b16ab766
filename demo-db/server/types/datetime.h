/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datetime.h - dates and times of day as PostgreSQL reads them, and the one form they are kept in.
 *
 * Read are ISO 8601 with and without separators, month/day/year, months by name, times of 12 and 24
 * hours, UTC, Z and offsets, and the words now, today, tomorrow, yesterday, epoch and infinity. The
 * kept form sorts as text. There is no zone but UTC and no year before 1. Pure but for the clock.
 */
#ifndef DEMO_DB_DATETIME_H
#define DEMO_DB_DATETIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAMP_TEXT_MAX 64
#define STAMP_DIGITS   6 /* of a second */

enum stamp_answer {
	STAMP_FINE,
	STAMP_SYNTAX,
	STAMP_RANGE,
	STAMP_FIELD, /* a month or a day there never is */
};

enum stamp_form { STAMP_DATE, STAMP_TIME, STAMP_TIMESTAMP, STAMP_TIMESTAMPTZ };

struct stamp {
	int infinite; /* 1, or -1: nothing else counts */
	int year, month, day, hour, minute, second, micros;
	bool dated;   /* else a time of day alone */
	int offset_s; /* what its clock is ahead of UTC, as written */
};

/* `dated`: a time of day alone is no answer. Every field is in its range then. */
enum stamp_answer stamp_read(const char *text, bool dated, struct stamp *stamp);
/* Its time in UTC, by its offset. */
void stamp_to_utc(struct stamp *stamp);
void stamp_set_days(struct stamp *stamp, int64_t days);
/* To so many digits of the second. */
void stamp_round(struct stamp *stamp, int digits);
#define STAMP_FIRST_DAY INT64_C(-719162)       /* 0001-01-01 */
#define STAMP_LAST_DAY	INT64_C(2932896)       /* 9999-12-31 */
int64_t stamp_days(const struct stamp *stamp); /* since 1970-01-01 */
/* Surely as stamp_write would write it? Fast; no for some that are, such as those with a fraction.
 */
bool stamp_is_kept(const char *text, size_t bytes, enum stamp_form form);
void stamp_write(const struct stamp *stamp, enum stamp_form form, char text[STAMP_TEXT_MAX]);

#endif
