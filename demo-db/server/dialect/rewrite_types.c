/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns literals and types: strings in PostgreSQL's spellings, casts, typed literals. A cast is a
 * function of the server's (functions.c) that refuses what PostgreSQL refuses; in a definition,
 * which is kept in the file, it is SQLite's own.
 */
#include "demo-db/server/types/pg_types.h"
#include "demo-db/server/dialect/rewriter.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- Literals -------------------------------------------------------------------------------- */

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
	text_append(&r->out, "'", 1);
	while (at < end) {
		char c = *at++;
		bool escaped = c == '\\' && at < end;
		if (escaped)
			c = unescaped(*at++);
		if (c == '\'' && !escaped)
			at++; /* the second of a doubled quote */
		text_append(&r->out, &c, 1);
		if (c == '\'')
			text_append(&r->out, "'", 1);
	}
	text_append(&r->out, "'", 1);
}

static void write_dollar_string(struct rewriter *r)
{
	const char *text = r->token.text;
	size_t tag = (size_t)((const char *)memchr(text + 1, '$', r->token.bytes - 1) - text) + 1;
	text_append_quoted(&r->out, text + tag, r->token.bytes - 2 * tag);
}

/* $2 is the second parameter wherever it stands; SQLite numbers $names by appearance, ?2 as said.
 */
static void write_parameter(struct rewriter *r)
{
	text_append(&r->out, "?", 1);
	text_append(&r->out, r->token.text + 1, r->token.bytes - 1);
}

void rewrite_literal(struct rewriter *r)
{
	rewrite_operand_begins(r);
	if (r->token.kind == TOKEN_ESCAPE)
		write_escape_string(r);
	else if (r->token.kind == TOKEN_DOLLAR)
		write_dollar_string(r);
	else if (r->token.kind == TOKEN_PARAMETER)
		write_parameter(r);
	else
		text_append(&r->out, r->token.text, r->token.bytes);
	rewrite_step(r);
}

/* ---- Types and casts ------------------------------------------------------------------------- */

void rewrite_skip_parenthesised(struct rewriter *r)
{
	unsigned depth = 0;
	do {
		if (token_is_symbol(&r->token, "("))
			depth++;
		else if (token_is_symbol(&r->token, ")"))
			depth--;
		rewrite_step(r);
	} while (depth && r->token.kind != TOKEN_END && r->token.kind != TOKEN_BAD);
}

struct type_tail {
	bool varying, zoned;
	char numbers[32]; /* what stands in parentheses */
};

