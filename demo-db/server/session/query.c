/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.c - runs the statements of a message, one step after the other.
 *
 * Owns the steps, the implicit transaction block around several statements, and the hand-over to a
 * worker thread when no slot is free. Rows and tags are in rows.c, statements without the engine
 * in utility.c.
 */
#include "demo-db/server/session/query.h"
#include "demo-db/server/session/admit.h"
#include "demo-db/server/session/begin_options.h"
#include "demo-db/server/session/utility.h"
#include "demo-db/server/session/prepare_sql.h"
#include "demo-db/server/session/query_errors.h"
#include "demo-db/server/session/query_text.h"
#include "demo-db/server/session/rows.h"
#include "demo-db/server/session/backend.h"
#include "demo-db/server/session/services.h"
#include "demo-db/server/session/short_insert.h"
#include "demo-db/server/types/last_values.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Which statements begin and end transactions. */
enum control { CONTROL_NONE, CONTROL_BEGIN, CONTROL_COMMIT, CONTROL_ROLLBACK };

static enum control control_of(const struct statement *s)
{
	if (s->dialect.kind == DIALECT_BEGIN)
		return CONTROL_BEGIN;
	if (s->dialect.kind != DIALECT_SQL || !s->dialect.sql)
		return CONTROL_NONE;
	if (strcmp(s->dialect.sql, "COMMIT") == 0)
		return CONTROL_COMMIT;
	return strcmp(s->dialect.sql, "ROLLBACK") == 0 ? CONTROL_ROLLBACK : CONTROL_NONE;
}

static char transaction(const struct backend *backend)
{
	return db_session_transaction(backend->db);
}

struct dialect_context query_context(struct backend *backend)
{
	return (struct dialect_context){ .user = backend->user,
		.database = backend->database,
		.version = SERVER_VERSION,
		.process = backend->process,
		.schema = schema_of(backend) };
}

void query_free(struct backend *backend)
{
	statement_free(backend->query.statement);
	free(backend->query.columns);
	free(backend->query.executed);
	free(backend->query.recoded);
	free(backend->query.expanded);
}

void query_take(struct query *q, struct statement *statement)
{
	statement_share(statement);
	statement_free(q->statement);
	q->statement = statement;
	free(q->expanded);
	q->expanded = NULL;
}

/* ---- Starting a statement -------------------------------------------------------------------- */

/* On the thread that ran the statement, before it runs another. */
static void note_key(struct query *q)
{
	if (q->result.status != DB_EUNIQUE ||
		!last_values_key(q->result.message, q->key, sizeof q->key))
		q->key[0] = '\0';
}

void query_ended(struct backend *backend, const struct db_result *result)
{
	struct query *q = &backend->query;
	atomic_store_explicit(&backend->in_callback, true, memory_order_relaxed);
	q->result = *result;
	snprintf(q->message, sizeof q->message, "%s", result->message);
	q->result.message = q->message;
	note_key(q);
	atomic_store_explicit(&q->running, RUNNING_ENDED, memory_order_release);
	reactor_kick(backend->services->reactor, backend->source);
	atomic_store_explicit(&backend->in_callback, false, memory_order_release);
}

static void on_done(void *arg, const struct db_result *result)
{
	query_ended(arg, result);
}

uint64_t query_arrival_ns(const struct query *q)
{
	return q->arrival_ns > q->last_end_ns ? q->arrival_ns : q->last_end_ns;
}

/* Runs q->request; then `next`. True: it has ended; false: a worker has it. Every request to the
 * engine passes here, so one check holds for all of them; the steps clean up as after a cancel. */
static bool start(struct backend *backend, enum query_step next)
{
	struct query *q = &backend->query;
	q->step = next;
	if (backend_is_over(backend))
		return query_refuse_start(q);
	q->request.struct_size = sizeof q->request;
	q->request.key = backend->process;
	q->request.flags |= DB_HAND_OVER;
	q->request.lock_timeout_ns = backend->lock_timeout_ns;
	q->request.on_done = on_done;
	admit_starts(backend);
	q->request.arg = backend;
	atomic_store_explicit(&q->running, RUNNING_PENDING, memory_order_relaxed);
	if (db_execute(backend->db, &q->request, &q->result) == DB_QUEUED) {
		atomic_fetch_add_explicit(
			&backend->services->counters.handed_over, 1, memory_order_relaxed);
		return false;
	}
	atomic_store_explicit(&q->running, RUNNING_NOTHING, memory_order_relaxed);
	note_key(q);
	return true;
}

