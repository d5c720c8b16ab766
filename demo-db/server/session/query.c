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
#include "demo-db/server/server.h"
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

static char transaction(const struct client *client)
{
	return db_session_transaction(client->session);
}

struct dialect_context query_context(const struct client *client)
{
	return (struct dialect_context){ .user = client->user,
		.database = client->database,
		.version = SERVER_VERSION,
		.process = client->process };
}

void query_free(struct client *client)
{
	statement_free(client->query.statement);
	free(client->query.columns);
	free(client->query.executed);
	free(client->query.expanded);
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
	if (q->result.status != DB_EUNIQUE || !stored_key(q->result.message, q->key, sizeof q->key))
		q->key[0] = '\0';
}

void query_ended(struct client *client, const struct db_result *result)
{
	struct query *q = &client->query;
	atomic_store_explicit(&client->in_callback, true, memory_order_relaxed);
	q->result = *result;
	snprintf(q->message, sizeof q->message, "%s", result->message);
	q->result.message = q->message;
	note_key(q);
	atomic_store_explicit(&q->running, RUNNING_ENDED, memory_order_release);
	reactor_kick(client->server->reactor, &client->source);
	atomic_store_explicit(&client->in_callback, false, memory_order_release);
}

static void on_done(void *arg, const struct db_result *result)
{
	query_ended(arg, result);
}

/* Runs q->request; then `next`. True: it has ended; false: a worker has it. Every request to the
 * engine passes here, so one check holds for all of them; the steps clean up as after a cancel. */
static bool start(struct client *client, enum query_step next)
{
	struct query *q = &client->query;
	q->step = next;
	if (client_is_over(client))
		return query_refuse_start(q);
	q->request.struct_size = sizeof q->request;
	q->request.key = client->process;
	q->request.flags |= DB_HAND_OVER;
	q->request.on_done = on_done;
	q->request.arg = client;
	atomic_store_explicit(&q->running, RUNNING_PENDING, memory_order_relaxed);
	if (db_execute(client->session, &q->request, &q->result) == DB_QUEUED) {
		atomic_fetch_add_explicit(
			&client->server->counters.handed_over, 1, memory_order_relaxed);
		return false;
	}
	atomic_store_explicit(&q->running, RUNNING_NOTHING, memory_order_relaxed);
	note_key(q);
	return true;
}

/* BEGIN, COMMIT and ROLLBACK nobody wrote. */
static bool start_hidden(struct client *client, const char *sql, enum query_step next)
{
	struct query *q = &client->query;
	q->request = (struct db_request){ .sql = sql,
		.class_index = (uint8_t)q->business,
		.priority = (uint8_t)q->business,
		.tenant = (uint8_t)(client->user_level % DB_TENANTS),
		.flags = strcmp(sql, "") == 0 ? DB_FAIL_BLOCK : 0 };
	return start(client, next);
}

/* Time the statement spent waiting counts from its message's arrival, or from the end of the
 * statement of the same client before it. */
static uint64_t arrival_of(const struct query *q)
{
	return q->arrival_ns > q->last_end_ns ? q->arrival_ns : q->last_end_ns;
}

static uint32_t flags_of(const struct client *client, const struct statement *s)
{
	bool may_be_short = s->dialect.rows_at && !client->query.expanded;
	return (s->kind.view ? DB_VIEW : 0u) | (client_may_control(client) ? DB_CONTROL : 0u) |
	       (may_be_short ? DB_SPARE_BLOCK : 0u);
}

static bool start_statement(struct client *client)
{
	struct query *q = &client->query;
	const struct statement *s = q->statement;
	const struct portal *portal = q->portal;
	uint32_t values = portal ? portal->value_count : q->literal_count;
	q->request = (struct db_request){ .sql = q->expanded ? q->expanded : s->dialect.sql,
		.checks = s->dialect.checks,
		.parameters = portal ? portal->values : q->literals,
		.parameter_count = values < s->used_count ? values : s->used_count,
		.flags = flags_of(client, s),
		.arrival_ns = arrival_of(q),
		.signature = s->signature,
		.sql_hash = q->expanded ? 0 : s->signature, /* its hash is what it is */
		.class_index = (uint8_t)q->business,
		.priority = (uint8_t)q->business,
		.tenant = (uint8_t)(client->user_level % DB_TENANTS),
		.on_columns = rows_on_columns,
		.on_row = rows_on_row };
	q->ran_any = true;
	if (s->kind.keeps_out)
		admit_maintenance(client, true);
	if (s->conditional)
		query_notice_skipped(client);
	rows_begin(client, q->simple || q->describe_due);
	return start(client, STEP_RAN);
}

