/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns how a statement's failure is told: the engine's in PostgreSQL's words, with its place in
 * the client's text.
 */
#include "demo-db/server/session/query_errors.h"
#include "demo-db/server/session/extended.h"
#include "demo-db/server/dialect/hidden.h"
#include "demo-db/server/dialect/lexer.h"
#include "demo-db/server/session/backend.h"
#include "demo-db/server/session/services.h"
#include "demo-db/server/dialect/error_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool query_fail(
	struct backend *backend, const char *sqlstate, const char *message, const char *hint)
{
	backend_error(backend, sqlstate, message, NULL, hint, 0);
	backend->query.failed = true;
	backend->query.step = STEP_FAILED;
	return true;
}

static const char *cancelled_words(const struct backend *backend)
{
	if (atomic_load_explicit(&backend->timed_out, memory_order_relaxed))
		return "canceling statement due to statement timeout";
	return "canceling statement due to user request";
}

bool query_fail_cancelled(struct backend *backend)
{
	return query_fail(backend, "57014", cancelled_words(backend), NULL);
}

bool query_refuse_start(struct query *q)
{
	q->result = (struct db_result){ .status = DB_ECANCELLED,
		.sqlstate = "57014",
		.message = "",
		.error_offset = -1,
		.tag = "",
		.cancelled = true,
		.done_ns = cancel_now_ns() };
	return true;
}

static int position_of(const struct query *q, const struct error_text *told)
{
	int position = q->written ? told->position : 0;
	if (position && q->simple)
		position +=
			error_text_characters(q->text_start, (size_t)(q->written - q->text_start));
	return position;
}

/* As if the statement had not been rewritten because of hidden columns: what the message is about
 * stands elsewhere, and is a common table of the rewriting's for a table or a subquery. */
static void tell_of_plain(const char *plain, struct error_text_source *source, char near[96])
{
	static const char common[] = "near \"" HIDDEN_COMMON;
	source->sql = plain;
	source->offset = hidden_place(plain, source->offset);
	if (source->offset < 0 || strncmp(source->message, common, sizeof common - 1) != 0)
		return;
	const char *at = plain + source->offset;
	struct lexer lexer = { .at = at, .end = at + strlen(at) };
	struct token t = lexer_next(&lexer);
	snprintf(near, 96, "near \"%.*s\": syntax error", (int)(t.bytes < 60 ? t.bytes : 60), at);
	source->message = near;
}

/* The engine's error, in PostgreSQL's words. */
bool query_fail_by_engine(struct backend *backend)
{
	struct query *q = &backend->query;
	struct error_text told;
	char near[96];
	if (!q->result.start_ns)
		q->describe_due = false; /* it never began: to refuse is to cost little */
	bool by_client = q->result.cancelled && !q->result.by_library && !q->result.while_idle;
	const char *words = by_client ? cancelled_words(backend) : NULL;
	const struct statement *s = q->statement; /* NULL: the COMMIT of a Sync */
	struct error_text_source source = { .sqlstate = q->result.sqlstate,
		.message = words ? words : q->result.message,
		.text = q->written,
		.text_bytes = q->written ? q->written_bytes : 0,
		.sql = s ? s->dialect.sql : NULL,
		.offset = q->result.error_offset };
	if (s && s->dialect.plain)
		tell_of_plain(s->dialect.plain, &source, near);
	if (!source.text && s) { /* by EXECUTE: what it is, but not where */
		source.text = s->source;
		source.text_bytes = s->source_bytes;
	}
	if (q->too_many_rows) {
		return query_fail(backend, "54000", "the portals keep too many rows",
			"Fetch without a row limit, or with LIMIT and OFFSET.");
	}
	if (q->row_too_large) {
		snprintf(told.message, sizeof told.message,
			"a row of %zu KiB is too large for output.hard_mb = %llu",
			q->row_too_large >> 10,
			(unsigned long long)backend->services->config.hard_mb);
		return query_fail(backend, "54000", told.message, NULL);
	}
	if (q->bad_format) {
		snprintf(told.message, sizeof told.message, "unsupported format code: %u",
			q->bad_format);
		return query_fail(backend, "22023", told.message, NULL);
	}
	if (*q->unencodable)
		return query_fail(backend, "22P05", q->unencodable, NULL);
	if (q->misfit) {
		snprintf(told.message, sizeof told.message,
			"column %u holds a value its type has no binary form for", q->misfit);
		return query_fail(
			backend, "42804", told.message, "Ask for text, or CAST it to one type.");
	}
	error_text_of(&source, &told);
	bool key = *q->key && s && s->dialect.stores_last;
	backend_error(backend, told.sqlstate, told.message, key ? q->key : told.detail, told.hint,
		position_of(q, &told));
	q->failed = true;
	q->step = STEP_FAILED;
	return true;
}

