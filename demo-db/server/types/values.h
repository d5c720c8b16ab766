/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values.h - PostgreSQL's types over SQLite's values: which object id a column answers, how a value
 * is written in text or binary, how a parameter is read.
 *
 * A column answers the id of its declared type, or of its first value where nothing is declared. A
 * parameter of no declared type that is a plain decimal integer is bound as one (SQLite's column
 * affinity turns it back where text is wanted), anything else as text.
 *
 * Source: PostgreSQL documentation, "Data Types" and pg_type; binary forms as libpq sends them.
 */
#ifndef DEMO_DB_VALUES_H
#define DEMO_DB_VALUES_H

#include "demo-db/engine/engine.h"
#include "demo-db/server/types/pg_types.h"
#include "demo-db/server/net/protocol.h"

/* Of a declared type as written in CREATE TABLE (NULL: none) and, then, of the value. */
enum pg_type value_pg_type(const char *declared, enum db_type actual);
/* Digits behind the point of a declared numeric(p, s); -1: as many as there are. */
int value_scale(const char *declared);
/* Characters of a declared char(n), which is stored without its blanks; 0: of no fixed width. */
uint32_t value_width(const char *declared);
/* 1 + what pg_attribute.atttypmod is of a declared type; 0: it has none. */
int32_t value_modifier(const char *declared);
int16_t value_pg_length(enum pg_type type); /* bytes, -1 variable */
/* Is there a binary form for it here? */
bool value_has_binary(enum pg_type type);

/* False: the column is binary and of a type that cannot hold the value. SQLite has a type for each
 * value, so a column that a first row called a number may hold a text further down. */
bool value_fits(struct db_value value, const struct wire_column *column);
/* Appends length and bytes of one value of a DataRow, in the column's type and format. */
void value_write(struct wire_out *out, struct db_value value, const struct wire_column *column);

/* A float as it is shown. */
void value_real_text(double value, char text[32]);

#define VALUE_JSONB_VERSION 1	/* the first byte of its binary form */
int value_hex_digit(uint8_t c); /* -1: none */

#define VALUE_SHORT 256

struct value_error {
	const char *sqlstate;
	char message[128];
};
/* Bytes of storage that reading so many takes: decoded bytea, or the text of a uuid, a time or a
 * numeric, of which two bytes are four digits. */
static inline size_t value_room(size_t bytes)
{
	return bytes < VALUE_SHORT ? 4 * bytes + 40 : bytes / 2 + 40;
}

/* Reads one parameter. `storage` (8-byte aligned, value_room bytes) takes what is decoded; text
 * points into the message. 0, or -1 with `error` filled. */
int value_read(struct wire_bytes bytes, enum pg_type type, uint16_t format, void *storage,
	struct db_value *value, struct value_error *error);

#endif
