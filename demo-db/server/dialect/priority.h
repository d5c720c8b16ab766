/* SPDX-License-Identifier: Apache-2.0 */
/*
 * priority.h - how much a statement matters: the business priority of the admission gate.
 *
 * Four levels, 0 the highest. A statement's own level is that of its kind; the session's role, its
 * application_name and SET cancel.priority can lower it, and raise it only where the role may.
 *
 *	system      views of the runtime, what the server does itself
 *	write       INSERT, UPDATE, DELETE, definitions; BEGIN, since nobody knows what will follow
 *	read        SELECT
 *	analytical  SELECT that reads whole tables or groups: no WHERE and no LIMIT behind FROM, or
 *	            GROUP BY, HAVING, OVER, UNION, INTERSECT, EXCEPT; VACUUM, ANALYZE, REINDEX
 *
 * Pure. Source of the idea: Zhou et al., SoCC 2018, 4.2.1 (business priority, set at the entry).
 */
#ifndef DEMO_DB_PRIORITY_H
#define DEMO_DB_PRIORITY_H

#include <stdbool.h>
#include <stddef.h>

enum priority {
	PRIORITY_SYSTEM,
	PRIORITY_WRITE,
	PRIORITY_READ,
	PRIORITY_ANALYTICAL,
	PRIORITY_LEVELS,
	PRIORITY_AUTO = PRIORITY_LEVELS, /* of the statement's kind */
};

/* "system" …, "auto"; PRIORITY_LEVELS + 1 if there is none of that name. */
enum priority priority_find(const char *name);
const char *priority_name(enum priority priority);

enum blocks { /* for as long as it takes */
	BLOCKS_NOBODY,
	BLOCKS_WRITERS, /* CREATE INDEX, ANALYZE */
	BLOCKS_ALL,	/* VACUUM, REINDEX */
};

struct statement_kind {
	enum priority priority;
	bool view;	 /* reads nothing but the runtime's views */
	bool definition; /* changes the schema */
	bool partial;	 /* … by an index with a WHERE */
	enum blocks blocks;
};

/* Of one translated statement. O(bytes). */
struct statement_kind priority_of(const char *sql, size_t bytes);

#endif
