/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the walk over the tokens. While they are copied out it remembers where the last complete
 * operand began, so that what comes behind it (a cast) can be put around it. Literals and types
 * are in rewrite_types.c, whole clauses in rewrite_forms.c.
 */
#include "demo-db/server/dialect/rewriter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Failing --------------------------------------------------------------------------------- */

void rewrite_fail(struct rewriter *r, const char *sqlstate, const char *what, const struct token *t)
{
	struct rewrite *rewrite = r->rewrite;
	if (rewrite->error[0])
		return;
	snprintf(rewrite->sqlstate, sizeof rewrite->sqlstate, "%s", sqlstate);
	int bytes = t ? (int)(t->bytes < 60 ? t->bytes : 60) : 0;
	rewrite->place = t ? (size_t)(t->text - r->text) + 1 : 0;
	snprintf(rewrite->error, sizeof rewrite->error, t ? "%s \"%.*s\"" : "%s", what, bytes,
		t ? t->text : "");
}

void rewrite_fail_at(struct rewriter *r, const char *sqlstate, const char *words)
{
	rewrite_fail(r, sqlstate, words, NULL);
	if (!r->rewrite->place)
		r->rewrite->place = (size_t)(r->token.text - r->text) + 1;
}

/* ---- Tokens ---------------------------------------------------------------------------------- */

void rewrite_step(struct rewriter *r)
{
	r->before = r->previous;
	r->previous = r->token;
	r->token = lexer_next(&r->lexer);
	if (r->token.kind == TOKEN_BAD)
		rewrite_fail(r, "42601", "unterminated string, name or comment at", &r->token);
}

struct token rewrite_look(const struct rewriter *r)
{
	struct lexer ahead = r->lexer;
	return lexer_next(&ahead);
}

bool rewrite_in_list(const struct token *t, const char *const *words)
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
	return rewrite_in_list(t, words);
}

/* Puts the space the source had (comments became one). */
static void space(struct rewriter *r)
{
	if (r->token.spaced && r->out.bytes)
		text_append(&r->out, " ", 1);
}

static void copy_token(struct rewriter *r)
{
	text_append(&r->out, r->token.text, r->token.bytes);
}

void rewrite_operand_begins(struct rewriter *r)
{
	if (!token_is_symbol(&r->previous, ".") || r->operand_at == REWRITE_NO_OPERAND)
		r->operand_at = r->out.bytes;
}

void rewrite_operand_ended(struct rewriter *r)
{
	r->previous = (struct token){ .kind = TOKEN_SYMBOL, .text = ")", .bytes = 1 };
}

/* ---- The statement --------------------------------------------------------------------------- */

static void open_parenthesis(struct rewriter *r)
{
	bool call = r->previous.kind == TOKEN_WORD && r->operand_at != REWRITE_NO_OPERAND;
	if (r->depth == REWRITE_DEPTH_MAX) {
		rewrite_fail(r, "54001", "the statement nests too deeply", NULL);
		return;
	}
	r->open[r->depth].operand_at = call ? r->operand_at : r->out.bytes;
	r->open[r->depth].what = call ? PAREN_CALL : PAREN_PLAIN;
	text_append(&r->out, "(", 1);
	r->depth++;
	r->operand_at = REWRITE_NO_OPERAND;
	rewrite_step(r);
}

static void close_parenthesis(struct rewriter *r)
{
	text_append(&r->out, ")", 1);
	rewrite_step(r);
	if (r->depth == 0) {
		r->operand_at = REWRITE_NO_OPERAND;
		return;
	}
	r->operand_at = r->open[--r->depth].operand_at;
}

static void write_symbol(struct rewriter *r)
{
	if (token_is_symbol(&r->token, "(")) {
		open_parenthesis(r);
		return;
	}
	if (token_is_symbol(&r->token, ")")) {
		close_parenthesis(r);
		return;
	}
	copy_token(r);
	if (!token_is_symbol(&r->token, "."))
		r->operand_at = REWRITE_NO_OPERAND;
	rewrite_step(r);
}

