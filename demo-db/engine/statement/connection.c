/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.c - opens SQLite connections and keeps idle ones with their compiled statements.
 *
 * A connection is used by one thread at a time (SQLITE_OPEN_NOMUTEX); borrowing and returning it
 * under the pool's mutex orders its users. The authorizer and the progress handler are set once
 * with pointers into the connection, because setting the authorizer again would expire every
 * statement.
 *
 * Owns how a connection is set up.
 */
#include "demo-db/engine/statement/connection.h"
#include "demo-db/engine/statement/budget.h"
#include "demo-db/engine/storage/vfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUSY_MOMENT_NS 50000
#define BUSY_TRIES_MAX 10000

/* ---- Opening --------------------------------------------------------------------------------- */

static int on_wal_commit(void *arg, sqlite3 *db, const char *name, int pages)
{
	(void)db;
	(void)name;
	struct connections *pool = arg;
	if (pool->on_commit)
		pool->on_commit(pool->on_commit_arg, (uint32_t)pages);
	return SQLITE_OK;
}

/* Every setting has its reason in docs/demo-db.md. The log never checkpoints by itself, neither at
 * a commit nor at close; nobody ever waits inside SQLite. */
static int configure(struct connections *pool, sqlite3 *db)
{
	const struct connection_options *options = &pool->options;
	char sql[512];
	snprintf(sql, sizeof(sql),
		"PRAGMA page_size=%d; PRAGMA journal_mode=WAL; PRAGMA synchronous=%s;"
		"PRAGMA wal_autocheckpoint=0; PRAGMA busy_timeout=0; PRAGMA foreign_keys=ON;"
		"PRAGMA recursive_triggers=ON; PRAGMA journal_size_limit=%llu; PRAGMA "
		"query_only=%s;"
		"%s;",
		DB_PAGE_BYTES, options->sync_commits ? "FULL" : "NORMAL",
		(unsigned long long)options->wal_limit_bytes, options->read_only ? "ON" : "OFF",
		options->pooled_pages ? DB_VFS_PRAGMA : "PRAGMA mmap_size=0");
	sqlite3_extended_result_codes(db, 1);
	sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL); /* "x" is a name, never a text */
	sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_wal_hook(db, on_wal_commit, pool); /* wal_autocheckpoint would remove it */
	return rc;
}

void connection_set_cache(struct connection *connection, uint32_t pages)
{
	uint32_t wanted = pages ? pages : connection->pool->options.cache_pages;
	if (!wanted || wanted == connection->cache_pages)
		return;
	char sql[64];
	snprintf(sql, sizeof(sql), "PRAGMA cache_size=%u", wanted);
	authorizer_internal(&connection->authorizer);
	if (sqlite3_exec(connection->db, sql, NULL, NULL, NULL) == SQLITE_OK)
		connection->cache_pages = wanted;
}

int connection_open(struct connections *pool, struct connection **out, struct failure *failure)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	if (!connection)
		return failure_set(failure, DB_ENOMEM, NULL);
	connection->pool = pool;
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
		    SQLITE_OPEN_PRIVATECACHE;
	int rc = sqlite3_open_v2(pool->options.path, &connection->db, flags, pool->options.vfs);
	if (rc == SQLITE_OK)
		rc = configure(pool, connection->db);
	if (rc == SQLITE_OK && pool->options.on_connection)
		rc = pool->options.on_connection(pool->options.on_connection_arg, connection->db);
	if (rc != SQLITE_OK) {
		int status = failure_sqlite(failure, connection->db, rc);
		if (*db_pool_refusal())
			failure_set(failure, status, "%s", db_pool_refusal());
		connection_close(connection);
		return status;
	}
	authorizer_install(
		&connection->authorizer, connection->db, pool->catalog, pool->options.is_guarded);
	progress_install(&connection->progress, connection->db);
	connection_set_cache(connection, 0);
	*out = connection;
	return 0;
}