/* BEGIN, COMMIT and ROLLBACK nobody wrote. */
static bool start_hidden(struct backend *backend, const char *sql, enum query_step next)
{
	struct query *q = &backend->query;
	q->request = (struct db_request){ .sql = sql,
		.class_index = (uint8_t)q->priority,
		.priority = (uint8_t)q->priority,
		.tenant = (uint8_t)(backend->user_level % DB_TENANTS),
		.flags = strcmp(sql, "") == 0 ? DB_FAIL_BLOCK : 0 };
	return start(backend, next);
}

static uint32_t flags_of(const struct backend *backend, const struct statement *s)
{
	bool may_be_short = s->dialect.unlisted && !backend->query.expanded;
	return (s->kind.view ? DB_VIEW : 0u) | (backend_may_control(backend) ? DB_CONTROL : 0u) |
	       (may_be_short ? DB_SPARE_BLOCK : 0u);
}

static bool start_statement(struct backend *backend)
{
	struct query *q = &backend->query;
	const struct statement *s = q->statement;
	const struct portal *portal = q->portal;
	uint32_t values = portal ? portal->value_count : q->literal_count;
	q->request = (struct db_request){ .sql = q->expanded ? q->expanded : s->dialect.sql,
		.checks = s->dialect.checks,
		.parameters = portal ? portal->values : q->literals,
		.parameter_count = values < s->used_count ? values : s->used_count,
		.flags = flags_of(backend, s),
		.arrival_ns = query_arrival_ns(q),
		.signature = s->signature,
		.sql_hash = q->expanded ? 0 : s->signature, /* its hash is what it is */
		.class_index = (uint8_t)q->priority,
		.priority = (uint8_t)q->priority,
		.tenant = (uint8_t)(backend->user_level % DB_TENANTS),
		.on_columns = rows_on_columns,
		.on_row = rows_on_row };
	q->ran_any = true;
	if (s->kind.blocks)
		admit_maintenance(backend, true);
	if (s->conditional)
		query_notice_skipped(backend);
	rows_begin(backend, q->simple || q->describe_due);
	return start(backend, STEP_RAN);
}

/* ---- The next statement ---------------------------------------------------------------------- */

/* BEGIN inside an implicit block makes it the client's. */
static bool take_over_block(struct backend *backend)
{
	struct query *q = &backend->query;
	q->implicit = false;
	q->ran_any = true;
	q->result = (struct db_result){ .tag = "BEGIN" };
	rows_begin(backend, q->describe_due);
	rows_complete(backend);
	q->step = q->simple ? STEP_NEXT : STEP_DONE;
	return true;
}

static bool start_begin(struct backend *backend)
{
	struct query *q = &backend->query;
	q->request = (struct db_request){ .sql = begin_text(backend, &q->statement->dialect),
		.arrival_ns = query_arrival_ns(q),
		.class_index = (uint8_t)q->priority,
		.priority = (uint8_t)q->priority,
		.tenant = (uint8_t)(backend->user_level % DB_TENANTS) };
	if (transaction(backend) == 'I')
		begin_tell(backend, &q->statement->dialect, q->request.sql);
	rows_begin(backend, q->describe_due);
	q->ran_any = true;
	return start(backend, STEP_RAN);
}

/* No block may hold it: one that comes without its Sync is not taken for the first of several. */
static bool stands_alone(const struct statement *s)
{
	return s->kind.blocks == BLOCKS_ALL && strncasecmp(s->dialect.sql, "vacuum", 6) == 0;
}

/* Several statements are one block; so is a single one that the session's defaults bind. */
static bool wants_implicit(const struct backend *backend)
{
	const struct query *q = &backend->query;
	if (transaction(backend) != 'I' || q->implicit || q->statement->kind.view ||
		q->statement->dialect.block_only)
		return false;
	if (settings_on(&backend->settings, SETTING_default_transaction_read_only) ||
		q->statement->rest)
		return true;
	return q->simple ? !query_text_ends(q) : !q->sync_follows && !stands_alone(q->statement);
}

/* A transaction is asked once, where it begins; what ends one, or only looks, is not. */
static bool is_asked(const struct backend *backend, enum control control)
{
	const struct query *q = &backend->query;
	return transaction(backend) == 'I' && !q->implicit && !q->statement->kind.view &&
	       control != CONTROL_COMMIT && control != CONTROL_ROLLBACK;
}

