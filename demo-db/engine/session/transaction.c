/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transaction.c - transactions as the engine means them.
 *
 * READ COMMITTED: BEGIN opens nothing in SQLite; each read has its own snapshot; the first write
 * opens BEGIN IMMEDIATE, with the write lock held, so it sees the newest state. REPEATABLE READ
 * opens BEGIN at its first statement and keeps that snapshot, which pins the log. A write outside a
 * block is a block of one statement, so that its commit is a phase of its own.
 *
 * The state is the engine's, because SQLite's is not to be trusted with it: an interrupted write
 * makes SQLite roll back and return to autocommit, and the client's next statement would commit by
 * itself.
 *
 * Owns the order COMMIT or ROLLBACK, then the locks, then the connection.
 */
#include "demo-db/engine/session/transaction.h"
#include "demo-db/engine/session/state.h"

int transaction_connection(struct db_session *session)
{
	if (session->connection)
		return 0;
	return connection_borrow(
		&session->engine->connections, &session->connection, &session->run.failure);
}

void transaction_unpin(struct db_session *session)
{
	const struct transaction *transaction = &session->transaction;
	if (!session->connection || transaction->wrote || transaction->snapshot ||
		session->has_temp)
		return;
	connection_return(session->connection);
	session->connection = NULL;
}

int transaction_stands(struct db_session *session)
{
	const struct transaction *transaction = &session->transaction;
	if ((!transaction->wrote && !transaction->snapshot) ||
		connection_in_transaction(session->connection))
		return 0;
	return failure_set(&session->run.failure, DB_EROLLEDBACK, NULL);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static bool wants_write(const struct db_session *session, const struct compiled *compiled)
{
	if (!compiled->writes || compiled->verb == VERB_VACUUM)
		return false;
	return session->transaction.state == TX_BLOCK || !compiled->temp_only;
}

int transaction_open(struct db_session *session, const struct compiled *compiled)
{
	struct transaction *transaction = &session->transaction;
	if (transaction->snapshot && wants_write(session, compiled))
		transaction->wrote = true; /* its COMMIT is one of changes from now on */
	if (transaction->wrote || transaction->snapshot)
		return 0;
	struct failure *failure = &session->run.failure;
	int rc = 0;
	if (wants_write(session, compiled)) {
		checkpoints_before_write(&session->engine->checkpoints);
		rc = connection_run(session->connection, CONNECTION_BEGIN_IMMEDIATE, failure);
		transaction->wrote = rc == 0;
	} else if (transaction->state == TX_BLOCK && transaction->repeatable_read) {
		rc = connection_run(session->connection, CONNECTION_BEGIN, failure);
		transaction->snapshot = rc == 0;
	}
	return rc ? rc : savepoints_open(session);
}

/* ---- Closing --------------------------------------------------------------------------------- */

static void release(struct db_session *session)
{
	session->transaction.wrote = session->transaction.snapshot = false;
	session->savepoints.count = 0;
	lock_release_all(&session->owner);
	transaction_unpin(session);
}

static void undo(struct db_session *session)
{
	struct failure ignored;
	struct connection *connection = session->connection;
	if (session->transaction.wrote)
		count_one(&session->counters.rollbacks);
	if (connection && connection_in_transaction(connection) &&
		connection_run(connection, CONNECTION_ROLLBACK, &ignored)) {
		connection->retired = true; /* closing it rolls back, before the locks go */
		connection_return(connection);
		session->connection = NULL;
		session->has_temp = false;
	}
	release(session);
}

void transaction_rollback(struct db_session *session)
{
	undo(session);
	session->transaction.state = TX_NONE;
	session->transaction.abort_unreported = BY_NOBODY;
}

void transaction_fail(struct db_session *session, bool whole)
{
	if (whole || !savepoints_stand(session))
		undo(session);
	session->transaction.state = TX_FAILED;
}

static int cancelled_before(struct db_session *session, struct failure *failure)
{
	session_note_request(session);
	session->run.by = session_cancelled(session);
	return failure_set(failure, DB_ECANCELLED, NULL);
}

static int commit_phase(struct db_session *session, struct failure *failure)
{
	bool seen = session->task.id != 0;
	if (seen && blockCancel() == CANCEL_EREQUESTED)
		return cancelled_before(session, failure);
	int rc;
	if (session_start_commit(session)) {
		rc = connection_run(session->connection, CONNECTION_COMMIT, failure);
		session_end_commit(session);
	} else {
		rc = cancelled_before(session, failure);
	}
	if (seen)
		allowCancel();
	return rc;
}

int transaction_commit(struct db_session *session)
{
	struct transaction *transaction = &session->transaction;
	struct failure *failure = &session->run.failure;
	int rc = transaction_stands(session);
	if (rc == 0 && transaction->wrote) {
		uint64_t start_ns = cancel_now_ns();
		rc = commit_phase(session, failure);
		session->run.commit_ns = cancel_now_ns() - start_ns;
	} else if (rc == 0 && transaction->snapshot) {
		rc = connection_run(session->connection, CONNECTION_COMMIT, failure);
	}
	if (rc) {
		if (transaction->wrote && (rc == DB_EIO || rc == DB_EFULL))
			connection_bury_commit(session->connection);
		transaction_rollback(session);
		return rc;
	}
	if (transaction->wrote)
		count_one(&session->counters.commits);
	release(session);
	transaction->state = TX_NONE;
	return 0;
}
