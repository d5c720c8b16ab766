/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - brings a statement to a worker slot, and its result back.
 *
 * Two ways in: db_submit queues it for a worker thread; db_execute takes a slot on the calling
 * thread. One way out, finish(), whichever thread ran it last. Between them lie, now and then,
 * cancels and reruns.
 *
 * Owns that path. What the statement does on its slot is in execute.c.
 */
#include "demo-db/engine/session/request.h"
#include "demo-db/engine/session/execute.h"
#include "demo-db/engine/session/state.h"
#include "demo-db/engine/session/transaction.h"

#include <stddef.h>
#include <string.h>

/* ---- Taking a request ------------------------------------------------------------------------ */

static int check(struct db_session *session, const struct db_request *request,
	const struct statement_text **text)
{
	if (!session || !request || request->struct_size != sizeof(*request))
		return DB_EINVAL;
	if (request->priority >= DB_PRIORITIES || request->tenant >= DB_TENANTS ||
		(request->parameter_count && !request->parameters))
		return DB_EINVAL;
	*text = NULL;
	if (request->function)
		return 0;
	if (request->statement.id) {
		*text = registry_get(&session->engine->statements, request->statement.id);
		return *text ? 0 : DB_ENOTFOUND;
	}
	return request->sql ? 0 : DB_EINVAL;
}

/* The session's next statement. An idle transaction that is just being rolled back is awaited; one
 * whose rollback is only queued is left to the statement, which finds the cancel. */
static int take(struct db_session *session)
{
	int rc = 0;
	pthread_mutex_lock(&session->cancel_mutex);
	while (session->phase == PHASE_ABORTING)
		pthread_cond_wait(&session->changed, &session->cancel_mutex);
	if (session->phase != PHASE_IDLE && session->phase != PHASE_ABORT_QUEUED)
		rc = DB_EBUSY;
	else
		session->phase = PHASE_QUEUED;
	pthread_mutex_unlock(&session->cancel_mutex);
	return rc;
}

static void set_text(
	struct run *run, const struct db_request *request, const struct statement_text *text)
{
	run->statement_id = request->statement.id;
	if (text) {
		run->sql = text->sql;
		run->hash = text->hash;
		run->verb = text->verb;
		run->fast_path = text->fast_path;
	} else if (!request->function) {
		run->sql = request->sql;
		run->hash = request->sql_hash ? request->sql_hash : statement_hash(request->sql);
		run->verb = verb_of(request->sql);
	}
	run->tag = verb_tag(run->verb);
	run->signature = request->signature ? request->signature : run->hash;
}

static void set_run(struct db_session *session, const struct db_request *request,
	const struct statement_text *text)
{
	struct run *run = &session->run;
	memset((char *)run + sizeof(run->failure), 0, sizeof(*run) - sizeof(run->failure));
	_Static_assert(offsetof(struct run, failure) == 0, "cleared by itself");
	failure_clear(&run->failure);
	set_text(run, request, text);
	run->queued_ns = cancel_now_ns();
	run->arrival_ns = request->arrival_ns ? request->arrival_ns : run->queued_ns;
	run->gentle = (request->flags & DB_GENTLE) != 0;
	session->request = *request;
}

/* For db_activities; cancel_mutex is held. */
static void show(struct db_session *session)
{
	const struct db_request *request = &session->request;
	struct shown *shown = &session->shown;
	shown->key = request->key ? request->key : session->number;
	shown->signature = session->run.signature;
	shown->arrival_ns = session->run.arrival_ns;
	shown->class_index = request->class_index;
	shown->gentle = session->run.gentle;
	shown->background = (request->flags & DB_BACKGROUND) != 0;
}

static enum job_class class_of(struct db_session *session)
{
	enum verb verb = session->run.verb;
	if ((session->request.flags & (DB_VIEW | DB_FAIL_BLOCK)) || verb == VERB_COMMIT ||
		verb == VERB_ROLLBACK || session_cancelled(session) != BY_NOBODY)
		return JOB_FINISH;
	return lock_holds_any(&session->owner) ? JOB_RESUME : JOB_NORMAL;
}

/* ---- Results --------------------------------------------------------------------------------- */

static bool ended_by_cancel(const struct run *run)
{
	return run->failure.status == DB_ECANCELLED || run->failure.status == DB_ETHREADSTOP;
}

