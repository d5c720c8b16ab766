/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the messages of the extended protocol: names, parameters, descriptions. What Execute and
 * Sync begin is run by query.c.
 */
#include "demo-db/server/session/extended.h"
#include "demo-db/server/dialect/lexer.h"
#include "demo-db/server/session/utility.h"
#include "demo-db/server/session/query_errors.h"
#include "demo-db/server/session/query_text.h"
#include "demo-db/server/session/backend.h"
#include "demo-db/server/session/services.h"
#include "demo-db/server/dialect/error_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(
	struct backend *backend, const char *sqlstate, const char *message, const char *hint)
{
	backend_error(backend, sqlstate, message, NULL, hint, 0);
	query_begin_failure(backend);
}

static void fail_statement(
	struct backend *backend, const char *sqlstate, const char *name, const char *what)
{
	char message[160];
	if (*name)
		snprintf(message, sizeof message, "prepared statement \"%.80s\" %s", name, what);
	else
		snprintf(message, sizeof message, "unnamed prepared statement %s", what);
	fail(backend, sqlstate, message, NULL);
}

static void fail_portal(
	struct backend *backend, const char *sqlstate, const char *name, const char *what)
{
	char message[160];
	snprintf(message, sizeof message, "portal \"%.80s\" %s", name, what);
	fail(backend, sqlstate, message, NULL);
}

/* ---- Parse ----------------------------------------------------------------------------------- */

static bool is_one_statement(const char *sql, size_t bytes)
{
	size_t first = lexer_statement_bytes(sql, bytes);
	struct lexer lexer = { .at = sql + first, .end = sql + bytes };
	struct token token;
	do
		token = lexer_next(&lexer);
	while (token_is_symbol(&token, ";"));
	return token.kind == TOKEN_END;
}

static enum pg_type *types_of(struct wire_words words)
{
	enum pg_type *types = calloc(words.count + 1u, sizeof *types);
	for (uint16_t i = 0; types && i < words.count; i++)
		types[i] = (enum pg_type)wire_word32(words, i);
	return types;
}

static bool ends_transaction(const struct statement *s)
{
	const char *sql = s->dialect.sql;
	return s->dialect.kind == DIALECT_SQL &&
	       (s->dialect.revives || strcmp(sql, "COMMIT") == 0 || strcmp(sql, "ROLLBACK") == 0);
}

/* The block has failed, and the client knows: who does not know yet hears it when it executes. */
static bool in_failed_block(const struct backend *backend)
{
	return db_session_transaction(backend->db) == 'E' && !db_session_untold(backend->db);
}

/* In a failed block only what ends it, or ROLLBACK TO. True: an error was told. */
static bool refused_in_failed_block(struct backend *backend, const struct statement *s)
{
	if (!in_failed_block(backend) || ends_transaction(s))
		return false;
	fail(backend, "25P02",
		"current transaction is aborted, commands ignored until end of transaction block",
		NULL);
	return true;
}

static bool accept_statement(struct backend *backend, const struct statement *s)
{
	const struct dialect *d = &s->dialect;
	if (d->kind == DIALECT_REFUSED) {
		fail(backend, d->sqlstate, d->message, d->hint);
		return false;
	}
	return d->kind == DIALECT_EMPTY || !refused_in_failed_block(backend, s);
}

/* Its own reference to the statement is the name's afterwards. */
static void name_statement(struct backend *backend, const char *name, struct statement *s)
{
	uint16_t untyped = statement_untyped(s);
	if (untyped) {
		query_fail_untyped(backend, untyped);
		query_begin_failure(backend);
	} else if (*name && prepared_find(&backend->prepared, name)) {
		fail_statement(backend, "42P05", name, "already exists");
	} else if (prepared_put(&backend->prepared, name, statement_share(s))) {
		fail(backend, "54000", "too many prepared statements, or too long ones", NULL);
	} else {
		wire_empty(&backend->output.wire, '1');
	}
}

