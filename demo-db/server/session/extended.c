/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the messages of the extended protocol: names, parameters, descriptions. What Execute and
 * Sync begin is run by query.c.
 *
 * A Describe of a portal is answered together with the Execute behind it, when that comes next, so
 * that the first row can tell the types nobody declared.
 */
#include "demo-db/server/session/extended.h"
#include "demo-db/server/dialect/lexer.h"
#include "demo-db/server/session/utility.h"
#include "demo-db/server/server.h"
#include "demo-db/server/dialect/error_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(struct client *client, const char *sqlstate, const char *message, const char *hint)
{
	client_error(client, sqlstate, message, NULL, hint, 0);
	query_begin_failure(client);
}

static void fail_statement(
	struct client *client, const char *sqlstate, const char *name, const char *what)
{
	char message[160];
	if (*name)
		snprintf(message, sizeof message, "prepared statement \"%.80s\" %s", name, what);
	else
		snprintf(message, sizeof message, "unnamed prepared statement %s", what);
	fail(client, sqlstate, message, NULL);
}

static void fail_portal(
	struct client *client, const char *sqlstate, const char *name, const char *what)
{
	char message[160];
	snprintf(message, sizeof message, "portal \"%.80s\" %s", name, what);
	fail(client, sqlstate, message, NULL);
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

static int take_types(struct statement *s, struct wire_words types)
{
	if (types.count == 0)
		return 0;
	s->types = calloc(types.count, sizeof *s->types);
	if (!s->types)
		return -1;
	for (uint16_t i = 0; i < types.count; i++)
		s->types[i] = (enum pg_type)wire_word32(types, i);
	s->type_count = types.count;
	return 0;
}

static bool ends_transaction(const struct statement *s)
{
	const char *sql = s->dialect.sql;
	return s->dialect.kind == DIALECT_SQL &&
	       (s->dialect.revives || strcmp(sql, "COMMIT") == 0 || strcmp(sql, "ROLLBACK") == 0);
}

/* In a failed block only what ends it, or ROLLBACK TO; but who does not know yet hears it when it
 * executes. True: an error was told. */
static bool refused_in_failed_block(struct client *client, const struct statement *s)
{
	if (db_session_transaction(client->session) != 'E' || ends_transaction(s) ||
		db_session_untold(client->session))
		return false;
	fail(client, "25P02",
		"current transaction is aborted, commands ignored until end of transaction block",
		NULL);
	return true;
}

static bool accept_statement(struct client *client, const struct statement *s)
{
	const struct dialect *d = &s->dialect;
	if (d->kind == DIALECT_REFUSED) {
		fail(client, d->sqlstate, d->message, d->hint);
		return false;
	}
	return !refused_in_failed_block(client, s);
}

static void parse(struct client *client, const struct wire_message *m)
{
	const char *name = m->parse.name, *sql = m->parse.sql;
	size_t bytes = strlen(sql);
	struct dialect_context context = query_context(client);
	if (*name && prepared_find(&client->prepared, name)) {
		fail_statement(client, "42P05", name, "already exists");
		return;
	}
	if (!wire_utf8_valid(sql, bytes)) {
		fail(client, "22021", "invalid byte sequence for encoding \"UTF8\"", NULL);
		return;
	}
	if (!is_one_statement(sql, bytes)) {
		fail(client, "42601", "cannot insert multiple commands into a prepared statement",
			NULL);
		return;
	}
	struct statement *s = statement_new(sql, bytes, &context);
	if (s && !accept_statement(client, s)) {
		statement_free(s);
		return;
	}
	if (!s || take_types(s, m->parse.types)) {
		statement_free(s);
		fail(client, "53200", "out of memory", NULL);
	} else if (prepared_put(&client->prepared, name, s)) {
		fail(client, "54000", "too many prepared statements, or too long ones", NULL);
	} else {
		wire_empty(&client->output.wire, '1');
	}
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
static size_t portal_bytes(const struct wire_message *m)
{
	const uint8_t *cursor = m->bind.values;
	size_t bytes = m->bind.value_count * sizeof(struct db_value) +
		       m->bind.result_formats.count * sizeof(uint16_t) + 8;
	for (uint16_t i = 0; i < m->bind.value_count; i++) {
		struct wire_bytes raw = wire_next_value(&cursor);
		if (raw.length > 0)
			bytes += (size_t)raw.length + value_room((size_t)raw.length) + 8;
	}
	return bytes;
}

static char *align8(char *at)
{
	return at + (-(uintptr_t)at & 7);
}

/* Reads the values into the portal's memory. 0, or -1 with `error`. */
static int read_values(
	struct portal *portal, const struct wire_message *m, char *room, struct value_error *error)
{
	const uint8_t *cursor = m->bind.values;
	for (uint16_t i = 0; i < m->bind.value_count; i++) {
		struct wire_bytes raw = wire_next_value(&cursor);
		size_t bytes = raw.length > 0 ? (size_t)raw.length : 0;
		struct wire_bytes kept = { .data = (uint8_t *)room, .length = raw.length };
		memcpy(room, bytes ? (const void *)raw.data : "", bytes);
		char *storage = align8(room + bytes);
		room = bytes ? storage + value_room(bytes) : room;
		if (value_read(kept, type_of_parameter(portal->statement, i),
			    format_of_parameter(m, i), storage, &portal->values[i], error))
			return -1;
	}
	return 0;
}

static int fill_portal(
	struct portal *portal, const struct wire_message *m, struct value_error *error)
{
	uint16_t formats = m->bind.result_formats.count;
	char *room = portal_memory(portal, portal_bytes(m));
	if (!room) {
		*error = (struct value_error){ .sqlstate = "53200", .message = "out of memory" };
		return -1;
	}
	portal->values = (struct db_value *)(void *)room;
	portal->value_count = m->bind.value_count;
	room += m->bind.value_count * sizeof(struct db_value);
	portal->formats = (uint16_t *)(void *)room;
	portal->format_count = formats;
	for (uint16_t i = 0; i < formats; i++) {
		portal->formats[i] = wire_word16(m->bind.result_formats, i);
		if (portal->formats[i] > 1) {
			*error = (struct value_error){ .sqlstate = "22023",
				.message = "unsupported format code" };
			return -1;
		}
	}
	return read_values(portal, m, room + formats * sizeof(uint16_t), error);
}

static void bind(struct client *client, const struct wire_message *m)
{
	struct value_error error;
	char message[160];
	struct statement *s = prepared_find(&client->prepared, m->bind.statement);
	if (!s) {
		fail_statement(client, "26000", m->bind.statement, "does not exist");
		return;
	}
	if (refused_in_failed_block(client, s))
		return;
	if (m->bind.value_count != s->parameter_count) {
		snprintf(message, sizeof message,
			"bind message supplies %u parameters, but prepared statement \"%.60s\" "
			"requires %u",
			m->bind.value_count, m->bind.statement, s->parameter_count);
		fail(client, "08P01", message, NULL);
		return;
	}
	if (m->bind.formats.count > 1 && m->bind.formats.count != m->bind.value_count) {
		snprintf(message, sizeof message,
			"bind message has %u parameter formats but %u parameters",
			m->bind.formats.count, m->bind.value_count);
		fail(client, "08P01", message, NULL);
		return;
	}
	if (*m->bind.portal && portal_find(&client->prepared, m->bind.portal)) {
		fail_portal(client, "42P03", m->bind.portal, "already exists");
		return;
	}
	struct portal *portal = portal_open(&client->prepared, m->bind.portal, s);
	if (!portal) {
		fail(client, "54000", "too many portals", NULL);
	} else if (fill_portal(portal, m, &error)) {
		portal_close(&client->prepared, m->bind.portal);
		fail(client, error.sqlstate, error.message, NULL);
	} else {
		wire_empty(&client->output.wire, '2');
	}
}

/* ---- Describe -------------------------------------------------------------------------------- */

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
		if (declared && *declared)
			type = value_pg_type(declared, DB_NULL);
		else if (i < s->columns.count)
			type = s->columns.types[i];
		if (type == PG_UNKNOWN)
			type = PG_TEXT;
		s->described[i] = (struct wire_column){ .name = strdup(db_row_name(row, i)),
			.type = type,
			.length = value_pg_length(type) };
		s->described_count++;
		d->failed = !s->described[i].name;
	}
	return 0;
}

