/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the queries that name what an INSERT, UPDATE or DELETE names, for statements that say a
 * hidden column's name. The table that is changed cannot be a common table, so its hidden columns
 * are in sight; in these queries they are not.
 */
#include "demo-db/server/dialect/checks.h"
#include "demo-db/server/dialect/hidden.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

struct change {
	FILE *to;
	const char *sql;
	struct lexer lexer;
	struct token token, previous;
	unsigned depth;		       /* of parentheses around the token in hand */
	const char *verb;	       /* what stands before it are common tables */
	const char *table, *table_end; /* as it is written */
	struct token own, name;	       /* its name, and that by which its columns are called */
};

/* ---- Reading -------------------------------------------------------------------------------- */

static void step(struct change *c)
{
	c->depth += token_is_symbol(&c->token, "(");
	c->previous = c->token;
	c->token = lexer_next(&c->lexer);
	c->depth -= c->depth && token_is_symbol(&c->token, ")");
}

static bool ended(const struct change *c)
{
	return c->token.kind == TOKEN_END || c->token.kind == TOKEN_BAD;
}

static bool accept(struct change *c, const char *word)
{
	if (!token_is(&c->token, word))
		return false;
	step(c);
	return true;
}

static bool is_name(const struct token *t)
{
	return t->kind == TOKEN_WORD || t->kind == TOKEN_NAME;
}

static bool is_one_of(const struct token *t, const char *const *words)
{
	for (; *words; words++)
		if (token_is(t, *words))
			return true;
	return false;
}

/* [schema.]table [[AS] name] in hand. False: something else. */
static bool take_table(struct change *c)
{
	static const char *const never[] = { "set", "where", "returning", "values", "select",
		"with", "default", "order", "limit", "on", "indexed", "not", NULL };
	c->table = c->token.text;
	do {
		if (!is_name(&c->token))
			return false;
		c->name = c->token;
		step(c);
	} while (token_is_symbol(&c->token, ".") && (step(c), true));
	c->own = c->name;
	c->table_end = c->name.text + c->name.bytes;
	if (!accept(c, "as") && is_one_of(&c->token, never))
		return true;
	if (is_name(&c->token)) {
		c->name = c->token;
		step(c);
	}
	return true;
}

/* Does a clause begin here? FROM of IS DISTINCT FROM does not. */
static bool begins(const struct change *c, const char *word)
{
	return c->depth == 0 && token_is(&c->token, word) && !token_is(&c->previous, "distinct");
}

