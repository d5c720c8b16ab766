/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - opens and closes an engine.
 *
 * Owns the order in which the parts come up and go down. What a part does is in the file that bears
 * its name.
 */
#include "demo-db/engine/session/execute.h"
#include "demo-db/engine/session/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1024ull * 1024ull)
#define MS  1000000ull

void engine_log(struct db_engine *engine, const char *format, ...)
{
	char line[DB_MESSAGE_MAX];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (engine->options.log)
		engine->options.log(engine->options.log_arg, line);
	else
		fprintf(stderr, "demo-db: %s\n", line);
}

/* ---- Options --------------------------------------------------------------------------------- */

#define DEFAULT(field, value)                                                                      \
	do {                                                                                       \
		if (!options->field)                                                               \
			options->field = (value);                                                  \
	} while (0)

static void fill_defaults(struct db_options *options)
{
	DEFAULT(pool_bytes, 64 * MIB);
	DEFAULT(read_latency_ns, 100000);
	DEFAULT(read_ahead_pages, 64);
	DEFAULT(workers, 8);
	DEFAULT(queue_limit, 1024);
	DEFAULT(session_limit, 1024);
	DEFAULT(connection_limit, options->workers + 256);
	DEFAULT(lock_timeout_ns, 60000 * MS);
	DEFAULT(deadlock_check_ns, 50 * MS);
	DEFAULT(wal_limit_bytes, 8 * MIB);
	DEFAULT(statement_memory_max, 16 * MIB);
}

static int check_options(const struct db_options *options, struct failure *failure)
{
	if (options->struct_size != sizeof(*options) || !options->data_dir || !*options->data_dir)
		return failure_set(failure, DB_EINVAL, "a data folder must be given");
	if (options->workers > 1024)
		return failure_set(
			failure, DB_EINVAL, "%u workers, at most 1024", options->workers);
	if (options->midpoint_percent > 90)
		return failure_set(failure, DB_EINVAL, "midpoint of %u %%, at most 90",
			options->midpoint_percent);
	if (options->wal_limit_bytes && options->wal_limit_bytes < 256 * 1024)
		return failure_set(failure, DB_EINVAL, "a log limit of %llu bytes, at least 262144",
			(unsigned long long)options->wal_limit_bytes);
	return 0;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void declare_resources(struct db_engine *engine)
{
	struct cancel_resource_options options = { .struct_size = sizeof(options) };
	struct cancel_resource *resources = engine->locks.resources;
	resources[LOCK_KIND_GLOBAL] = createResource("global_lock", CANCEL_LOCK, &options);
	resources[LOCK_KIND_WRITE] = createResource("write_gate", CANCEL_LOCK, &options);
	memcpy(options.conflicts, table_lock_kind.conflicts, sizeof(table_lock_kind.conflicts));
	resources[LOCK_KIND_TABLE] = createResource("table_locks", CANCEL_LOCK, &options);
}

static int init_locks(struct db_engine *engine)
{
	int rc = lock_space_init(&engine->locks);
	if (rc == 0)
		rc = table_catalog_init(&engine->tables);
	lock_init(&engine->global, &global_lock_kind, "global lock", 0);
	lock_init(&engine->write_lock, &write_lock_kind, "write lock", 0);
	declare_resources(engine);
	engine->locks.on_wait = engine->options.on_wait;
	engine->locks.on_wait_arg = engine->options.on_wait_arg;
	return rc;
}

static void init_connections(struct db_engine *engine)
{
	const struct db_options *options = &engine->options;
	engine->connections.options = (struct connection_options){ .path = engine->storage.path,
		.vfs = engine->storage.vfs,
		.limit = options->connection_limit,
		.cache_pages = engine->storage.pool ? CONNECTION_CACHE_PAGES : 0,
		.wal_limit_bytes = options->wal_limit_bytes,
		.pooled_pages = engine->storage.pool != NULL,
		.sync_commits = options->sync_commits,
		.read_only = options->read_only,
		.on_connection = options->on_connection,
		.on_connection_arg = options->on_connection_arg,
		.is_guarded = options->is_guarded };
	engine->connections.catalog = &engine->tables;
	engine->connections.locks = (struct lock_space_refs){ .global = &engine->global,
		.write_lock = &engine->write_lock };
	engine->connections.budget = &engine->budget;
	engine->connections.on_commit = checkpoints_on_commit;
	engine->connections.on_commit_arg = &engine->checkpoints;
}

/* Opens the first connection: SQLite recovers the log and reads the schema, or says why not. */
static int open_database(struct db_engine *engine, struct failure *failure)
{
	struct connection *connection;
	int rc = connection_borrow(&engine->connections, &connection, failure);
	if (rc)
		return rc;
	sqlite3_stmt *stmt = NULL;
	const char *sql = "SELECT name, sql LIKE 'CREATE VIRTUAL%' FROM sqlite_schema "
			  "WHERE type='table' ORDER BY name";
	rc = sqlite3_prepare_v2(connection->db, sql, -1, &stmt, NULL);
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(stmt);
		if (rc == SQLITE_ROW && sqlite3_column_int(stmt, 1))
			table_mark_virtual(
				&engine->tables, (const char *)sqlite3_column_text(stmt, 0));
	}
	int status = rc == SQLITE_DONE ? 0 : failure_sqlite(failure, connection->db, rc);
	sqlite3_finalize(stmt);
	connection_return(connection);
	return status;
}

