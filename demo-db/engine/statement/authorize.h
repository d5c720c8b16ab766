/* SPDX-License-Identifier: Apache-2.0 */
/* authorize.h - learns from SQLite's authorizer which tables a statement touches, and how. */
#ifndef DEMO_DB_AUTHORIZE_H
#define DEMO_DB_AUTHORIZE_H

#include "demo-db/engine/locks/table_lock.h"

#include <sqlite3.h>

enum authorize_mode {
	AUTHORIZE_INTERNAL, /* the engine's own SQL: everything is allowed, nothing recorded */
	AUTHORIZE_COLLECT,  /* compiling: record the tables */
	AUTHORIZE_CHECK,    /* running: only tables in the held set */
	AUTHORIZE_VACUUM,   /* running VACUUM, which attaches and copies everything */
};

/* The context of one connection's authorizer. Set once: setting the callback again would expire
 * every statement of the connection. */
struct authorizer {
	enum authorize_mode mode;
	struct table_catalog *catalog;
	bool (*is_guarded)(const char *name); /* NULL: nothing is */
	struct lock_set *set;		      /* COLLECT: filled; CHECK: what is held */
	bool compiled; /* CHECK: for good; to compile it again is a miss, whatever it touches */
	/* COLLECT: findings */
	bool writes_main, writes_temp, makes_temp, reindexes;
	uint64_t calls; /* by SQLite, ever: it has compiled something when there are more */
	bool reads_all; /* every table, by a function the authorizer does not look into */
	bool drops;	/* a DROP is being compiled */
	bool guarded;	/* uses what the host guards */
	int failed;	/* DB_ETABLES, DB_ENOMEM: the set is incomplete */
	/* why something was denied */
	bool missed;	  /* CHECK: a table outside the set: lock more and retry */
	int denied;	  /* a db_error, 0 = nothing was denied */
	const char *what; /* in words; static storage */
};

void authorizer_install(struct authorizer *authorizer, sqlite3 *db, struct table_catalog *catalog,
	bool (*is_guarded)(const char *name));
/* Before compiling: findings go to `set`. */
void authorizer_collect(struct authorizer *authorizer, struct lock_set *set);
/* Before running. */
void authorizer_check(struct authorizer *authorizer, struct lock_set *held, bool vacuum);
void authorizer_internal(struct authorizer *authorizer);

#endif