static void fill_result(const struct db_session *session, struct db_result *result)
{
	const struct run *run = &session->run;
	uint64_t lock_ns = run->waited.ns[LOCK_KIND_GLOBAL] + run->waited.ns[LOCK_KIND_TABLE];
	uint64_t gate_ns = run->waited.ns[LOCK_KIND_WRITE];
	uint64_t ran_ns = run->done_ns - run->start_ns;
	uint64_t waited_ns = lock_ns + gate_ns + run->commit_ns;
	*result = (struct db_result){ .status = run->failure.status,
		.message = run->failure.message,
		.error_offset = run->failure.offset,
		.tag = run->tag,
		.rows = run->rows,
		.changes = run->changes,
		.cancelled = ended_by_cancel(run),
		.while_idle = run->tells_abort,
		.by_library = ended_by_cancel(run) && run->by == BY_LIBRARY,
		.reruns = run->reruns,
		.transaction = transaction_letter(session->transaction.state),
		.arrival_ns = run->arrival_ns,
		.start_ns = run->start_ns,
		.done_ns = run->done_ns,
		.queue_ns = run->queue_ns,
		.lock_ns = lock_ns,
		.gate_ns = gate_ns,
		.commit_ns = run->commit_ns,
		.execute_ns = ran_ns > waited_ns ? ran_ns - waited_ns : 0,
		.rerun_wait_ns = run->rerun_wait_ns,
		.memory_peak_bytes = memory_peak(&session->memory) };
	memcpy(result->sqlstate, run->failure.sqlstate, sizeof(result->sqlstate));
}

static void count_result(struct db_session *session)
{
	struct session_counters *counters = &session->counters;
	int status = session->run.failure.status;
	count_one(&counters->statements);
	if (status)
		count_one(&counters->errors);
	if (ended_by_cancel(&session->run))
		count_one(&counters->cancelled);
	if (status == DB_ESERIALIZE)
		count_one(&counters->serialization_failures);
}

/* The session is idle from here on, or a late cancel of its transaction sends it to the abort job.
 * `waiter`: a thread sleeps in db_execute and gets the result. */
static void settle(struct db_session *session, bool waiter)
{
	bool block = session_in_block(session);
	pthread_mutex_lock(&session->cancel_mutex);
	enum cancelled_by by = session_cancelled(session);
	session->phase = PHASE_IDLE;
	session->idle_in_block = block;
	session->shown.transaction_start_ns = block ? session->transaction.start_ns : 0;
	session->shown.state = session->transaction.state;
	session->shown.savepoints = session->savepoints.count;
	session->shown.abort_unreported = session->transaction.abort_unreported != BY_NOBODY;
	if (by != BY_NOBODY) {
		atomic_store_explicit(&session->cancelled_by, BY_NOBODY, memory_order_relaxed);
		lock_cancel_clear(&session->owner);
		if (by != BY_CLIENT)
			session_abort_idle(session, by);
	}
	if (waiter) {
		session->done = true;
		pthread_cond_broadcast(&session->changed);
	}
	pthread_mutex_unlock(&session->cancel_mutex);
}

int request_hold(struct db_session *session)
{
	return take(session);
}

void request_release(struct db_session *session)
{
	settle(session, false);
}

enum finisher {
	BY_CALLER,	/* the thread that called db_execute */
	BY_WORKER,	/* which keeps its slot until it is back for the next job */
	BY_LAST_WORKER, /* which may end here */
};

static void finish(struct db_session *session, enum finisher finisher)
{
	struct workers *workers = &session->engine->workers;
	struct db_request request = session->request;
	struct db_result result;
	char message[DB_MESSAGE_MAX];
	bool synchronous = session->synchronous;
	fill_result(session, &result);
	count_result(session);
	if (synchronous) {
		session->result = result;
	} else {
		memcpy(message, session->run.failure.message, sizeof(message));
		result.message = message;
	}
	session_task_end(session);
	if (finisher == BY_WORKER)
		workers_detach(workers, &session->job);
	else
		workers_leave(workers, &session->job);
	settle(session, synchronous && finisher != BY_CALLER);
	if (!synchronous && request.on_done)
		request.on_done(request.arg, &result);
}

/* ---- Running, and running again -------------------------------------------------------------- */

void request_requeue(struct db_session *session, bool finish_it)
{
	struct run *run = &session->run;
	run->queued_ns = cancel_now_ns();
	if (run->awaiting_rerun_ns)
		run->rerun_wait_ns += run->queued_ns - run->awaiting_rerun_ns;
	run->awaiting_rerun_ns = 0;
	session->phase = PHASE_QUEUED;
	session->job.class = JOB_NORMAL;
	if (!finish_it && workers_enqueue(&session->engine->workers, &session->job) == 0)
		return;
	run->ended = true;
	if (session_cancelled(session) == BY_NOBODY)
		atomic_store_explicit(&session->cancelled_by, BY_LIBRARY, memory_order_relaxed);
	session->job.class = JOB_FINISH;
	(void)workers_enqueue(&session->engine->workers, &session->job); /* has no limit */
}