/* ---- In the background ----------------------------------------------------------------------- */

static int init_backup(struct db_engine *engine)
{
	engine->backup = (struct backup){ .storage = &engine->storage,
		.connections = &engine->connections,
		.locks = &engine->locks,
		.global = &engine->global,
		.tables = &engine->tables,
		.no_action = engine->options.no_action };
	return backup_init(&engine->backup);
}

static int start_checkpoints(struct db_engine *engine, struct failure *failure)
{
	struct checkpoints *checkpoints = &engine->checkpoints;
	checkpoints->locks = &engine->locks;
	checkpoints->write_lock = &engine->write_lock;
	checkpoints->limit_bytes = engine->options.wal_limit_bytes;
	checkpoints->on_request_only = engine->options.no_checkpoint || engine->options.read_only;
	return checkpoints_start(checkpoints, &engine->connections, failure);
}

int db_checkpoint(struct db_engine *engine, enum db_checkpoint_mode mode)
{
	if (!engine || (unsigned)mode > DB_CHECKPOINT_TRUNCATE)
		return DB_EINVAL;
	return checkpoints_run(&engine->checkpoints, mode);
}

int db_backup(struct db_engine *engine, const struct db_backup_options *options)
{
	if (!engine || !options || options->struct_size != sizeof(*options) || !options->path)
		return DB_EINVAL;
	return backup_begin(&engine->backup, options);
}

bool db_cancel_backup(struct db_engine *engine)
{
	return backup_abort(&engine->backup);
}

/* ---- Up and down ----------------------------------------------------------------------------- */

/* What has come up so far, for an orderly way down from any point. */
enum stage {
	STAGE_NONE,
	STAGE_STORAGE,
	STAGE_MEMORY,
	STAGE_WORKERS,
	STAGE_CHECKPOINTS,
	STAGE_HOUSEKEEPER,
};

static int init_parts(struct db_engine *engine)
{
	int rc = init_locks(engine);
	if (rc == 0)
		rc = registry_init(&engine->statements);
	if (rc == 0)
		rc = connections_init(&engine->connections);
	if (rc == 0)
		rc = session_list_init(&engine->sessions, engine->options.session_limit);
	if (rc == 0)
		rc = reruns_init(&engine->reruns);
	if (rc == 0)
		rc = init_backup(engine);
	if (rc == 0)
		rc = budget_init(&engine->budget, engine->options.memory_budget_bytes);
	engine->deadlock.check_ns = engine->options.deadlock_check_ns;
	return rc;
}

static int bring_up(struct db_engine *engine, enum stage *stage, struct failure *failure)
{
	if (!memory_install())
		engine_log(engine, "SQLite was already in use: statement memory is not counted");
	int rc = storage_open(&engine->storage, &engine->options, failure);
	if (rc)
		return rc;
	*stage = STAGE_STORAGE;
	rc = init_parts(engine);
	if (rc)
		return failure_set(failure, rc, NULL);
	*stage = STAGE_MEMORY;
	init_connections(engine);
	rc = open_database(engine, failure);
	if (rc)
		return rc;
	rc = workers_start(&engine->workers, engine->options.workers, engine->options.queue_limit);
	if (rc)
		return failure_set(failure, rc, NULL);
	*stage = STAGE_WORKERS;
	if (engine->storage.pool)
		db_pool_before_stall(engine->storage.pool, execute_show_running);
	*stage = STAGE_CHECKPOINTS;
	rc = start_checkpoints(engine, failure);
	if (rc)
		return rc;
	*stage = STAGE_HOUSEKEEPER;
	return housekeeper_start(engine, failure);
}