/* Asks the engine what the statement returns. False: an error was told. */
static bool describe_sql(struct client *client, struct statement *s)
{
	struct describing describing = { .statement = s };
	char message[DB_MESSAGE_MAX];
	struct wording wording;
	uint32_t parameters;
	forget_description(s);
	int rc = db_describe(client->session, s->dialect.sql, s->dialect.checks, &parameters,
		note_columns, &describing, message);
	if (rc == 0 && !describing.failed) {
		s->is_described = true;
		return true;
	}
	const struct wording_source source = { .sqlstate = rc ? db_error_sqlstate(rc) : "53200",
		.message = rc ? message : "out of memory",
		.text = s->source,
		.text_bytes = s->source_bytes,
		.offset = -1 };
	wording_of(&source, &wording);
	client_error(client, wording.sqlstate, wording.message, NULL, NULL, wording.position);
	query_begin_failure(client);
	return false;
}

static bool is_engines(const struct statement *s)
{
	return s->dialect.kind == DIALECT_SQL || s->dialect.kind == DIALECT_BEGIN;
}

static void put_columns(
	struct client *client, const struct statement *s, const struct portal *portal)
{
	struct wire_out *out = &client->output.wire;
	struct wire_column local[3], *columns = s->described;
	uint16_t count = s->described_count;
	if (!is_engines(s)) {
		columns = local;
		count = local_columns(s, local);
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
		wire_put32(out, type == PG_UNKNOWN ? PG_TEXT : type);
	}
	wire_end(out);
}

