/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the lifetimes of statements and portals.
 */
#include "demo-db/server/session/prepared.h"
#include "demo-db/server/dialect/lexer.h"
#include "demo-db/server/dialect/signatures.h"
#include "demo-db/server/dialect/error_text.h"
#include "common/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Statements ------------------------------------------------------------------------------ */

static void refuse_parameter(struct statement *s, struct token t)
{
	struct dialect *d = &s->dialect;
	d->kind = DIALECT_REFUSED;
	strcpy(d->sqlstate, "42P02");
	snprintf(d->message, sizeof d->message, "there is no parameter %.*s",
		(int)(t.bytes < 32 ? t.bytes : 32), t.text);
	d->hint[0] = '\0';
	d->place = (size_t)(t.text - s->source) + 1;
}

/* The highest $n of the text. They go from 1 to 65535, as in PostgreSQL's protocol. */
static void count_parameters(struct statement *s)
{
	struct lexer lexer = { .at = s->source, .end = s->source + s->source_bytes };
	for (struct token t = lexer_next(&lexer); t.kind != TOKEN_END && t.kind != TOKEN_BAD;
		t = lexer_next(&lexer)) {
		if (t.kind != TOKEN_PARAMETER)
			continue;
		unsigned long number = strtoul(t.text + 1, NULL, 10);
		if (number == 0 || number > UINT16_MAX) {
			refuse_parameter(s, t);
		} else if (number > s->used_count) {
			s->has_gaps |= number > s->used_count + 1u;
			s->used_count = s->parameter_count = (uint16_t)number;
		}
	}
}

/* The types that were declared, then those the statement tells. */
static int take_types(struct statement *s, const struct dialect_context *context)
{
	uint16_t declared = context->parameter_count, told = s->dialect.parameter_count;
	uint16_t count = declared > told ? declared : told;
	if (count == 0)
		return 0;
	s->types = calloc(count, sizeof *s->types);
	if (!s->types)
		return -1;
	for (uint16_t i = 0; i < count; i++) {
		s->types[i] = i < declared ? context->parameter_types[i] : PG_UNKNOWN;
		if (s->types[i] == PG_UNKNOWN && i < told)
			s->types[i] = s->dialect.parameter_types[i];
	}
	s->type_count = count;
	if (declared > s->parameter_count)
		s->parameter_count = declared;
	return 0;
}

uint16_t statement_untyped(const struct statement *s)
{
	bool used[UINT16_MAX + 1];
	if (!s->has_gaps && s->parameter_count == s->used_count)
		return 0;
	memset(used, false, s->parameter_count + 1u);
	struct lexer lexer = { .at = s->source, .end = s->source + s->source_bytes };
	for (struct token t = lexer_next(&lexer); t.kind != TOKEN_END && t.kind != TOKEN_BAD;
		t = lexer_next(&lexer))
		if (t.kind == TOKEN_PARAMETER)
			used[strtoul(t.text + 1, NULL, 10)] = true;
	for (uint16_t i = 0; i < s->parameter_count; i++)
		if (!used[i + 1] && (i >= s->type_count || s->types[i] == PG_UNKNOWN))
			return (uint16_t)(i + 1);
	return 0;
}

static uint64_t version_of(const struct dialect_context *context)
{
	return context->schema ? context->schema->version : 0;
}

/* DROP … IF, CREATE … IF */
static bool is_conditional(const char *sql, size_t bytes)
{
	struct lexer lexer = { .at = sql, .end = sql + bytes };
	struct token t = lexer_next(&lexer);
	if (!token_is(&t, "drop") && !token_is(&t, "create"))
		return false;
	for (int i = 0; i < 4 && !token_is(&t, "if"); i++)
		t = lexer_next(&lexer);
	return token_is(&t, "if");
}

static int translate(struct statement *s, const struct dialect_context *context)
{
	int status = dialect_translate(s->source, s->source_bytes, context, &s->dialect);
	if (status == 0 && s->dialect.sql && s->dialect.kind != DIALECT_BACKUP) {
		size_t bytes = strlen(s->dialect.sql);
		const char *plain = s->dialect.plain ? s->dialect.plain : s->dialect.sql;
		bool assigns = s->dialect.assigns; /* then the source says the same in less */
		s->kind = priority_of(
			assigns ? s->source : plain, assigns ? s->source_bytes : strlen(plain));
		s->conditional = is_conditional(s->dialect.sql, bytes);
		s->signature = hash_bytes(HASH_START, s->dialect.sql, bytes);
		signatures_note(s->signature, s->source, s->source_bytes);
	}
	return status;
}

/* What refuses the rest refuses all of it. Its text ends as the statement's does. */
static int take_rest(struct statement *s, const struct dialect_context *context)
{
	struct dialect *d = &s->dialect;
	if (!d->rest)
		return 0;
	s->rest = statement_new(d->rest, strlen(d->rest), context);
	if (!s->rest)
		return -1;
	const struct dialect *rest = &s->rest->dialect;
	if (rest->kind != DIALECT_REFUSED)
		return 0;
	d->kind = DIALECT_REFUSED;
	memcpy(d->sqlstate, rest->sqlstate, sizeof d->sqlstate);
	memcpy(d->message, rest->message, sizeof d->message);
	memcpy(d->hint, rest->hint, sizeof d->hint);
	d->place = rest->place ? rest->place + s->source_bytes - s->rest->source_bytes : 0;
	return 0;
}

