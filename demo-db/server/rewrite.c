/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the token-level rewriting of expressions and definitions. While tokens are copied out it
 * remembers where the last complete operand began, so that a cast behind it can be put around it.
 * It must not know which statements the server answers itself.
 */
#include "demo-db/server/rewrite.h"
#include "demo-db/server/lexer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX  100 /* parentheses inside each other */
#define NO_OPERAND SIZE_MAX

struct text {
	char *data;
	size_t bytes, capacity;
	bool failed;
};

struct rewriter {
	struct rewrite *rewrite;
	struct lexer lexer;
	struct token token, previous;
	struct text out;
	size_t operand_at;	     /* where the last complete operand starts in `out` */
	size_t opened_at[DEPTH_MAX]; /* where the operand of each open parenthesis starts */
	unsigned depth;
	bool create_table, create_index;
};

/* ---- Output ------------------------------------------------------------------------------- */

static void append(struct text *t, const char *data, size_t bytes)
{
	if (t->failed)
		return;
	if (t->capacity - t->bytes <= bytes) {
		size_t capacity = (t->bytes + bytes + 1) * 2;
		char *grown = realloc(t->data, capacity);
		if (!grown) {
			t->failed = true;
			return;
		}
		t->data = grown;
		t->capacity = capacity;
	}
	memcpy(t->data + t->bytes, data, bytes);
	t->bytes += bytes;
	t->data[t->bytes] = '\0';
}

static void append_text(struct text *t, const char *text)
{
	append(t, text, strlen(text));
}

static void append_quoted(struct text *t, const char *data, size_t bytes)
{
	append(t, "'", 1);
	for (size_t i = 0; i < bytes; i++) {
		if (data[i] == '\'')
			append(t, "'", 1);
		append(t, data + i, 1);
	}
	append(t, "'", 1);
}

static void insert_text(struct text *t, size_t at, const char *text)
{
	size_t bytes = strlen(text), tail = t->bytes - at;
	append(t, text, bytes); /* makes room */
	if (t->failed)
		return;
	memmove(t->data + at + bytes, t->data + at, tail);
	memcpy(t->data + at, text, bytes);
}

static void fail(struct rewriter *r, const char *sqlstate, const char *what, const struct token *t)
{
	struct rewrite *rewrite = r->rewrite;
	if (rewrite->error[0])
		return;
	snprintf(rewrite->sqlstate, sizeof rewrite->sqlstate, "%s", sqlstate);
	int bytes = t ? (int)(t->bytes < 60 ? t->bytes : 60) : 0;
	snprintf(rewrite->error, sizeof rewrite->error, t ? "%s \"%.*s\"" : "%s", what, bytes,
		t ? t->text : "");
}

/* ---- Tokens ------------------------------------------------------------------------------- */

static void step(struct rewriter *r)
{
	r->previous = r->token;
	r->token = lexer_next(&r->lexer);
	if (r->token.kind == TOKEN_BAD)
		fail(r, "42601", "unterminated string, name or comment at", &r->token);
}

static struct token look(const struct rewriter *r)
{
	struct lexer ahead = r->lexer;
	return lexer_next(&ahead);
}

static bool empty_call_follows(const struct rewriter *r)
{
	struct lexer ahead = r->lexer;
	struct token open = lexer_next(&ahead), close = lexer_next(&ahead);
	return token_is_symbol(&open, "(") && token_is_symbol(&close, ")");
}

static bool in_list(const struct token *t, const char *const *words)
{
	for (; *words; words++)
		if (token_is(t, *words))
			return true;
	return false;
}

/* Words before a parenthesis that do not make it a call. */
static bool is_key_word(const struct token *t)
{
	static const char *const words[] = { "select", "in", "and", "or", "not", "where", "values",
		"on", "as", "from", "by", "having", "limit", "offset", "then", "else", "when",
		"case", "set", "returning", "join", "using", "exists", "between", "like", "is",
		"union", "except", "intersect", "distinct", "with", "all", "check", "key", "table",
		NULL };
	return in_list(t, words);
}

/* Puts the space the source had (comments became one). */
static void space(struct rewriter *r)
{
	if (r->token.spaced && r->out.bytes)
		append(&r->out, " ", 1);
}

static void copy_token(struct rewriter *r)
{
	append(&r->out, r->token.text, r->token.bytes);
}

static void operand_begins(struct rewriter *r)
{
	if (!token_is_symbol(&r->previous, ".") || r->operand_at == NO_OPERAND)
		r->operand_at = r->out.bytes;
}

/* ---- Literals ----------------------------------------------------------------------------- */