static void parse(struct backend *backend, const struct wire_message *m)
{
	const char *name = m->parse.name, *sql = query_in_utf8(backend, m->parse.sql);
	struct dialect_context context = query_context(backend);
	if (!sql) {
		fail(backend, "53200", "out of memory", NULL);
		return;
	}
	size_t bytes = strlen(sql);
	if (!wire_utf8_valid(sql, bytes)) {
		query_fail_utf8(backend, sql, bytes);
		query_begin_failure(backend);
		return;
	}
	/* whatever becomes of the new one, the old one is gone */
	if (!*name)
		prepared_close(&backend->prepared, "");
	if (!is_one_statement(sql, bytes)) {
		fail(backend, "42601", "cannot insert multiple commands into a prepared statement",
			NULL);
		return;
	}
	enum pg_type *types = types_of(m->parse.types);
	context.parameter_types = types;
	context.parameter_count = m->parse.types.count;
	struct statement *s = types ? statement_new(sql, bytes, &context) : NULL;
	if (!s)
		fail(backend, "53200", "out of memory", NULL);
	else if (accept_statement(backend, s))
		name_statement(backend, name, s);
	statement_free(s);
	free(types);
}

/* ---- What a statement returns ---------------------------------------------------------------- */

static bool is_engines(const struct statement *s)
{
	return s->dialect.kind == DIALECT_SQL || s->dialect.kind == DIALECT_BEGIN;
}

struct describing {
	struct statement *statement;
	bool failed;
};

static void forget_description(struct statement *s)
{
	for (uint16_t i = 0; i < s->described_count; i++)
		free((char *)s->described[i].name);
	free(s->described);
	s->described = NULL;
	s->described_count = 0;
	s->is_described = false;
}

static int note_columns(void *arg, const struct db_row *row)
{
	struct describing *d = arg;
	struct statement *s = d->statement;
	uint32_t count = db_row_columns(row);
	s->described = calloc(count, sizeof *s->described);
	d->failed = !s->described;
	for (uint32_t i = 0; i < count && !d->failed; i++) {
		const char *declared = db_row_declared(row, i);
		enum pg_type type = PG_UNKNOWN;
		if (i < s->dialect.column_count)
			type = s->dialect.column_types[i];
		if (type == PG_UNKNOWN && declared && *declared)
			type = value_pg_type(declared, DB_NULL);
		if (type == PG_UNKNOWN)
			type = PG_TEXT;
		s->described[i] = (struct wire_column){ .name = strdup(db_row_name(row, i)),
			.type = type,
			.length = value_pg_length(type),
			.modifier = value_pg_type(declared, DB_NULL) == type
					    ? value_modifier(declared)
					    : 0 };
		s->described_count++;
		d->failed = !s->described[i].name;
	}
	return 0;
}

/* Asks the engine what the statement returns. 0, or an error with its message. */
static int ask_columns(struct backend *backend, struct statement *s, char message[DB_MESSAGE_MAX])
{
	struct describing describing = { .statement = s };
	uint32_t parameters;
	forget_description(s);
	int rc = db_describe(backend->db, s->dialect.sql, s->dialect.checks, &parameters,
		note_columns, &describing, message);
	if (rc == 0 && describing.failed) {
		snprintf(message, DB_MESSAGE_MAX, "out of memory");
		rc = DB_ENOMEM;
	}
	s->is_described = rc == 0;
	return rc;
}

/* -1: what is wrong with it is not told here. */
static int count_columns(struct backend *backend, struct statement *s)
{
	char message[DB_MESSAGE_MAX];
	struct wire_column columns[3];
	if (!is_engines(s))
		return utility_columns(s, columns);
	return s->is_described || ask_columns(backend, s, message) == 0 ? s->described_count : -1;
}

/* ---- Bind ------------------------------------------------------------------------------------ */

static enum pg_type type_of_parameter(const struct statement *s, uint16_t index)
{
	return index < s->type_count ? s->types[index] : PG_UNKNOWN;
}

static uint16_t format_of_parameter(const struct wire_message *m, uint16_t index)
{
	if (m->bind.formats.count == 0)
		return 0;
	return wire_word16(m->bind.formats, m->bind.formats.count == 1 ? 0 : index);
}

