/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what is stored into columns: each value of an INSERT, UPDATE or upsert goes through
 * pg_assign(value, column), which refuses or fits it (assign.h). A column of an INSERT without a
 * list is told by its place. Several rows and those of a SELECT become a common table whose
 * columns are assigned (of several rows of VALUES, a subquery).
 */
#include "demo-db/server/dialect/rewriter.h"

#include <stdio.h>
#include <string.h>

#define SOURCE "pg_source" /* the common table; error_text.c knows it by its name */

/* ---- Names ----------------------------------------------------------------------------------- */

static bool is_name(const struct token *t)
{
	return t->kind == TOKEN_WORD || t->kind == TOKEN_NAME;
}

/* [schema.]name at the lexer, `*t` its first token; `*t` is then the one behind. */
static bool read_name(struct lexer *lexer, struct token *t, struct token *name)
{
	if (!is_name(t))
		return false;
	*name = *t;
	*t = lexer_next(lexer);
	while (token_is_symbol(t, ".")) {
		*name = lexer_next(lexer);
		*t = lexer_next(lexer);
	}
	return is_name(name);
}

/* The name inside a string, its own dots and backslashes behind a backslash if `escape`. */
static void write_name(struct text *out, const struct token *name, bool escape)
{
	bool quoted = name->kind == TOKEN_NAME;
	const char *at = name->text + quoted, *end = name->text + name->bytes - quoted;
	if (!quoted) { /* a word has none of these */
		rewrite_append(out, at, name->bytes);
		return;
	}
	for (; at < end; at++) {
		if (*at == '\'')
			rewrite_append(out, "'", 1);
		if (escape && (*at == '.' || *at == '\\'))
			rewrite_append(out, "\\", 1);
		rewrite_append(out, at, 1);
		at += *at == '"'; /* the first of a doubled quote */
	}
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* The names of a list are taken one by one; without a list, places from 0. */
struct column {
	struct token name; /* its kind is END: by place */
	unsigned place;
	bool none; /* behind the list's end */
};

static struct column next_column(struct assignment *a)
{
	struct column column = { .name = { .kind = TOKEN_END }, .place = a->place++ };
	if (!a->columns.at)
		return column;
	column.name = lexer_next(&a->columns);
	if (token_is_symbol(&column.name, ","))
		column.name = lexer_next(&a->columns);
	column.none = !is_name(&column.name);
	if (column.none)
		a->columns.end = a->columns.at;
	return column;
}

/* 'table.column') or 'table', place): the last arguments of a function. */
static void write_column(struct rewriter *r, struct assignment *a)
{
	struct column column = next_column(a);
	char place[24];
	if (column.none) { /* one value too many: SQLite says so */
		rewrite_append_text(&r->out, "NULL)");
		return;
	}
	rewrite_append_text(&r->out, "'");
	write_name(&r->out, &a->table, a->columns.at != NULL);
	if (a->columns.at) {
		rewrite_append_text(&r->out, ".");
		write_name(&r->out, &column.name, false);
		rewrite_append_text(&r->out, "')");
	} else {
		snprintf(place, sizeof place, "', %u)", column.place);
		rewrite_append_text(&r->out, place);
	}
}

static void open_value(struct rewriter *r)
{
	rewrite_append_text(&r->out, r->token.spaced ? " pg_assign(" : "pg_assign(");
	r->token.spaced = false;
	r->assign.open = true;
}

static void close_value(struct rewriter *r)
{
	if (!r->assign.open)
		return;
	rewrite_append_text(&r->out, ", ");
	write_column(r, &r->assign);
	r->assign.open = false;
	r->operand_at = REWRITE_NO_OPERAND;
}

/* DEFAULT as a whole value, that of the column `ahead` of the next one. True: it is behind. */
static bool write_default(struct rewriter *r, unsigned ahead)
{
	static const char *const ends[] = { "where", "from", "returning", NULL };
	if (!token_is(&r->token, "default"))
		return false;
	struct assignment there = r->assign;
	struct token next = rewrite_look(r);
	bool whole = token_is_symbol(&next, ",") || token_is_symbol(&next, ")") ||
		     token_is_symbol(&next, ";") || next.kind == TOKEN_END ||
		     rewrite_in_list(&next, ends);
	if (!whole)
		return false;
	while (ahead--)
		next_column(&there);
	rewrite_append_text(&r->out, r->token.spaced ? " pg_default(" : "pg_default(");
	write_column(r, &there);
	r->operand_at = REWRITE_NO_OPERAND;
	rewrite_step(r);
	return true;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Items between commas up to the parenthesis that closes them; 0: it does not close. */
static unsigned count_items(struct lexer lexer)
{
	unsigned depth = 0, count = 1;
	for (struct token t = lexer_next(&lexer); t.kind != TOKEN_END && t.kind != TOKEN_BAD;
		t = lexer_next(&lexer)) {
		if (depth == 0 && token_is_symbol(&t, ")"))
			return count;
		count += depth == 0 && token_is_symbol(&t, ",");
		depth += token_is_symbol(&t, "(");
		depth -= token_is_symbol(&t, ")");
	}
	return 0;
}

/* Does another row follow the one that begins here, with its parenthesis? */
static bool is_several(struct lexer lexer)
{
	unsigned depth = 0;
	struct token t;
	do {
		t = lexer_next(&lexer);
		depth += token_is_symbol(&t, "(");
		depth -= depth && token_is_symbol(&t, ")");
	} while (depth && t.kind != TOKEN_END && t.kind != TOKEN_BAD);
	t = lexer_next(&lexer);
	return token_is_symbol(&t, ",");
}

/* Columns of the select list behind this; 0: only the schema knows. */
static unsigned count_selected(struct lexer lexer)
{
	static const char *const ends[] = { "from", "where", "group", "having", "order", "limit",
		"union", "except", "intersect", "returning", "window", "offset", NULL };
	static const char *const begins[] = { "all", "distinct", NULL };
	unsigned depth = 0, count = 1;
	struct token before = { .kind = TOKEN_SYMBOL, .text = ",", .bytes = 1 };
	for (struct token t = lexer_next(&lexer); t.kind != TOKEN_END && t.kind != TOKEN_BAD;
		t = lexer_next(&lexer)) {
		bool distinct_from = token_is(&t, "from") && token_is(&before, "distinct");
		bool first = token_is_symbol(&before, ",") || token_is_symbol(&before, ".");
		if (depth == 0 && first && token_is_symbol(&t, "*"))
			return 0;
		if (depth == 0 &&
			(token_is_symbol(&t, ";") || (rewrite_in_list(&t, ends) && !distinct_from)))
			break;
		count += depth == 0 && token_is_symbol(&t, ",");
		depth += token_is_symbol(&t, "(");
		depth -= depth && token_is_symbol(&t, ")");
		if (!rewrite_in_list(&t, begins) || !token_is_symbol(&before, ","))
			before = t;
	}
	return count;
}

/* The token in hand begins rows: how many columns they have. */
static unsigned count_columns(const struct rewriter *r)
{
	struct lexer lexer = r->lexer;
	if (token_is(&r->token, "values")) {
		struct token open = lexer_next(&lexer);
		return token_is_symbol(&open, "(") ? count_items(lexer) : 0;
	}
	if (r->assign.columns.at)
		return count_items(r->assign.columns);
	return token_is(&r->token, "select") ? count_selected(lexer) : 0;
}

/* pg_assign(c1, 't.a'), … of the columns of the rows. */
static void write_assigned(struct rewriter *r, const char *column)
{
	char name[40];
	for (unsigned i = 1; i <= r->assign.count; i++) {
		snprintf(name, sizeof name, "%s pg_assign(%s%u, ", i > 1 ? "," : "", column, i);
		rewrite_append_text(&r->out, name);
		write_column(r, &r->assign);
	}
}

/* Columns of a query get names by a common table; those of VALUES have them: column1, … */
static void open_rows(struct rewriter *r)
{
	struct assignment *a = &r->assign;
	char name[24];
	a->count = count_columns(r);
	a->values = token_is(&r->token, "values");
	if (a->count == 0) {
		a->part = a->tuple ? ASSIGN_VALUE : ASSIGN_NOTHING;
		return;
	}
	if (r->token.spaced)
		rewrite_append_text(&r->out, " ");
	r->token.spaced = false;
	if (a->values) {
		struct assignment before = *a; /* DEFAULT asks for its column again */
		rewrite_append_text(&r->out, "SELECT");
		write_assigned(r, "column");
		*a = before;
		rewrite_append_text(&r->out, " FROM (");
	} else {
		rewrite_append_text(&r->out, "WITH " SOURCE "(");
		for (unsigned i = 1; i <= a->count; i++) {
			snprintf(name, sizeof name, i > 1 ? ", c%u" : "c%u", i);
			rewrite_append_text(&r->out, name);
		}
		rewrite_append_text(&r->out, ") AS (");
	}
	a->part = ASSIGN_ROWS;
	a->depth = r->depth;
}

static void close_rows(struct rewriter *r)
{
	struct assignment *a = &r->assign;
	rewrite_append_text(&r->out, ")");
	if (!a->values) {
		rewrite_append_text(&r->out, " SELECT");
		write_assigned(r, "c");
		rewrite_append_text(&r->out, " FROM " SOURCE);
	}
	if (token_is(&r->token, "on")) /* SQLite's grammar takes it for a join's */
		rewrite_append_text(&r->out, " WHERE true");
	r->operand_at = REWRITE_NO_OPERAND;
	a->part = a->tuple ? ASSIGN_VALUE : ASSIGN_NOTHING;
}

/* Inside rows of VALUES: a value that is DEFAULT. */
static void walk_rows(struct rewriter *r)
{
	struct assignment *a = &r->assign;
	if (r->depth == a->depth && token_is_symbol(&r->token, "("))
		a->item = 0;
	if (r->depth != a->depth + 1)
		return;
	if (a->values)
		write_default(r, a->item);
	a->item += token_is_symbol(&r->token, ",");
}

static bool ends_rows(const struct rewriter *r)
{
	const struct token *t = &r->token;
	if (r->depth != r->assign.depth)
		return false;
	if (token_is(t, "on")) {
		struct token next = rewrite_look(r);
		return token_is(&next, "conflict");
	}
	return token_is(t, "returning") || token_is_symbol(t, ";") || token_is_symbol(t, ")");
}

/* ---- INSERT ---------------------------------------------------------------------------------- */

/* INTO table [AS name] [(columns)] behind the word in hand; then the rows begin. */
static void read_insert(struct rewriter *r)
{
	struct assignment *a = &r->assign;
	struct lexer lexer = r->lexer;
	struct token t = lexer_next(&lexer), ignored;
	*a = (struct assignment){ .part = ASSIGN_NOTHING };
	if (!token_is(&t, "into"))
		return;
	t = lexer_next(&lexer);
	if (!read_name(&lexer, &t, &a->table))
		return;
	if (token_is(&t, "as")) {
		t = lexer_next(&lexer);
		read_name(&lexer, &t, &ignored);
	}
	if (token_is_symbol(&t, "(")) {
		a->columns = lexer;
		while (t.kind != TOKEN_END && t.kind != TOKEN_BAD && !token_is_symbol(&t, ")"))
			t = lexer_next(&lexer);
		t = lexer_next(&lexer);
	}
	for (int words = token_is(&t, "overriding") ? 3 : 0; words; words--)
		t = lexer_next(&lexer);
	a->rows_at = t.text;
	a->unlisted = !a->columns.at;
	a->part = ASSIGN_INSERT;
}

static void begin_rows(struct rewriter *r)
{
	static const char *const queries[] = { "select", "with", NULL };
	bool values = token_is(&r->token, "values");
	r->assign.part = ASSIGN_NOTHING;
	r->assign.stores_last = values;
	if (values && !is_several(r->lexer)) {
		r->assign.part = ASSIGN_ROW;
		r->assign.depth = r->depth + 1;
	} else if (values || rewrite_in_list(&r->token, queries)) {
		open_rows(r);
	}
}

/* Inside a row: true when its parenthesis is about to close. */
static bool walk_row(struct rewriter *r)
{
	struct assignment *a = &r->assign;
	bool close = token_is_symbol(&r->token, ")"), comma = token_is_symbol(&r->token, ",");
	if (r->depth != a->depth)
		return false;
	if (!close && !comma && !a->open) {
		open_value(r);
		if (!write_default(r, 0))
			return false;
		close = token_is_symbol(&r->token, ")");
		comma = !close;
	}
	if (close || comma)
		close_value(r);
	return close;
}

/* ---- SET ------------------------------------------------------------------------------------- */

static void read_update(struct rewriter *r)
{
	struct lexer lexer = r->lexer;
	struct token t = lexer_next(&lexer);
	if (token_is(&t, "only"))
		t = lexer_next(&lexer);
	r->assign = (struct assignment){ .part = ASSIGN_NOTHING, .stores_last = true };
	read_name(&lexer, &t, &r->assign.table);
}

/* A column, or a list of them in parentheses, in front of its =. */
static void walk_target(struct rewriter *r)
{
	struct assignment *a = &r->assign;
	if (r->depth)
		return;
	a->tuple = a->tuple || token_is_symbol(&r->token, "(");
	if (token_is_symbol(&r->token, "(")) {
		a->columns = r->lexer;
	} else if (is_name(&r->token) && !a->tuple) {
		a->columns = (struct lexer){ .at = r->token.text, .end = r->lexer.end };
	} else if (token_is_symbol(&r->token, "=")) {
		a->part = ASSIGN_EXPRESSION;
	}
}

static bool ends_expression(const struct rewriter *r)
{
	static const char *const ends[] = { "from", "where", "returning", NULL };
	if (token_is_symbol(&r->token, ",") || token_is_symbol(&r->token, ";"))
		return true;
	return rewrite_in_list(&r->token, ends) && !token_is(&r->previous, "distinct");
}

static void walk_expression(struct rewriter *r)
{
	struct assignment *a = &r->assign;
	if (r->depth || !ends_expression(r))
		return;
	close_value(r);
	a->tuple = false;
	a->stores_last = a->stores_last && !token_is(&r->token, "from");
	a->part = token_is_symbol(&r->token, ",") ? ASSIGN_TARGET : ASSIGN_NOTHING;
}

/* The first token behind =. */
static void begin_expression(struct rewriter *r)
{
	static const char *const queries[] = { "select", "with", "values", NULL };
	struct assignment *a = &r->assign;
	struct token next = rewrite_look(r);
	a->part = ASSIGN_VALUE;
	if (a->tuple && token_is_symbol(&r->token, "(")) {
		a->part = rewrite_in_list(&next, queries) ? ASSIGN_QUERY : ASSIGN_TUPLE;
		a->depth = 1;
	} else if (!a->tuple && !ends_expression(r)) {
		open_value(r);
		if (write_default(r, 0))
			walk_expression(r);
	}
}

/* ---- The statement --------------------------------------------------------------------------- */

static void look_for_changes(struct rewriter *r)
{
	const struct token *t = &r->token;
	if (r->depth || t->kind != TOKEN_WORD)
		return;
	if (token_is(t, "insert"))
		read_insert(r);
	else if (token_is(t, "update") && !token_is(&r->previous, "do"))
		read_update(r);
	else if (token_is(t, "set") && r->assign.table.text) {
		r->assign.part = ASSIGN_TARGET;
		r->assign.stores_last = r->assign.stores_last && !r->assign.rows_at;
	}
}

void rewrite_assign(struct rewriter *r)
{
	struct assignment *a = &r->assign;
	if (r->schema)
		return;
	switch (a->part) {
	case ASSIGN_NOTHING:
		look_for_changes(r);
		break;
	case ASSIGN_INSERT:
		if (r->token.text == a->rows_at)
			begin_rows(r);
		break;
	case ASSIGN_ROW:
		if (walk_row(r))
			a->part = ASSIGN_NOTHING;
		break;
	case ASSIGN_ROWS:
		if (ends_rows(r))
			close_rows(r);
		else
			walk_rows(r);
		break;
	case ASSIGN_TARGET:
		walk_target(r);
		break;
	case ASSIGN_EXPRESSION:
		begin_expression(r);
		break;
	case ASSIGN_VALUE:
		walk_expression(r);
		break;
	case ASSIGN_TUPLE:
		if (walk_row(r))
			a->part = ASSIGN_VALUE;
		break;
	case ASSIGN_QUERY:
		open_rows(r);
		break;
	}
}

void rewrite_assign_end(struct rewriter *r)
{
	if (r->depth)
		return;
	if (r->assign.part == ASSIGN_ROWS)
		close_rows(r);
	close_value(r);
}
