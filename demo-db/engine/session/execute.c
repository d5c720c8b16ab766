/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execute.c - one statement on its slot: compile, lock, open, step, commit.
 *
 * The order is the contract. The statement is compiled to learn its tables; then the global lock,
 * the table locks in the order of names and, for a writer, the write lock; only then a snapshot.
 * Nothing of SQLite's is held while it waits for a lock, unless the transaction has written already
 * or asked for REPEATABLE READ.
 *
 * If the schema changed in between and SQLite, compiling again, meets a table outside the locked
 * set, the attempt is undone and made once more with the new set.
 *
 * Owns that order.
 */
#include "demo-db/engine/session/execute.h"
#include "demo-db/engine/session/state.h"
#include "demo-db/engine/session/transaction.h"

#include <time.h>

#define ATTEMPTS_MAX	  2
#define NAP_NS		  5000000u   /* between two looks whether it is cancelled */
#define GRANT_LEAST_BYTES (4u << 20) /* what a statement without a grant may be taken to have */
#define TRY_AGAIN	  1	     /* beside 0 and negative errors */

/* ---- Rows ------------------------------------------------------------------------------------ */

uint32_t db_row_columns(const struct db_row *row)
{
	return (uint32_t)sqlite3_column_count(row->stmt);
}

int64_t db_row_integer(const struct db_row *row, uint32_t column)
{
	return sqlite3_column_int64(row->stmt, (int)column);
}

double db_row_real(const struct db_row *row, uint32_t column)
{
	return sqlite3_column_double(row->stmt, (int)column);
}

const char *db_row_text(const struct db_row *row, uint32_t column)
{
	return (const char *)sqlite3_column_text(row->stmt, (int)column);
}

const char *db_row_name(const struct db_row *row, uint32_t column)
{
	return sqlite3_column_name(row->stmt, (int)column);
}

const char *db_row_declared(const struct db_row *row, uint32_t column)
{
	return sqlite3_column_decltype(row->stmt, (int)column);
}

struct db_value db_row_value(const struct db_row *row, uint32_t column)
{
	int at = (int)column;
	struct db_value value = { .type = DB_NULL };
	switch (sqlite3_column_type(row->stmt, at)) {
	case SQLITE_INTEGER:
		value.type = DB_INTEGER;
		value.integer = sqlite3_column_int64(row->stmt, at);
		break;
	case SQLITE_FLOAT:
		value.type = DB_REAL;
		value.real = sqlite3_column_double(row->stmt, at);
		break;
	case SQLITE_TEXT:
		value.type = DB_TEXT;
		value.data = sqlite3_column_text(row->stmt, at);
		value.length = (uint32_t)sqlite3_column_bytes(row->stmt, at);
		break;
	case SQLITE_BLOB:
		value.type = DB_BLOB;
		value.data = sqlite3_column_blob(row->stmt, at);
		value.length = (uint32_t)sqlite3_column_bytes(row->stmt, at);
		break;
	default:
		break;
	}
	return value;
}

/* ---- Parameters ------------------------------------------------------------------------------ */

static int bind_one(sqlite3_stmt *stmt, int at, const struct db_value *value)
{
	switch (value->type) {
	case DB_NULL:
		return sqlite3_bind_null(stmt, at);
	case DB_INTEGER:
		return sqlite3_bind_int64(stmt, at, value->integer);
	case DB_REAL:
		return sqlite3_bind_double(stmt, at, value->real);
	case DB_TEXT:
		return sqlite3_bind_text64(
			stmt, at, value->data, value->length, SQLITE_STATIC, SQLITE_UTF8);
	case DB_BLOB:
		return sqlite3_bind_blob64(stmt, at, value->data, value->length, SQLITE_STATIC);
	}
	return SQLITE_MISUSE;
}

static int bind_all(struct db_session *session, sqlite3_stmt *stmt)
{
	const struct db_request *request = &session->request;
	uint32_t wanted = (uint32_t)sqlite3_bind_parameter_count(stmt);
	if (request->parameter_count > wanted)
		return failure_set(&session->run.failure, DB_EINVAL,
			"%u parameters for a statement that takes %u", request->parameter_count,
			wanted);
	for (uint32_t i = 0; i < request->parameter_count; i++) {
		int rc = bind_one(stmt, (int)i + 1, &request->parameters[i]);
		if (rc != SQLITE_OK)
			return failure_sqlite(&session->run.failure, sqlite3_db_handle(stmt), rc);
	}
	return 0;
}

