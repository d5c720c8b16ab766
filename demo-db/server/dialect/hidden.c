/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the way around SQLite's hidden columns. Each query, which is what stands between
 * parentheses or all of the statement, gets its tables, views and subqueries as common tables of
 * its own, in front of its first verb.
 */
#include "demo-db/server/dialect/hidden.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NOWHERE	  SIZE_MAX
#define DEPTH_MAX 200 /* of parentheses; rewriter.h allows 100, and adds some */

/* ---- Words ---------------------------------------------------------------------------------- */

static const char *const hidden[] = { "rowid", "oid", "_rowid_" };

bool hidden_is_name(const struct token *t)
{
	size_t quote = t->kind == TOKEN_NAME, bytes = t->bytes - 2 * quote;
	if (t->kind != TOKEN_WORD && t->kind != TOKEN_NAME)
		return false;
	for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
		if (strlen(hidden[i]) == bytes &&
			strncasecmp(t->text + quote, hidden[i], bytes) == 0)
			return true;
	return false;
}

/* Most statements have none of the letters. */
static bool may_be_said(const char *sql)
{
	for (const char *d = sql; (d = strpbrk(d, "dD")); d++)
		if (d - sql >= 2 && (d[-1] | 0x20) == 'i' &&
			((d[-2] | 0x20) == 'o' || (d[-2] | 0x20) == 'w'))
			return true;
	return false;
}

bool hidden_is_said(const char *sql)
{
	struct lexer lexer = { .at = sql, .end = sql + strlen(sql) };
	struct token t = { .kind = TOKEN_WORD, .text = "" };
	if (!may_be_said(sql))
		return false;
	while (t.kind != TOKEN_END && t.kind != TOKEN_BAD && !hidden_is_name(&t))
		t = lexer_next(&lexer);
	return t.kind == TOKEN_WORD || t.kind == TOKEN_NAME;
}

static bool is_one_of(const struct token *t, const char *const *words)
{
	for (; *words; words++)
		if (token_is(t, *words))
			return true;
	return false;
}

static bool is_name(const struct token *t)
{
	return t->kind == TOKEN_WORD || t->kind == TOKEN_NAME;
}

/* ---- Output --------------------------------------------------------------------------------- */

struct out {
	char *data;
	size_t *from; /* of each byte: where in the statement it stood */
	size_t bytes, room;
	bool failed;
};

static bool make_room(struct out *o, size_t bytes)
{
	size_t room = (o->bytes + bytes + 1) * 2;
	if (o->failed || o->room - o->bytes > bytes)
		return !o->failed;
	char *data = realloc(o->data, room);
	size_t *from = realloc(o->from, room * sizeof *from);
	o->data = data ? data : o->data;
	o->from = from ? from : o->from;
	o->failed = !data || !from;
	o->room = room;
	return !o->failed;
}

static void append(struct out *o, const char *data, size_t bytes, size_t from)
{
	if (!make_room(o, bytes))
		return;
	for (size_t i = 0; i < bytes; i++)
		o->from[o->bytes + i] = from == NOWHERE ? NOWHERE : from + i;
	memcpy(o->data + o->bytes, data, bytes);
	o->bytes += bytes;
	o->data[o->bytes] = '\0';
}

static void append_text(struct out *o, const char *text)
{
	append(o, text, strlen(text), NOWHERE);
}

/* A text that stands for what begins at a byte of the statement. */
static void append_for(struct out *o, const char *text, size_t from)
{
	for (; *text; text++)
		append(o, text, 1, from);
}

/* Bytes `begin` to `end` of another. */
static void append_part(struct out *o, const struct out *part, size_t begin, size_t end)
{
	o->failed |= part->failed;
	if (begin == end || !make_room(o, end - begin))
		return;
	memcpy(o->from + o->bytes, part->from + begin, (end - begin) * sizeof *part->from);
	memcpy(o->data + o->bytes, part->data + begin, end - begin);
	o->bytes += end - begin;
	o->data[o->bytes] = '\0';
}

static void out_free(struct out *o)
{
	free(o->data);
	free(o->from);
}

/* ---- Reading -------------------------------------------------------------------------------- */

struct pass {
	const char *sql;
	struct lexer lexer;
	struct token token, previous;
	unsigned common; /* tables made so far */
	unsigned depth;
	bool returning;		     /* behind RETURNING, which knows no common tables of its own */
	struct token own[DEPTH_MAX]; /* by depth: the client's common table the query defines */
	bool failed;
};

struct query { /* what stands between parentheses */
	struct out tables, body;
	size_t verb;	   /* in `body`: where the tables go; NOWHERE: no verb yet */
	size_t verb_from;  /* where it stands in the statement */
	bool with;	   /* it has common tables itself */
	bool from;	   /* in its FROM: a comma is followed by a table */
	bool table;	   /* a table follows */
	unsigned groups;   /* parentheses around joins that are open */
	struct token name; /* of the client's common table that comes */
};

