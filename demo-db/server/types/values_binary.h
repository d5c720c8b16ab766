/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values_binary.h - the binary forms of numeric, dates, timestamps and intervals. Internal to
 * values*.c. Pure.
 *
 * Source: PostgreSQL's message formats as libpq sends them: days and microseconds since 2000-01-01,
 * numerics in groups of four digits.
 */
#ifndef DEMO_DB_VALUES_BINARY_H
#define DEMO_DB_VALUES_BINARY_H

#include "demo-db/server/types/values.h"

#define BINARY_FORM_MAX 512

/* Bytes of the form of a value of such a type; -1: the value is none. `scale`: of a numeric column,
 * -1 none. */
int binary_write(
	struct db_value value, enum pg_type type, int scale, uint8_t form[BINARY_FORM_MAX]);
/* Writes the text that columns keep. False: it is none. */
bool binary_read(struct wire_bytes form, enum pg_type type, char *text, size_t bytes);

#endif