static void write_word(struct rewriter *r)
{
	static const char *const names[] = { "column", "add", "drop", "rename", "to", NULL };
	bool name = token_is_symbol(&r->previous, "(") || token_is_symbol(&r->previous, ",") ||
		    rewrite_in_list(&r->previous, names);
	const char *replaced = r->create_table && !name ? rewrite_column_type(&r->token) : NULL;
	bool key =
		r->create_table && token_is(&r->token, "key") && token_is(&r->previous, "primary");
	rewrite_operand_begins(r);
	if (replaced)
		text_append_string(&r->out, replaced);
	else
		copy_token(r);
	if (is_key_word(&r->token))
		r->operand_at = REWRITE_NO_OPERAND;
	rewrite_step(r);
	if (key && (token_is_symbol(&r->token, ",") || token_is_symbol(&r->token, ")")))
		text_append_string(&r->out, " NOT NULL"); /* SQLite's may be NULL */
}

static void write_one(struct rewriter *r)
{
	rewrite_refuse_names(r);
	rewrite_default(r);
	if (r->token.kind == TOKEN_CAST) {
		rewrite_step(r);
		rewrite_cast(r);
		return;
	}
	if (rewrite_dropped(r))
		return;
	space(r);
	if (rewrite_operator(r))
		return;
	if (r->token.kind == TOKEN_SYMBOL)
		write_symbol(r);
	else if (r->token.kind != TOKEN_WORD)
		rewrite_literal(r);
	else if (!rewrite_typed_literal(r) && !rewrite_word(r))
		write_word(r);
}

/* CREATE [UNIQUE|TEMP|TEMPORARY|UNLOGGED|…] TABLE or INDEX? */
static void look_at_definition(struct rewriter *r)
{
	static const char *const between[] = { "temp", "temporary", "unlogged", "unique", "global",
		"local", NULL };
	struct lexer ahead = r->lexer;
	struct token t = lexer_next(&ahead);
	r->alter = token_is(&r->token, "alter");
	r->schema = r->alter || token_is(&r->token, "create");
	r->drop = token_is(&r->token, "drop");
	if (!r->schema)
		return;
	while (rewrite_in_list(&t, between))
		t = lexer_next(&ahead);
	r->create_table = token_is(&t, "table");
	r->create_index = token_is(&t, "index");
}

int rewrite_sql(struct rewrite *rewrite, const char *sql, size_t bytes)
{
	struct rewriter r = { .rewrite = rewrite,
		.lexer = { .at = sql, .end = sql + bytes },
		.text = sql,
		.operand_at = REWRITE_NO_OPERAND };
	rewrite->sql = NULL;
	rewrite->error[0] = '\0';
	rewrite->place = 0;
	rewrite_step(&r);
	look_at_definition(&r);
	while (r.token.kind != TOKEN_END && !rewrite->error[0] && !r.out.failed &&
		!(r.depth == 0 && token_is_symbol(&r.token, ";") &&
			rewrite_look(&r).kind == TOKEN_END))
		write_one(&r);
	if (!rewrite->error[0] && !r.out.failed)
		rewrite_default_end(&r);
	text_append(&r.out, "", 0); /* a text even if everything was dropped */
	rewrite->sql = r.out.data;
	return r.out.failed ? -1 : 0;
}

bool rewrite_reads_nothing(const char *sql, size_t bytes)
{
	static const char *const catalogs[] = { "pg_policy", "pg_trigger", "pg_statistic_ext",
		"pg_publication" };
	struct lexer lexer = { .at = sql, .end = sql + bytes };
	struct token t = lexer_next(&lexer), schema = t;
	for (; t.kind != TOKEN_END && t.kind != TOKEN_BAD; t = lexer_next(&lexer)) {
		if (token_is_symbol(&t, ".")) {
			t = lexer_next(&lexer);
			for (size_t i = 0; i < sizeof catalogs / sizeof *catalogs; i++)
				if (token_is(&schema, "pg_catalog") && token_is(&t, catalogs[i]))
					return true;
		}
		schema = t;
	}
	return false;
}
