/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - the life of a session, and how a cancel reaches what it is doing.
 *
 * cancel_mutex is the point: whoever cancels holds it, looks at the phase, and acts only on the
 * statement that is there. Its thread takes the same mutex before it steps SQLite and after, so an
 * interrupt can never reach the next statement, nor another session on the same connection.
 *
 * Owns the phases. execute.c runs a statement, request.c brings it.
 */
#include "demo-db/engine/session/request.h"
#include "demo-db/engine/session/state.h"
#include "demo-db/engine/session/transaction.h"

#include <stdlib.h>
#include <string.h>

/* ---- The list -------------------------------------------------------------------------------- */

int session_list_init(struct session_list *list, uint32_t limit)
{
	memset(list, 0, sizeof(*list));
	list->limit = limit;
	return pthread_mutex_init(&list->mutex, NULL) ? DB_ENOMEM : 0;
}

void session_list_destroy(struct session_list *list)
{
	pthread_mutex_destroy(&list->mutex);
}

static int enlist(struct session_list *list, struct db_session *session)
{
	pthread_mutex_lock(&list->mutex);
	bool full = list->count >= list->limit;
	if (!full) {
		session->number = ++list->next_number;
		session->previous = list->last;
		if (list->last)
			list->last->next = session;
		else
			list->first = session;
		list->last = session;
		list->count++;
	}
	pthread_mutex_unlock(&list->mutex);
	return full ? DB_ESESSIONS : 0;
}

static void add(_Atomic uint64_t *total, const _Atomic uint64_t *part)
{
	atomic_fetch_add_explicit(
		total, atomic_load_explicit(part, memory_order_relaxed), memory_order_relaxed);
}

static void delist(struct session_list *list, struct db_session *session)
{
	pthread_mutex_lock(&list->mutex);
	if (session->previous)
		session->previous->next = session->next;
	else
		list->first = session->next;
	if (session->next)
		session->next->previous = session->previous;
	else
		list->last = session->previous;
	list->count--;
	const struct session_counters *from = &session->counters;
	struct session_counters *to = &list->closed;
	add(&to->statements, &from->statements);
	add(&to->commits, &from->commits);
	add(&to->rollbacks, &from->rollbacks);
	add(&to->errors, &from->errors);
	add(&to->cancelled, &from->cancelled);
	add(&to->reruns, &from->reruns);
	add(&to->rerun_drops, &from->rerun_drops);
	add(&to->serialization_failures, &from->serialization_failures);
	add(&to->lock_set_retries, &from->lock_set_retries);
	pthread_mutex_unlock(&list->mutex);
}

/* ---- Open and close -------------------------------------------------------------------------- */

/* The list last: from then on others see the session. */
static int init_parts(struct db_session *session)
{
	struct db_engine *engine = session->engine;
	if (pthread_mutex_init(&session->cancel_mutex, NULL))
		return DB_ENOMEM;
	pthread_cond_init(&session->changed, NULL);
	int rc = lock_owner_init(&session->owner, &engine->locks, 0);
	if (rc)
		goto no_owner;
	rc = job_init(&session->job, request_run, &session->owner);
	if (rc)
		goto no_job;
	rc = job_init(&session->abort_job, request_abort, &session->owner);
	if (rc)
		goto no_abort_job;
	rc = enlist(&engine->sessions, session);
	if (rc == 0) {
		session->owner.number = session->number; /* it waits for nothing yet */
		return 0;
	}
	job_destroy(&session->abort_job);
no_abort_job:
	job_destroy(&session->job);
no_job:
	lock_owner_destroy(&session->owner);
no_owner:
	pthread_cond_destroy(&session->changed);
	pthread_mutex_destroy(&session->cancel_mutex);
	return rc;
}

int db_session_open(
	struct db_engine *engine, const struct db_session_options *options, struct db_session **out)
{
	static const struct db_session_options defaults = { .struct_size = sizeof(defaults) };
	if (!engine || !out || (options && options->struct_size != sizeof(*options)))
		return DB_EINVAL;
	if (!options)
		options = &defaults;
	struct db_session *session = calloc(1, sizeof(*session));
	if (!session)
		return DB_ENOMEM;
	session->engine = engine;
	session->task_unit = options->task_unit;
	session->lock_timeout_ns = options->lock_timeout_ns ? options->lock_timeout_ns
							    : engine->options.lock_timeout_ns;
	session->key = options->key;
	session->class_index = options->class_index;
	session->read_only = options->read_only || engine->options.read_only;
	int rc = init_parts(session);
	if (rc) {
		free(session);
		return rc;
	}
	*out = session;
	return 0;
}

/* A queued rollback of an idle transaction is overtaken by the close, which rolls back itself. */
static void await_abort(struct db_session *session)
{
	pthread_mutex_lock(&session->cancel_mutex);
	if (session->phase == PHASE_ABORT_QUEUED)
		session->phase = PHASE_IDLE;
	session->idle_in_block = false;
	while (session->abort_pending)
		pthread_cond_wait(&session->changed, &session->cancel_mutex);
	pthread_mutex_unlock(&session->cancel_mutex);
}

