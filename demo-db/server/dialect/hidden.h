/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hidden.h - the columns every table of SQLite has although nobody declared them: rowid, oid and
 * _rowid_.
 *
 * A column of such a name that was declared comes first, then the hidden one of the same table, and
 * only then an alias or the column of an outer query. So a statement that says such a word may read
 * something else than PostgreSQL would. Common tables are the only ones without hidden columns:
 *
 *   SELECT a.oid FROM t a, (SELECT …) b
 *   WITH pg_common1 AS (SELECT*FROM t), pg_common2 AS (SELECT …)
 *       SELECT a.oid FROM pg_common1 a, pg_common2 b
 *
 * The table an INSERT, UPDATE or DELETE changes stays what it is: checks.h.
 *
 * Pure; O(bytes × depth of parentheses).
 */
#ifndef DEMO_DB_HIDDEN_H
#define DEMO_DB_HIDDEN_H

#include "demo-db/server/dialect/lexer.h"

#define HIDDEN_COMMON "pg_common"

/* Is the token one of the words, in quotes or not? */
bool hidden_is_name(const struct token *t);
/* Does the statement say one of them outside of texts? */
bool hidden_is_said(const char *sql);
/* The statement with common tables in place of all it reads; malloc'ed, NULL: memory is out, or it
 * nests too deeply. */
char *hidden_avoid(const char *sql);
/* Byte of `sql` from which byte `offset` of that came; -1: none. */
int hidden_place(const char *sql, int offset);

#endif
