/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c - runs a function of the host on a worker thread, where pthread_cancel may end it.
 *
 * Such a function lies outside the engine's core: it holds a worker slot, but no lock, connection
 * or transaction, and it persists nothing, so a thread may die in it. The cleanup handler, which
 * its task's CANCEL_THREAD flag promises, ends the statement and starts a new thread in place of
 * the lost one.
 *
 * pthread_cancel may also come a moment too late, when the function has returned but its task is
 * not yet freed. It then stays pending on a thread that goes on; host_execute leaves it pending
 * (cancellation is disabled on workers), and the next function's task would be hit. So the thread
 * asks for it, after the task is gone, in host_after.
 */
#include "demo-db/engine/session/execute.h"
#include "demo-db/engine/session/request.h"
#include "demo-db/engine/session/state.h"

static void on_thread_cancelled(void *arg)
{
	struct db_session *session = arg;
	session_note_request(session);
	session->run.by = session_cancelled(session);
	failure_set(&session->run.failure, DB_ETHREADSTOP, NULL);
	request_lost_thread(session);
}

int host_execute(struct db_session *session)
{
	int ignored;
	volatile int status = 0;
	if (session->transaction.state != TX_NONE)
		return failure_set(&session->run.failure, DB_EACTIVE, NULL);
	pthread_cleanup_push(on_thread_cancelled, session);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
	status = session->request.function(session->request.arg);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_cleanup_pop(0);
	return status ? failure_set(&session->run.failure, status, NULL) : 0;
}

static void on_late_cancel(void *arg)
{
	workers_replace_thread(arg);
}

void host_after(struct workers *workers)
{
	int ignored;
	pthread_cleanup_push(on_late_cancel, workers);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
	pthread_testcancel();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_cleanup_pop(0);
}
