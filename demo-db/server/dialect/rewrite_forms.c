/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the clauses and words of PostgreSQL's that SQLite has in another form or not at all.
 */
#include "demo-db/server/dialect/rewriter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool empty_call_follows(const struct rewriter *r)
{
	struct lexer ahead = r->lexer;
	struct token open = lexer_next(&ahead), close = lexer_next(&ahead);
	return token_is_symbol(&open, "(") && token_is_symbol(&close, ")");
}

/* ---- Words ----------------------------------------------------------------------------------- */

#define NOW_SQL "strftime('%Y-%m-%d %H:%M:%f','now')"

/* The text a niladic function stands for; NULL: not one. */
static const char *value_of_call(const struct rewriter *r, char *number, size_t number_bytes)
{
	static const char *const clocks[] = { "now", "clock_timestamp", "statement_timestamp",
		"transaction_timestamp", NULL };
	const struct dialect_context *context = r->rewrite->context;
	if (rewrite_in_list(&r->token, clocks))
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
	bool wrap = r->create_table && token_is(&r->previous, "default");
	rewrite_operand_begins(r);
	if (value == number)
		text_append_string(&r->out, number);
	else if (!*value && call)
		text_append_string(&r->out, wrap ? "(" NOW_SQL ")" : NOW_SQL);
	else
		text_append_quoted(&r->out, value, strlen(value));
	for (int skip = call ? 3 : 1; skip; skip--)
		rewrite_step(r);
	rewrite_operand_ended(r);
	return true;
}

/* ---- What is dropped ------------------------------------------------------------------------- */

/* pg_catalog.x and public.x are x. */
static bool drop_schema(struct rewriter *r)
{
	struct token next = rewrite_look(r);
	bool schema = token_is(&r->token, "pg_catalog") || token_is(&r->token, "public");
	if (!schema || !token_is_symbol(&next, "."))
		return false;
	bool spaced = r->token.spaced;
	rewrite_step(r);
	rewrite_step(r);
	r->token.spaced = spaced;
	r->previous = (struct token){ .kind = TOKEN_SYMBOL, .text = ",", .bytes = 1 };
	return true;
}

/* Storage clauses of CREATE TABLE and CREATE INDEX. */
static bool drop_storage(struct rewriter *r)
{
	static const char *const flags[] = { "unlogged", "concurrently", NULL };
	struct token next = rewrite_look(r);
	bool define = r->create_table || r->create_index;
	if (define && rewrite_in_list(&r->token, flags)) {
		rewrite_step(r);
		return true;
	}
	if (define && r->depth == 0 && token_is(&r->token, "with") && token_is_symbol(&next, "(")) {
		rewrite_step(r);
		rewrite_skip_parenthesised(r);
		return true;
	}
	if ((define && token_is(&r->token, "tablespace")) ||
		(r->create_index && r->depth == 0 && token_is(&r->token, "using"))) {
		rewrite_step(r);
		rewrite_step(r);
		return true;
	}
	return false;
}

/* GENERATED … AS IDENTITY [(…)]: a rowid alias when it is the primary key. */
static bool drop_identity(struct rewriter *r)
{
	struct lexer ahead = r->lexer;
	struct token t = lexer_next(&ahead);
	if (!r->create_table || !token_is(&r->token, "generated") ||
		r->operand_at == REWRITE_NO_OPERAND)
		return false;
	while (token_is(&t, "always") || token_is(&t, "by") || token_is(&t, "default") ||
		token_is(&t, "as"))
		t = lexer_next(&ahead);
	if (!token_is(&t, "identity"))
		return false;
	r->out.bytes = r->operand_at; /* the column's type */
	text_append_string(&r->out, "INTEGER");
	while (!token_is(&r->token, "identity"))
		rewrite_step(r);
	rewrite_step(r);
	if (token_is_symbol(&r->token, "("))
		rewrite_skip_parenthesised(r);
	return true;
}