void db_session_close(struct db_session *session)
{
	if (!session)
		return;
	await_abort(session);
	if (session_in_block(session)) {
		bindCancel(session->task);
		transaction_rollback(session);
	}
	session->transaction.state = TX_NONE;
	session_task_discard(session);
	session->has_temp = false;
	transaction_unpin(session);
	delist(&session->engine->sessions, session);
	lock_owner_destroy(&session->owner);
	job_destroy(&session->job);
	job_destroy(&session->abort_job);
	pthread_cond_destroy(&session->changed);
	pthread_mutex_destroy(&session->cancel_mutex);
	free(session);
}

/* They are the connection's, which is closed when it is given back. */
int db_discard_temp(struct db_session *session)
{
	int rc = request_hold(session);
	if (rc)
		return rc;
	if (session->has_temp && session->transaction.state != TX_NONE)
		rc = DB_EACTIVE;
	if (rc == 0) {
		session->has_temp = false;
		transaction_unpin(session);
	}
	request_release(session);
	return rc;
}

uint64_t db_session_number(const struct db_session *session)
{
	return session->number;
}

char db_session_transaction(const struct db_session *session)
{
	struct db_session *locked = (struct db_session *)session;
	pthread_mutex_lock(&locked->cancel_mutex);
	char letter = transaction_letter(session->shown.state);
	pthread_mutex_unlock(&locked->cancel_mutex);
	return letter;
}

bool db_session_untold(const struct db_session *session)
{
	struct db_session *locked = (struct db_session *)session;
	pthread_mutex_lock(&locked->cancel_mutex);
	bool abort_unreported = session->shown.abort_unreported;
	pthread_mutex_unlock(&locked->cancel_mutex);
	return abort_unreported;
}

uint32_t db_session_savepoints(const struct db_session *session)
{
	struct db_session *locked = (struct db_session *)session;
	pthread_mutex_lock(&locked->cancel_mutex);
	uint32_t savepoints = session->shown.savepoints;
	pthread_mutex_unlock(&locked->cancel_mutex);
	return savepoints;
}

/* ---- Under cancel_mutex ---------------------------------------------------------------------- */

bool session_start_step(struct db_session *session, sqlite3 *db)
{
	pthread_mutex_lock(&session->cancel_mutex);
	bool go = session->cancelled_by == BY_NOBODY;
	if (go)
		session->stepping = db;
	pthread_mutex_unlock(&session->cancel_mutex);
	return go;
}

void session_end_step(struct db_session *session)
{
	pthread_mutex_lock(&session->cancel_mutex);
	session->stepping = NULL;
	pthread_mutex_unlock(&session->cancel_mutex);
}

bool session_start_commit(struct db_session *session)
{
	pthread_mutex_lock(&session->cancel_mutex);
	bool go = session->cancelled_by == BY_NOBODY;
	if (go)
		session->phase = PHASE_COMMITTING;
	pthread_mutex_unlock(&session->cancel_mutex);
	return go;
}

void session_end_commit(struct db_session *session)
{
	pthread_mutex_lock(&session->cancel_mutex);
	session->phase = PHASE_RUNNING;
	pthread_mutex_unlock(&session->cancel_mutex);
}

/* ---- Cancel ---------------------------------------------------------------------------------- */

static void mark(struct db_session *session, enum cancelled_by by)
{
	if (by > session_cancelled(session))
		atomic_store_explicit(&session->cancelled_by, (uint8_t)by, memory_order_relaxed);
}

bool session_abort_idle(struct db_session *session, enum cancelled_by by)
{
	if (!session->idle_in_block || by == BY_CLIENT)
		return false;
	mark(session, by);
	session->phase = PHASE_ABORT_QUEUED;
	if (!session->abort_pending) {
		session->abort_pending = true;
		session->abort_job.class = JOB_FINISH;
		/* Cannot be refused: this class has no limit, and the engine outlives sessions. */
		int rc = workers_enqueue(&session->engine->workers, &session->abort_job);
		session->abort_pending = rc == 0;
	}
	return true;
}

static bool cancel_running(struct db_session *session, enum cancelled_by by)
{
	mark(session, by);
	lock_cancel(&session->owner, DB_ECANCELLED);
	if (session->stepping)
		sqlite3_interrupt(session->stepping);
	return true;
}

/* cancel_mutex is held. */
static bool cancel_in_phase(struct db_session *session, enum cancelled_by by)
{
	switch (session->phase) {
	case PHASE_IDLE:
		return session_abort_idle(session, by);
	case PHASE_QUEUED:
		mark(session, by);
		workers_promote(&session->engine->workers, &session->job);
		return true;
	case PHASE_RUNNING:
		return cancel_running(session, by);
	case PHASE_AWAITING_RERUN:
		if (by == BY_LIBRARY) /* the action that made it wait, only now */
			return false;
		mark(session, by);
		rerun_release(&session->engine->reruns, session);
		return true;
	case PHASE_COMMITTING:
	case PHASE_ABORT_QUEUED:
	case PHASE_ABORTING:
		return false;
	}
	return false;
}