/* ---- The next statement ---------------------------------------------------------------------- */

/* Extended protocol: would the transaction end right after this Execute? */
static bool sync_follows(const struct client *client)
{
	const struct input *input = &client->input;
	return input->start < input->end && input->data[input->start] == WIRE_SYNC;
}

/* BEGIN inside an implicit block makes it the client's. */
static bool take_over_block(struct client *client)
{
	struct query *q = &client->query;
	q->implicit = false;
	q->ran_any = true;
	q->result = (struct db_result){ .tag = "BEGIN" };
	rows_begin(client, q->describe_due);
	rows_complete(client);
	q->step = q->simple ? STEP_NEXT : STEP_DONE;
	return true;
}

static bool start_begin(struct client *client)
{
	struct query *q = &client->query;
	q->request = (struct db_request){ .sql = begin_text(client, &q->statement->dialect),
		.arrival_ns = arrival_of(q),
		.class_index = (uint8_t)q->business,
		.priority = (uint8_t)q->business,
		.tenant = (uint8_t)(client->user_level % DB_TENANTS) };
	if (transaction(client) == 'I')
		begin_tell(client, &q->statement->dialect, q->request.sql);
	rows_begin(client, q->describe_due);
	q->ran_any = true;
	return start(client, STEP_RAN);
}

/* No block may hold it: one that comes without its Sync is not taken for the first of several. */
static bool stands_alone(const struct statement *s)
{
	return s->kind.keeps_out == KEEPS_OUT_ALL && strncasecmp(s->dialect.sql, "vacuum", 6) == 0;
}

/* Several statements are one block; so is a single one that the session's defaults bind. */
static bool wants_implicit(const struct client *client)
{
	const struct query *q = &client->query;
	if (transaction(client) != 'I' || q->implicit || q->statement->kind.view ||
		q->statement->dialect.block_only)
		return false;
	if (settings_on(&client->settings, SETTING_default_transaction_read_only) ||
		q->statement->rest)
		return true;
	return q->simple ? !query_text_ends(q)
			 : !sync_follows(client) && !stands_alone(q->statement);
}

/* A transaction is asked once, where it begins; what ends one, or only looks, is not. */
static bool is_asked(const struct client *client, enum control control)
{
	const struct query *q = &client->query;
	return transaction(client) == 'I' && !q->implicit && !q->statement->kind.view &&
	       control != CONTROL_COMMIT && control != CONTROL_ROLLBACK;
}

/* It asks neither the gate nor the pause: it takes no worker, and an operator wants it now. */
static bool start_backup(struct client *client)
{
	struct query *q = &client->query;
	if (!client_may_control(client))
		return query_fail(client, "42501", "permission denied to execute BACKUP",
			"The role needs \"raise\" in the server's configuration.");
	if (transaction(client) != 'I')
		return query_fail(client, "25001", "BACKUP cannot run inside a transaction block",
			"It would wait for the block's own end.");
	q->business = admit_business(client, BUSINESS_ANALYTICAL);
	q->ran_any = true;
	q->step = STEP_RAN;
	client_watch_statement(client);
	rows_begin(client, false);
	atomic_store_explicit(&q->running, RUNNING_PENDING, memory_order_relaxed);
	int rc = backup_start(client);
	if (rc == 0)
		return false;
	atomic_store_explicit(&q->running, RUNNING_NOTHING, memory_order_relaxed);
	client_set_watch(client, WATCH_NOTHING, 0, 0);
	return query_fail(client, db_error_sqlstate(rc),
		rc == DB_EBUSY	  ? "another backup is running"
		: rc == DB_EINVAL ? "the path of the backup is empty or too long"
				  : db_error_text(rc),
		NULL);
}

/* Let in, or told why not. False: it waits. */
static bool ask_admission(struct client *client)
{
	switch (admit_ask(client)) {
	case ADMIT_GO:
		break;
	case ADMIT_WAIT:
		return false;
	case ADMIT_REFUSED:
		client->query.failed = true;
		client->query.step = STEP_FAILED;
		break;
	case ADMIT_CANCELLED:
		query_fail_cancelled(client);
		break;
	}
	return true;
}

