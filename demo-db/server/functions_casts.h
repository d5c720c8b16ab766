/* SPDX-License-Identifier: Apache-2.0 */
/* functions_casts.h - PostgreSQL's casts of one value: its result, or its error, is the function's.
 */
#ifndef DEMO_DB_FUNCTIONS_CASTS_H
#define DEMO_DB_FUNCTIONS_CASTS_H

#include <sqlite3.h>
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
/* `type` "numeric", whose integers stay integers, or the name of a type of floats. */
void cast_real(sqlite3_context *c, const char *type, sqlite3_value *from);
void cast_bool(sqlite3_context *c, sqlite3_value *from);

#endif