static char unescaped(char c)
{
	switch (c) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case 'r':
		return '\r';
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	default:
		return c;
	}
}

static void write_escape_string(struct rewriter *r)
{
	const char *at = r->token.text + 2, *end = r->token.text + r->token.bytes - 1;
	append(&r->out, "'", 1);
	while (at < end) {
		char c = *at++;
		bool escaped = c == '\\' && at < end;
		if (escaped)
			c = unescaped(*at++);
		if (c == '\'' && !escaped)
			at++; /* the second of a doubled quote */
		append(&r->out, &c, 1);
		if (c == '\'')
			append(&r->out, "'", 1);
	}
	append(&r->out, "'", 1);
}

static void write_dollar_string(struct rewriter *r)
{
	const char *text = r->token.text;
	size_t tag = (size_t)((const char *)memchr(text + 1, '$', r->token.bytes - 1) - text) + 1;
	append_quoted(&r->out, text + tag, r->token.bytes - 2 * tag);
}

/* $2 is the second parameter wherever it stands; SQLite numbers $names by appearance, ?2 as said.
 */
static void write_parameter(struct rewriter *r)
{
	append(&r->out, "?", 1);
	append(&r->out, r->token.text + 1, r->token.bytes - 1);
}

/* ---- Types and casts ---------------------------------------------------------------------- */

static const struct {
	const char *name, *affinity;
} types[] = {
	{ "int", "INTEGER" },
	{ "integer", "INTEGER" },
	{ "int2", "INTEGER" },
	{ "int4", "INTEGER" },
	{ "int8", "INTEGER" },
	{ "bigint", "INTEGER" },
	{ "smallint", "INTEGER" },
	{ "oid", "INTEGER" },
	{ "bool", "INTEGER" },
	{ "boolean", "INTEGER" },
	{ "real", "REAL" },
	{ "float4", "REAL" },
	{ "float8", "REAL" },
	{ "float", "REAL" },
	{ "double", "REAL" },
	{ "numeric", "NUMERIC" },
	{ "decimal", "NUMERIC" },
	{ "text", "TEXT" },
	{ "varchar", "TEXT" },
	{ "char", "TEXT" },
	{ "character", "TEXT" },
	{ "bpchar", "TEXT" },
	{ "name", "TEXT" },
	{ "uuid", "TEXT" },
	{ "json", "TEXT" },
	{ "jsonb", "TEXT" },
	{ "date", "TEXT" },
	{ "time", "TEXT" },
	{ "timestamp", "TEXT" },
	{ "timestamptz", "TEXT" },
	{ "interval", "TEXT" },
	{ "regclass", "TEXT" },
	{ "regtype", "TEXT" },
	{ "bytea", "BLOB" },
};

static const char *affinity_of(const struct token *t)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (token_is(t, types[i].name))
			return types[i].affinity;
	return NULL;
}

static void skip_parenthesised(struct rewriter *r)
{
	unsigned depth = 0;
	do {
		if (token_is_symbol(&r->token, "("))
			depth++;
		else if (token_is_symbol(&r->token, ")"))
			depth--;
		step(r);
	} while (depth && r->token.kind != TOKEN_END && r->token.kind != TOKEN_BAD);
}

/* Skips the rest of a type name: precision, VARYING, (n), WITH TIME ZONE, []. */
static void skip_type_tail(struct rewriter *r)
{
	static const char *const tail[] = { "precision", "varying", NULL };
	if (in_list(&r->token, tail))
		step(r);
	if (token_is_symbol(&r->token, "("))
		skip_parenthesised(r);
	if (token_is(&r->token, "with") || token_is(&r->token, "without")) {
		step(r);
		step(r);
		step(r);
	}
}

/* '\x0a1b'::bytea is X'0a1b'. */
static bool write_hex(struct rewriter *r)
{
	char *text = r->out.data + r->operand_at;
	size_t bytes = r->out.bytes - r->operand_at;
	if (bytes < 4 || memcmp(text, "'\\x", 3) != 0 || text[bytes - 1] != '\'')
		return false;
	size_t digits = strspn(text + 3, "0123456789abcdefABCDEF");
	if (digits + 4 != bytes || digits % 2)
		return false;
	memcpy(text, "X'", 2);
	memmove(text + 2, text + 3, digits + 1);
	r->out.bytes--;
	r->out.data[r->out.bytes] = '\0';
	r->previous = (struct token){ .kind = TOKEN_SYMBOL, .text = ")", .bytes = 1 };
	return true;
}