/* To the first of the clauses; where it begins. */
static const char *skip_to(struct change *c, const char *const *words)
{
	for (; !ended(c); step(c))
		for (const char *const *word = words; *word; word++)
			if (begins(c, *word))
				return c->token.text;
	return c->token.text;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static void put(const struct change *c, const char *from, const char *to)
{
	fprintf(c->to, "%.*s", (int)(to - from), from);
}

static void put_token(const struct change *c, const struct token *t)
{
	put(c, t->text, t->text + t->bytes);
}

/* table AS name */
static void put_table(const struct change *c)
{
	put(c, c->table, c->table_end);
	fputs(" AS ", c->to);
	put_token(c, &c->name);
}

/* A column that is being set, or filled by an INSERT. */
static void put_target(const struct change *c, const struct token *column)
{
	fputs("SELECT " CHECKS_TARGET ".", c->to);
	put_token(c, column);
	fputs(" FROM ", c->to);
	put(c, c->table, c->table_end);
	fputs(" AS " CHECKS_TARGET ";", c->to);
}

/* A column that is read, with what stands before its dot; NULL: it has none. */
static void put_column(
	const struct change *c, const struct token *qualifier, const struct token *column)
{
	fputs("SELECT ", c->to);
	if (qualifier) {
		put_token(c, qualifier);
		fputs(".", c->to);
	}
	put_token(c, column);
	fputs(" FROM ", c->to);
	put(c, c->table, c->table_end);
	fputs(" AS ", c->to);
	put_token(c, qualifier ? qualifier : &c->name);
	fputs(";", c->to);
}

/* Does the list in hand have a subquery, and say a hidden column's name? */
static bool is_beyond(struct change c)
{
	bool query = false, said = false;
	for (; !ended(&c); step(&c)) {
		query |= token_is(&c.token, "select");
		said |= hidden_is_name(&c.token) && !token_is(&c.previous, "as");
	}
	return query && said;
}

/* RETURNING in hand. */
static void check_returning(struct change *c)
{
	if (!accept(c, "returning"))
		return;
	if (is_beyond(*c)) {
		checks_refuse(c->to, c->token.text);
		return;
	}
	const char *list = c->token.text;
	put(c, c->sql, c->verb);
	fputs("SELECT ", c->to);
	put(c, list, c->lexer.end);
	fputs(" FROM ", c->to);
	put_table(c);
	fputs(";", c->to);
}

/* ---- UPDATE and DELETE ----------------------------------------------------------------------- */

static const char *const clauses[] = { "from", "where", "returning", NULL };

/* Columns in front of = in SET that are hidden, if they are no others. */
static void check_set_columns(struct change c)
{
	bool target = true;
	for (; !ended(&c); step(&c)) {
		for (const char *const *word = clauses; *word; word++)
			if (begins(&c, *word))
				return;
		if (target && hidden_is_name(&c.token))
			put_target(&c, &c.token);
		if (token_is_symbol(&c.token, "="))
			target = false;
		else if (c.depth == 0 && token_is_symbol(&c.token, ","))
			target = true;
	}
}

/* a = x, (b, c) = (y, z) up to the next clause, its columns with the name of their table. */
static void put_set(struct change *c)
{
	bool target = true;
	for (; !ended(c); step(c)) {
		for (const char *const *word = clauses; *word; word++)
			if (begins(c, *word))
				return;
		fputs(c->token.spaced ? " " : "", c->to);
		if (target && is_name(&c->token)) {
			put_token(c, &c->name);
			fputs(".", c->to);
		}
		put_token(c, &c->token);
		if (token_is_symbol(&c->token, "="))
			target = false;
		else if (c->depth == 0 && token_is_symbol(&c->token, ","))
			target = true;
	}
}

/* FROM and WHERE, in hand: the changed table comes first. */
static void put_rows(struct change *c)
{
	static const char *const end[] = { "returning", NULL };
	fputs(" FROM ", c->to);
	put_table(c);
	if (accept(c, "from"))
		fputs(", ", c->to);
	else
		fputs(" ", c->to);
	const char *from = c->token.text;
	put(c, from, skip_to(c, end));
	fputs(";", c->to);
}

static bool check_update(struct change *c)
{
	if (!take_table(c) || !accept(c, "set"))
		return false;
	check_set_columns(*c);
	put(c, c->sql, c->verb);
	fputs("SELECT 1, ", c->to);
	put_set(c);
	put_rows(c);
	check_returning(c);
	return true;
}

static bool check_delete(struct change *c)
{
	if (!accept(c, "from") || !take_table(c))
		return false;
	put(c, c->sql, c->verb);
	fputs("SELECT 1", c->to);
	put_rows(c);
	check_returning(c);
	return true;
}

/* ---- INSERT ---------------------------------------------------------------------------------- */

static bool is_same(const struct token *a, const struct token *b)
{
	return a->bytes == b->bytes && strncasecmp(a->text, b->text, a->bytes) == 0;
}

/* A hidden column's name behind the rows: of the table, of the row that was not inserted, or of
 * another table in a subquery. */
static void check_column(const struct change *c, const struct token *qualifier, struct token next)
{
	bool own = !qualifier || token_is(qualifier, "excluded") || is_same(qualifier, &c->own) ||
		   is_same(qualifier, &c->name);
	bool column = !token_is(&c->previous, "as") && !token_is_symbol(&next, ".") &&
		      !token_is_symbol(&next, "(");
	bool set = c->depth == 0 && token_is_symbol(&next, "=") &&
		   (token_is(&c->previous, "set") || token_is_symbol(&c->previous, ","));
	if (own && column && set)
		put_target(c, &c->token);
	else if (own && column)
		put_column(c, qualifier, &c->token);
}

static void check_conflict_and_returning(struct change *c)
{
	struct token before = c->previous;
	for (; !ended(c); before = c->previous, step(c)) {
		if (token_is(&c->token, "returning") && is_beyond(*c)) {
			checks_refuse(c->to, c->token.text);
			return;
		}
		struct lexer ahead = c->lexer;
		struct token next = lexer_next(&ahead);
		bool qualified = token_is_symbol(&c->previous, ".");
		if (hidden_is_name(&c->token))
			check_column(c, qualified ? &before : NULL, next);
	}
}

/* ON CONFLICT or RETURNING; what stands before it sees nothing of the table. */
static void skip_rows(struct change *c)
{
	for (; !ended(c); step(c)) {
		struct lexer ahead = c->lexer;
		struct token next = lexer_next(&ahead);
		if (begins(c, "returning") || (begins(c, "on") && token_is(&next, "conflict")))
			return;
	}
}

static bool check_insert(struct change *c)
{
	if (!accept(c, "into") || !take_table(c))
		return false;
	if (token_is_symbol(&c->token, "(")) {
		for (step(c); c->depth; step(c)) {
			if (ended(c))
				return false;
			if (hidden_is_name(&c->token))
				put_target(c, &c->token);
		}
		step(c);
	}
	skip_rows(c);
	check_conflict_and_returning(c);
	return true;
}

/* ---- The statement --------------------------------------------------------------------------- */

void checks_of_change(FILE *to, const char *sql)
{
	static const char *const verbs[] = { "select", "values", "insert", "update", "delete",
		"replace", NULL };
	struct change c = {
		.to = to, .sql = sql, .lexer = { .at = sql, .end = sql + strlen(sql) }
	};
	bool fine = true;
	step(&c);
	c.verb = token_is(&c.token, "with") ? skip_to(&c, verbs) : c.token.text;
	if (accept(&c, "update"))
		fine = check_update(&c);
	else if (accept(&c, "delete"))
		fine = check_delete(&c);
	else if (accept(&c, "insert"))
		fine = check_insert(&c);
	else
		fine = !token_is(&c.token, "replace");
	if (!fine)
		checks_refuse(to, sql);
}