/* COLLATE "C", "default" or pg_catalog.default: what texts are compared by anyway. */
static bool drop_collation(struct rewriter *r)
{
	struct lexer ahead = r->lexer;
	struct token t = lexer_next(&ahead);
	bool schema = token_is(&t, "pg_catalog");
	if (!token_is(&r->token, "collate"))
		return false;
	if (schema) {
		lexer_next(&ahead);
		t = lexer_next(&ahead);
	}
	bool plain = token_is(&t, "default") ||
		     (t.kind == TOKEN_NAME && (strncmp(t.text, "\"default\"", t.bytes) == 0 ||
						      strncmp(t.text, "\"C\"", t.bytes) == 0));
	if (!plain)
		return false;
	for (int skip = schema ? 4 : 2; skip; skip--)
		rewrite_step(r);
	rewrite_operand_ended(r);
	return true;
}

static bool drop_cascade(struct rewriter *r)
{
	static const char *const words[] = { "cascade", "restrict", NULL };
	if (!r->drop || r->depth || !rewrite_in_list(&r->token, words))
		return false;
	rewrite_step(r);
	return true;
}

bool rewrite_dropped(struct rewriter *r)
{
	return r->token.kind == TOKEN_WORD &&
	       (drop_storage(r) || drop_schema(r) || drop_identity(r) || drop_collation(r) ||
		       drop_cascade(r));
}

/* ---- Operators ------------------------------------------------------------------------------- */

enum { MATCH_CASELESS = 1, MATCH_LIKE = 2, MATCH_NOT = 4 };

/* Reads ~, ~*, ~~, ~~* and the same behind ! at the lexer; -1: something else. */
static int read_match(struct lexer *lexer, struct token t)
{
	int kind = 0;
	if (token_is_symbol(&t, "!")) {
		kind = MATCH_NOT;
		t = lexer_next(lexer);
		if (t.spaced)
			return -1;
	}
	if (!token_is_symbol(&t, "~"))
		return -1;
	struct lexer ahead = *lexer;
	t = lexer_next(&ahead);
	if (token_is_symbol(&t, "~") && !t.spaced) {
		kind |= MATCH_LIKE;
		*lexer = ahead;
		t = lexer_next(&ahead);
	}
	if (token_is_symbol(&t, "*") && !t.spaced) {
		kind |= MATCH_CASELESS;
		*lexer = ahead;
	}
	return kind;
}

/* REGEXP calls functions.c's regexp(); what stands before the pattern tells it the rest. */
static void write_match(struct rewriter *r, int kind)
{
	text_append_string(&r->out, kind & MATCH_NOT ? "NOT " : "");
	if (kind & MATCH_CASELESS)
		text_append_string(
			&r->out, kind & MATCH_LIKE ? "REGEXP '(?like)' ||" : "REGEXP '(?i)' ||");
	else
		text_append_string(&r->out, kind & MATCH_LIKE ? "LIKE" : "REGEXP");
	r->operand_at = REWRITE_NO_OPERAND;
}

/* OPERATOR(pg_catalog.~) */
static bool write_named_operator(struct rewriter *r)
{
	struct lexer ahead = r->lexer;
	struct token t = lexer_next(&ahead);
	if (!token_is(&r->token, "operator") || !token_is_symbol(&t, "("))
		return false;
	t = lexer_next(&ahead);
	if (token_is(&t, "pg_catalog")) {
		lexer_next(&ahead);
		t = lexer_next(&ahead);
	}
	int kind = read_match(&ahead, t);
	bool match = kind >= 0;
	struct token close = lexer_next(&ahead);
	if (!token_is_symbol(&close, ")"))
		return false;
	if (match)
		write_match(r, kind);
	else
		text_append(&r->out, t.text, t.bytes);
	r->operand_at = REWRITE_NO_OPERAND;
	r->lexer = ahead;
	rewrite_step(r);
	return true;
}