/* ---- Cancel ---------------------------------------------------------------------------------- */

static int cancelled(struct db_session *session)
{
	session_note_request(session);
	session->run.by = session_cancelled(session);
	const char *whose =
		session->run.by == BY_LIBRARY ? "by overload control" : "at the client's request";
	return failure_set(&session->run.failure, DB_ECANCELLED, "statement cancelled %s", whose);
}

/* It took many times what its plan had asked for: the culprit of a memory overload to come. */
static int outgrown(struct db_session *session)
{
	const struct progress *progress = &session->connection->progress;
	atomic_fetch_add_explicit(&session->engine->budget.cancelled, 1, memory_order_relaxed);
	return failure_set(&session->run.failure, DB_ENOMEM,
		"cancelled as a memory culprit: %llu KiB used, %llu KiB were allowed",
		(unsigned long long)(progress->outgrown / 1024),
		(unsigned long long)(progress->memory_limit / 1024));
}

/* SQLite was refused a large allocation on its behalf. */
static int too_large(struct db_session *session)
{
	const struct memory_account *memory = &session->memory;
	atomic_fetch_add_explicit(&session->engine->budget.cancelled, 1, memory_order_relaxed);
	return failure_set(&session->run.failure, DB_ENOMEM,
		"cancelled as a memory culprit: %llu KiB wanted, the whole budget has %llu KiB",
		(unsigned long long)(memory->refused / 1024),
		(unsigned long long)(memory->limit / 1024));
}

/* ---- Being seen ------------------------------------------------------------------------------ */

/* A registered look-up or change by key that found a free slot holds slot and locks for a few
 * microseconds while nobody waits for a slot: nothing to tell, and no task (session_task_begin). As
 * soon as it waits, for a lock or a page, or runs on, it becomes one and shows what it holds. When
 * somebody waits for a slot, everybody who starts shows it.
 */
static void show_slot(struct lock_owner *owner)
{
	struct db_session *session = SESSION_OF(owner, owner);
	session->run.untracked = false;
	session_task_show(session);
	getResource(session->engine->workers.resource, 1);
}

static void speak_up(void *arg)
{
	struct db_session *session = arg;
	if (!session->run.untracked)
		return;
	show_slot(&session->owner);
	lock_speak(&session->owner);
}

void execute_show_running(void)
{
	struct memory_account *account = memory_charged(); /* execute's: nobody else charges any */
	if (account)
		speak_up(SESSION_OF(account, memory));
}

/* ---- Stepping -------------------------------------------------------------------------------- */

static int hand_out_row(struct db_session *session, const struct db_row *row)
{
	const struct db_request *request = &session->request;
	session->run.rows++;
	if (!request->on_row)
		return 0;
	session->run.rows_sent = true;
	if (request->on_row(request->arg, row))
		return failure_set(&session->run.failure, DB_ESTOPPED, NULL);
	return 0;
}

/* After the first step, however it ended, because that may compile the statement again; unless it
 * must be compiled once more. */
static void tell_columns(struct db_session *session, const struct compiled *compiled)
{
	const struct db_request *request = &session->request;
	const struct db_row row = { .stmt = compiled->stmt };
	if (session->run.columns_told || session->connection->authorizer.missed)
		return;
	session->run.columns_told = true;
	if (request->on_columns && compiled_returns_rows(compiled))
		request->on_columns(request->arg, &row);
}

static _Thread_local const struct connection *running; /* while a statement steps */

uint64_t db_compile_number(void)
{
	return running ? running->authorizer.calls : 0;
}

static _Thread_local const struct db_session *stepping; /* the session of `running` */

/* It looks every few milliseconds whether it is cancelled, which is soon enough for who cancels. */
bool db_sleep(uint64_t ns)
{
	const uint64_t end_ns = cancel_now_ns() + ns;
	for (uint64_t now_ns = end_ns - ns; now_ns < end_ns; now_ns = cancel_now_ns()) {
		uint64_t nap_ns = end_ns - now_ns < NAP_NS ? end_ns - now_ns : NAP_NS;
		if (stepping && session_cancelled(stepping) != BY_NOBODY)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = (long)nap_ns }, NULL);
	}
	return true;
}

static _Thread_local uint64_t runs;

uint64_t db_run_number(void)
{
	return runs;
}

