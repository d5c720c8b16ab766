/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns prepared statements as SQL.
 */
#include "demo-db/server/session/prepare_sql.h"
#include "demo-db/server/dialect/lexer.h"
#include "demo-db/server/session/query_errors.h"
#include "demo-db/server/session/backend.h"
#include "demo-db/server/session/services.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool refuse(
	struct backend *backend, const char *sqlstate, const char *words, const char *name)
{
	char message[DIALECT_TEXT_MAX];
	snprintf(message, sizeof message, "prepared statement \"%.100s\" %s", name, words);
	query_fail(backend, sqlstate, message, NULL);
	return false;
}

/* ---- PREPARE --------------------------------------------------------------------------------- */

static bool is_end(const struct token *t)
{
	return t->kind == TOKEN_END || t->kind == TOKEN_BAD;
}

/* The next of the types between commas; what is unknown here is left to the value. */
static bool next_type(struct lexer *lexer, enum pg_type *type)
{
	struct token t = lexer_next(lexer);
	int depth = 0;
	if (is_end(&t))
		return false;
	*type = pg_type_named(t.text, t.bytes);
	if (*type == PG_UNKNOWN)
		*type = PG_UNKNOWN_LITERAL;
	for (; !is_end(&t) && (depth || !token_is_symbol(&t, ",")); t = lexer_next(lexer))
		depth += token_is_symbol(&t, "(") - token_is_symbol(&t, ")");
	return true;
}

/* What stands in the parentheses; malloc'ed, NULL: memory is out. */
static enum pg_type *types_of(const char *text, uint16_t *count)
{
	const struct lexer start = { .at = text, .end = text + strlen(text) };
	struct lexer lexer = start;
	enum pg_type type;
	*count = 0;
	while (next_type(&lexer, &type))
		++*count;
	enum pg_type *types = calloc(*count + 1u, sizeof *types);
	lexer = start;
	for (uint16_t i = 0; types && i < *count; i++)
		next_type(&lexer, &types[i]);
	return types;
}

bool prepare_sql_prepare(struct backend *backend, const struct dialect *d)
{
	struct dialect_context context = query_context(backend);
	if (prepared_find(&backend->prepared, d->name))
		return refuse(backend, "42P05", "already exists", d->name);
	enum pg_type *types = types_of(d->value, &context.parameter_count);
	context.parameter_types = types;
	struct statement *s = types ? statement_new(d->sql, strlen(d->sql), &context) : NULL;
	free(types);
	if (s && s->dialect.kind == DIALECT_REFUSED) {
		query_fail(backend, s->dialect.sqlstate, s->dialect.message, s->dialect.hint);
		statement_free(s);
		return false;
	}
	if (!s) {
		query_fail(backend, "53200", "out of memory", NULL);
		return false;
	}
	uint16_t untyped = statement_untyped(s);
	if (untyped) {
		statement_free(s);
		return query_fail_untyped(backend, untyped), false;
	}
	if (prepared_put(&backend->prepared, d->name, s) == 0)
		return true;
	query_fail(backend, "54000", "too many prepared statements, or too long ones", NULL);
	return false;
}

bool prepare_sql_deallocate(struct backend *backend, const struct dialect *d)
{
	if (*d->name && !prepared_find(&backend->prepared, d->name))
		return refuse(backend, "26000", "does not exist", d->name);
	if (*d->name)
		prepared_close(&backend->prepared, d->name);
	else
		prepared_close_all(&backend->prepared);
	return true;
}

#define INTEGER_ROOM 32 /* of its digits */

/* ---- EXECUTE --------------------------------------------------------------------------------- */

/* One that is no integer stays the text of its digits until its type is known. */
static bool read_number(const struct token *t, bool negative, char **room, struct db_value *value)
{
	char *text = *room, *end;
	*room += sprintf(text, "%s%.*s", negative ? "-" : "", (int)t->bytes, t->text) + 1;
	errno = 0;
	value->type = DB_INTEGER;
	value->integer = strtoll(text, &end, 10);
	if (!*end && !errno)
		return true;
	strtod(text, &end);
	*value = (struct db_value){
		.type = DB_TEXT, .length = (uint32_t)strlen(text), .data = text
	};
	return !*end;
}

/* 'text' without its quotes, into `room`, which moves on. */
static void read_string(const struct token *t, char **room, struct db_value *value)
{
	char *start = *room;
	for (size_t i = 1; i + 1 < t->bytes; i++) {
		*(*room)++ = t->text[i];
		i += t->text[i] == '\'';
	}
	*value = (struct db_value){
		.type = DB_TEXT, .length = (uint32_t)(*room - start), .data = start
	};
}

static bool read_constant(struct lexer *lexer, struct token t, char **room, struct db_value *value)
{
	bool negative = token_is_symbol(&t, "-");
	if (negative)
		t = lexer_next(lexer);
	*value = (struct db_value){ .type = DB_NULL };
	if (t.kind == TOKEN_NUMBER)
		return read_number(&t, negative, room, value);
	if (negative)
		return false;
	if (t.kind == TOKEN_STRING) {
		read_string(&t, room, value);
		return true;
	}
	bool truth = token_is(&t, "true");
	if (truth || token_is(&t, "false"))
		*value = (struct db_value){ .type = DB_INTEGER, .integer = truth };
	return value->type == DB_INTEGER || token_is(&t, "null");
}