bool session_cancel(struct db_session *session, enum cancelled_by by)
{
	pthread_mutex_lock(&session->cancel_mutex);
	bool hit = cancel_in_phase(session, by);
	pthread_mutex_unlock(&session->cancel_mutex);
	return hit;
}

void session_note_request(struct db_session *session)
{
	if (!session->task.id || !cancelRequested() || session_cancelled(session) != BY_NOBODY)
		return;
	pthread_mutex_lock(&session->cancel_mutex);
	mark(session, BY_LIBRARY);
	pthread_mutex_unlock(&session->cancel_mutex);
}

void session_action(const struct cancel_request *request, void *arg)
{
	struct db_session *session = arg;
	session_cancel(session, request->reason == CANCEL_REASON_MANUAL ? BY_OPERATOR : BY_LIBRARY);
}

bool db_cancel_session(struct db_session *session)
{
	return session_cancel(session, BY_CLIENT);
}

const _Atomic uint8_t *db_session_cancelled(const struct db_session *session)
{
	return &session->cancelled_by;
}

bool db_abort_session(struct db_session *session)
{
	return session_cancel(session, BY_OPERATOR);
}

/* ---- The task -------------------------------------------------------------------------------- */

static uint8_t task_flags(const struct db_session *session)
{
	uint32_t flags = session->request.flags;
	uint8_t task = flags & (DB_BACKGROUND | DB_VIEW) ? CANCEL_BACKGROUND : 0;
	if (!(flags & (DB_EXEMPT | DB_VIEW)) && !session->engine->options.no_action)
		task |= CANCEL_CANCELLABLE | CANCEL_ENDS_SESSION;
	if (session->request.function)
		task |= CANCEL_THREAD;
	return task;
}

static __attribute__((noinline)) void create_task(struct db_session *session)
{
	const struct db_request *request = &session->request;
	bool whole = session->task_unit == DB_TASK_SESSION;
	uint64_t key = whole ? session->key : request->key;
	const struct cancel_task_options options = { .struct_size = sizeof(options),
		.key = key ? key : session->number,
		.signature = session->run.signature,
		.slo_ns = request->slo_ns,
		.class_index = whole ? session->class_index : request->class_index,
		.flags = task_flags(session),
		.action = request->function ? NULL : session_action,
		.action_arg = session,
		.start_ns = session->run.arrival_ns };
	session->task = createCancel(&options);
}

/* How much a statement tells of the transaction it is in: BEGIN tells nothing, a change or a lock
 * more than a look. */
static uint8_t weight_of(enum verb verb)
{
	if (verb_is_control(verb))
		return verb == VERB_LOCK ? 2 : 0;
	return verb == VERB_EMPTY ? 0 : verb == VERB_SELECT || verb == VERB_EXPLAIN ? 1 : 2;
}

/* A block is known by the first of its most telling statements, a session outside one by the
 * statement in hand. */
void session_task_name(struct db_session *session)
{
	struct transaction *transaction = &session->transaction;
	uint8_t weight = weight_of(session->run.verb);
	if (!session->task.id)
		return;
	if (transaction->state == TX_NONE && session->task_unit == DB_TASK_SESSION)
		setCancelSignature(session->run.signature);
	if (transaction->state != TX_BLOCK || weight <= transaction->known_by)
		return;
	transaction->known_by = weight;
	setCancelSignature(session->run.signature);
}

static bool may_need_no_task(const struct db_session *session)
{
	const struct db_request *request = &session->request;
	return session->run.fast_path && session->synchronous &&
	       session->transaction.state == TX_NONE && session->task_unit == DB_TASK_TRANSACTION &&
	       !request->slo_ns && !(request->flags & (DB_BACKGROUND | DB_EXEMPT | DB_VIEW));
}

static void begin_task(struct db_session *session)
{
	if (session->task.id)
		bindCancel(session->task);
	if (session->task.id && session->transaction.state == TX_NONE && cancelRequested())
		session_task_discard(session); /* cancelled while it did nothing */
	if (!session->task.id)
		create_task(session);
}

void session_task_begin(struct db_session *session)
{
	session->run.no_task = !session->task.id && may_need_no_task(session);
	if (!session->run.no_task)
		begin_task(session);
}

void session_task_show(struct db_session *session)
{
	if (!session->run.no_task)
		return;
	session->run.no_task = false;
	create_task(session);
}

void session_task_discard(struct db_session *session)
{
	if (session->task.id)
		freeCancel(session->task);
	session->task = (struct cancel_task){ 0 };
}

void session_task_end(struct db_session *session)
{
	const struct run *run = &session->run;
	if (run->no_task) {
		countRequest(session->request.class_index, run->arrival_ns, run->done_ns);
		return;
	}
	bool goes_on = session_in_block(session) ||
		       (session->task_unit == DB_TASK_SESSION && !cancelRequested());
	if (!goes_on)
		session_task_discard(session);
	else if (session->task.id)
		unbindCancel(session->task, CANCEL_IDLE);
}
