/* SPDX-License-Identifier: Apache-2.0 */
/* statement.h - the registry of prepared statements, and one statement compiled on a connection. */
#ifndef DEMO_DB_STATEMENT_H
#define DEMO_DB_STATEMENT_H

#include "demo-db/engine/statement/authorize.h"
#include "demo-db/engine/base/failure.h"
#include "demo-db/engine/statement/plan.h"
#include "demo-db/engine/statement/verb.h"

/* ---- Registered texts ------------------------------------------------------------------------ */

struct statement_text {
	char *sql;
	uint64_t hash;
	enum verb verb;
	bool fast_path; /* a look-up by key, when it was registered */
};

struct statement_registry {
	pthread_mutex_t mutex;
	struct statement_text texts[DB_STATEMENTS_MAX]; /* never change once counted */
	_Atomic uint32_t count;
};

int registry_init(struct statement_registry *registry);
void registry_destroy(struct statement_registry *registry);
/* The id (from 1) of the text, registering it if new; DB_ETOOBIG when full, DB_ENOMEM. */
int registry_add(
	struct statement_registry *registry, const char *sql, bool fast_path, uint32_t *id);
const struct statement_text *registry_get(struct statement_registry *registry, uint32_t id);
uint64_t statement_hash(const char *sql);

/* ---- Compiled statements --------------------------------------------------------------------- */

struct compiled {
	sqlite3_stmt *stmt; /* NULL: an empty statement */
	char *sql;
	uint64_t hash;
	uint64_t used; /* stamp of the last use, for the cache */
	enum verb verb;
	bool writes; /* needs the write lock (temporary tables only: just inside a transaction) */
	bool temp_only;	 /* writes nothing but temporary tables */
	bool makes_temp; /* its connection then belongs to the session */
	bool guarded;	 /* for requests with DB_CONTROL only */
	bool whole;	 /* its lock set is the whole database as it is now: not cached */
	bool once;	 /* its text is so long that it is not kept either */
	bool checked;	 /* its checks compiled: SQLite may not compile it again without them */
	struct lock_set locks;
	struct lock_request *requests; /* global lock, tables by name, then the write lock */
	uint32_t request_count;	       /* without the write lock */
	struct plan plan;
};

struct compile_source {
	const char *sql;
	const char *checks; /* queries that must compile, too; NULL: none */
	uint64_t hash;	    /* of the text */
	enum verb verb;
};

struct lock_space_refs { /* what requests point to besides tables */
	struct lock *global, *write_lock;
};

/* Compiles with the connection's authorizer. NULL with `failure` set on error. */
struct compiled *compile(sqlite3 *db, struct authorizer *authorizer,
	const struct compile_source *source, struct lock_space_refs locks, struct failure *failure);
void compiled_free(struct compiled *compiled);
/* Not those of the query with which SQLite's ALTER TABLE looks at the rows. */
bool compiled_returns_rows(const struct compiled *compiled);
/* Makes the plan if there is none; only statements worth it unless `always`. */
void compiled_plan(struct compiled *compiled, sqlite3 *db, struct authorizer *authorizer);
/* Is the text one whose plan may hold sorters, so that it is worth an EXPLAIN? */
bool compiled_wants_plan(const struct compiled *compiled);

#endif