static int step_rows(struct db_session *session, const struct compiled *compiled)
{
	sqlite3_stmt *stmt = compiled->stmt;
	const struct db_row row = { .stmt = stmt };
	uint32_t tries = 0;
	for (;;) {
		int rc = sqlite3_step(stmt);
		if (session->run.rows == 0 && connection_try_again(rc, &tries)) {
			sqlite3_reset(stmt); /* it had not begun: a snapshot's first write */
			continue;
		}
		if (rc == SQLITE_SCHEMA && session->run.rows == 0)
			return TRY_AGAIN;
		tell_columns(session, compiled);
		if (rc == SQLITE_DONE)
			return 0;
		if (rc == SQLITE_INTERRUPT)
			return session->connection->progress.outgrown ? outgrown(session)
								      : cancelled(session);
		if (rc == SQLITE_NOMEM && session->memory.refused)
			return too_large(session);
		if (rc != SQLITE_ROW)
			return failure_sqlite(&session->run.failure, sqlite3_db_handle(stmt), rc);
		rc = hand_out_row(session, &row);
		if (rc)
			return rc;
	}
}

static uint32_t granted_pages(const struct db_session *session, const struct compiled *compiled)
{
	uint64_t bytes = compiled->plan.grant_bytes;
	if (bytes > session->engine->options.statement_memory_max)
		bytes = session->engine->options.statement_memory_max;
	return (uint32_t)(bytes / DB_PAGE_BYTES);
}

/* A statement that takes so much is out of hand, whatever its plan said; 0: no limit. */
static uint64_t allowed_bytes(const struct db_session *session, const struct compiled *compiled)
{
	uint64_t grant = (uint64_t)granted_pages(session, compiled) * DB_PAGE_BYTES;
	return session->engine->options.outgrown_factor *
	       (grant > GRANT_LEAST_BYTES ? grant : GRANT_LEAST_BYTES);
}

static int step_fenced(struct db_session *session, struct compiled *compiled)
{
	struct connection *connection = session->connection;
	const struct db_request *request = &session->request;
	uint64_t expected_rows = request->expected_rows;
	if (!expected_rows)
		expected_rows =
			plan_rows(&compiled->plan, request->parameters, request->parameter_count);
	progress_begin(&connection->progress, compiled->stmt, &compiled->plan, expected_rows,
		&session->cancelled_by);
	progress_limit_memory(
		&connection->progress, &session->memory, allowed_bytes(session, compiled));
	if (session->run.untracked)
		progress_tell_long(&connection->progress, speak_up, session);
	authorizer_check(&connection->authorizer, &compiled->locks, compiled->verb == VERB_VACUUM);
	connection->authorizer.compiled = compiled->checked;
	running = connection;
	stepping = session;
	runs++;
	int rc = session_start_step(session, connection->db) ? step_rows(session, compiled)
							     : cancelled(session);
	running = NULL;
	stepping = NULL;
	session_end_step(session);
	progress_end(&connection->progress);
	bool missed = connection->authorizer.missed;
	int denied = connection->authorizer.denied;
	if (rc && denied)
		failure_set(&session->run.failure, denied, "%s", connection->authorizer.what);
	authorizer_internal(&connection->authorizer);
	return rc && missed ? TRY_AGAIN : rc;
}

static bool is_change(enum verb verb)
{
	return verb == VERB_INSERT || verb == VERB_UPDATE || verb == VERB_DELETE;
}

/* An interrupt at the wrong moment makes SQLite leave VACUUM's copy attached, and every later VACUUM
 * of the connection would fail. Mostly there is nothing to detach. */
static void drop_vacuum_copy(const struct connection *connection)
{
	sqlite3_exec(connection->db, "DETACH vacuum_db", NULL, NULL, NULL);
}

static int step(struct db_session *session, struct compiled *compiled)
{
	struct connection *connection = session->connection;
	uint32_t pages = granted_pages(session, compiled);
	int rc = bind_all(session, compiled->stmt);
	if (rc == 0)
		rc = budget_grant(
			&session->engine->budget, connection, pages, &session->run.failure);
	if (rc == 0)
		rc = transaction_stands(session);
	if (rc == 0) {
		if (pages) {
			session_task_show(session);
			getResource(session->engine->budget.resource, pages);
		}
		if (session->run.gentle)
			db_pool_gentle(true);
		rc = step_fenced(session, compiled);
		if (session->run.gentle)
			db_pool_gentle(false);
		if (pages)
			freeResource(session->engine->budget.resource, pages);
	}
	if (rc == 0 && is_change(compiled->verb))
		session->run.changes = sqlite3_changes64(connection->db);
	sqlite3_reset(compiled->stmt);
	if (session->request.parameter_count)
		sqlite3_clear_bindings(compiled->stmt);
	if (rc && compiled->verb == VERB_VACUUM)
		drop_vacuum_copy(connection);
	if (rc == 0 && compiled->makes_temp)
		session->has_temp = connection->retired = true;
	return rc;
}

