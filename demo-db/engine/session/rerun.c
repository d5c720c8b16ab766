/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rerun.c - the list of cancelled statements that wait to run again, and the library's answers
 * about them.
 *
 * A cancelled autocommit statement that sent nothing may run again. The library says when: the
 * resource it was blamed for must be calm. Until then it holds no worker, no lock, no connection.
 *
 * The housekeeper takes one session after the other off the list, asks, and either queues it or
 * puts it back. A client's cancel meanwhile finds it off the list and only sets the flag, which the
 * housekeeper reads under cancel_mutex before it puts it back: none is lost.
 */
#include "demo-db/engine/session/request.h"
#include "demo-db/engine/session/state.h"

int reruns_init(struct reruns *reruns)
{
	*reruns = (struct reruns){ 0 };
	return pthread_mutex_init(&reruns->mutex, NULL) ? DB_ENOMEM : 0;
}

void reruns_destroy(struct reruns *reruns)
{
	pthread_mutex_destroy(&reruns->mutex);
}

void rerun_add(struct reruns *reruns, struct db_session *session)
{
	pthread_mutex_lock(&reruns->mutex);
	session->next_awaiting_rerun = NULL;
	if (reruns->last)
		reruns->last->next_awaiting_rerun = session;
	else
		reruns->first = session;
	reruns->last = session;
	reruns->count++;
	pthread_mutex_unlock(&reruns->mutex);
}

static bool take(struct reruns *reruns, struct db_session *session)
{
	struct db_session *previous = NULL;
	struct db_session *at = reruns->first;
	while (at && at != session) {
		previous = at;
		at = at->next_awaiting_rerun;
	}
	if (!at)
		return false;
	if (previous)
		previous->next_awaiting_rerun = at->next_awaiting_rerun;
	else
		reruns->first = at->next_awaiting_rerun;
	if (reruns->last == at)
		reruns->last = previous;
	reruns->count--;
	return true;
}

void rerun_release(struct reruns *reruns, struct db_session *session)
{
	pthread_mutex_lock(&reruns->mutex);
	bool waited = take(reruns, session);
	pthread_mutex_unlock(&reruns->mutex);
	if (waited)
		request_requeue(session, true);
}

static struct db_session *take_first(struct reruns *reruns)
{
	pthread_mutex_lock(&reruns->mutex);
	struct db_session *session = reruns->first;
	if (session)
		take(reruns, session);
	pthread_mutex_unlock(&reruns->mutex);
	return session;
}

/* Its wait for a worker begins here, on the housekeeper's thread. */
static void tell_queued(const struct db_session *session)
{
	bindCancel(session->task);
	slowByResource(session->engine->workers.resource, 1);
	unbindCancel(session->task, CANCEL_QUEUED);
}

static void ask(struct reruns *reruns, struct db_session *session)
{
	enum cancel_rerun_answer answer = rerunCancel(session->task, &session->run.ticket);
	if (answer == CANCEL_RERUN)
		tell_queued(session);
	pthread_mutex_lock(&session->cancel_mutex);
	if (session_cancelled(session) != BY_NOBODY)
		request_requeue(session, true);
	else if (answer == CANCEL_WAIT)
		rerun_add(reruns, session);
	else
		request_requeue(session, answer == CANCEL_DROP);
	pthread_mutex_unlock(&session->cancel_mutex);
}

void reruns_poll(struct db_engine *engine)
{
	struct reruns *reruns = &engine->reruns;
	pthread_mutex_lock(&reruns->mutex);
	uint32_t count = reruns->count;
	pthread_mutex_unlock(&reruns->mutex);
	while (count--) {
		struct db_session *session = take_first(reruns);
		if (!session)
			return;
		ask(reruns, session);
	}
}
