/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns which queries a definition must be checked with.
 */
#include "demo-db/server/dialect/checks.h"
#include "demo-db/server/dialect/hidden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct definition {
	FILE *to;
	bool said; /* a hidden column's name */
	struct lexer lexer;
	struct token token;
	struct token table, column; /* column: a new one; no text: none */
	struct lexer columns;	    /* of CREATE TABLE: behind the parenthesis; at NULL: none */
};

static void step(struct definition *d)
{
	d->token = lexer_next(&d->lexer);
}

static bool is_name(const struct token *t)
{
	return t->kind == TOKEN_WORD || t->kind == TOKEN_NAME;
}

static bool ended(const struct token *t)
{
	return t->kind == TOKEN_END || t->kind == TOKEN_BAD;
}

static bool accept(struct definition *d, const char *word)
{
	if (!token_is(&d->token, word))
		return false;
	step(d);
	return true;
}

static void put(const struct definition *d, const struct token *t)
{
	fprintf(d->to, "%.*s", (int)t->bytes, t->text);
}

/* [schema.]name in hand; the name. */
static struct token take_name(struct definition *d)
{
	struct token name = d->token;
	step(d);
	while (token_is_symbol(&d->token, ".")) {
		step(d);
		name = d->token;
		step(d);
	}
	return name;
}

/* With what stands in the parenthesis in hand; it is stepped over. */
static void put_parenthesised(struct definition *d, bool put_it)
{
	unsigned depth = 0;
	const char *from = d->token.text, *end;
	do {
		depth += token_is_symbol(&d->token, "(");
		depth -= token_is_symbol(&d->token, ")");
		end = d->token.text + d->token.bytes;
		step(d);
	} while (depth && !ended(&d->token));
	if (put_it)
		fprintf(d->to, "%.*s", (int)(end - from), from);
}

/* ---- Rows with the columns there will be ----------------------------------------------------- */

/* NULL AS a, NULL AS b: the first word of each item that is no constraint. */
static void put_own_columns(const struct definition *d)
{
	static const char *const constraints[] = { "constraint", "primary", "unique", "check",
		"foreign", "exclude", "like" };
	struct lexer lexer = d->columns;
	bool begins = true, any = false;
	unsigned depth = 1;
	while (depth) {
		struct token t = lexer_next(&lexer);
		if (ended(&t))
			return;
		bool column = begins && is_name(&t);
		for (size_t i = 0; i < sizeof constraints / sizeof *constraints; i++)
			column &= !token_is(&t, constraints[i]);
		if (column)
			fprintf(d->to, "%sNULL AS %.*s", any ? ", " : "", (int)t.bytes, t.text);
		any |= column;
		depth += token_is_symbol(&t, "(");
		depth -= token_is_symbol(&t, ")");
		begins = depth == 1 && token_is_symbol(&t, ",");
	}
}

/* (SELECT …) of the table as it will be, for CREATE TABLE and ADD COLUMN. */
static void put_rows(const struct definition *d)
{
	fputs("(SELECT ", d->to);
	if (d->columns.at) {
		put_own_columns(d);
	} else {
		fputs("*, NULL AS ", d->to);
		put(d, &d->column);
		fputs(" FROM ", d->to);
		put(d, &d->table);
	}
	fputs(")", d->to);
}

/* ---- Clauses --------------------------------------------------------------------------------- */

static bool is_same(const struct token *a, const struct token *b)
{
	return a->bytes == b->bytes && strncasecmp(a->text, b->text, a->bytes) == 0;
}

/* table [(a, b)] behind REFERENCES. */
static void check_reference(struct definition *d)
{
	if (!is_name(&d->token))
		return;
	struct token parent = take_name(d);
	fputs("SELECT 1", d->to);
	if (token_is_symbol(&d->token, "(")) {
		for (step(d); is_name(&d->token); step(d)) {
			fputs(", " CHECKS_PARENT ".", d->to);
			put(d, &d->token);
			step(d);
			if (!token_is_symbol(&d->token, ","))
				break;
		}
	}
	fputs(" FROM ", d->to);
	if (is_same(&parent, &d->table) && (d->columns.at || d->column.text))
		put_rows(d);
	else
		put(d, &parent);
	fputs(" AS " CHECKS_PARENT ";", d->to);
}

/* (expression) behind CHECK, or behind AS of a generated column. SQLite looks itself at those of a
 * new table, but it sees hidden columns. */
static void check_expression(struct definition *d)
{
	fputs("SELECT ", d->to);
	put_parenthesised(d, true);
	fputs(" FROM ", d->to);
	put_rows(d);
	fputs(" AS ", d->to);
	put(d, &d->table);
	fputs(";", d->to);
}

static void check_clauses(struct definition *d)
{
	while (!ended(&d->token)) {
		bool expression = token_is(&d->token, "check") || token_is(&d->token, "as");
		if (accept(d, "references")) {
			check_reference(d);
			continue;
		}
		step(d);
		if (expression && (d->column.text || d->said) && token_is_symbol(&d->token, "("))
			check_expression(d);
	}
}

/* ---- Statements ------------------------------------------------------------------------------ */