struct statement *statement_new(
	const char *source, size_t bytes, const struct dialect_context *context)
{
	struct statement *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->references = 1;
	s->schema_version = version_of(context);
	s->source = strndup(source, bytes);
	s->source_bytes = bytes;
	if (s->source && translate(s, context) == 0 && take_rest(s, context) == 0) {
		if (s->dialect.kind != DIALECT_PREPARE) /* those are of the statement in it */
			count_parameters(s);
		if (take_types(s, context) == 0)
			return s;
	}
	statement_free(s);
	return NULL;
}

/* What is not known is alike. */
static bool returns_alike(const struct dialect *a, const struct dialect *b)
{
	if (!a->column_count || !b->column_count)
		return true;
	for (uint32_t i = 0; i < a->column_count && i < b->column_count; i++)
		if (a->column_types[i] != b->column_types[i] && a->column_types[i] != PG_UNKNOWN &&
			b->column_types[i] != PG_UNKNOWN)
			return false;
	return a->column_count == b->column_count;
}

enum refresh statement_refresh(struct statement *s, const struct dialect_context *context)
{
	struct dialect_context own = *context;
	struct dialect fresh;
	if (s->dialect.kind != DIALECT_SQL || s->schema_version == version_of(context))
		return REFRESH_FINE;
	own.parameter_types = s->types;
	own.parameter_count = s->type_count;
	if (dialect_translate(s->source, s->source_bytes, &own, &fresh))
		return REFRESH_NO_MEMORY;
	if (!returns_alike(&s->dialect, &fresh)) {
		dialect_free(&fresh);
		return REFRESH_CHANGED;
	}
	dialect_free(&s->dialect);
	s->dialect = fresh;
	s->is_described = false;
	s->schema_version = version_of(context);
	return REFRESH_FINE;
}

char *statement_with_columns(
	const struct statement *s, const char *list, struct dialect_context context)
{
	struct dialect d;
	char *sql = NULL;
	context.insert_columns = list;
	if (dialect_translate(s->source, s->source_bytes, &context, &d) == 0 &&
		d.kind == DIALECT_SQL) {
		sql = d.sql;
		d.sql = NULL;
	}
	dialect_free(&d);
	return sql;
}

struct statement *statement_share(struct statement *statement)
{
	statement->references++;
	return statement;
}

void statement_free(struct statement *s)
{
	if (!s || --s->references)
		return;
	for (uint16_t i = 0; i < s->described_count; i++)
		free((char *)s->described[i].name);
	free(s->described);
	free(s->types);
	free(s->source);
	statement_free(s->rest);
	dialect_free(&s->dialect);
	free(s);
}

struct statement *prepared_simple(struct prepared *prepared, const char *source, size_t bytes,
	uint64_t hash, uint32_t literals, const struct dialect_context *context)
{
	struct statement **slot = &prepared->cache[hash % PREPARED_CACHE];
	struct statement *s = *slot;
	if (s && s->schema_version == version_of(context) && s->hash == hash &&
		s->source_bytes == bytes && s->literal_count == literals &&
		memcmp(s->source, source, bytes) == 0)
		return s;
	struct dialect_context own = *context;
	own.literal_count = (uint16_t)literals;
	s = statement_new(source, bytes, &own);
	if (!s)
		return NULL;
	s->hash = hash;
	s->literal_count = (uint16_t)literals;
	if (bytes > PREPARED_CACHED_MAX)
		slot = &prepared->passing;
	statement_free(*slot);
	*slot = s;
	return s;
}

