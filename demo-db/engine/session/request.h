/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - a statement from the client's call to its result, across threads and reruns. */
#ifndef DEMO_DB_REQUEST_H
#define DEMO_DB_REQUEST_H

#include "demo-db/engine/session/session.h"

/* Jobs of a session, run by workers. */
bool request_run(struct job *job);
bool request_abort(struct job *job);
/* The worker thread that ran the statement is ending by pthread_cancel. */
void request_lost_thread(struct db_session *session);
/* The session as if it ran a statement, for a moment (db_describe). DB_EBUSY. */
int request_hold(struct db_session *session);
void request_release(struct db_session *session);
/* Queues a statement that waited for its rerun; `finish` to end it, else to run it. The caller
 * holds cancel_mutex. */
void request_requeue(struct db_session *session, bool finish);

#endif