/* The last connection out copies the log into the database and removes it. */
static void leave_no_log(struct db_engine *engine)
{
	struct failure ignored;
	struct connection *last = NULL;
	if (engine->options.read_only || engine->options.no_checkpoint)
		return;
	if (connection_borrow(&engine->connections, &last, &ignored) == 0) {
		sqlite3_wal_checkpoint_v2(last->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
		sqlite3_db_config(last->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
		connections_close_idle(&engine->connections);
		connection_close(last);
	}
}

static void take_down(struct db_engine *engine, enum stage stage)
{
	if (stage >= STAGE_MEMORY)
		backup_destroy(&engine->backup);
	if (stage >= STAGE_HOUSEKEEPER)
		housekeeper_stop(&engine->housekeeper);
	if (stage >= STAGE_CHECKPOINTS)
		checkpoints_stop(&engine->checkpoints);
	if (stage >= STAGE_WORKERS) {
		workers_stop(&engine->workers);
		leave_no_log(engine);
	}
	if (stage >= STAGE_MEMORY) {
		connections_destroy(&engine->connections);
		budget_destroy(&engine->budget);
		reruns_destroy(&engine->reruns);
		session_list_destroy(&engine->sessions);
		registry_destroy(&engine->statements);
		table_catalog_destroy(&engine->tables);
		lock_space_destroy(&engine->locks);
		deadlock_destroy(&engine->deadlock);
	}
	if (stage >= STAGE_STORAGE)
		storage_close(&engine->storage);
	free(engine);
}

struct cancel_task engine_task(const char *what)
{
	const struct cancel_task_options options = { .struct_size = sizeof(options),
		.signature = statement_hash(what),
		.flags = CANCEL_BACKGROUND };
	if (currentCancel().id)
		return (struct cancel_task){ 0 };
	return createCancel(&options);
}

int db_open(struct db_engine **out, const struct db_options *options, char *message)
{
	struct failure failure;
	failure_clear(&failure);
	if (!out || !options || check_options(options, &failure))
		return failure_tell(&failure, message), DB_EINVAL;
	struct db_engine *engine = calloc(1, sizeof(*engine));
	if (!engine)
		return failure_set(&failure, DB_ENOMEM, NULL), failure_tell(&failure, message);
	enum stage stage = STAGE_NONE;
	engine->options = *options;
	fill_defaults(&engine->options);
	struct cancel_task task = engine_task("open");
	int rc = bring_up(engine, &stage, &failure);
	if (rc)
		take_down(engine, stage);
	freeCancel(task);
	if (rc)
		return failure_tell(&failure, message);
	engine->options.data_dir = engine->storage.folder;
	*out = engine;
	return 0;
}

void db_close(struct db_engine *engine)
{
	if (!engine)
		return;
	struct cancel_task task = engine_task("close");
	take_down(engine, STAGE_HOUSEKEEPER);
	freeCancel(task);
}

/* ---- Statements ------------------------------------------------------------------------------ */

/* Compiled once, to hear SQLite's opinion and whether it may take the fast path. */
static bool try_out(struct db_engine *engine, const char *sql, struct failure *failure)
{
	struct connection *connection;
	bool fast_path = false;
	struct cancel_task task = engine_task("prepare");
	if (connection_borrow(&engine->connections, &connection, failure) == 0) {
		const struct compile_source source = {
			.sql = sql, .hash = statement_hash(sql), .verb = verb_of(sql)
		};
		struct compiled *compiled = connection_compile(connection, 0, &source, failure);
		if (compiled && !compiled->plan.made)
			compiled_plan(compiled, connection->db, &connection->authorizer);
		fast_path = compiled && compiled->plan.fast_path;
		if (compiled && compiled->whole)
			connection_forget(connection, compiled);
		connection_return(connection);
	}
	freeCancel(task);
	return fast_path;
}

int db_prepare(
	struct db_engine *engine, const char *sql, struct db_statement *statement, char *message)
{
	struct failure failure;
	failure_clear(&failure);
	if (!engine || !sql || !statement)
		return failure_set(&failure, DB_EINVAL, NULL), failure_tell(&failure, message);
	uint32_t id = 0;
	bool fast_path = !verb_is_control(verb_of(sql)) && try_out(engine, sql, &failure);
	if (failure.status == 0 && registry_add(&engine->statements, sql, fast_path, &id))
		failure_set(&failure, DB_ETOOBIG, "more than %d prepared statements",
			DB_STATEMENTS_MAX);
	statement->id = failure.status ? 0 : id;
	return failure_tell(&failure, message);
}

/* ---- Figures --------------------------------------------------------------------------------- */

struct db_resources db_resources(const struct db_engine *engine)
{
	return (struct db_resources){ .table_locks = engine->locks.resources[LOCK_KIND_TABLE],
		.global_lock = engine->locks.resources[LOCK_KIND_GLOBAL],
		.write_gate = engine->locks.resources[LOCK_KIND_WRITE],
		.workers = engine->workers.resource,
		.pool = engine->storage.resource };
}

const char *db_table_name(const struct db_engine *engine, uint32_t instance)
{
	return table_name(&engine->tables, instance);
}
