/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checks.h - the names of a statement that SQLite takes without a look.
 *
 * It keeps the body of a view, what a foreign key refers to and the CHECK of a new column as text
 * and looks at them when they are used, and at a common table only where it is read. PostgreSQL
 * looks at once. So does the server: the queries made here must compile, or the statement is
 * refused.
 *
 *   CREATE VIEW v AS query             query
 *   WITH c AS (query) …, without c     WITH c AS (query) SELECT 1 FROM c
 *   … REFERENCES t (a, b)              SELECT pg_parent.a, pg_parent.b FROM t AS pg_parent
 *   ALTER TABLE t ADD c … CHECK (x)    SELECT (x) FROM (SELECT *, NULL AS c FROM t) AS t
 *
 * Where a statement says a hidden column's name (hidden.h), the table it changes or defines has
 * such a column, or nobody says so; the queries read it without hidden ones:
 *
 *   UPDATE t SET a = x FROM u WHERE y  SELECT 1, t.a = x FROM t AS t, u WHERE y
 *   DELETE FROM t WHERE y              SELECT 1 FROM t AS t WHERE y
 *   … RETURNING z                      SELECT z FROM t AS t
 *   INSERT INTO t (oid) …, SET oid = … SELECT pg_target.oid FROM t AS pg_target
 *   CREATE TABLE t (a, b, CHECK (x))   SELECT (x) FROM (SELECT NULL AS a, NULL AS b) AS t
 *   CREATE INDEX i ON t (…) WHERE …    SELECT oid FROM t
 *
 * Pure; O(bytes), a reference of a table to itself again.
 */
#ifndef DEMO_DB_CHECKS_H
#define DEMO_DB_CHECKS_H

#include <stdio.h>

#define CHECKS_PARENT "pg_parent"
#define CHECKS_TARGET "pg_target"
#define CHECKS_BEYOND "pg_beyond" /* what such a column is not supported in */

/* Of a translated statement; malloc'ed, NULL: none. 0, or -1 when memory is out. */
int checks_of(const char *sql, char **checks);
/* Internal to checks*.c.
 * checks_changes.c: those of a statement that changes rows and says a hidden column's name. */
void checks_of_change(FILE *to, const char *sql);
/* One that does not compile, for what is not read here: SELECT pg_beyond.oid. */
void checks_refuse(FILE *to, const char *sql);

#endif
