/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.h - names and types of a statement's result columns, as PostgreSQL would give them.
 *
 * SQLite names an expression after its text and gives it no type before the first row. This reads
 * the select list (or the RETURNING list): an expression without an alias gets PostgreSQL's name
 * for it, and where the form tells the type (a count, a comparison, a cast, a literal) the type is
 * noted. What is not told here is told by the first row. Pure; O(bytes).
 * Source: PostgreSQL documentation, "Column Labels"; FigureColname's rules as they show.
 */
#ifndef DEMO_DB_COLUMNS_H
#define DEMO_DB_COLUMNS_H

#include "demo-db/server/types/values.h"

#define COLUMNS_TYPED_MAX 64 /* columns whose type can be noted */

struct columns {
	char *sql; /* the statement with aliases put in; owned by the caller */
	uint32_t count;
	enum pg_type types[COLUMNS_TYPED_MAX]; /* PG_UNKNOWN: not told by the form */
};

/* 0, or -1 when memory is out. After a `*` no column's place is known: count ends there. */
int columns_read(const char *sql, size_t bytes, struct columns *columns);

#endif
