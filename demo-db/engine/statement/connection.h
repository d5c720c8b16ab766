/* SPDX-License-Identifier: Apache-2.0 */
/* connection.h - SQLite connections, the statements compiled on each, and the pool of idle ones. */
#ifndef DEMO_DB_CONNECTION_H
#define DEMO_DB_CONNECTION_H

#include "demo-db/engine/statement/progress.h"
#include "demo-db/engine/statement/statement.h"

#define CONNECTION_TEXTS_MAX   64	   /* ad-hoc statements kept compiled … */
#define CONNECTION_TEXT_BYTES  (64u << 10) /* … none longer than that */
#define CONNECTION_CACHE_PAGES 16	   /* SQLite's own cache, above the pool, without a grant */

struct budget;

enum connection_verb { /* the engine's own statements */
	CONNECTION_BEGIN,
	CONNECTION_BEGIN_IMMEDIATE,
	CONNECTION_COMMIT,
	CONNECTION_ROLLBACK,
	CONNECTION_VERBS,
};

struct connection {
	sqlite3 *db;
	struct connections *pool;
	struct connection *next;      /* idle list */
	struct authorizer authorizer; /* must not move */
	struct progress progress;     /* of what runs now; must not move */
	sqlite3_stmt *own[CONNECTION_VERBS];
	struct compiled *by_id[DB_STATEMENTS_MAX];
	struct compiled *texts[CONNECTION_TEXTS_MAX];
	uint64_t uses; /* clock of the text cache */
	uint32_t cache_pages;
	uint32_t granted_pages; /* of them from the budget; changes only while it is borrowed */
	bool retired; /* has temporary objects, or a failed rollback: never pooled again */
};

struct connection_options {
	const char *path, *vfs;
	uint32_t limit;
	uint32_t cache_pages; /* of a statement without a grant; 0: SQLite's own default */
	uint64_t wal_limit_bytes;
	bool pooled_pages; /* fetch pages from the pool without a copy */
	bool sync_commits, read_only;
	int (*on_connection)(void *arg, sqlite3 *db);
	void *on_connection_arg;
	bool (*is_guarded)(const char *name);
};

struct connections {
	struct connection_options options;
	struct table_catalog *catalog;
	struct lock_space_refs locks;
	struct statement_registry *registry;
	struct budget *budget; /* NULL: none */
	/* Called with the pages in the log after each commit. */
	void (*on_commit)(void *arg, uint32_t wal_pages);
	void *on_commit_arg;
	pthread_mutex_t mutex;
	struct connection *idle; /* the last used first: its caches are warm */
	_Atomic uint32_t count;
};

int connections_init(struct connections *pool);
void connections_close_idle(struct connections *pool);
void connections_destroy(struct connections *pool); /* none is in use */

/* Opens one outside the pool's count (checkpoints, backup). */
int connection_open(struct connections *pool, struct connection **out, struct failure *failure);
void connection_close(struct connection *connection);
/* From the pool; DB_ECONNECTIONS at the limit. */
int connection_borrow(struct connections *pool, struct connection **out, struct failure *failure);
void connection_return(struct connection *connection);

/* What idle connections hold of the budget, in clean pages; and evicting so much of it, at least,
 * if it is there. Returns what was freed. */
uint64_t connections_idle_bytes(struct connections *pool);
uint64_t connections_shrink_idle(struct connections *pool, uint64_t wanted_bytes);

/* The compiled form of a registered or an ad-hoc text, from the cache if possible. */
struct compiled *connection_compile(struct connection *connection, uint32_t id,
	const struct compile_source *source, struct failure *failure);
/* Drops it from the cache, because its locks were wrong or are not to be kept. */
void connection_forget(struct connection *connection, struct compiled *compiled);
/* SQLite's own write lock is taken although ours is held: a reader that caught the log's header in
 * the middle of a change reads it again under that lock (walIndexReadHdr), for microseconds, or for
 * as long as the machine puts it aside. True, after a moment: try again; at most for a second. */
bool connection_try_again(int rc, uint32_t *tries);
int connection_run(
	struct connection *connection, enum connection_verb verb, struct failure *failure);
/* After a COMMIT that failed on the disk, while the write lock is still held: its pages may be in
 * the log as a whole, and whoever opens the files next would find the commit that its client was
 * told had failed. The next commit takes their place, so there is one at once, of nothing new. */
void connection_bury_commit(struct connection *connection);
/* `verb` SAVEPOINT, ROLLBACK TO or RELEASE; SQLite knows the savepoint by its place. */
int connection_savepoint(
	struct connection *connection, const char *verb, uint32_t place, struct failure *failure);
bool connection_in_transaction(const struct connection *connection);
/* SQLite's page cache of this connection; 0: the default for statements without a grant. */
void connection_set_cache(struct connection *connection, uint32_t pages);

#endif