/* It asks neither the gate nor the pause: it takes no worker, and an operator wants it now. */
static bool start_backup(struct backend *backend)
{
	struct query *q = &backend->query;
	if (!backend_may_control(backend))
		return query_fail(backend, "42501", "permission denied to execute BACKUP",
			"The role needs \"raise\" in the server's configuration.");
	if (transaction(backend) != 'I')
		return query_fail(backend, "25001", "BACKUP cannot run inside a transaction block",
			"It would wait for the block's own end.");
	q->priority = admit_priority(backend, PRIORITY_ANALYTICAL);
	q->ran_any = true;
	q->step = STEP_RAN;
	backend_watch_statement(backend);
	rows_begin(backend, false);
	atomic_store_explicit(&q->running, RUNNING_PENDING, memory_order_relaxed);
	int rc = backup_start(backend);
	if (rc == 0)
		return false;
	atomic_store_explicit(&q->running, RUNNING_NOTHING, memory_order_relaxed);
	timer_set(&backend->timer, TIMER_NOTHING, 0, 0);
	return query_fail(backend, db_error_sqlstate(rc),
		rc == DB_EBUSY	  ? "another backup is running"
		: rc == DB_EINVAL ? "the path of the backup is empty or too long"
				  : db_error_text(rc),
		NULL);
}

/* Let in, or told why not. False: it waits. */
static bool ask_admission(struct backend *backend)
{
	switch (admit_ask(backend)) {
	case ADMIT_GO:
		break;
	case ADMIT_WAIT:
		return false;
	case ADMIT_REFUSED:
		backend->query.failed = true;
		backend->query.step = STEP_FAILED;
		break;
	case ADMIT_CANCELLED:
		query_fail_cancelled(backend);
		break;
	}
	return true;
}

static bool step_ask(struct backend *backend)
{
	struct query *q = &backend->query;
	char state = transaction(backend);
	if (q->statement->dialect.kind == DIALECT_EXECUTE && state != 'E' &&
		!prepare_sql_execute(backend))
		return true;
	enum control control = control_of(q->statement);
	bool ends = control == CONTROL_COMMIT || control == CONTROL_ROLLBACK;
	if (state == 'E' && !ends && !q->statement->dialect.revives)
		return db_session_untold(backend->db) ? start_hidden(backend, "", STEP_TOLD)
						      : query_fail_in_failed_block(backend);
	if (q->implicit && q->statement->dialect.block_only)
		return query_fail_outside_block(backend);
	if (q->simple && q->statement->parameter_count != q->literal_count)
		return query_fail(backend, "42P02", "there is no parameter $1",
			"Parameters belong to the extended protocol.");
	if (q->statement->dialect.kind == DIALECT_BACKUP)
		return start_backup(backend);
	if (utility_is(q->statement)) {
		rows_begin(backend, q->simple || q->describe_due);
		if (!utility_answer(backend)) {
			q->failed = true;
			q->step = STEP_FAILED;
		} else {
			q->ran_any = true;
			q->step = q->simple ? STEP_NEXT : STEP_DONE;
		}
		return true;
	}
	if (!ends && admit_keeps_out(backend))
		return true;
	q->priority = admit_priority(backend, q->statement->kind.priority);
	if (!query_is_held(q))
		backend_watch_statement(backend);
	if (is_asked(backend, control) && !ask_admission(backend))
		return false;
	if (q->step == STEP_FAILED)
		return true;
	if (control == CONTROL_BEGIN)
		return q->implicit ? take_over_block(backend) : start_begin(backend);
	if (ends && q->implicit) {
		query_warn(backend, "25P01", "there is no transaction in progress");
		q->implicit = false;
	}
	if (!ends && wants_implicit(backend)) {
		q->implicit = true;
		return start_hidden(backend, begin_text(backend, NULL), STEP_BEGUN);
	}
	return start_statement(backend);
}

static bool end_of_text(struct backend *backend)
{
	if (!backend->query.ran_any)
		wire_empty(&backend->output.wire, 'I');
	backend->query.step = STEP_END;
	return true;
}