static void step(struct pass *p)
{
	p->previous = p->token;
	p->token = lexer_next(&p->lexer);
}

static struct token look(const struct pass *p)
{
	struct lexer ahead = p->lexer;
	return lexer_next(&ahead);
}

static bool ended(const struct pass *p)
{
	return p->token.kind == TOKEN_END || p->token.kind == TOKEN_BAD;
}

static void copy(struct pass *p, struct out *to)
{
	if (p->token.spaced && to->bytes)
		append_text(to, " ");
	append(to, p->token.text, p->token.bytes, (size_t)(p->token.text - p->sql));
	step(p);
}

/* ---- Tables --------------------------------------------------------------------------------- */

static const struct token nobody = { .kind = TOKEN_END };

static void read_query(struct pass *p, struct out *to, struct token own);

/* ( … ) in hand, with what it becomes. */
static void copy_parenthesised(struct pass *p, struct out *to, struct token own)
{
	copy(p, to);
	read_query(p, to, own);
	if (token_is_symbol(&p->token, ")"))
		copy(p, to);
}

static void begin_table(struct pass *p, struct query *q, char name[32])
{
	snprintf(name, 32, HIDDEN_COMMON "%u", ++p->common);
	append_text(&q->tables, q->tables.bytes ? ", " : "");
	append_for(&q->tables, name, q->verb_from);
	append_text(&q->tables, " AS (");
}

/* Is it what a common table reads of itself? */
static bool is_own(const struct pass *p, const struct token *name)
{
	for (unsigned i = 0; i <= p->depth; i++)
		if (p->own[i].text && p->own[i].bytes == name->bytes &&
			strncasecmp(p->own[i].text, name->text, name->bytes) == 0)
			return true;
	return false;
}

static bool alias_follows(const struct pass *p)
{
	static const char *const never[] = { "where", "group", "having", "order", "limit", "union",
		"except", "intersect", "returning", "set", "on", "using", "join", "inner", "left",
		"right", "full", "cross", "natural", "outer", "window", "select", "values",
		"indexed", "not", NULL };
	return is_name(&p->token) && !is_one_of(&p->token, never);
}

/* [schema.]table or function( … ) in hand. */
static void read_table(struct pass *p, struct query *q)
{
	char name[32];
	struct token next = look(p), last = p->token;
	size_t from = (size_t)(p->token.text - p->sql);
	bool spaced = p->token.spaced;
	if (!token_is_symbol(&next, ".") && is_own(p, &p->token)) {
		copy(p, &q->body);
		return;
	}
	begin_table(p, q, name);
	append_text(&q->tables, "SELECT*FROM ");
	p->token.spaced = false;
	copy(p, &q->tables);
	while (token_is_symbol(&p->token, ".")) {
		copy(p, &q->tables);
		last = p->token;
		copy(p, &q->tables);
	}
	if (token_is_symbol(&p->token, "("))
		copy_parenthesised(p, &q->tables, nobody);
	append_text(&q->tables, ")");
	append_text(&q->body, spaced ? " " : "");
	append_for(&q->body, name, from);
	if (!alias_follows(p)) {
		append_text(&q->body, " AS ");
		append(&q->body, last.text, last.bytes, (size_t)(last.text - p->sql));
	}
}

static void read_subquery(struct pass *p, struct query *q)
{
	char name[32];
	struct out inside = { .data = NULL };
	size_t from = (size_t)(p->token.text - p->sql);
	bool spaced = p->token.spaced;
	step(p);
	read_query(p, &inside, nobody);
	if (token_is_symbol(&p->token, ")"))
		step(p);
	begin_table(p, q, name);
	append_part(&q->tables, &inside, 0, inside.bytes);
	append_text(&q->tables, ")");
	append_text(&q->body, spaced ? " " : "");
	append_for(&q->body, name, from);
	out_free(&inside);
}

static void read_source(struct pass *p, struct query *q)
{
	static const char *const queries[] = { "select", "with", "values", NULL };
	struct token next = look(p);
	q->table = false;
	if (is_name(&p->token)) {
		read_table(p, q);
	} else if (is_one_of(&next, queries)) {
		read_subquery(p, q);
	} else { /* around a join: its tables are this query's */
		copy(p, &q->body);
		q->groups++;
		q->table = true;
	}
}

/* ---- Queries -------------------------------------------------------------------------------- */