static void write_cast(struct rewriter *r)
{
	if (r->operand_at == NO_OPERAND) {
		fail(r, "42601", "syntax error at or near", &r->token);
		return;
	}
	step(r);
	if (token_is(&r->token, "pg_catalog")) {
		step(r);
		step(r);
	}
	const char *affinity = affinity_of(&r->token);
	if (!affinity) {
		fail(r, "42704", "this server has no type", &r->token);
		return;
	}
	step(r);
	skip_type_tail(r);
	if (token_is_symbol(&r->token, "["))
		fail(r, "0A000", "array types are not supported", NULL);
	if (strcmp(affinity, "BLOB") == 0 && write_hex(r))
		return;
	insert_text(&r->out, r->operand_at, "CAST(");
	append_text(&r->out, " AS ");
	append_text(&r->out, affinity);
	append_text(&r->out, ")");
	/* step() left the cast's type as the previous token: an operand stands before what comes */
	r->previous = (struct token){ .kind = TOKEN_SYMBOL, .text = ")", .bytes = 1 };
}

/* ---- Words -------------------------------------------------------------------------------- */

#define NOW_SQL "strftime('%Y-%m-%d %H:%M:%f','now')"

/* The text a niladic function stands for; NULL: not one. */
static const char *value_of_call(const struct rewriter *r, char *number, size_t number_bytes)
{
	static const char *const clocks[] = { "now", "clock_timestamp", "statement_timestamp",
		"transaction_timestamp", NULL };
	const struct dialect_context *context = r->rewrite->context;
	if (in_list(&r->token, clocks))
		return "";
	if (token_is(&r->token, "version"))
		return context->version;
	if (token_is(&r->token, "current_database"))
		return context->database;
	if (token_is(&r->token, "current_schema"))
		return "public";
	if (token_is(&r->token, "pg_backend_pid")) {
		snprintf(number, number_bytes, "%u", context->process);
		return number;
	}
	return NULL;
}

/* True if the word was a call or a bare word with a constant answer, written out. */
static bool write_constant(struct rewriter *r)
{
	char number[16];
	const char *value = NULL;
	bool call = empty_call_follows(r);
	if (token_is_symbol(&r->previous, "."))
		return false;
	if (call)
		value = value_of_call(r, number, sizeof number);
	else if (token_is(&r->token, "current_user") || token_is(&r->token, "session_user"))
		value = r->rewrite->context->user;
	else if (token_is(&r->token, "current_catalog"))
		value = r->rewrite->context->database;
	if (!value)
		return false;
	operand_begins(r);
	if (value == number)
		append_text(&r->out, number);
	else if (!*value && call)
		append_text(&r->out, NOW_SQL);
	else
		append_quoted(&r->out, value, strlen(value));
	for (int skip = call ? 3 : 1; skip; skip--)
		step(r);
	r->previous = (struct token){ .kind = TOKEN_SYMBOL, .text = ")", .bytes = 1 };
	return true;
}

/* pg_catalog.x and public.x are x. */
static bool drop_schema(struct rewriter *r)
{
	struct token next = look(r);
	bool schema = token_is(&r->token, "pg_catalog") || token_is(&r->token, "public");
	if (!schema || !token_is_symbol(&next, "."))
		return false;
	bool spaced = r->token.spaced;
	step(r);
	step(r);
	r->token.spaced = spaced;
	r->previous = (struct token){ .kind = TOKEN_SYMBOL, .text = ",", .bytes = 1 };
	return true;
}

/* FOR UPDATE | SHARE | NO KEY UPDATE | KEY SHARE [OF t] [NOWAIT | SKIP LOCKED] */
static bool drop_row_lock(struct rewriter *r)
{
	static const char *const kinds[] = { "update", "share", "no", "key", NULL };
	static const char *const rest[] = { "update", "share", "no", "key", "nowait", "skip",
		"locked", NULL };
	struct token next = look(r);
	if (!token_is(&r->token, "for") || !in_list(&next, kinds))
		return false;
	step(r);
	while (in_list(&r->token, rest))
		step(r);
	if (token_is(&r->token, "of")) {
		step(r);
		step(r);
	}
	while (in_list(&r->token, rest))
		step(r);
	return true;
}

/* Storage clauses of CREATE TABLE and CREATE INDEX. */
static bool drop_storage(struct rewriter *r)
{
	static const char *const flags[] = { "unlogged", "concurrently", NULL };
	struct token next = look(r);
	bool define = r->create_table || r->create_index;
	if (define && in_list(&r->token, flags)) {
		step(r);
		return true;
	}
	if (define && r->depth == 0 && token_is(&r->token, "with") && token_is_symbol(&next, "(")) {
		step(r);
		skip_parenthesised(r);
		return true;
	}
	if ((define && token_is(&r->token, "tablespace")) ||
		(r->create_index && r->depth == 0 && token_is(&r->token, "using"))) {
		step(r);
		step(r);
		return true;
	}
	return false;
}

