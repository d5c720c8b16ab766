/* SPDX-License-Identifier: Apache-2.0 */
/* transaction.h - opening, committing, rolling back; on the session's own thread. */
#ifndef DEMO_DB_TRANSACTION_H
#define DEMO_DB_TRANSACTION_H

#include "demo-db/engine/session/session.h"

/* The session's connection: the pinned one, or one borrowed for this statement. */
int transaction_connection(struct db_session *session);
/* Gives it back unless a transaction or temporary objects keep it. */
void transaction_unpin(struct db_session *session);

/* 0 if what it has open is still open. Any statement of the connection that meets an I/O error or a
 * lack of memory, the engine's own look-ups included, makes SQLite roll the whole transaction back;
 * the session's next statement would then commit alone. Asked before SQLite changes anything. */
int transaction_stands(struct db_session *session);

/* Opens what SQLite needs for the statement; its locks are held. */
int transaction_open(struct db_session *session, const struct compiled *compiled);
/* COMMIT where something was written, unless a cancel came first; releases everything.
 * On failure everything is rolled back and released too. */
int transaction_commit(struct db_session *session);
/* A real ROLLBACK; releases everything; state NONE. */
void transaction_rollback(struct db_session *session);
/* What any error does to a block: state FAILED and, unless a savepoint can bring it back, a real
 * ROLLBACK and everything released. `whole`: savepoints do not count. */
void transaction_fail(struct db_session *session, bool whole);

#endif