/* ---- Locks ----------------------------------------------------------------------------------- */

static int lock_failure(struct db_session *session, int rc)
{
	if (rc == DB_ECANCELLED)
		return cancelled(session);
	if (rc == DB_EDEADLOCK || rc == DB_ELOCKTIMEOUT)
		return failure_set(&session->run.failure, rc, "%s", session->owner.wait_text);
	return failure_set(&session->run.failure, rc, NULL);
}

int execute_lock(struct db_session *session, const struct lock_request *requests, uint32_t count)
{
	session->owner.untracked = session->run.untracked;
	session->owner.before_wait = show_slot;
	bool view = session->request.flags & DB_VIEW; /* with a table in it */
	bool may_wait = !view || workers_may_wait(&session->engine->workers, &session->job);
	uint64_t own_ns = session->request.lock_timeout_ns;
	uint64_t timeout_ns = own_ns ? own_ns : session->lock_timeout_ns;
	int rc = lock_acquire(
		&session->owner, requests, count, may_wait ? timeout_ns : 0, &session->run.waited);
	return rc ? lock_failure(session, rc) : 0;
}

/* A host's view reads what is in temp: it must answer whatever others hold. */
static bool needs_no_lock(const struct db_session *session, const struct compiled *compiled)
{
	return (session->request.flags & DB_VIEW) && compiled->locks.count == 0 &&
	       (!compiled->writes || compiled->temp_only);
}

static int take_locks(struct db_session *session, const struct compiled *compiled)
{
	if (needs_no_lock(session, compiled))
		return 0;
	bool write_lock = compiled->writes &&
			  (!compiled->temp_only || session->transaction.state == TX_BLOCK);
	return execute_lock(session, compiled->requests, compiled->request_count + write_lock);
}

/* ---- One attempt ----------------------------------------------------------------------------- */

static int check_allowed(struct db_session *session, const struct compiled *compiled)
{
	struct failure *failure = &session->run.failure;
	bool read_only = session->read_only || session->transaction.read_only;
	if (compiled->guarded && !(session->request.flags & DB_CONTROL))
		return failure_set(failure, DB_EDENIED, NULL);
	if (compiled->writes && !compiled->temp_only && read_only)
		return failure_set(failure, DB_EREADONLY, "cannot execute %s in a read-only %s",
			verb_tag(compiled->verb),
			session->transaction.read_only ? "transaction" : "session");
	if (compiled->verb == VERB_VACUUM && session->transaction.state == TX_BLOCK)
		return failure_set(
			failure, DB_EACTIVE, "VACUUM cannot run inside a transaction block");
	return 0;
}

/* Before the second attempt: nothing of SQLite's may be held while it waits for more locks. In a
 * block the locks stay, and a transaction that wrote before keeps its own. */
static int undo_attempt(struct db_session *session, struct compiled *compiled, bool had_written)
{
	connection_forget(session->connection, compiled);
	count_one(&session->counters.lock_set_retries);
	if (session->run.rows_sent)
		return failure_set(&session->run.failure, DB_ESERIALIZE,
			"the schema changed while the statement ran");
	failure_clear(&session->run.failure);
	session->run.rows = 0;
	if (session->transaction.state == TX_NONE) {
		transaction_rollback(session);
		return TRY_AGAIN;
	}
	if (session->transaction.wrote && !had_written && !session->transaction.snapshot) {
		int rc = connection_run(
			session->connection, CONNECTION_ROLLBACK, &session->run.failure);
		session->transaction.wrote = false;
		return rc ? rc : TRY_AGAIN;
	}
	return TRY_AGAIN;
}