/* Where the tables go: in front of the verb, or behind the common tables that are there. */
static void note_verb(struct pass *p, struct query *q)
{
	static const char *const verbs[] = { "select", "values", "update", "delete", NULL };
	if (q->verb != NOWHERE)
		return;
	if (is_one_of(&p->token, verbs)) {
		q->verb = q->body.bytes;
		q->verb_from = (size_t)(p->token.text - p->sql);
	} else if (token_is(&p->token, "insert")) /* its rows have their own */
		q->with = false;
	else if (token_is(&p->token, "with"))
		q->with = true;
	else if (q->with && is_name(&p->token) && !token_is(&p->token, "recursive") &&
		 (token_is(&p->previous, "with") || token_is(&p->previous, "recursive") ||
			 token_is_symbol(&p->previous, ",")))
		q->name = p->token;
}

/* WINDOW name AS; alone it is a name. */
static bool begins_windows(const struct pass *p)
{
	struct lexer ahead = p->lexer;
	struct token name = lexer_next(&ahead), as = lexer_next(&ahead);
	return token_is(&p->token, "window") && is_name(&name) && token_is(&as, "as");
}

/* Only words that are no names without quotes end a FROM, or its next comma would be missed. */
static void note_clause(struct pass *p, struct query *q)
{
	static const char *const ends[] = { "where", "group", "having", "order", "limit", "union",
		"except", "intersect", "returning", "set", "select", "values", NULL };
	p->returning |= p->depth == 1 && token_is(&p->token, "returning");
	if (p->returning)
		return;
	bool from = token_is(&p->token, "from") && !token_is(&p->previous, "delete") &&
		    !token_is(&p->previous, "distinct");
	if (from || token_is(&p->token, "join"))
		q->from = q->table = true;
	else if (is_one_of(&p->token, ends) || begins_windows(p))
		q->from = false;
	else if (q->from && token_is_symbol(&p->token, ","))
		q->table = true;
}

static void read_one(struct pass *p, struct query *q)
{
	if (q->table && (is_name(&p->token) || token_is_symbol(&p->token, "("))) {
		read_source(p, q);
		return;
	}
	if (!token_is_symbol(&p->previous, ".")) {
		note_verb(p, q);
		note_clause(p, q);
	}
	bool defines = q->with && q->verb == NOWHERE &&
		       (token_is(&p->previous, "as") || token_is(&p->previous, "materialized"));
	if (token_is_symbol(&p->token, "(")) {
		copy_parenthesised(p, &q->body, defines ? q->name : nobody);
		return;
	}
	q->groups -= q->groups && token_is_symbol(&p->token, ")");
	copy(p, &q->body);
}

static void write_query(const struct query *q, struct out *to)
{
	size_t verb = q->verb == NOWHERE ? 0 : q->verb;
	append_part(to, &q->body, 0, verb);
	if (q->tables.bytes) {
		append_text(to, q->with ? ", " : verb ? " WITH " : "WITH ");
		append_part(to, &q->tables, 0, q->tables.bytes);
		append_text(to, q->body.bytes && q->body.data[verb] == ' ' ? "" : " ");
	}
	append_part(to, &q->body, verb, q->body.bytes);
	to->failed |= q->body.failed || q->tables.failed;
}

static bool ends_query(const struct pass *p, const struct query *q)
{
	bool closes = token_is_symbol(&p->token, ")") && !q->groups;
	return ended(p) || p->failed || closes || token_is_symbol(&p->token, ";");
}

/* Up to the parenthesis that closes it, the semicolon, or the end. */
static void read_query(struct pass *p, struct out *to, struct token own)
{
	struct query q = { .verb = NOWHERE };
	if (p->depth + 1 == DEPTH_MAX) {
		p->failed = true;
		return;
	}
	p->own[++p->depth] = own;
	while (!ends_query(p, &q))
		read_one(p, &q);
	p->depth--;
	write_query(&q, to);
	out_free(&q.tables);
	out_free(&q.body);
}

static struct out rewrite(const char *sql)
{
	struct out out = { .data = NULL };
	struct pass *p = calloc(1, sizeof *p);
	out.failed = !p;
	if (!p)
		return out;
	p->sql = sql;
	p->lexer = (struct lexer){ .at = sql, .end = sql + strlen(sql) };
	step(p);
	while (!ended(p) && !p->failed) {
		read_query(p, &out, nobody);
		p->returning = false;
		if (!ended(p)) /* a semicolon, or a parenthesis too many */
			copy(p, &out);
	}
	append_text(&out, "");
	out.failed |= p->failed || p->token.kind == TOKEN_BAD;
	free(p);
	return out;
}

char *hidden_avoid(const char *sql)
{
	struct out out = rewrite(sql);
	free(out.from);
	if (!out.failed)
		return out.data;
	free(out.data);
	return NULL;
}

int hidden_place(const char *sql, int offset)
{
	struct out out = rewrite(sql);
	size_t from = NOWHERE;
	if (!out.failed && offset >= 0 && (size_t)offset < out.bytes)
		from = out.from[offset];
	out_free(&out);
	return from == NOWHERE ? -1 : (int)from;
}