static bool is_verb(const struct token *t)
{
	static const char *const verbs[] = { "select", "values", "insert", "update", "delete" };
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (token_is(t, verbs[i]))
			return true;
	return false;
}

/* A token, or a parenthesis with what is in it. */
static void skip_one(struct definition *d)
{
	if (token_is_symbol(&d->token, "("))
		put_parenthesised(d, false);
	else
		step(d);
}

/* Is the name said again, from the token in hand on? */
static bool is_read(struct definition d, const struct token *name)
{
	while (!ended(&d.token) && !is_same(&d.token, name))
		step(&d);
	return !ended(&d.token);
}

/* The text from the token in hand, which may be WITH, with each common table that nobody reads:
 * SQLite does not look into it. */
static void check_unread(struct definition d)
{
	const char *begin = d.token.text;
	struct lexer list = d.lexer;
	if (!token_is(&d.token, "with"))
		return;
	while (!ended(&d.token) && !is_verb(&d.token)) /* outside of parentheses */
		skip_one(&d);
	const char *verb = d.token.text;
	for (d.lexer = list, step(&d); d.token.text < verb;) {
		accept(&d, "recursive");
		struct token name = d.token;
		while (d.token.text < verb && !token_is_symbol(&d.token, ","))
			skip_one(&d);
		if (!is_read(d, &name))
			fprintf(d.to, "%.*sSELECT 1 FROM %.*s;", (int)(verb - begin), begin,
				(int)name.bytes, name.text);
		if (d.token.text < verb)
			step(&d);
	}
}

/* VIEW name [(columns)] AS query */
static void check_view(struct definition *d)
{
	while (!ended(&d->token) && !token_is(&d->token, "as"))
		skip_one(d);
	if (!accept(d, "as"))
		return;
	check_unread(*d);
	fprintf(d->to, "%.*s;", (int)(d->lexer.end - d->token.text), d->token.text);
}

/* INDEX … ON table (columns) WHERE condition */
static void check_index(struct definition *d)
{
	while (!ended(&d->token) && !accept(d, "on"))
		step(d);
	if (is_name(&d->token))
		d->table = take_name(d);
	for (; !ended(&d->token); step(d)) {
		if (!hidden_is_name(&d->token))
			continue;
		fputs("SELECT ", d->to);
		put(d, &d->token);
		fputs(" FROM ", d->to);
		put(d, &d->table);
		fputs(";", d->to);
	}
}

void checks_refuse(FILE *to, const char *sql)
{
	struct lexer lexer = { .at = sql, .end = sql + strlen(sql) };
	struct token t = lexer_next(&lexer);
	while (!ended(&t) && !hidden_is_name(&t))
		t = lexer_next(&lexer);
	if (!ended(&t))
		fprintf(to, "SELECT " CHECKS_BEYOND ".%.*s;", (int)t.bytes, t.text);
}

/* TABLE [IF NOT EXISTS] name (columns) */
static void check_table(struct definition *d)
{
	if (accept(d, "if") && accept(d, "not"))
		accept(d, "exists");
	d->table = take_name(d);
	if (!token_is_symbol(&d->token, "("))
		return;
	d->columns = d->lexer;
	check_clauses(d);
}

static void check_create(struct definition *d)
{
	if (!accept(d, "unique") && !accept(d, "temp"))
		accept(d, "temporary");
	if (accept(d, "view"))
		check_view(d);
	else if (d->said && accept(d, "index"))
		check_index(d);
	else if (d->said && accept(d, "trigger"))
		checks_refuse(d->to, d->lexer.at);
	else if (accept(d, "table"))
		check_table(d);
}

static void check_alter(struct definition *d)
{
	if (!accept(d, "table"))
		return;
	d->table = take_name(d);
	if (!accept(d, "add"))
		return;
	accept(d, "column");
	d->column = d->token;
	if (is_name(&d->column))
		check_clauses(d);
}

/* In the queries themselves. */
static int avoid_hidden(char **checks)
{
	char *avoided = hidden_is_said(*checks) ? hidden_avoid(*checks) : *checks;
	if (avoided == *checks)
		return 0;
	free(*checks);
	*checks = avoided;
	return avoided ? 0 : -1;
}

int checks_of(const char *sql, char **checks)
{
	size_t bytes = 0;
	struct definition d = { .said = hidden_is_said(sql),
		.lexer = { .at = sql, .end = sql + strlen(sql) } };
	*checks = NULL;
	if (!d.said && !strchr("cCaAwW", *sql)) /* most statements */
		return 0;
	step(&d);
	bool create = accept(&d, "create"), alter = !create && accept(&d, "alter");
	if (!create && !alter && !d.said && !token_is(&d.token, "with"))
		return 0;
	d.to = open_memstream(checks, &bytes);
	if (!d.to)
		return -1;
	if (create)
		check_create(&d);
	else if (alter)
		check_alter(&d);
	else
		check_unread(d);
	if (!create && !alter && d.said)
		checks_of_change(d.to, sql);
	bool failed = ferror(d.to) != 0;
	failed |= fclose(d.to) != 0;
	if (bytes == 0 || failed) {
		free(*checks);
		*checks = NULL;
	}
	return failed || (*checks && avoid_hidden(checks)) ? -1 : 0;
}