void connection_close(struct connection *connection)
{
	if (connection->pool->budget)
		budget_forget(connection->pool->budget, connection);
	for (uint32_t i = 0; i < CONNECTION_VERBS; i++)
		sqlite3_finalize(connection->own[i]);
	for (uint32_t i = 0; i < DB_STATEMENTS_MAX; i++)
		compiled_free(connection->by_id[i]);
	for (uint32_t i = 0; i < CONNECTION_TEXTS_MAX; i++)
		compiled_free(connection->texts[i]);
	sqlite3_close(connection->db);
	free(connection);
}

/* ---- The pool -------------------------------------------------------------------------------- */

int connections_init(struct connections *pool)
{
	return pthread_mutex_init(&pool->mutex, NULL) ? DB_ENOMEM : 0;
}

void connections_close_idle(struct connections *pool)
{
	while (pool->idle) {
		struct connection *connection = pool->idle;
		pool->idle = connection->next;
		connection_close(connection);
	}
}

void connections_destroy(struct connections *pool)
{
	connections_close_idle(pool);
	pthread_mutex_destroy(&pool->mutex);
}

static void count_closed(struct connections *pool)
{
	pthread_mutex_lock(&pool->mutex);
	pool->count--;
	pthread_mutex_unlock(&pool->mutex);
}

int connection_borrow(struct connections *pool, struct connection **out, struct failure *failure)
{
	pthread_mutex_lock(&pool->mutex);
	struct connection *connection = pool->idle;
	bool full = !connection && pool->count >= pool->options.limit;
	if (connection)
		pool->idle = connection->next;
	else if (!full)
		pool->count++;
	pthread_mutex_unlock(&pool->mutex);
	if (full)
		return failure_set(failure, DB_ECONNECTIONS,
			"all %u connections are held by open transactions", pool->options.limit);
	if (connection) {
		*out = connection;
		return 0;
	}
	int rc = connection_open(pool, out, failure);
	if (rc)
		count_closed(pool);
	return rc;
}

void connection_return(struct connection *connection)
{
	struct connections *pool = connection->pool;
	if (connection->retired) {
		connection_close(connection);
		count_closed(pool);
		return;
	}
	pthread_mutex_lock(&pool->mutex);
	connection->next = pool->idle;
	pool->idle = connection;
	pthread_mutex_unlock(&pool->mutex);
}

uint64_t connections_idle_bytes(struct connections *pool)
{
	uint64_t pages = 0;
	pthread_mutex_lock(&pool->mutex);
	for (const struct connection *idle = pool->idle; idle; idle = idle->next)
		pages += idle->granted_pages;
	pthread_mutex_unlock(&pool->mutex);
	return pages * DB_PAGE_BYTES;
}

/* Takes the first idle connection with a grant out of the pool; NULL: none. */
static struct connection *borrow_granted(struct connections *pool)
{
	pthread_mutex_lock(&pool->mutex);
	struct connection **at = &pool->idle;
	while (*at && !(*at)->granted_pages)
		at = &(*at)->next;
	struct connection *found = *at;
	if (found)
		*at = found->next;
	pthread_mutex_unlock(&pool->mutex);
	return found;
}

uint64_t connections_shrink_idle(struct connections *pool, uint64_t wanted_bytes)
{
	uint64_t freed = 0;
	struct connection *connection;
	while (freed < wanted_bytes && (connection = borrow_granted(pool))) {
		freed += (uint64_t)connection->granted_pages * DB_PAGE_BYTES;
		connection_set_cache(connection, 0);
		sqlite3_db_release_memory(connection->db);
		connection->granted_pages = 0;
		connection_return(connection);
	}
	return freed;
}

/* ---- Statements ------------------------------------------------------------------------------ */

static struct compiled *find_text(struct connection *connection, const char *sql, uint64_t hash)
{
	for (uint32_t i = 0; i < CONNECTION_TEXTS_MAX; i++) {
		struct compiled *compiled = connection->texts[i];
		if (compiled && compiled->hash == hash && strcmp(compiled->sql, sql) == 0)
			return compiled;
	}
	return NULL;
}

static struct compiled **slot_for_text(struct connection *connection)
{
	struct compiled **oldest = &connection->texts[0];
	for (uint32_t i = 0; i < CONNECTION_TEXTS_MAX; i++) {
		struct compiled **slot = &connection->texts[i];
		if (!*slot)
			return slot;
		if ((*slot)->used < (*oldest)->used)
			oldest = slot;
	}
	return oldest;
}

