/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.c - the statements that belong to the engine: BEGIN, COMMIT, ROLLBACK, LOCK TABLE.
 *
 * They answer as PostgreSQL does: a second BEGIN or a COMMIT outside a block is a notice, not an
 * error (status 0 with a message and its SQLSTATE); COMMIT of a failed block is a ROLLBACK and
 * says so in its tag.
 */
#include "demo-db/engine/session/execute.h"
#include "demo-db/engine/session/state.h"
#include "demo-db/engine/session/transaction.h"

static int notice(struct db_session *session, int error, const char *text)
{
	failure_set(&session->run.failure, error, "%s", text);
	session->run.failure.status = 0;
	return 0;
}

static int begin(struct db_session *session)
{
	struct transaction *transaction = &session->transaction;
	struct begin_options options;
	if (!verb_parse_begin(session->run.sql, &options))
		return failure_set(&session->run.failure, DB_ESYNTAX, "syntax error in BEGIN");
	if (transaction->state == TX_BLOCK)
		return notice(session, DB_EACTIVE, "there is already a transaction in progress");
	session->savepoints.count = 0;
	*transaction = (struct transaction){ .state = TX_BLOCK,
		.repeatable_read = options.repeatable_read,
		.read_only = options.read_only,
		.start_ns = session->run.arrival_ns };
	return 0;
}

static int commit(struct db_session *session)
{
	if (!verb_parse_end(session->run.sql))
		return failure_set(&session->run.failure, DB_ESYNTAX, "syntax error in COMMIT");
	switch (session->transaction.state) {
	case TX_NONE:
		return notice(session, DB_ENOBLOCK, "there is no transaction in progress");
	case TX_FAILED:
		transaction_rollback(session);
		session->run.tag = verb_tag(VERB_ROLLBACK);
		return 0;
	case TX_BLOCK:
		break;
	}
	return transaction_commit(session);
}

static int rollback(struct db_session *session)
{
	if (!verb_parse_end(session->run.sql))
		return failure_set(&session->run.failure, DB_ESYNTAX, "syntax error in ROLLBACK");
	if (session->transaction.state == TX_NONE)
		return notice(session, DB_ENOBLOCK, "there is no transaction in progress");
	transaction_rollback(session);
	return 0;
}

static int find_table(struct db_session *session, const char *name)
{
	sqlite3_stmt *stmt = NULL;
	struct failure *failure = &session->run.failure;
	sqlite3 *db = session->connection->db;
	authorizer_internal(&session->connection->authorizer);
	const char *sql = "SELECT 1 FROM sqlite_schema WHERE type IN ('table','view') "
			  "AND name=?1 COLLATE NOCASE";
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	int status = rc == SQLITE_ROW ? 0
		     : rc == SQLITE_DONE
			     ? failure_set(failure, DB_ENOTABLE, "no such table: %s", name)
			     : failure_sqlite(failure, db, rc);
	sqlite3_finalize(stmt);
	return status;
}

static int lock_table(struct db_session *session)
{
	struct failure *failure = &session->run.failure;
	struct db_engine *engine = session->engine;
	char name[TABLE_NAME_MAX];
	enum table_mode mode;
	if (!verb_parse_lock(session->run.sql, name, &mode))
		return failure_set(failure, DB_ESYNTAX, "syntax error in LOCK TABLE");
	if (session->transaction.state != TX_BLOCK)
		return failure_set(
			failure, DB_ENOBLOCK, "LOCK TABLE can only be used in transaction blocks");
	int rc = transaction_connection(session);
	if (rc == 0)
		rc = find_table(session, name);
	if (rc)
		return rc;
	transaction_unpin(session);
	struct table *table = table_find(&engine->tables, name);
	if (!table)
		return failure_set(failure, DB_ETABLES, NULL);
	const struct lock_request requests[] = { { .lock = &engine->global, .mode = CANCEL_SHARED },
		{ .lock = &table->lock, .mode = (uint8_t)mode } };
	return execute_lock(session, requests, 2);
}

int control_execute(struct db_session *session)
{
	switch (session->run.verb) {
	case VERB_BEGIN:
		return begin(session);
	case VERB_COMMIT:
		return commit(session);
	case VERB_ROLLBACK:
		return rollback(session);
	case VERB_LOCK:
		return lock_table(session);
	case VERB_SAVEPOINT:
		return savepoint_execute(session);
	default:
		return failure_set(
			&session->run.failure, DB_EUNSUPPORTED, "ATTACH is not supported");
	}
}