/* Bytes the portal needs: values, result formats, the raw bytes, and room to decode them. */
static size_t portal_bytes(const struct wire_message *m, bool latin1)
{
	const uint8_t *cursor = m->bind.values;
	size_t bytes = m->bind.value_count * sizeof(struct db_value) +
		       m->bind.result_formats.count * sizeof(uint16_t) + 8;
	for (uint16_t i = 0; i < m->bind.value_count; i++) {
		struct wire_bytes raw = wire_next_value(&cursor);
		size_t kept = raw.length > 0 ? (size_t)raw.length << latin1 : 0;
		if (kept)
			bytes += kept + value_room(kept) + 8;
	}
	return bytes;
}

/* Copies a value to `room`, a text in LATIN1 as UTF-8. */
static struct wire_bytes keep_value(struct wire_bytes raw, bool recode, char *room)
{
	if (raw.length <= 0)
		return raw;
	size_t bytes = (size_t)raw.length;
	if (recode)
		bytes = encoding_from_latin1(room, (const char *)raw.data, bytes);
	else
		memcpy(room, raw.data, bytes);
	return (struct wire_bytes){ .data = (uint8_t *)room, .length = (int32_t)bytes };
}

static char *align8(char *at)
{
	return at + (-(uintptr_t)at & 7);
}

/* Reads the values into the portal's memory. 0, or -1 with `error`. */
static int read_values(struct portal *portal, const struct wire_message *m, char *room, bool latin1,
	struct value_error *error)
{
	const uint8_t *cursor = m->bind.values;
	for (uint16_t i = 0; i < m->bind.value_count; i++) {
		struct wire_bytes raw = wire_next_value(&cursor);
		struct wire_bytes kept =
			keep_value(raw, latin1 && format_of_parameter(m, i) == 0, room);
		size_t bytes = kept.length > 0 ? (size_t)kept.length : 0;
		char *storage = align8(room + bytes);
		room = bytes ? storage + value_room(bytes) : room;
		if (value_read(kept, type_of_parameter(portal->statement, i),
			    format_of_parameter(m, i), storage, &portal->values[i], error)) {
			if (strcmp(error->sqlstate, "22P03") == 0)
				snprintf(error->message, sizeof error->message,
					"incorrect binary data format in bind parameter %u", i + 1);
			return -1;
		}
	}
	return 0;
}

static int fill_portal(
	struct portal *portal, const struct wire_message *m, bool latin1, struct value_error *error)
{
	uint16_t formats = m->bind.result_formats.count;
	char *room = portal_memory(portal, portal_bytes(m, latin1));
	if (!room) {
		*error = (struct value_error){ .sqlstate = "53200", .message = "out of memory" };
		return -1;
	}
	portal->values = (struct db_value *)(void *)room;
	portal->value_count = m->bind.value_count;
	room += m->bind.value_count * sizeof(struct db_value);
	portal->formats = (uint16_t *)(void *)room;
	portal->format_count = formats;
	for (uint16_t i = 0; i < formats; i++)
		portal->formats[i] = wire_word16(m->bind.result_formats, i);
	return read_values(portal, m, room + formats * sizeof(uint16_t), latin1, error);
}

/* 0, or -1 with `error`: there are as many formats of columns as columns, one, or none. */
static int check_formats(
	struct backend *backend, const struct portal *portal, struct value_error *error)
{
	int formats = portal->format_count;
	int columns = formats > 1 ? count_columns(backend, portal->statement) : -1;
	if (columns <= 0 || columns == formats)
		return 0;
	error->sqlstate = "08P01";
	snprintf(error->message, sizeof error->message,
		"bind message has %d result formats but query has %d columns", formats, columns);
	return -1;
}

/* False: an error was told. */
static bool counts_agree(
	struct backend *backend, const struct wire_message *m, const struct statement *s)
{
	uint16_t formats = m->bind.formats.count, values = m->bind.value_count;
	char message[192];
	if (formats > 1 && formats != values)
		snprintf(message, sizeof message,
			"bind message has %u parameter formats but %u parameters", formats, values);
	else if (values != s->parameter_count)
		snprintf(message, sizeof message,
			"bind message supplies %u parameters, but prepared statement \"%.80s\" "
			"requires %u",
			values, m->bind.statement, s->parameter_count);
	else
		return true;
	fail(backend, "08P01", message, NULL);
	return false;
}