static const char *replaced_word(const struct rewriter *r)
{
	static const char *const serials[] = { "serial", "bigserial", "smallserial", "serial4",
		"serial8", NULL };
	if (token_is(&r->token, "ilike"))
		return "LIKE";
	if (!r->create_table)
		return NULL;
	if (in_list(&r->token, serials))
		return "INTEGER";
	return token_is(&r->token, "bytea") ? "BLOB" : NULL;
}

/* random() is between 0 and 1 there, any 64-bit integer here. */
static bool write_random(struct rewriter *r)
{
	if (!token_is(&r->token, "random") || !empty_call_follows(r) ||
		token_is_symbol(&r->previous, "."))
		return false;
	operand_begins(r);
	append_text(&r->out, "(abs(random() % 9007199254740992) / 9007199254740992.0)");
	for (int skip = 3; skip; skip--)
		step(r);
	r->previous = (struct token){ .kind = TOKEN_SYMBOL, .text = ")", .bytes = 1 };
	return true;
}

static void write_word(struct rewriter *r)
{
	const char *replaced = replaced_word(r);
	operand_begins(r);
	if (replaced)
		append_text(&r->out, replaced);
	else
		copy_token(r);
	if (is_key_word(&r->token))
		r->operand_at = NO_OPERAND;
	step(r);
}

/* ---- The statement ------------------------------------------------------------------------ */

static void write_symbol(struct rewriter *r)
{
	bool open = token_is_symbol(&r->token, "("), close = token_is_symbol(&r->token, ")");
	if (open && r->depth == DEPTH_MAX) {
		fail(r, "54001", "the statement nests too deeply", NULL);
		return;
	}
	bool call = r->previous.kind == TOKEN_WORD && r->operand_at != NO_OPERAND;
	size_t starts = call ? r->operand_at : r->out.bytes;
	copy_token(r);
	if (open)
		r->opened_at[r->depth++] = starts;
	if (close && r->depth)
		r->operand_at = r->opened_at[--r->depth];
	else if (!token_is_symbol(&r->token, "."))
		r->operand_at = NO_OPERAND;
	step(r);
}

static void write_literal(struct rewriter *r)
{
	operand_begins(r);
	if (r->token.kind == TOKEN_ESCAPE)
		write_escape_string(r);
	else if (r->token.kind == TOKEN_DOLLAR)
		write_dollar_string(r);
	else if (r->token.kind == TOKEN_PARAMETER)
		write_parameter(r);
	else
		copy_token(r);
	step(r);
}

static void write_one(struct rewriter *r)
{
	if (r->token.kind == TOKEN_CAST) {
		write_cast(r);
		return;
	}
	if (r->token.kind == TOKEN_WORD && (drop_row_lock(r) || drop_storage(r) || drop_schema(r)))
		return;
	space(r);
	if (r->token.kind == TOKEN_SYMBOL)
		write_symbol(r);
	else if (r->token.kind != TOKEN_WORD)
		write_literal(r);
	else if (!write_random(r) && !write_constant(r))
		write_word(r);
}

/* CREATE [UNIQUE|TEMP|TEMPORARY|UNLOGGED|…] TABLE or INDEX? */
static void look_at_definition(struct rewriter *r)
{
	static const char *const between[] = { "temp", "temporary", "unlogged", "unique", "global",
		"local", NULL };
	struct lexer ahead = r->lexer;
	struct token t = lexer_next(&ahead);
	if (!token_is(&r->token, "create") && !token_is(&r->token, "alter"))
		return;
	while (in_list(&t, between))
		t = lexer_next(&ahead);
	r->create_table = token_is(&t, "table");
	r->create_index = token_is(&t, "index");
}

int rewrite_sql(struct rewrite *rewrite, const char *sql, size_t bytes)
{
	struct rewriter r = { .rewrite = rewrite,
		.lexer = { .at = sql, .end = sql + bytes },
		.operand_at = NO_OPERAND };
	rewrite->sql = NULL;
	rewrite->error[0] = '\0';
	step(&r);
	look_at_definition(&r);
	while (r.token.kind != TOKEN_END && !rewrite->error[0] && !r.out.failed &&
		!(r.depth == 0 && token_is_symbol(&r.token, ";") && look(&r).kind == TOKEN_END))
		write_one(&r);
	rewrite->sql = r.out.data;
	return r.out.failed ? -1 : 0;
}