bool rewrite_operator(struct rewriter *r)
{
	if (token_is(&r->token, "ilike")) {
		write_match(r, MATCH_CASELESS | MATCH_LIKE);
		rewrite_step(r);
		return true;
	}
	if (r->token.kind == TOKEN_WORD)
		return write_named_operator(r);
	bool may = token_is_symbol(&r->token, "~") || token_is_symbol(&r->token, "!");
	struct lexer ahead = r->lexer;
	int kind = may && r->operand_at != REWRITE_NO_OPERAND ? read_match(&ahead, r->token) : -1;
	if (kind < 0)
		return false;
	write_match(r, kind);
	r->lexer = ahead;
	rewrite_step(r);
	return true;
}

/* ---- Words and parentheses ------------------------------------------------------------------- */

/* random() is between 0 and 1 there, any 64-bit integer here. */
static bool write_random(struct rewriter *r)
{
	if (!token_is(&r->token, "random") || !empty_call_follows(r) ||
		token_is_symbol(&r->previous, "."))
		return false;
	rewrite_operand_begins(r);
	text_append_string(&r->out, "(abs(random() % 9007199254740992) / 9007199254740992.0)");
	for (int skip = 3; skip; skip--)
		rewrite_step(r);
	rewrite_operand_ended(r);
	return true;
}

/* Opens a parenthesis behind `text`, as what `what` says; the token in hand is the name. */
static void open_as(struct rewriter *r, const char *text, enum rewrite_paren what)
{
	rewrite_operand_begins(r);
	size_t begins = r->operand_at;
	text_append_string(&r->out, text);
	rewrite_step(r);
	if (r->depth == REWRITE_DEPTH_MAX) {
		rewrite_fail(r, "54001", "the statement nests too deeply", NULL);
		return;
	}
	text_append_string(&r->out, "(");
	rewrite_step(r);
	r->open[r->depth].operand_at = begins;
	r->open[r->depth].what = what;
	r->depth++;
	r->operand_at = REWRITE_NO_OPERAND;
}

static bool open_special(struct rewriter *r)
{
	struct token next = rewrite_look(r);
	if (!token_is_symbol(&next, "(") || token_is_symbol(&r->previous, "."))
		return false;
	if (token_is(&r->token, "left")) { /* a key word of SQLite's */
		open_as(r, "pg_left", PAREN_CALL);
	} else if (token_is(&r->token, "right")) {
		open_as(r, "pg_right", PAREN_CALL);
	} else if (token_is(&r->token, "string_agg")) {
		open_as(r, "group_concat", PAREN_CALL);
	} else if (token_is(&r->token, "cast")) {
		open_as(r, "", PAREN_CAST);
	} else if (token_is(&r->token, "substring")) {
		open_as(r, "substr", PAREN_WORDS);
	} else if (token_is(&r->token, "position")) {
		open_as(r, "pg_position", PAREN_WORDS);
	} else if (token_is(&r->token, "extract")) {
		open_as(r, "date_part", PAREN_WORDS);
		text_append_quoted(&r->out, r->token.text, r->token.bytes);
		rewrite_step(r);
	} else {
		return false;
	}
	return true;
}

/* AS inside CAST(…), FROM, FOR and IN inside calls that have them. */
static bool write_separator(struct rewriter *r)
{
	static const char *const separators[] = { "from", "for", "in", NULL };
	if (r->depth == 0)
		return false;
	enum rewrite_paren what = r->open[r->depth - 1].what;
	if (what == PAREN_CAST && token_is(&r->token, "as")) {
		text_append_string(&r->out, ")");
		rewrite_step(r);
		r->operand_at = r->open[--r->depth].operand_at;
		rewrite_cast(r);
		if (!token_is_symbol(&r->token, ")"))
			rewrite_fail(r, "42601", "syntax error at or near", &r->token);
		rewrite_step(r);
		rewrite_operand_ended(r);
		return true;
	}
	if (what != PAREN_WORDS || !rewrite_in_list(&r->token, separators))
		return false;
	text_append_string(&r->out, ",");
	rewrite_step(r);
	r->operand_at = REWRITE_NO_OPERAND;
	return true;
}

bool rewrite_word(struct rewriter *r)
{
	return write_separator(r) || open_special(r) || write_random(r) || write_constant(r);
}