static bool step_ask(struct client *client)
{
	struct query *q = &client->query;
	char state = transaction(client);
	if (q->statement->dialect.kind == DIALECT_EXECUTE && state != 'E' && !named_execute(client))
		return true;
	enum control control = control_of(q->statement);
	bool ends = control == CONTROL_COMMIT || control == CONTROL_ROLLBACK;
	if (state == 'E' && !ends && !q->statement->dialect.revives)
		return db_session_untold(client->session) ? start_hidden(client, "", STEP_TOLD)
							  : query_fail_in_failed_block(client);
	if (q->implicit && q->statement->dialect.block_only)
		return query_fail_outside_block(client);
	if (q->simple && q->statement->parameter_count != q->literal_count)
		return query_fail(client, "42P02", "there is no parameter $1",
			"Parameters belong to the extended protocol.");
	if (q->statement->dialect.kind == DIALECT_BACKUP)
		return start_backup(client);
	if (local_is(q->statement)) {
		rows_begin(client, q->simple || q->describe_due);
		if (!local_answer(client)) {
			q->failed = true;
			q->step = STEP_FAILED;
		} else {
			q->ran_any = true;
			q->step = q->simple ? STEP_NEXT : STEP_DONE;
		}
		return true;
	}
	q->business = admit_business(client, q->statement->kind.business);
	if (!query_is_held(q))
		client_watch_statement(client);
	if (is_asked(client, control) && !ask_admission(client))
		return false;
	if (q->step == STEP_FAILED)
		return true;
	if (control == CONTROL_BEGIN)
		return q->implicit ? take_over_block(client) : start_begin(client);
	if (ends && q->implicit) {
		query_warn(client, "25P01", "there is no transaction in progress");
		q->implicit = false;
	}
	if (!ends && wants_implicit(client)) {
		q->implicit = true;
		return start_hidden(client, begin_text(client, NULL), STEP_BEGUN);
	}
	return start_statement(client);
}

static bool end_of_text(struct client *client)
{
	if (!client->query.ran_any)
		wire_empty(&client->output.wire, 'I');
	client->query.step = STEP_END;
	return true;
}

static bool step_next(struct client *client)
{
	struct query *q = &client->query;
	if (client_is_over(client))
		return query_fail_cancelled(client);
	if (q->simple) {
		struct statement *s;
		do {
			if (!q->text_bytes)
				return end_of_text(client);
			s = query_text_next(client);
			if (!s)
				return query_fail(client, "53200", "out of memory", NULL);
		} while (s->dialect.kind == DIALECT_EMPTY);
		query_take(q, s);
		prepared_let_pass(&client->prepared);
		q->literal_count = s->literal_count;
	}
	const struct dialect *d = &q->statement->dialect;
	if (d->kind == DIALECT_REFUSED)
		return query_fail_by_dialect(client, d);
	q->step = STEP_ASK;
	return true;
}

static bool step_begun(struct client *client)
{
	if (client->query.result.status == 0)
		return start_statement(client);
	client->query.implicit = false;
	return query_fail_by_engine(client);
}

/* ---- After a statement ----------------------------------------------------------------------- */

static void end_block(struct client *client, bool committed)
{
	settings_end_block(&client->settings, committed);
	portal_close_all(&client->prepared);
}

static void after_statement(struct client *client, enum control control)
{
	struct query *q = &client->query;
	const struct business_kind *kind = &q->statement->kind;
	bool ended = control == CONTROL_COMMIT || control == CONTROL_ROLLBACK;
	if (kind->partial)
		atomic_store_explicit(&client->server->partial_indexes, true, memory_order_relaxed);
	if (ended && transaction(client) == 'I')
		end_block(client, strcmp(q->result.tag, "COMMIT") == 0);
	else if (q->statement->dialect.block_only)
		portal_keep_savepoints(&client->prepared, db_session_savepoints(client->session),
			q->statement->dialect.revives);
}

/* The statement goes on with the rest of it. */
static bool start_rest(struct client *client)
{
	struct query *q = &client->query;
	if (q->statement->kind.keeps_out)
		admit_maintenance(client, false);
	query_take(q, q->statement->rest);
	return start_statement(client);
}

static bool step_ran(struct client *client)
{
	struct query *q = &client->query;
	if (q->result.status == 0 && q->statement->rest)
		return start_rest(client);
	if (q->result.status && short_insert_expand(client))
		return start_statement(client);
	enum control control = control_of(q->statement);
	q->last_end_ns = q->result.done_ns;
	client_set_watch(client, WATCH_NOTHING, 0, 0);
	atomic_store_explicit(&client->statements,
		atomic_load_explicit(&client->statements, memory_order_relaxed) + 1,
		memory_order_relaxed);
	if (q->gated)
		admit_ended(client);
	if (q->statement->kind.keeps_out)
		admit_maintenance(client, false);
	if (q->result.status) {
		if (control != CONTROL_NONE && transaction(client) == 'I')
			end_block(client, false);
		return query_fail_by_engine(client);
	}
	if (q->result.message && *q->result.message)
		query_warn(client, q->result.sqlstate, q->result.message);
	rows_complete(client);
	if (control != CONTROL_NONE || q->statement->dialect.block_only)
		q->portal = NULL; /* goes with the block, or with the savepoint */
	after_statement(client, control);
	q->step = q->simple ? STEP_NEXT : STEP_DONE;
	return true;
}

