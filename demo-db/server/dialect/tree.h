/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - a statement read by PostgreSQL 15's own grammar (libpg_query), and SQLite's SQL written
 * from its parse tree.
 *
 * Reads SELECT, VALUES, TABLE, INSERT, UPDATE, DELETE, CREATE VIEW and CREATE TABLE AS. What the
 * grammar refuses is refused in its words; what the writer does not know is refused with 0A000.
 *
 * The tree lives in a memory context of the library's, which is freed as a whole before this
 * returns. Any thread: the library keeps its state by thread. O(bytes), depth TREE_DEPTH_MAX.
 */
#ifndef DEMO_DB_TREE_H
#define DEMO_DB_TREE_H

#include "demo-db/server/dialect/dialect.h"

#define TREE_DEPTH_MAX 200 /* expressions and queries inside each other */

/* Sets sql and what dialect.h says of it, or refuses. 0, or -1 when memory is out. */
int tree_translate(const char *sql, size_t bytes, const struct dialect_context *context,
	struct dialect *result);

#endif
