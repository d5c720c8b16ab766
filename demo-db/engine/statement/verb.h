/* SPDX-License-Identifier: Apache-2.0 */
/* verb.h - what kind of statement a text is, and the few statements the engine reads itself. */
#ifndef DEMO_DB_VERB_H
#define DEMO_DB_VERB_H

#include "demo-db/engine/locks/table_lock.h"

/* verb, PostgreSQL's command tag */
#define VERBS(X)                                                                                   \
	X(VERB_EMPTY, "")                                                                          \
	X(VERB_SELECT, "SELECT")                                                                   \
	X(VERB_INSERT, "INSERT")                                                                   \
	X(VERB_UPDATE, "UPDATE")                                                                   \
	X(VERB_DELETE, "DELETE")                                                                   \
	X(VERB_CREATE_TABLE, "CREATE TABLE")                                                       \
	X(VERB_CREATE_INDEX, "CREATE INDEX")                                                       \
	X(VERB_CREATE_VIEW, "CREATE VIEW")                                                         \
	X(VERB_CREATE_TRIGGER, "CREATE TRIGGER")                                                   \
	X(VERB_CREATE_OTHER, "CREATE")                                                             \
	X(VERB_DROP_TABLE, "DROP TABLE")                                                           \
	X(VERB_DROP_INDEX, "DROP INDEX")                                                           \
	X(VERB_DROP_VIEW, "DROP VIEW")                                                             \
	X(VERB_DROP_TRIGGER, "DROP TRIGGER")                                                       \
	X(VERB_DROP_OTHER, "DROP")                                                                 \
	X(VERB_ALTER, "ALTER TABLE")                                                               \
	X(VERB_REINDEX, "REINDEX")                                                                 \
	X(VERB_ANALYZE, "ANALYZE")                                                                 \
	X(VERB_VACUUM, "VACUUM")                                                                   \
	X(VERB_EXPLAIN, "EXPLAIN")                                                                 \
	X(VERB_PRAGMA, "PRAGMA")                                                                   \
	X(VERB_BEGIN, "BEGIN")                                                                     \
	X(VERB_COMMIT, "COMMIT")                                                                   \
	X(VERB_ROLLBACK, "ROLLBACK")                                                               \
	X(VERB_SAVEPOINT, "SAVEPOINT")                                                             \
	X(VERB_LOCK, "LOCK TABLE")                                                                 \
	X(VERB_ATTACH, "ATTACH")                                                                   \
	X(VERB_OTHER, "")

enum verb {
#define X(name, tag) name,
	VERBS(X)
#undef X
};

enum verb verb_of(const char *sql);
const char *verb_tag(enum verb verb);
/* Read by the engine, never by SQLite. */
static inline bool verb_is_control(enum verb verb)
{
	return verb == VERB_BEGIN || verb == VERB_COMMIT || verb == VERB_ROLLBACK ||
	       verb == VERB_SAVEPOINT || verb == VERB_LOCK || verb == VERB_ATTACH;
}

struct begin_options {
	bool repeatable_read, read_only;
};
/* BEGIN or START TRANSACTION with PostgreSQL's and SQLite's options; false: a syntax error. */
bool verb_parse_begin(const char *sql, struct begin_options *options);
/* ROLLBACK TO SAVEPOINT, SAVEPOINT and RELEASE are SAVEPOINT; the rest of COMMIT/ROLLBACK must be
 * WORK or TRANSACTION or nothing. */
bool verb_parse_end(const char *sql);

#define SAVEPOINT_NAME_MAX                                                                         \
	64 /* bytes, terminator included; longer names are cut, as PostgreSQL's */
struct savepoint_verb {
	enum { SAVEPOINT_SET, SAVEPOINT_RELEASE, SAVEPOINT_ROLLBACK } what;
	char name[SAVEPOINT_NAME_MAX];
	const char *words, *tag;
};
/* SAVEPOINT name, RELEASE [SAVEPOINT] name, ROLLBACK … TO [SAVEPOINT] name. */
bool verb_parse_savepoint(const char *sql, struct savepoint_verb *verb);
bool verb_is_rollback_to(const char *sql, enum verb verb);
/* LOCK [TABLE] name [IN mode MODE]; the default is ACCESS EXCLUSIVE. */
bool verb_parse_lock(const char *sql, char name[TABLE_NAME_MAX], enum table_mode *mode);
/* VACUUM INTO writes a file of the client's choosing. */
bool verb_is_vacuum_into(const char *sql);
/* Nothing but white space, comments and semicolons? */
bool verb_is_blank(const char *sql);

#endif