static int attempt(struct db_session *session)
{
	struct run *run = &session->run;
	int rc = transaction_connection(session);
	if (rc)
		return rc;
	const struct compile_source source = { .sql = run->sql,
		.checks = session->request.checks,
		.hash = run->hash,
		.verb = run->verb };
	struct compiled *compiled =
		connection_compile(session->connection, run->statement_id, &source, &run->failure);
	run->uncompiled = !compiled;
	if (!compiled)
		return run->failure.status;
	if (!compiled->stmt)
		return 0;
	run->tag = verb_tag(compiled->verb);
	if (!compiled->plan.fast_path) /* not what it was when it was registered */
		speak_up(session);
	rc = check_allowed(session, compiled);
	if (rc == 0)
		rc = take_locks(session, compiled);
	bool had_written = session->transaction.wrote;
	if (rc == 0)
		rc = transaction_open(session, compiled);
	if (rc == 0)
		rc = step(session, compiled);
	if (rc == TRY_AGAIN)
		return undo_attempt(session, compiled, had_written);
	if (compiled->whole || compiled->once ||
		sqlite3_stmt_status(compiled->stmt, SQLITE_STMTSTATUS_REPREPARE, 0))
		connection_forget(
			session->connection, compiled); /* its locks or its plan are old */
	return rc;
}

static int execute_sql(struct db_session *session)
{
	int rc = TRY_AGAIN;
	for (int i = 0; i < ATTEMPTS_MAX && rc == TRY_AGAIN; i++)
		rc = attempt(session);
	if (rc == TRY_AGAIN)
		rc = failure_set(&session->run.failure, DB_ESERIALIZE,
			"the schema changed twice while the statement started");
	if (rc)
		return rc;
	if (session->transaction.state == TX_NONE)
		return transaction_commit(session);
	transaction_unpin(session);
	return 0;
}

/* ---- The statement --------------------------------------------------------------------------- */

/* An idle transaction was rolled back. The client hears it from its next statement, be that COMMIT:
 * a COMMIT that answered "rolled back" without an error would be taken for success. */
static int tell_abort(struct db_session *session)
{
	session->run.by = session->transaction.abort_unreported;
	session->transaction.abort_unreported = BY_NOBODY;
	session->run.tells_abort = true;
	if (session->run.verb == VERB_COMMIT)
		session->transaction.state = TX_NONE;
	return failure_set(&session->run.failure, DB_ECANCELLED,
		"the transaction was cancelled while it was idle and has been rolled back");
}

static int run_any(struct db_session *session)
{
	enum verb verb = session->run.verb;
	enum transaction_state state = session->transaction.state;
	if (session_cancelled(session) != BY_NOBODY && verb != VERB_ROLLBACK)
		return cancelled(session);
	if (session->transaction.abort_unreported != BY_NOBODY && verb != VERB_ROLLBACK)
		return tell_abort(session);
	if (state == TX_FAILED && verb != VERB_COMMIT && verb != VERB_ROLLBACK &&
		!verb_is_rollback_to(session->run.sql, verb))
		return failure_set(&session->run.failure, DB_EFAILED, NULL);
	if (session->request.flags & DB_FAIL_BLOCK)
		return failure_set(&session->run.failure, DB_EFAILED, NULL);
	session_task_name(session);
	if (session->request.function)
		return host_execute(session);
	if (verb_is_control(verb))
		return control_execute(session);
	if (verb == VERB_EMPTY)
		return 0;
	return execute_sql(session);
}

/* A culprit and a deadlock's victim must let go of what others wait for: all of it. */
static bool must_let_go(const struct db_session *session)
{
	const struct run *run = &session->run;
	return run->by == BY_LIBRARY || run->by == BY_OPERATOR ||
	       run->failure.status == DB_EDEADLOCK || run->failure.status == DB_ENOMEM;
}

/* Any error ends the transaction's work; a failed COMMIT ends the transaction. */
static void clean_up(struct db_session *session)
{
	if (session->transaction.state == TX_BLOCK && session->run.uncompiled &&
		(session->request.flags & DB_SPARE_BLOCK)) {
		transaction_unpin(session);
		return;
	}
	bool failed = session->transaction.state == TX_FAILED && must_let_go(session);
	bool block = session->transaction.state == TX_BLOCK && session->run.verb != VERB_COMMIT;
	if (block || failed)
		transaction_fail(session, must_let_go(session));
	else if (session->transaction.state != TX_FAILED)
		transaction_rollback(session);
}

void execute(struct db_session *session)
{
	const struct db_options *options = &session->engine->options;
	memory_reset(&session->memory, options->outgrown_factor ? options->memory_budget_bytes : 0);
	struct memory_account *former = memory_charge(&session->memory);
	if (session->transaction.state == TX_NONE)
		session->owner.age = session->run.queued_ns;
	if (run_any(session))
		clean_up(session);
	memory_charge(former);
}