/* Into the query's literals; -1: not constants, or too many of them. */
static int read_values(struct query *q, const char *text, char *room)
{
	struct lexer lexer = { .at = text, .end = text + strlen(text) };
	struct token t = lexer_next(&lexer);
	q->literal_count = 0;
	while (t.kind != TOKEN_END) {
		if (q->literal_count == LITERALS_MAX ||
			!read_constant(&lexer, t, &room, &q->literals[q->literal_count]))
			return -1;
		q->literal_count++;
		t = lexer_next(&lexer);
		if (t.kind == TOKEN_END)
			return 0;
		if (!token_is_symbol(&t, ","))
			return -1;
		t = lexer_next(&lexer);
	}
	return 0;
}

static bool is_integer(enum pg_type type)
{
	return type == PG_INT2 || type == PG_INT4 || type == PG_INT8;
}

/* As a value of the parameter's type. A number with a point is rounded where an integer is wanted. */
static int fit_value(
	struct db_value *value, enum pg_type type, char *storage, struct value_error *error)
{
	char text[32], *end;
	struct wire_bytes bytes = { .data = value->data, .length = (int32_t)value->length };
	if (value->type == DB_NULL)
		return 0;
	if (value->type == DB_INTEGER) {
		if (type == PG_UNKNOWN || type == PG_UNKNOWN_LITERAL || type == PG_BOOL)
			return 0;
		bytes.length = snprintf(text, sizeof text, "%lld", (long long)value->integer);
		bytes.data = memcpy(storage, text, sizeof text);
		storage += sizeof text;
	} else if (is_integer(type) && memchr(value->data, '.', value->length)) {
		double number = strtod(value->data, &end);
		if (!*end && fabs(number) < 9e18)
			bytes.length = snprintf(text, sizeof text, "%.0f", round(number));
		if (!*end)
			bytes.data = (const uint8_t *)text;
	}
	return value_read(bytes, type, 0, storage, value, error);
}

/* False: an error was told. */
static bool fit_values(struct backend *backend, const struct statement *s, char *room)
{
	struct query *q = &backend->query;
	struct value_error error = { .sqlstate = "" };
	for (uint16_t i = 0; i < q->literal_count; i++) {
		enum pg_type type = i < s->type_count ? s->types[i] : PG_UNKNOWN;
		size_t bytes = q->literals[i].type == DB_TEXT ? q->literals[i].length : 0;
		if (fit_value(&q->literals[i], type, room, &error))
			return query_fail(backend, error.sqlstate, error.message, NULL), false;
		room += value_room(bytes) + INTEGER_ROOM;
	}
	return true;
}

static bool refuse_count(struct backend *backend, const struct statement *s, const char *name)
{
	char message[DIALECT_TEXT_MAX], detail[80];
	snprintf(message, sizeof message,
		"wrong number of parameters for prepared statement \"%.100s\"", name);
	snprintf(detail, sizeof detail, "Expected %u parameters but got %u.", s->parameter_count,
		backend->query.literal_count);
	backend_error(backend, "42601", message, detail, NULL, 0);
	backend->query.failed = true;
	backend->query.step = STEP_FAILED;
	return false;
}

bool prepare_sql_execute(struct backend *backend)
{
	struct query *q = &backend->query;
	const struct dialect *d = &q->statement->dialect;
	struct statement *s = prepared_find(&backend->prepared, d->name);
	if (!s)
		return refuse(backend, "26000", "does not exist", d->name);
	/* every constant, with a NUL behind it, and what they are as values of their types */
	size_t bytes = strlen(d->sql) + 1, values = LITERALS_MAX * (40 + INTEGER_ROOM);
	char *room = malloc(2 * bytes + 4 * bytes + values);
	free(q->executed);
	q->executed = room;
	if (!room) {
		query_fail(backend, "53200", "out of memory", NULL);
		return false;
	}
	if (!q->simple || read_values(q, d->sql, room)) {
		query_fail(backend, "0A000", "EXECUTE of this form is not supported",
			"It takes up to 32 constants; the extended protocol takes anything.");
		return false;
	}
	if (q->literal_count != s->parameter_count)
		return refuse_count(backend, s, d->name);
	if (!fit_values(backend, s, room + 2 * bytes))
		return false;
	struct dialect_context context = query_context(backend);
	switch (statement_refresh(s, &context)) {
	case REFRESH_FINE:
		break;
	case REFRESH_CHANGED:
		return query_fail(backend, "0A000", STATEMENT_CHANGED, NULL), false;
	case REFRESH_NO_MEMORY:
		return query_fail(backend, "53200", "out of memory", NULL), false;
	}
	q->written = NULL; /* errors are about another text */
	query_take(q, s);
	return true;
}