/* False: an error was told. */
static bool accept_refreshed(struct backend *backend, struct statement *s)
{
	struct dialect_context context = query_context(backend);
	switch (statement_refresh(s, &context)) {
	case REFRESH_FINE:
		return accept_statement(backend, s);
	case REFRESH_CHANGED:
		fail(backend, "0A000", STATEMENT_CHANGED, NULL);
		return false;
	case REFRESH_NO_MEMORY:
		break;
	}
	fail(backend, "53200", "out of memory", NULL);
	return false;
}

static void bind(struct backend *backend, const struct wire_message *m)
{
	const char *name = m->bind.portal;
	struct value_error error;
	char message[128];
	struct statement *s = prepared_find(&backend->prepared, m->bind.statement);
	if (!s) {
		fail_statement(backend, "26000", m->bind.statement, "does not exist");
		return;
	}
	if (!counts_agree(backend, m, s) || refused_in_failed_block(backend, s) ||
		!accept_refreshed(backend, s))
		return;
	if (*name && portal_find(&backend->prepared, name)) {
		snprintf(message, sizeof message, "cursor \"%.80s\" already exists", name);
		fail(backend, "42P03", message, NULL);
		return;
	}
	struct portal *portal = portal_open(&backend->prepared, name, s);
	if (!portal) {
		fail(backend, "54000", "too many portals", NULL);
	} else if (fill_portal(portal, m, query_speaks_latin1(backend), &error) ||
		   check_formats(backend, portal, &error)) {
		portal_close(&backend->prepared, name);
		fail(backend, error.sqlstate, error.message, NULL);
	} else {
		portal->savepoints = db_session_savepoints(backend->db);
		wire_empty(&backend->output.wire, '2');
	}
}

/* ---- Describe -------------------------------------------------------------------------------- */

/* False: an error was told. */
static bool describe_sql(struct backend *backend, struct statement *s)
{
	char message[DB_MESSAGE_MAX];
	struct error_text told;
	int rc = ask_columns(backend, s, message);
	if (rc == 0)
		return true;
	const struct error_text_source source = { .sqlstate = db_error_sqlstate(rc),
		.message = message,
		.text = s->source,
		.text_bytes = s->source_bytes,
		.offset = -1 };
	error_text_of(&source, &told);
	backend_error(backend, told.sqlstate, told.message, NULL, NULL, told.position);
	query_begin_failure(backend);
	return false;
}

static void put_columns(
	struct backend *backend, const struct statement *s, const struct portal *portal)
{
	struct wire_out *out = &backend->output.wire;
	struct wire_column local[3], *columns = s->described;
	uint16_t count = s->described_count;
	if (!is_engines(s)) {
		columns = local;
		count = utility_columns(s, local);
	}
	for (uint16_t i = 0; i < count; i++) {
		uint16_t format = 0;
		if (portal && portal->format_count)
			format = portal->formats[portal->format_count == 1  ? 0
						 : i < portal->format_count ? i
									    : 0];
		columns[i].format = value_has_binary((enum pg_type)columns[i].type) ? format : 0;
	}
	if (count)
		wire_row_description(out, columns, count);
	else
		wire_empty(out, 'n');
}

static void put_parameters(struct wire_out *out, const struct statement *s)
{
	wire_begin(out, 't');
	wire_put16(out, s->parameter_count);
	for (uint16_t i = 0; i < s->parameter_count; i++) {
		enum pg_type type = type_of_parameter(s, i);
		bool unknown = type == PG_UNKNOWN || type == PG_UNKNOWN_LITERAL;
		wire_put32(out, unknown ? PG_TEXT : type);
	}
	wire_end(out);
}

/* A failed block describes what returns no rows. True: an error was told. */
static bool refused_to_describe(struct backend *backend, struct statement *s)
{
	return in_failed_block(backend) && count_columns(backend, s) != 0 &&
	       refused_in_failed_block(backend, s);
}

static void describe_statement(struct backend *backend, const char *name)
{
	struct statement *s = prepared_find(&backend->prepared, name);
	if (!s) {
		fail_statement(backend, "26000", name, "does not exist");
		return;
	}
	if (refused_to_describe(backend, s))
		return;
	if (is_engines(s) && !in_failed_block(backend) && !describe_sql(backend, s))
		return;
	put_parameters(&backend->output.wire, s);
	put_columns(backend, s, NULL);
}

