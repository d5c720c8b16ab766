/* SPDX-License-Identifier: Apache-2.0 */
/*
 * casts.h - PostgreSQL's casts of one value, as SQL functions (functions.h) and for the
 * assignment to columns: the result, or the error, is that of the SQL function being called. NULL
 * stays NULL.
 */
#ifndef DEMO_DB_FUNCTIONS_CASTS_H
#define DEMO_DB_FUNCTIONS_CASTS_H

#include "demo-db/server/types/pg_types.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* What a value is to become: a type with the numbers that stand in parentheses behind it. */
struct cast {
	enum pg_type type;
	int first, second; /* -1: not said */
	bool assigns;	   /* to a column: what is too long is refused; else it is cut */
	bool wide;	   /* an integer of 64 bits, whatever its type */
};

typedef void cast_function(sqlite3_context *c, sqlite3_value *from, const struct cast *cast);

/* By the names pg_types.def has for them. Integers stay integers in a numeric; a char does not keep
 * its last blanks, rows.c shows them. */
cast_function cast_integer, cast_bool, cast_float8, cast_float4, cast_numeric, cast_text, cast_uuid;
cast_function cast_date, cast_time, cast_timestamp; /* functions_dates.c */

/* NULL: its values stay as they are. */
cast_function *cast_of(enum pg_type type);
/* Does an integer type hold the value? */
bool cast_holds(const struct cast *cast, int64_t value);
/* `format` takes both texts, or (of one conversion) the first. */
void cast_refuse(sqlite3_context *c, const char *format, const char *a, const char *b);

int casts_install(sqlite3 *db);
int functions_dates_install(sqlite3 *db);

#endif