static bool may_rerun(const struct db_session *session)
{
	const struct run *run = &session->run;
	return run->failure.status == DB_ECANCELLED && session_cancelled(session) == BY_LIBRARY &&
	       !run->ended && !run->rows_sent && run->sql && !verb_is_control(run->verb) &&
	       session->transaction.state == TX_NONE && session->task.id &&
	       !(session->request.flags & DB_NO_RERUN);
}

static void forget_attempt(struct run *run)
{
	failure_clear(&run->failure);
	run->rows = 0;
	run->changes = 0;
	run->gentle = true;
	run->at_once = false;
	run->reruns++;
}

/* The slot is given back; the statement goes to the queue, or waits outside it until the library
 * calls the blamed resource calm. Once cancel_mutex is released it belongs to whoever runs it
 * next. */
static void put_aside(struct db_session *session, enum cancel_rerun_answer answer)
{
	struct db_engine *engine = session->engine;
	if (answer == CANCEL_RERUN)
		slowByResource(engine->workers.resource, 1);
	unbindCancel(session->task, CANCEL_QUEUED);
	workers_leave(&engine->workers, &session->job);
	pthread_mutex_lock(&session->cancel_mutex);
	if (session_cancelled(session) != BY_LIBRARY) {
		request_requeue(session, true); /* the client cancelled it meanwhile */
	} else {
		atomic_store_explicit(&session->cancelled_by, BY_NOBODY, memory_order_relaxed);
		lock_cancel_clear(&session->owner);
		forget_attempt(&session->run);
		count_one(&session->counters.reruns);
		if (answer == CANCEL_RERUN) {
			request_requeue(session, false);
		} else {
			session->run.awaiting_rerun_ns = cancel_now_ns();
			session->phase = PHASE_AWAITING_RERUN;
			rerun_add(&engine->reruns, session);
		}
	}
	pthread_mutex_unlock(&session->cancel_mutex);
}

/* True if the statement has been put aside to run again. */
static bool rerun(struct db_session *session)
{
	if (!may_rerun(session))
		return false;
	enum cancel_rerun_answer answer = rerunCancel(session->task, &session->run.ticket);
	if (answer == CANCEL_DROP) {
		count_one(&session->counters.rerun_drops);
		return false;
	}
	put_aside(session, answer);
	return true;
}

/* On a slot, the task bound. True: finished; false: put aside. */
static bool run_on_slot(struct db_session *session, enum finisher finisher)
{
	struct run *run = &session->run;
	struct workers *workers = &session->engine->workers;
	run->untracked = run->fast_path && run->at_once && session->transaction.state == TX_NONE;
	if (!run->untracked)
		getResource(workers->resource, 1);
	pthread_mutex_lock(&session->cancel_mutex);
	session->phase = PHASE_RUNNING;
	show(session);
	pthread_mutex_unlock(&session->cancel_mutex);
	run->start_ns = run->at_once ? run->queued_ns : cancel_now_ns();
	run->queue_ns += run->start_ns - run->queued_ns;
	if (session->request.on_start && !run->reruns)
		session->request.on_start(session->request.arg, run->start_ns, run->queue_ns);
	execute(session);
	run->done_ns = cancel_now_ns();
	if (!run->untracked)
		freeResource(workers->resource, 1);
	if (rerun(session))
		return false;
	finish(session, finisher);
	return true;
}

bool request_run(struct job *job)
{
	struct db_session *session = SESSION_OF(job, job);
	struct workers *workers = &session->engine->workers;
	bool function = session->request.function != NULL;
	if (session->task.id)
		bindCancel(session->task);
	if (!function)
		return run_on_slot(session, BY_WORKER);
	run_on_slot(session, BY_LAST_WORKER);
	host_after(workers);
	return false;
}

void request_lost_thread(struct db_session *session)
{
	struct workers *workers = &session->engine->workers;
	workers_replace_thread(workers); /* first: on_done may close the engine */
	session->run.done_ns = cancel_now_ns();
	freeResource(workers->resource, 1);
	finish(session, BY_LAST_WORKER);
}

bool request_abort(struct job *job)
{
	struct db_session *session = SESSION_OF(job, abort_job);
	struct workers *workers = &session->engine->workers;
	pthread_mutex_lock(&session->cancel_mutex);
	bool mine = session->phase == PHASE_ABORT_QUEUED;
	if (mine)
		session->phase = PHASE_ABORTING;
	pthread_mutex_unlock(&session->cancel_mutex);
	if (mine) {
		bindCancel(session->task);
		(void)cancelRequested(); /* acknowledged */
		transaction_fail(session, true);
		session->transaction.abort_unreported = session_cancelled(session);
		session_task_discard(session);
		count_one(&session->counters.cancelled);
	}
	workers_leave(workers, job);
	pthread_mutex_lock(&session->cancel_mutex);
	if (mine) {
		session->phase = PHASE_IDLE;
		session->idle_in_block = false;
		session->shown.transaction_start_ns = 0;
		session->shown.state = TX_FAILED;
		session->shown.savepoints = 0;
		session->shown.abort_unreported = true;
		atomic_store_explicit(&session->cancelled_by, BY_NOBODY, memory_order_relaxed);
	}
	session->abort_pending = false;
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->cancel_mutex);
	return false;
}

