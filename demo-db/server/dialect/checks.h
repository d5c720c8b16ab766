/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checks.h - the names of a definition that SQLite takes without a look.
 *
 * It keeps the body of a view, what a foreign key refers to and the CHECK of a new column as text,
 * and finds out about it when they are used. PostgreSQL looks at once. So does the server: the
 * queries made here must compile, or the definition is refused.
 *
 *   CREATE VIEW v AS query             query
 *   … REFERENCES t (a, b)              SELECT pg_parent.a, pg_parent.b FROM t AS pg_parent
 *   ALTER TABLE t ADD c … CHECK (x)    SELECT (x) FROM (SELECT *, NULL AS c FROM t) AS t
 *
 * Pure; O(bytes), a reference of a table to itself again.
 */
#ifndef DEMO_DB_CHECKS_H
#define DEMO_DB_CHECKS_H

#define CHECKS_PARENT "pg_parent"

/* Of a translated statement; malloc'ed, NULL: none. 0, or -1 when memory is out. */
int checks_of(const char *sql, char **checks);

#endif
