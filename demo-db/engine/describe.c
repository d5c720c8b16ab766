/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.c - what a statement would return, without running it.
 *
 * Compiles on a borrowed connection, which reads the schema and nothing else, so it takes no lock
 * and no slot. Must not touch the session's transaction.
 */
#include "demo-db/engine/execute.h"
#include "demo-db/engine/state.h"

static int describe(struct db_session *session, struct connection *connection, const char *sql,
	uint32_t *parameter_count, db_row_callback on_columns, void *arg, struct failure *failure)
{
	struct compiled *compiled =
		connection_compile(connection, 0, sql, statement_hash(sql), verb_of(sql), failure);
	if (!compiled)
		return failure->status;
	if (compiled->stmt) {
		const struct db_row row = { .stmt = compiled->stmt };
		*parameter_count = (uint32_t)sqlite3_bind_parameter_count(compiled->stmt);
		if (on_columns && sqlite3_column_count(compiled->stmt) > 0)
			on_columns(arg, &row);
	}
	if (compiled->whole)
		connection_forget(connection, compiled);
	(void)session;
	return 0;
}

int db_describe(struct db_session *session, const char *sql, uint32_t *parameter_count,
	db_row_callback on_columns, void *arg, char *message)
{
	struct failure failure;
	failure_clear(&failure);
	uint32_t parameters = 0;
	if (!session || !sql)
		return failure_set(&failure, DB_EINVAL, NULL), failure_tell(&failure, message);
	struct connection *connection =
		session->connection; /* pinned: it may have temporary tables */
	bool borrowed = !connection;
	if (!verb_is_control(verb_of(sql))) {
		if (!borrowed || connection_borrow(
					 &session->engine->connections, &connection, &failure) == 0)
			describe(session, connection, sql, &parameters, on_columns, arg, &failure);
		if (borrowed && connection)
			connection_return(connection);
	}
	if (parameter_count)
		*parameter_count = parameters;
	return failure_tell(&failure, message);
}
