/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.c - what a statement would return, without running it.
 *
 * Compiles on a borrowed connection, which reads the schema and nothing else, so it takes no lock
 * and no slot. Must not change the session's transaction.
 */
#include "demo-db/engine/session/execute.h"
#include "demo-db/engine/session/request.h"
#include "demo-db/engine/session/state.h"

#include <string.h>

static void describe(struct connection *connection, const struct compile_source *source,
	uint32_t *parameter_count, db_row_callback on_columns, void *arg, struct failure *failure)
{
	/* not from the cache: that may be older than the schema, which only running it would show
	 */
	struct compiled *compiled = compile(
		connection->db, &connection->authorizer, source, connection->pool->locks, failure);
	if (!compiled)
		return;
	if (compiled->stmt) {
		const struct db_row row = { .stmt = compiled->stmt };
		*parameter_count = (uint32_t)sqlite3_bind_parameter_count(compiled->stmt);
		if (on_columns && compiled_returns_rows(compiled))
			on_columns(arg, &row);
	}
	compiled_free(compiled);
}

/* On the pinned connection, if there is one: its transaction may have defined what is asked for. */
static void describe_for(struct db_session *session, const struct compile_source *source,
	uint32_t *parameter_count, db_row_callback on_columns, void *arg, struct failure *failure)
{
	struct connection *connection = session->connection;
	if (!connection && connection_borrow(&session->engine->connections, &connection, failure))
		return;
	struct cancel_task task = engine_task("describe");
	describe(connection, source, parameter_count, on_columns, arg, failure);
	freeCancel(task);
	if (!session->connection)
		connection_return(connection);
}

static char *read_view(sqlite3 *db, const char *name)
{
	static const char find[] =
		"SELECT sql FROM (SELECT * FROM sqlite_temp_schema UNION ALL SELECT * FROM "
		"sqlite_schema) WHERE type = 'view' AND name = ?1";
	sqlite3_stmt *stmt = NULL;
	char *sql = NULL;
	db_reads_schema(true);
	if (sqlite3_prepare_v2(db, find, -1, &stmt, NULL) == SQLITE_OK &&
		sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC) == SQLITE_OK &&
		sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
		sql = strdup((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	db_reads_schema(false);
	return sql;
}

char *db_view_sql(struct db_session *session, const char *name)
{
	struct failure failure;
	char *sql = NULL;
	failure_clear(&failure);
	if (request_hold(session))
		return NULL;
	struct connection *connection = session->connection;
	if (connection ||
		connection_borrow(&session->engine->connections, &connection, &failure) == 0) {
		struct cancel_task task = engine_task("describe");
		sql = read_view(connection->db, name);
		freeCancel(task);
		if (!session->connection)
			connection_return(connection);
	}
	request_release(session);
	return sql;
}

int db_describe(struct db_session *session, const char *sql, const char *checks,
	uint32_t *parameter_count, db_row_callback on_columns, void *arg, char *message)
{
	struct failure failure;
	failure_clear(&failure);
	uint32_t parameters = 0;
	if (!session || !sql)
		return failure_set(&failure, DB_EINVAL, NULL), failure_tell(&failure, message);
	int rc = request_hold(session);
	if (rc)
		return failure_set(&failure, rc, NULL), failure_tell(&failure, message);
	const struct compile_source source = {
		.sql = sql, .checks = checks, .hash = statement_hash(sql), .verb = verb_of(sql)
	};
	if (!verb_is_control(source.verb))
		describe_for(session, &source, &parameters, on_columns, arg, &failure);
	request_release(session);
	if (parameter_count)
		*parameter_count = parameters;
	return failure_tell(&failure, message);
}