void prepared_let_pass(struct prepared *prepared)
{
	statement_free(prepared->passing);
	prepared->passing = NULL;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static struct prepared_name **place_of(struct prepared *prepared, const char *name)
{
	struct prepared_name **at =
		&prepared->names[hash_bytes(HASH_START, name, strlen(name)) % PREPARED_BUCKETS];
	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	return at;
}

struct statement *prepared_find(struct prepared *prepared, const char *name)
{
	if (!*name)
		return prepared->unnamed;
	struct prepared_name *found = *place_of(prepared, name);
	return found ? found->statement : NULL;
}

int prepared_put(struct prepared *prepared, const char *name, struct statement *statement)
{
	if (!*name) {
		statement_free(prepared->unnamed);
		prepared->unnamed = statement;
		return 0;
	}
	size_t bytes = strlen(name) + 1;
	bool room = prepared->name_count < PREPARED_NAMES_MAX &&
		    statement->source_bytes <= PREPARED_BYTES_MAX - prepared->named_bytes;
	struct prepared_name *new = room ? malloc(sizeof *new + bytes) : NULL;
	if (!new) {
		statement_free(statement);
		return -1;
	}
	new->statement = statement;
	memcpy(new->name, name, bytes);
	struct prepared_name **at = place_of(prepared, name);
	new->next = *at;
	*at = new;
	prepared->name_count++;
	prepared->named_bytes += statement->source_bytes;
	return 0;
}

void prepared_close(struct prepared *prepared, const char *name)
{
	if (!*name) {
		statement_free(prepared->unnamed);
		prepared->unnamed = NULL;
		return;
	}
	struct prepared_name **at = place_of(prepared, name), *found = *at;
	if (!found)
		return;
	*at = found->next;
	prepared->named_bytes -= found->statement->source_bytes;
	statement_free(found->statement);
	free(found);
	prepared->name_count--;
}

void prepared_close_all(struct prepared *prepared)
{
	for (size_t i = 0; i < PREPARED_BUCKETS; i++)
		while (prepared->names[i])
			prepared_close(prepared, prepared->names[i]->name);
}

/* ---- Portals --------------------------------------------------------------------------------- */

void portal_drop_rows(struct prepared *prepared, struct portal *portal)
{
	prepared->kept_bytes -= portal->rows.bytes;
	wire_out_free(&portal->rows);
}

/* Everything but the memory, which the next Bind uses again. */
static void portal_empty(struct prepared *prepared, struct portal *portal)
{
	if (portal->memory_bytes > PORTAL_MEMORY_MAX) {
		free(portal->memory);
		portal->memory = NULL;
		portal->memory_bytes = 0;
	}
	void *memory = portal->memory;
	size_t bytes = portal->memory_bytes;
	statement_free(portal->statement);
	portal_drop_rows(prepared, portal);
	*portal = (struct portal){
		.name = portal->name, .next = portal->next, .memory = memory, .memory_bytes = bytes
	};
}

static struct portal **portal_place(struct prepared *prepared, const char *name)
{
	struct portal **at = &prepared->portals;
	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	return at;
}

struct portal *portal_find(struct prepared *prepared, const char *name)
{
	if (*name)
		return *portal_place(prepared, name);
	return prepared->unnamed_portal.statement ? &prepared->unnamed_portal : NULL;
}

static struct portal *portal_named(struct prepared *prepared, const char *name)
{
	if (*portal_place(prepared, name) || prepared->portal_count == PREPARED_PORTALS_MAX)
		return NULL;
	struct portal *portal = calloc(1, sizeof *portal);
	if (!portal)
		return NULL;
	portal->name = strdup(name);
	if (!portal->name) {
		free(portal);
		return NULL;
	}
	portal->next = prepared->portals;
	prepared->portals = portal;
	prepared->portal_count++;
	return portal;
}

struct portal *portal_open(struct prepared *prepared, const char *name, struct statement *statement)
{
	struct portal *portal = *name ? portal_named(prepared, name) : &prepared->unnamed_portal;
	if (!portal)
		return NULL;
	statement_share(statement);
	portal_empty(prepared, portal);
	portal->statement = statement;
	return portal;
}

void *portal_memory(struct portal *portal, size_t bytes)
{
	if (bytes <= portal->memory_bytes)
		return portal->memory;
	free(portal->memory);
	portal->memory_bytes = 0;
	portal->memory = malloc(bytes);
	if (portal->memory)
		portal->memory_bytes = bytes;
	return portal->memory;
}

static void portal_drop(struct prepared *prepared, struct portal **at)
{
	struct portal *portal = *at;
	*at = portal->next;
	portal_empty(prepared, portal);
	free(portal->memory);
	free(portal->name);
	free(portal);
	prepared->portal_count--;
}

void portal_close(struct prepared *prepared, const char *name)
{
	if (!*name)
		portal_empty(prepared, &prepared->unnamed_portal);
	else if (*portal_place(prepared, name))
		portal_drop(prepared, portal_place(prepared, name));
}

void portal_close_all(struct prepared *prepared)
{
	portal_empty(prepared, &prepared->unnamed_portal);
	while (prepared->portals)
		portal_drop(prepared, &prepared->portals);
}

/* Was it bound behind the last savepoint there is? */
static bool keep_savepoints(struct portal *portal, uint32_t savepoints, bool rolled_back)
{
	bool since = portal->savepoints >= savepoints;
	if (portal->savepoints > savepoints)
		portal->savepoints = savepoints;
	return !(since && rolled_back);
}

void portal_keep_savepoints(struct prepared *prepared, uint32_t savepoints, bool rolled_back)
{
	if (!keep_savepoints(&prepared->unnamed_portal, savepoints, rolled_back))
		portal_empty(prepared, &prepared->unnamed_portal);
	for (struct portal **at = &prepared->portals; *at;) {
		if (keep_savepoints(*at, savepoints, rolled_back))
			at = &(*at)->next;
		else
			portal_drop(prepared, at);
	}
}

void prepared_free(struct prepared *prepared)
{
	portal_close_all(prepared);
	free(prepared->unnamed_portal.memory);
	prepared_close(prepared, "");
	prepared_close_all(prepared);
	for (size_t i = 0; i < PREPARED_CACHE; i++)
		statement_free(prepared->cache[i]);
	prepared_let_pass(prepared);
}
