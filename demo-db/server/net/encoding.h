/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encoding.h - the client encodings: UTF8, what is kept; SQL_ASCII, the same bytes with no promise;
 * LATIN1, each byte a character. Pure.
 */
#ifndef DEMO_DB_ENCODING_H
#define DEMO_DB_ENCODING_H

#include <stdbool.h>
#include <stddef.h>

#define ENCODING_ERROR_MAX 128

/* PostgreSQL's name for it, letters and digits alone counting: "utf-8", "'utf-8'", "iso_8859_1".
 * NULL: not one of the three. */
const char *encoding_name(const char *text);

/* Writes LATIN1 as UTF-8 to `utf8`, which has room for twice the bytes. The bytes written. */
size_t encoding_from_latin1(char *utf8, const char *text, size_t bytes);
/* In place: UTF-8 becomes LATIN1, `*bytes` what that takes. False: a character has no place in it. It
 * is described in `error`; where that is NULL it becomes a question mark, and the answer is true. */
bool encoding_to_latin1(char *text, size_t *bytes, char *error);

#endif