static bool step_next(struct backend *backend)
{
	struct query *q = &backend->query;
	if (backend_is_over(backend))
		return query_fail_cancelled(backend);
	if (q->simple) {
		struct statement *s;
		do {
			if (!q->text_bytes)
				return end_of_text(backend);
			s = query_text_next(backend);
			if (!s)
				return query_fail(backend, "53200", "out of memory", NULL);
		} while (s->dialect.kind == DIALECT_EMPTY);
		query_take(q, s);
		prepared_let_pass(&backend->prepared);
		q->literal_count = s->literal_count;
	}
	const struct dialect *d = &q->statement->dialect;
	if (d->kind == DIALECT_REFUSED)
		return query_fail_by_dialect(backend, d);
	q->step = STEP_ASK;
	return true;
}

static bool step_begun(struct backend *backend)
{
	if (backend->query.result.status == 0)
		return start_statement(backend);
	backend->query.implicit = false;
	return query_fail_by_engine(backend);
}

/* ---- After a statement ----------------------------------------------------------------------- */

static void end_block(struct backend *backend, bool committed)
{
	if (backend->defined) /* now others see it, or nobody any more */
		schema_changed(backend);
	backend->defined = false;
	settings_end_block(&backend->settings, committed);
	portal_close_all(&backend->prepared);
}

static void after_statement(struct backend *backend, enum control control)
{
	struct query *q = &backend->query;
	const struct statement_kind *kind = &q->statement->kind;
	bool ended = control == CONTROL_COMMIT || control == CONTROL_ROLLBACK;
	if (kind->definition) {
		schema_changed(backend);
		backend->defined = transaction(backend) != 'I';
	}
	if (kind->partial)
		atomic_store_explicit(
			&backend->services->partial_indexes, true, memory_order_relaxed);
	if (ended && transaction(backend) == 'I')
		end_block(backend, strcmp(q->result.tag, "COMMIT") == 0);
	else if (q->statement->dialect.block_only)
		portal_keep_savepoints(&backend->prepared, db_session_savepoints(backend->db),
			q->statement->dialect.revives);
}

/* The statement goes on with the rest of it. */
static bool start_rest(struct backend *backend)
{
	struct query *q = &backend->query;
	if (q->statement->kind.blocks)
		admit_maintenance(backend, false);
	query_take(q, q->statement->rest);
	return start_statement(backend);
}

static bool step_ran(struct backend *backend)
{
	struct query *q = &backend->query;
	if (q->result.status == 0 && q->statement->rest)
		return start_rest(backend);
	if (q->result.status && short_insert_expand(backend))
		return start_statement(backend);
	enum control control = control_of(q->statement);
	q->last_end_ns = q->result.done_ns;
	timer_set(&backend->timer, TIMER_NOTHING, 0, 0);
	atomic_store_explicit(&backend->statements,
		atomic_load_explicit(&backend->statements, memory_order_relaxed) + 1,
		memory_order_relaxed);
	if (q->gated)
		admit_ended(backend);
	if (q->statement->kind.blocks)
		admit_maintenance(backend, false);
	if (q->result.status) {
		if (control != CONTROL_NONE && transaction(backend) == 'I')
			end_block(backend, false);
		return query_fail_by_engine(backend);
	}
	if (q->result.message && *q->result.message)
		query_warn(backend, q->result.sqlstate, q->result.message);
	rows_complete(backend);
	if (control != CONTROL_NONE || q->statement->dialect.block_only)
		q->portal = NULL; /* goes with the block, or with the savepoint */
	after_statement(backend, control);
	q->step = q->simple ? STEP_NEXT : STEP_DONE;
	return true;
}

static bool step_end(struct backend *backend)
{
	struct query *q = &backend->query;
	if (q->implicit)
		return start_hidden(backend, "COMMIT", STEP_COMMITTED);
	q->step = STEP_DONE;
	return true;
}

static bool step_committed(struct backend *backend)
{
	struct query *q = &backend->query;
	q->implicit = false;
	q->last_end_ns = q->result.done_ns;
	end_block(backend, q->result.status == 0);
	if (q->result.status)
		return query_fail_by_engine(backend);
	q->step = STEP_DONE;
	return true;
}

static bool step_failed(struct backend *backend)
{
	struct query *q = &backend->query;
	q->skip_to_sync = !q->simple && !q->sync;
	if (q->implicit && transaction(backend) != 'I')
		return start_hidden(backend, "ROLLBACK", STEP_ROLLED_BACK);
	if (!q->implicit && transaction(backend) == 'T')
		return start_hidden(backend, "", STEP_ROLLED_BACK);
	q->step = STEP_ROLLED_BACK;
	return true;
}