void connection_forget(struct connection *connection, struct compiled *compiled)
{
	for (uint32_t i = 0; i < DB_STATEMENTS_MAX; i++)
		if (connection->by_id[i] == compiled)
			connection->by_id[i] = NULL;
	for (uint32_t i = 0; i < CONNECTION_TEXTS_MAX; i++)
		if (connection->texts[i] == compiled)
			connection->texts[i] = NULL;
	compiled_free(compiled);
}

struct compiled *connection_compile(struct connection *connection, uint32_t id,
	const struct compile_source *source, struct failure *failure)
{
	struct compiled *compiled =
		id ? connection->by_id[id - 1] : find_text(connection, source->sql, source->hash);
	if (compiled && source->checks && !compiled->checked) {
		connection_forget(connection, compiled);
		compiled = NULL;
	}
	if (!compiled) {
		compiled = compile(connection->db, &connection->authorizer, source,
			connection->pool->locks, failure);
		if (!compiled)
			return NULL;
		if (id ? !compiled->whole : compiled_wants_plan(compiled))
			compiled_plan(compiled, connection->db, &connection->authorizer);
		struct compiled **slot =
			id ? &connection->by_id[id - 1] : slot_for_text(connection);
		compiled_free(*slot);
		*slot = compiled;
		compiled->once = !id && strlen(source->sql) > CONNECTION_TEXT_BYTES;
	}
	compiled->used = ++connection->uses;
	return compiled;
}

bool connection_try_again(int rc, uint32_t *tries)
{
	static const struct timespec moment = { .tv_nsec = BUSY_MOMENT_NS };
	if (rc != SQLITE_BUSY || ++*tries > BUSY_TRIES_MAX)
		return false;
	nanosleep(&moment, NULL);
	return true;
}

int connection_run(
	struct connection *connection, enum connection_verb verb, struct failure *failure)
{
	static const char *const texts[] = { [CONNECTION_BEGIN] = "BEGIN",
		[CONNECTION_BEGIN_IMMEDIATE] = "BEGIN IMMEDIATE",
		[CONNECTION_COMMIT] = "COMMIT",
		[CONNECTION_ROLLBACK] = "ROLLBACK" };
	authorizer_internal(&connection->authorizer);
	sqlite3_stmt **stmt = &connection->own[verb];
	int rc = SQLITE_OK;
	uint32_t tries = 0;
	if (!*stmt)
		rc = sqlite3_prepare_v3(
			connection->db, texts[verb], -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
	if (rc != SQLITE_OK)
		return failure_sqlite(failure, connection->db, rc);
	do {
		rc = sqlite3_step(*stmt);
		sqlite3_reset(*stmt);
	} while (connection_try_again(rc, &tries));
	return rc == SQLITE_DONE ? 0 : failure_sqlite(failure, connection->db, rc);
}

static int read_user_version(sqlite3 *db, int *version)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &stmt, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	*version = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

void connection_bury_commit(struct connection *connection)
{
	int version;
	char sql[96];
	authorizer_internal(&connection->authorizer);
	if (connection_in_transaction(connection) ||
		read_user_version(connection->db, &version) != SQLITE_OK)
		return;
	snprintf(sql, sizeof(sql), "BEGIN IMMEDIATE; PRAGMA user_version=%d; COMMIT", version);
	if (sqlite3_exec(connection->db, sql, NULL, NULL, NULL) != SQLITE_OK &&
		connection_in_transaction(connection))
		sqlite3_exec(connection->db, "ROLLBACK", NULL, NULL, NULL);
}

int connection_savepoint(
	struct connection *connection, const char *verb, uint32_t place, struct failure *failure)
{
	char sql[48];
	snprintf(sql, sizeof(sql), "%s s%u", verb, place);
	authorizer_internal(&connection->authorizer);
	int rc = sqlite3_exec(connection->db, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : failure_sqlite(failure, connection->db, rc);
}

bool connection_in_transaction(const struct connection *connection)
{
	return sqlite3_get_autocommit(connection->db) == 0;
}
