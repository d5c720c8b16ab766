/* SPDX-License-Identifier: Apache-2.0 */
/* execute.h - runs the session's statement on this thread, which holds a worker slot. */
#ifndef DEMO_DB_EXECUTE_H
#define DEMO_DB_EXECUTE_H

#include "demo-db/engine/session/session.h"

struct db_row {
	sqlite3_stmt *stmt;
};

/* Outcome in session->run. A failed block has been rolled back; autocommit has ended. */
void execute(struct db_session *session);

/* The statement this thread runs, if it is untracked, becomes a task: it is about to wait. */
void execute_show_running(void);

/* BEGIN, COMMIT, ROLLBACK, LOCK TABLE and what is refused. */
int control_execute(struct db_session *session);
/* A host function, which pthread_cancel may end. Does not return if it does. */
int host_execute(struct db_session *session);
/* On the worker thread, after that statement's task has been freed. Does not return if a
 * pthread_cancel came too late for it. */
void host_after(struct workers *workers);
/* Locks for the statement in hand; its failure is told. */
int execute_lock(struct db_session *session, const struct lock_request *requests, uint32_t count);

#endif
