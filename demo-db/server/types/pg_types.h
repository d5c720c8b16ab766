/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pg_types.h - PostgreSQL's types as pg_types.def lists them, and the ways to find one: by its
 * object id, by a word of SQL, by a column's declaration. Pure; any thread.
 *
 * A new type is one row there and its functions: the cast it names, if it has one, and in values.c
 * the binary form, if it has one.
 *
 * Source: PostgreSQL documentation, "Data Types" and pg_type.
 */
#ifndef DEMO_DB_PG_TYPES_H
#define DEMO_DB_PG_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pg_type { /* object ids of pg_type */
	PG_UNKNOWN = 0,
#define PG_TYPE(id, oid, name, spelling, affinity, cast, length, binary) PG_##id = oid,
#include "demo-db/server/types/pg_types.def"
};

enum pg_cast {
	PG_CAST_FUNCTION, /* pg_<name>(value) */
	PG_CAST_KEPT,	  /* SQLite's, by the affinity */
	PG_CAST_REFUSED,
};

struct pg_type_row {
	enum pg_type type;
	const char *name, *spelling, *affinity;
	enum pg_cast cast;
	int16_t length;
	bool binary;
};

/* NULL: no row has this id. */
const struct pg_type_row *pg_type_row(enum pg_type type);
/* Of a word where SQL wants a type, in any case; PG_UNKNOWN if it is none. */
enum pg_type pg_type_named(const char *word, size_t bytes);
/* As pg_type_named if `varying` or `with time zone` follow the word. */
enum pg_type pg_type_varied(enum pg_type type, bool varying, bool zoned);
/* Of a column's type as written in CREATE TABLE, numbers and all. */
enum pg_type pg_type_declared(const char *declared);
/* One of serial, bigserial …? */
bool pg_type_is_serial(const char *word, size_t bytes);

#endif
