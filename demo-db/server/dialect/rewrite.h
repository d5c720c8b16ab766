/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.h - a definition (CREATE TABLE, CREATE INDEX, ALTER, DROP), token by token, into SQLite's
 * SQL.
 *
 * The table of what changes is in dialect.h. Pure; not thread-safe per object.
 */
#ifndef DEMO_DB_REWRITE_H
#define DEMO_DB_REWRITE_H

#include "demo-db/server/dialect/dialect.h"

struct rewrite {
	const struct dialect_context *context;
	char *sql; /* the result, malloc'ed; the caller frees it */
	char sqlstate[6];
	char error[DIALECT_TEXT_MAX]; /* "" when it went well */
	size_t place;		      /* byte of the text it is about, from 1; 0 unknown */
};

/* Returns 0 (look at `error`), or -1 when memory is out. O(bytes). */
int rewrite_sql(struct rewrite *rewrite, const char *sql, size_t bytes);
/* Does it ask one of the catalogs that would always be empty here? psql's \d does, in SQL that
 * SQLite does not read. */
bool rewrite_reads_nothing(const char *sql, size_t bytes);

#endif