static void describe_statement(struct client *client, const char *name)
{
	struct statement *s = prepared_find(&client->prepared, name);
	if (!s) {
		fail_statement(client, "26000", name, "does not exist");
		return;
	}
	if (refused_in_failed_block(client, s) || (is_engines(s) && !describe_sql(client, s)))
		return;
	put_parameters(&client->output.wire, s);
	put_columns(client, s, NULL);
}

static void describe_portal_now(struct client *client, struct portal *portal)
{
	struct statement *s = portal->statement;
	portal->describe_next = false;
	if (is_engines(s) && !s->is_described && !describe_sql(client, s))
		return;
	put_columns(client, s, portal);
}

static void describe(struct client *client, const struct wire_message *m)
{
	if (m->named.target == 'S') {
		describe_statement(client, m->named.name);
		return;
	}
	struct portal *portal = portal_find(&client->prepared, m->named.name);
	if (!portal)
		fail_portal(client, "34000", m->named.name, "does not exist");
	else if (refused_in_failed_block(client, portal->statement))
		return;
	else if (is_engines(portal->statement) && !portal->rows_left && !portal->finished)
		portal->describe_next = client->prepared.describe_waits = true;
	else
		describe_portal_now(client, portal);
}

/* A Describe is waiting, and what comes is not the Execute it hoped for. False: it failed. */
static bool settle_describe(struct client *client, const struct wire_message *m)
{
	struct prepared *prepared = &client->prepared;
	const char *executed = m->kind == WIRE_EXECUTE ? m->execute.portal : NULL;
	struct portal *portal = &prepared->unnamed_portal;
	for (; portal;
		portal = portal == &prepared->unnamed_portal ? prepared->portals : portal->next) {
		const char *name = portal->name ? portal->name : "";
		if (!portal->describe_next || (executed && strcmp(executed, name) == 0))
			continue;
		describe_portal_now(client, portal);
		if (client->query.step == STEP_FAILED)
			return false;
	}
	return true;
}

/* ---- The rest -------------------------------------------------------------------------------- */

static void execute(struct client *client, const struct wire_message *m)
{
	struct portal *portal = portal_find(&client->prepared, m->execute.portal);
	if (!portal) {
		fail_portal(client, "34000", m->execute.portal, "does not exist");
		return;
	}
	if (portal->finished && strncmp(portal->tag, "SELECT", 6) != 0)
		fail_portal(client, "55000", m->execute.portal, "cannot be run");
	else
		query_begin_execute(client, portal, m->execute.max_rows);
}

static void close_named(struct client *client, const struct wire_message *m)
{
	if (m->named.target == 'S')
		prepared_close(&client->prepared, m->named.name);
	else
		portal_close(&client->prepared, m->named.name);
	wire_empty(&client->output.wire, '3');
}

void extended_message(struct client *client, const struct wire_message *m)
{
	if (client->query.skip_to_sync && m->kind != WIRE_SYNC)
		return;
	if (!client->query.skip_to_sync && client->prepared.describe_waits) {
		client->prepared.describe_waits = false;
		if (!settle_describe(client, m) && m->kind != WIRE_SYNC)
			return;
	}
	switch (m->kind) {
	case WIRE_PARSE:
		parse(client, m);
		break;
	case WIRE_BIND:
		bind(client, m);
		break;
	case WIRE_DESCRIBE:
		describe(client, m);
		break;
	case WIRE_EXECUTE:
		execute(client, m);
		break;
	case WIRE_CLOSE:
		close_named(client, m);
		break;
	case WIRE_FLUSH:
		output_send(&client->output);
		break;
	case WIRE_SYNC:
		query_begin_sync(client);
		break;
	default:
		break;
	}
}