static void describe_portal_now(struct backend *backend, struct portal *portal)
{
	struct statement *s = portal->statement;
	portal->describe_next = false;
	if (is_engines(s) && !s->is_described && !describe_sql(backend, s))
		return;
	put_columns(backend, s, portal);
}

/* Neither a statement nor a portal is meant. True: an error was told. */
static bool refused_target(struct backend *backend, const struct wire_message *m, const char *what)
{
	char message[64];
	if (m->named.target == 'S' || m->named.target == 'P')
		return false;
	snprintf(message, sizeof message, "invalid %s message subtype %d", what,
		(unsigned char)m->named.target);
	fail(backend, "08P01", message, NULL);
	return true;
}

static void describe(struct backend *backend, const struct wire_message *m)
{
	if (refused_target(backend, m, "DESCRIBE"))
		return;
	if (m->named.target == 'S') {
		describe_statement(backend, m->named.name);
		return;
	}
	struct portal *portal = portal_find(&backend->prepared, m->named.name);
	if (!portal)
		fail_portal(backend, "34000", m->named.name, "does not exist");
	else if (refused_to_describe(backend, portal->statement))
		return;
	else if (is_engines(portal->statement) && !portal->started && !in_failed_block(backend))
		portal->describe_next = backend->prepared.describe_waits = true;
	else
		describe_portal_now(backend, portal);
}

bool extended_settle(struct backend *backend, const struct wire_message *m)
{
	struct prepared *prepared = &backend->prepared;
	const char *executed = m->kind == WIRE_EXECUTE ? m->execute.portal : NULL;
	struct portal *portal = &prepared->unnamed_portal;
	if (!prepared->describe_waits)
		return true;
	prepared->describe_waits = false;
	for (; portal;
		portal = portal == &prepared->unnamed_portal ? prepared->portals : portal->next) {
		const char *name = portal->name ? portal->name : "";
		if (!portal->describe_next || (executed && strcmp(executed, name) == 0))
			continue;
		describe_portal_now(backend, portal);
		if (backend->query.step == STEP_FAILED)
			return false;
	}
	return true;
}

void extended_describe_first(struct backend *backend)
{
	struct query *q = &backend->query;
	char message[DB_MESSAGE_MAX];
	if (!q->describe_due)
		return;
	q->describe_due = false;
	struct statement *s = q->portal->statement;
	if (!is_engines(s) || s->is_described || ask_columns(backend, s, message) == 0)
		put_columns(backend, s, q->portal);
}

/* ---- The rest -------------------------------------------------------------------------------- */

static void execute(struct backend *backend, const struct wire_message *m)
{
	struct portal *portal = portal_find(&backend->prepared, m->execute.portal);
	if (!portal) {
		fail_portal(backend, "34000", m->execute.portal, "does not exist");
		return;
	}
	bool refused = db_session_transaction(backend->db) == 'E' &&
		       !ends_transaction(portal->statement); /* told when it runs */
	if (portal->started && !portal->returns_rows && !refused)
		fail_portal(backend, "55000", m->execute.portal, "cannot be run");
	else
		query_begin_execute(backend, portal, m->execute.max_rows, refused);
}

static void close_named(struct backend *backend, const struct wire_message *m)
{
	if (refused_target(backend, m, "CLOSE"))
		return;
	if (m->named.target == 'S')
		prepared_close(&backend->prepared, m->named.name);
	else
		portal_close(&backend->prepared, m->named.name);
	wire_empty(&backend->output.wire, '3');
}

void extended_message(struct backend *backend, const struct wire_message *m)
{
	switch (m->kind) {
	case WIRE_PARSE:
		parse(backend, m);
		break;
	case WIRE_BIND:
		bind(backend, m);
		break;
	case WIRE_DESCRIBE:
		describe(backend, m);
		break;
	case WIRE_EXECUTE:
		execute(backend, m);
		break;
	case WIRE_CLOSE:
		close_named(backend, m);
		break;
	case WIRE_FLUSH:
		output_send(&backend->output);
		break;
	case WIRE_SYNC:
		query_begin_sync(backend);
		break;
	default:
		break;
	}
}