/* ---- The two ways in ------------------------------------------------------------------------- */

static int prepare_request(
	struct db_session *session, const struct db_request *request, bool synchronous)
{
	const struct statement_text *text;
	int rc = check(session, request, &text);
	if (rc == 0)
		rc = take(session);
	if (rc)
		return rc;
	set_run(session, request, text);
	if (class_of(session) == JOB_NORMAL && workers_are_full(&session->engine->workers)) {
		settle(session, false);
		return DB_EQUEUE;
	}
	session->synchronous = synchronous;
	session->done = false;
	session->job.priority = request->priority;
	session->job.tenant = request->tenant;
	session_task_begin(session);
	return 0;
}

/* Queued for a worker thread, or for this one. */
static int enqueue(struct db_session *session, bool caller_runs)
{
	struct workers *workers = &session->engine->workers;
	session_task_show(session);
	slowByResource(workers->resource, 1);
	if (!caller_runs && session->task.id)
		unbindCancel(session->task, CANCEL_QUEUED);
	pthread_mutex_lock(&session->cancel_mutex);
	session->job.class = class_of(session);
	show(session);
	int rc = caller_runs ? workers_enqueue_caller(workers, &session->job)
			     : workers_enqueue(workers, &session->job);
	pthread_mutex_unlock(&session->cancel_mutex);
	return rc;
}

/* The queue was full: as if the statement had never come. Not quite: its task was there, and its
 * end is a completion to the library. So a full queue refuses before there is one
 * (prepare_request); here only who lost the last place meanwhile is refused. */
static int refuse(struct db_session *session, int rc, bool bound)
{
	if (!bound && session->task.id)
		bindCancel(session->task);
	giveUpResource(session->engine->workers.resource);
	session_task_end(session);
	settle(session, false);
	return rc;
}

int db_submit(struct db_session *session, const struct db_request *request)
{
	int rc = prepare_request(session, request, false);
	if (rc)
		return rc;
	rc = enqueue(session, false);
	return rc ? refuse(session, rc, false) : 0;
}

static void await_done(struct db_session *session)
{
	pthread_mutex_lock(&session->cancel_mutex);
	while (!session->done)
		pthread_cond_wait(&session->changed, &session->cancel_mutex);
	pthread_mutex_unlock(&session->cancel_mutex);
}

/* From here on the session is the worker's. */
static int hand_over(struct db_session *session)
{
	session->synchronous = false;
	int rc = enqueue(session, false);
	return rc ? refuse(session, rc, false) : DB_QUEUED;
}

static int run_here(struct db_session *session)
{
	struct workers *workers = &session->engine->workers;
	session->job.class = class_of(session);
	session->run.at_once = workers_try_enter(workers, &session->job);
	if (!session->run.at_once && (session->request.flags & DB_HAND_OVER))
		return hand_over(session);
	if (!session->run.at_once) {
		int rc = enqueue(session, true);
		if (rc)
			return refuse(session, rc, true);
		workers_await(workers, &session->job);
	}
	if (!run_on_slot(session, BY_CALLER))
		await_done(session);
	return 0;
}

static int run_elsewhere(struct db_session *session)
{
	int rc = enqueue(session, false);
	if (rc)
		return refuse(session, rc, false);
	await_done(session);
	return 0;
}

static int tell_refusal(struct db_result *result, int rc)
{
	if (result) {
		*result = (struct db_result){
			.status = rc, .message = db_error_text(rc), .error_offset = -1, .tag = ""
		};
		memcpy(result->sqlstate, db_error_sqlstate(rc), sizeof(result->sqlstate));
		result->transaction = 'I';
	}
	return rc;
}

int db_execute(
	struct db_session *session, const struct db_request *request, struct db_result *result)
{
	int rc = prepare_request(session, request, true);
	if (rc == 0)
		rc = request->function ? run_elsewhere(session) : run_here(session);
	if (rc == DB_QUEUED)
		return rc;
	if (rc)
		return tell_refusal(result, rc);
	if (result)
		*result = session->result;
	if (request->on_done && !(request->flags & DB_HAND_OVER))
		request->on_done(request->arg, &session->result);
	return session->result.status;
}
