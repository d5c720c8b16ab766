/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions_casts.h - PostgreSQL's casts of one value, as SQL functions (functions.h) and for the
 * assignment to columns: the result, or the error, is that of the SQL function being called. NULL
 * stays NULL.
 */
#ifndef DEMO_DB_FUNCTIONS_CASTS_H
#define DEMO_DB_FUNCTIONS_CASTS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct integer_type {
	const char *name;
	int64_t least, most;
};
/* smallint, integer, bigint, and a rowid that is called integer */
extern const struct integer_type integer_types[];

/* `format` takes both texts, or (of one conversion) the first. */
void cast_refuse(sqlite3_context *c, const char *format, const char *a, const char *b);
void cast_integer(sqlite3_context *c, const struct integer_type *type, sqlite3_value *from);
void cast_bool(sqlite3_context *c, sqlite3_value *from);
void cast_float8(sqlite3_context *c, sqlite3_value *from);
void cast_float4(sqlite3_context *c, sqlite3_value *from);
/* `precision` 0: any; integers stay integers. */
void cast_numeric(sqlite3_context *c, sqlite3_value *from, int precision, int scale);
/* To so many characters: of varchar, or of char, which does not keep its last blanks; rows.c shows
 * them. What is longer is refused, unless it is only blanks or is to be cut. */
void cast_text(sqlite3_context *c, sqlite3_value *from, int length, bool padded, bool cut);
void cast_uuid(sqlite3_context *c, sqlite3_value *from);
/* functions_dates.c; `digits` behind the second's point. */
void cast_date(sqlite3_context *c, sqlite3_value *from);
void cast_time(sqlite3_context *c, sqlite3_value *from, int digits);
void cast_timestamp(sqlite3_context *c, sqlite3_value *from, bool zoned, int digits);

int casts_install(sqlite3 *db);
int functions_dates_install(sqlite3 *db);

#endif