/* Reads the rest of a type name: precision, VARYING, (n), WITH TIME ZONE, []. */
static void read_type_tail(struct rewriter *r, struct type_tail *tail)
{
	*tail = (struct type_tail){ .varying = token_is(&r->token, "varying") };
	if (tail->varying || token_is(&r->token, "precision"))
		rewrite_step(r);
	if (token_is_symbol(&r->token, "(")) {
		const char *from = r->token.text + 1;
		rewrite_skip_parenthesised(r);
		size_t bytes = 0;
		while (from + bytes < r->lexer.end && strchr("0123456789, ", from[bytes]) &&
			from[bytes])
			bytes++;
		if (from + bytes < r->lexer.end && from[bytes] == ')' &&
			bytes < sizeof tail->numbers)
			memcpy(tail->numbers, from, bytes);
	}
	tail->zoned = token_is(&r->token, "with");
	if (tail->zoned || token_is(&r->token, "without")) {
		rewrite_step(r);
		rewrite_step(r);
		rewrite_step(r);
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
	rewrite_operand_ended(r);
	return true;
}

/* SQLite wants an expression behind DEFAULT in parentheses. */
static bool behind_default(const struct rewriter *r)
{
	size_t at = r->operand_at;
	while (at && r->out.data[at - 1] == ' ')
		at--;
	return r->create_table && at >= 8 && strncasecmp(r->out.data + at - 8, " default", 8) == 0;
}

/* TRUE and FALSE are numbers in SQLite; their text is not. */
static bool write_bool_text(struct rewriter *r, const char *affinity)
{
	char *text = r->out.data + r->operand_at;
	size_t bytes = r->out.bytes - r->operand_at;
	bool enclosed = bytes > 2 && *text == '('; /* by CAST( … AS text) */
	text += enclosed;
	bytes -= 2u * enclosed;
	while (bytes && text[bytes - 1] == ' ')
		bytes--;
	bool yes = bytes == 4 && strncasecmp(text, "true", 4) == 0;
	bool no = bytes == 5 && strncasecmp(text, "false", 5) == 0;
	if (strcmp(affinity, "TEXT") != 0 || (!yes && !no))
		return false;
	r->out.bytes = r->operand_at;
	text_append_string(&r->out, yes ? "'true'" : "'false'");
	return true;
}

/* Are the numbers in parentheses arguments of the cast? Those of times are not looked at. */
static bool is_sized(enum pg_type type, const struct type_tail *tail)
{
	return *tail->numbers && (type == PG_NUMERIC || type == PG_VARCHAR || type == PG_BPCHAR);
}

/* A regclass in quotes is looked up, an id is named. */
static void write_function(struct rewriter *r, size_t at, enum pg_type type)
{
	if (type == PG_REGCLASS)
		text_insert(&r->out, at, r->out.data[at] == '\'' ? "_id(" : "_name(");
	else
		text_insert(&r->out, at, "(");
	text_insert(&r->out, at, pg_type_row(type)->name);
	text_insert(&r->out, at, "pg_");
}

static void put_cast(struct rewriter *r, enum pg_type type, const struct type_tail *tail)
{
	const struct pg_type_row *row = pg_type_row(type);
	bool sized = !r->schema && is_sized(type, tail);
	bool any_text = (type == PG_VARCHAR || type == PG_BPCHAR) && !sized;
	bool function =
		!r->schema && !any_text && (row->cast == PG_CAST_FUNCTION || type == PG_REGCLASS);
	bool wrap = behind_default(r);
	if (wrap)
		text_insert(&r->out, r->operand_at, "(");
	if (function)
		write_function(r, r->operand_at + wrap, type);
	else
		text_insert(&r->out, r->operand_at + wrap, "CAST(");
	if (!function) {
		text_append_string(&r->out, " AS ");
		text_append_string(&r->out, row->affinity);
	}
	if (sized) {
		text_append_string(&r->out, ", ");
		text_append_string(&r->out, tail->numbers);
	}
	text_append_string(&r->out, wrap ? "))" : ")");
}

void rewrite_cast(struct rewriter *r)
{
	char what[96];
	if (r->operand_at == REWRITE_NO_OPERAND) {
		rewrite_fail(r, "42601", "syntax error at or near", &r->token);
		return;
	}
	if (token_is(&r->token, "pg_catalog")) {
		rewrite_step(r);
		rewrite_step(r);
	}
	struct token word = r->token;
	enum pg_type type = pg_type_named(word.text, word.bytes);
	if (type == PG_UNKNOWN) {
		snprintf(what, sizeof what, "type \"%.*s\" does not exist",
			(int)(r->token.bytes < 60 ? r->token.bytes : 60), r->token.text);
		rewrite_fail(r, "42704", what, NULL);
		return;
	}
	struct type_tail tail;
	rewrite_step(r);
	read_type_tail(r, &tail);
	if (token_is_symbol(&r->token, "["))
		rewrite_fail(r, "0A000", "array types are not supported", NULL);
	type = pg_type_varied(type, tail.varying, tail.zoned);
	const struct pg_type_row *row = pg_type_row(type);
	if (row->cast == PG_CAST_REFUSED && !r->schema) {
		snprintf(what, sizeof what, "casts to %s are not supported", row->spelling);
		rewrite_fail(r, "0A000", what, NULL);
		return;
	}
	if (type == PG_BPCHAR && !*tail.numbers && !token_is(&word, "bpchar"))
		strcpy(tail.numbers, "1");
	if (type == PG_BYTEA && write_hex(r))
		return;
	if (!write_bool_text(r, row->affinity))
		put_cast(r, type, &tail);
	/* stepping left the cast's type as the previous token: an operand stands before what comes
	 */
	rewrite_operand_ended(r);
}

/* date '2024-02-29' is '2024-02-29'::date */
bool rewrite_typed_literal(struct rewriter *r)
{
	struct token next = rewrite_look(r);
	if (next.kind != TOKEN_STRING || token_is_symbol(&r->previous, "."))
		return false;
	if (token_is(&r->token, "interval"))
		rewrite_fail(r, "0A000", "intervals are not supported", NULL);
	if (r->token.kind != TOKEN_WORD ||
		pg_type_named(r->token.text, r->token.bytes) == PG_UNKNOWN)
		return false;
	struct token type = r->token;
	rewrite_step(r);
	rewrite_literal(r);
	struct token behind = r->token;
	struct lexer lexer = r->lexer;
	r->token = type;
	r->lexer.at = type.text + type.bytes;
	rewrite_cast(r); /* steps to the string, which is written already */
	r->token = behind;
	r->lexer = lexer;
	return true;
}

/* ---- Defaults of columns --------------------------------------------------------------------- */

bool rewrite_ends_default(const struct token *t)
{
	static const char *const words[] = { "not", "null", "primary", "unique", "check",
		"references", "constraint", "generated", "collate", "deferrable", NULL };
	return t->kind == TOKEN_END || t->kind == TOKEN_BAD || token_is_symbol(t, ",") ||
	       token_is_symbol(t, ")") || token_is_symbol(t, ";") || rewrite_in_list(t, words);
}

/* More than a literal, with its sign, at the lexer? Casts and clocks see to themselves. */
static bool is_expression(struct lexer lexer)
{
	static const char *const clocks[] = { "now", "clock_timestamp", "statement_timestamp",
		"transaction_timestamp", "current_schema", "current_database", NULL };
	struct token t = lexer_next(&lexer);
	if (token_is_symbol(&t, "-") || token_is_symbol(&t, "+"))
		t = lexer_next(&lexer);
	bool clock = rewrite_in_list(&t, clocks);
	bool apart = token_is_symbol(&t, "(");
	t = lexer_next(&lexer);
	return !apart && !clock && t.kind == TOKEN_SYMBOL && !rewrite_ends_default(&t);
}

void rewrite_default_end(struct rewriter *r)
{
	if (r->default_depth == r->depth + 1)
		text_append_string(&r->out, ")");
	r->default_depth = 0;
}

void rewrite_default(struct rewriter *r)
{
	if (r->default_depth == r->depth + 1 && rewrite_ends_default(&r->token))
		rewrite_default_end(r);
	if (!r->create_table || !token_is(&r->token, "default") || !is_expression(r->lexer))
		return;
	text_append_string(&r->out, " DEFAULT (");
	rewrite_step(r);
	r->token.spaced = false;
	r->default_depth = r->depth + 1;
	r->operand_at = REWRITE_NO_OPERAND;
}

const char *rewrite_column_type(const struct token *t)
{
	if (pg_type_is_serial(t->text, t->bytes))
		return "INTEGER";
	if (token_is(t, "int")) /* a table made AS a SELECT has INT for all integers */
		return "int4";
	return token_is(t, "bytea") ? "BLOB" : NULL;
}