static bool step_end(struct client *client)
{
	struct query *q = &client->query;
	if (q->implicit)
		return start_hidden(client, "COMMIT", STEP_COMMITTED);
	q->step = STEP_DONE;
	return true;
}

static bool step_committed(struct client *client)
{
	struct query *q = &client->query;
	q->implicit = false;
	q->last_end_ns = q->result.done_ns;
	end_block(client, q->result.status == 0);
	if (q->result.status)
		return query_fail_by_engine(client);
	q->step = STEP_DONE;
	return true;
}

static bool step_failed(struct client *client)
{
	struct query *q = &client->query;
	q->skip_to_sync = !q->simple && !q->sync;
	if (q->implicit && transaction(client) != 'I')
		return start_hidden(client, "ROLLBACK", STEP_ROLLED_BACK);
	if (!q->implicit && transaction(client) == 'T')
		return start_hidden(client, "", STEP_ROLLED_BACK);
	q->step = STEP_ROLLED_BACK;
	return true;
}

static bool step_rolled_back(struct client *client)
{
	struct query *q = &client->query;
	if (q->implicit || transaction(client) == 'I')
		end_block(client, false);
	q->implicit = false;
	q->step = STEP_DONE;
	return true;
}

static bool step_done(struct client *client)
{
	struct query *q = &client->query;
	statement_free(q->statement);
	q->statement = NULL;
	q->portal = NULL;
	q->step = STEP_NONE;
	if (!q->simple && !q->sync)
		return true;
	q->describe_due = false;
	if (q->sync && transaction(client) == 'I')
		portal_close_all(&client->prepared);
	admit_tell_level(client, q->last_end_ns);
	settings_report(&client->settings, &client->output.wire);
	wire_ready(&client->output.wire, transaction(client));
	atomic_store_explicit(
		&client->shown_tx, (uint32_t)transaction(client), memory_order_relaxed);
	return true;
}

/* ---- The machine ----------------------------------------------------------------------------- */

static void begin(struct client *client, enum query_step step, bool simple, bool sync)
{
	struct query *q = &client->query;
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
	q->arrival_ns = client->arrival_ns;
}

void query_begin_simple(struct client *client, const char *sql)
{
	struct query *q = &client->query;
	begin(client, STEP_NEXT, true, false);
	q->text = q->text_start = sql;
	q->text_bytes = strlen(sql);
	if (!wire_utf8_valid(sql, q->text_bytes)) {
		query_fail_utf8(client, sql, q->text_bytes);
		return;
	}
	portal_close(&client->prepared, "");
	prepared_close(&client->prepared, "");
}

void query_begin_execute(
	struct client *client, struct portal *portal, uint32_t max_rows, bool refused)
{
	struct query *q = &client->query;
	begin(client, STEP_NEXT, false, false);
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
		wire_empty(&client->output.wire, 'I');
		q->step = STEP_DONE;
	} else if (portal->started && !refused) {
		rows_continue(client);
		q->step = STEP_DONE;
	}
}

void query_begin_sync(struct client *client)
{
	begin(client, STEP_END, false, true);
	client->query.skip_to_sync = false;
}

void query_begin_failure(struct client *client)
{
	begin(client, STEP_FAILED, false, false);
	client->query.failed = true;
}

void query_begin_refused(struct client *client, const char *sqlstate, const char *message)
{
	begin(client, STEP_NEXT, true, false);
	query_fail(client, sqlstate, message, NULL);
}

enum query_answer query_run(struct client *client)
{
	static bool (*const steps[STEP_COUNT])(struct client *) = { [STEP_NEXT] = step_next,
		[STEP_ASK] = step_ask,
		[STEP_BEGUN] = step_begun,
		[STEP_RAN] = step_ran,
		[STEP_TOLD] = query_fail_by_engine,
		[STEP_END] = step_end,
		[STEP_COMMITTED] = step_committed,
		[STEP_FAILED] = step_failed,
		[STEP_ROLLED_BACK] = step_rolled_back,
		[STEP_DONE] = step_done };
	struct query *q = &client->query;
	atomic_store_explicit(&q->running, RUNNING_NOTHING, memory_order_relaxed);
	while (q->step != STEP_NONE)
		if (!steps[q->step](client))
			return QUERY_PENDING;
	return QUERY_DONE;
}