static void tell(
	struct backend *backend, const char *severity, const char *sqlstate, const char *message)
{
	extended_describe_first(backend);
	const struct wire_report notice = {
		.severity = severity, .sqlstate = sqlstate, .message = message
	};
	wire_notice(&backend->output.wire, &notice);
}

void query_warn(struct backend *backend, const char *sqlstate, const char *message)
{
	const char *least = settings_get(&backend->settings, SETTING_client_min_messages);
	if (strcmp(least, "error") != 0)
		tell(backend, "WARNING", sqlstate, message);
}

/* The statement without its IF [NOT] EXISTS, which stands near the beginning; NULL: it has none. */
static char *without_if(const char *sql)
{
	struct lexer lexer = { .at = sql, .end = sql + strlen(sql) };
	char *probe = NULL;
	struct token t = lexer_next(&lexer);
	for (int i = 0; i < 5 && !token_is(&t, "if"); i++)
		t = lexer_next(&lexer);
	const char *at = t.text;
	if (!token_is(&t, "if"))
		return NULL;
	do
		t = lexer_next(&lexer);
	while (token_is(&t, "not"));
	if (!token_is(&t, "exists") ||
		asprintf(&probe, "%.*s%s", (int)(at - sql), sql, t.text + t.bytes) < 0)
		return NULL;
	return probe;
}

/* Compiling it without its IF, which does nothing else, tells whether there is something to say. */
void query_notice_skipped(struct backend *backend)
{
	const struct query *q = &backend->query;
	const char *sql = q->statement->dialect.sql;
	const char *least = settings_get(&backend->settings, SETTING_client_min_messages);
	char message[DB_MESSAGE_MAX], words[ERROR_TEXT_MAX + 16];
	struct error_text told;
	if (strcmp(least, "error") == 0 || strcmp(least, "warning") == 0)
		return;
	char *probe = without_if(sql);
	int rc = probe ? db_describe(backend->db, probe, NULL, NULL, NULL, NULL, message) : 0;
	free(probe);
	if (rc != DB_ENOTABLE && rc != DB_EEXISTS)
		return;
	const struct error_text_source source = { .sqlstate = db_error_sqlstate(rc),
		.message = message,
		.text = sql,
		.text_bytes = strlen(sql),
		.offset = -1 };
	error_text_of(&source, &told);
	snprintf(words, sizeof words, "%s, skipping", told.message);
	tell(backend, "NOTICE", rc == DB_EEXISTS ? "42P07" : "00000", words);
}

/* The statement lacks its semicolon, and perhaps its numbers were taken out: both move what is told.
 */
static void translate_as_written(struct backend *backend, struct dialect *d)
{
	const struct query *q = &backend->query;
	struct dialect_context context = query_context(backend);
	struct dialect written;
	if (dialect_translate(q->written, q->written_bytes, &context, &written))
		return;
	if (written.kind == DIALECT_REFUSED)
		*d = written;
	dialect_free(&written);
}

bool query_fail_by_dialect(struct backend *backend, const struct dialect *refused)
{
	struct query *q = &backend->query;
	struct dialect told = *refused;
	const struct dialect *d = &told;
	if (q->simple && q->written)
		translate_as_written(backend, &told);
	size_t before = q->simple ? (size_t)(q->written - q->text_start) : 0;
	int position = 0;
	if (d->place && q->written && d->place <= q->written_bytes + 1) {
		const char *from = q->written - before;
		position = error_text_characters(from, before + d->place - 1) + 1;
	}
	backend_error(backend, d->sqlstate, d->message, NULL, d->hint, position);
	q->failed = true;
	q->step = STEP_FAILED;
	return true;
}

bool query_fail_in_failed_block(struct backend *backend)
{
	return query_fail(backend, "25P02",
		"current transaction is aborted, commands ignored until end of transaction block",
		NULL);
}

bool query_fail_utf8(struct backend *backend, const char *text, size_t bytes)
{
	char message[WIRE_UTF8_ERROR_MAX];
	wire_utf8_error(text, bytes, message);
	return query_fail(backend, "22021", message, NULL);
}

bool query_fail_untyped(struct backend *backend, uint16_t parameter)
{
	char message[80];
	snprintf(message, sizeof message, "could not determine data type of parameter $%u",
		parameter);
	return query_fail(backend, "42P18", message, NULL);
}

bool query_fail_outside_block(struct backend *backend)
{
	char message[96];
	snprintf(message, sizeof message, "%s can only be used in transaction blocks",
		backend->query.statement->dialect.block_only);
	return query_fail(backend, "25P01", message, NULL);
}
