/* SPDX-License-Identifier: Apache-2.0 */
/*
 * last_values.h - the values a statement assigned last, for the words about a key that is there
 * already.
 *
 * Per thread, good until the thread runs another statement. A value that cannot be told as
 * PostgreSQL would is not kept. Bounded: STORED_MAX columns, texts of STORED_TEXT_MAX bytes.
 */
#ifndef DEMO_DB_LAST_VALUES_H
#define DEMO_DB_LAST_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORED_MAX	16
#define STORED_TEXT_MAX 64

/* `column` is "table.column". */
void last_values_integer(const char *column, int64_t value);
void last_values_text(const char *column, const char *text, size_t bytes);
void last_values_unknown(const char *column);

/* Of SQLite's "UNIQUE constraint failed: t.a, t.b": "Key (a, b)=(1, x) already exists."; false:
 * some value is not known. On the thread that ran the statement. */
bool last_values_key(const char *message, char *detail, size_t bytes);

#endif