static bool step_rolled_back(struct backend *backend)
{
	struct query *q = &backend->query;
	if (q->implicit || transaction(backend) == 'I')
		end_block(backend, false);
	q->implicit = false;
	q->step = STEP_DONE;
	return true;
}

static bool step_done(struct backend *backend)
{
	struct query *q = &backend->query;
	statement_free(q->statement);
	q->statement = NULL;
	q->portal = NULL;
	q->step = STEP_NONE;
	if (!q->simple && !q->sync)
		return true;
	q->describe_due = false;
	if (q->sync && transaction(backend) == 'I')
		portal_close_all(&backend->prepared);
	admit_tell_level(backend, q->last_end_ns);
	settings_report(&backend->settings, &backend->output.wire);
	wire_ready(&backend->output.wire, transaction(backend));
	atomic_store_explicit(
		&backend->shown_tx, (uint32_t)transaction(backend), memory_order_relaxed);
	return true;
}

/* ---- The machine ----------------------------------------------------------------------------- */

static void begin(struct backend *backend, enum query_step step, bool simple, bool sync)
{
	struct query *q = &backend->query;
	q->step = step;
	q->simple = simple;
	q->sync = sync;
	q->failed = false;
	q->ran_any = false;
	q->written = NULL;
	q->portal = NULL;
	q->describe_due = false;
	q->row_limit = 0;
	q->format_count = 0;
	q->gated = false;
	q->arrival_ns = backend->arrival_ns;
	backend->output.wire.latin1 = query_speaks_latin1(backend);
}

void query_begin_simple(struct backend *backend, const char *sql)
{
	struct query *q = &backend->query;
	begin(backend, STEP_NEXT, true, false);
	sql = query_in_utf8(backend, sql);
	if (!sql) {
		query_fail(backend, "53200", "out of memory", NULL);
		return;
	}
	q->text = q->text_start = sql;
	q->text_bytes = strlen(sql);
	if (!wire_utf8_valid(sql, q->text_bytes)) {
		query_fail_utf8(backend, sql, q->text_bytes);
		return;
	}
	portal_close(&backend->prepared, "");
	prepared_close(&backend->prepared, "");
}

void query_begin_execute(
	struct backend *backend, struct portal *portal, uint32_t max_rows, bool refused)
{
	struct query *q = &backend->query;
	begin(backend, STEP_NEXT, false, false);
	query_take(q, portal->statement);
	q->portal = portal;
	q->row_limit = max_rows;
	q->formats = portal->formats;
	q->format_count = portal->format_count;
	q->written = portal->statement->source;
	q->written_bytes = portal->statement->source_bytes;
	q->describe_due = portal->describe_next;
	portal->describe_next = false;
	if (portal->statement->dialect.kind == DIALECT_EMPTY) {
		wire_empty(&backend->output.wire, 'I');
		q->step = STEP_DONE;
	} else if (portal->started && !refused) {
		rows_continue(backend);
		q->step = STEP_DONE;
	}
}

void query_begin_sync(struct backend *backend)
{
	begin(backend, STEP_END, false, true);
	backend->query.skip_to_sync = false;
}

void query_begin_failure(struct backend *backend)
{
	begin(backend, STEP_FAILED, false, false);
	backend->query.failed = true;
}

void query_begin_refused(struct backend *backend, const char *sqlstate, const char *message)
{
	begin(backend, STEP_NEXT, true, false);
	query_fail(backend, sqlstate, message, NULL);
}

enum query_answer query_run(struct backend *backend)
{
	static bool (*const steps[STEP_COUNT])(struct backend *) = { [STEP_NEXT] = step_next,
		[STEP_ASK] = step_ask,
		[STEP_BEGUN] = step_begun,
		[STEP_RAN] = step_ran,
		[STEP_TOLD] = query_fail_by_engine,
		[STEP_END] = step_end,
		[STEP_COMMITTED] = step_committed,
		[STEP_FAILED] = step_failed,
		[STEP_ROLLED_BACK] = step_rolled_back,
		[STEP_DONE] = step_done };
	struct query *q = &backend->query;
	atomic_store_explicit(&q->running, RUNNING_NOTHING, memory_order_relaxed);
	while (q->step != STEP_NONE)
		if (!steps[q->step](backend))
			return QUERY_PENDING;
	return QUERY_DONE;
}
