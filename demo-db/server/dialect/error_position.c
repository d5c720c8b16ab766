/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the way back from a place in a translation to one in the client's text.
 */
#include "demo-db/server/dialect/error_position.h"
#include "demo-db/server/dialect/error_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

int error_text_characters(const char *text, size_t bytes)
{
	int characters = 0;
	for (size_t i = 0; i < bytes; i++)
		characters += ((unsigned char)text[i] & 0xc0) != 0x80;
	return characters;
}

/* The next character of a name; 0: its end. */
static char next_of_name(const struct token *t, size_t *at)
{
	bool quoted = t->kind == TOKEN_NAME;
	*at += quoted && *at == 0;
	if (*at + quoted >= t->bytes)
		return '\0';
	char c = t->text[(*at)++];
	*at += quoted && c == '"'; /* it is doubled */
	return quoted ? c : (char)tolower((unsigned char)c);
}

/* The translation writes names in quotes or without, and key words in capitals. */
bool place_alike(const struct token *a, const struct token *b)
{
	bool names = (a->kind == TOKEN_WORD || a->kind == TOKEN_NAME) &&
		     (b->kind == TOKEN_WORD || b->kind == TOKEN_NAME);
	size_t at = 0, there = 0;
	char c;
	if (!names)
		return a->bytes == b->bytes && memcmp(a->text, b->text, a->bytes) == 0;
	do {
		c = next_of_name(a, &at);
		if (c != next_of_name(b, &there))
			return false;
	} while (c);
	return true;
}

struct token place_nth_alike(const char *text, size_t bytes, const struct token *wanted, unsigned n)
{
	struct lexer lexer = { .at = text, .end = text + bytes };
	for (;;) {
		struct token t = lexer_next(&lexer);
		if (t.kind == TOKEN_END || t.kind == TOKEN_BAD)
			return (struct token){ .kind = TOKEN_END };
		if (place_alike(&t, wanted) && --n == 0)
			return t;
	}
}

int place_of(const char *text, const struct token *t)
{
	return error_text_characters(text, (size_t)(t->text - text)) + 1;
}

/* ---- What the translation adds --------------------------------------------------------------- */

/* The words at the lexer? Then it is moved behind them. */
static bool skip_words(struct lexer *lexer, const char *const *words)
{
	struct lexer ahead = *lexer;
	for (; *words; words++) {
		struct token t = lexer_next(&ahead);
		if (!token_is(&t, *words) && !token_is_symbol(&t, *words))
			return false;
	}
	*lexer = ahead;
	return true;
}

static void skip_behind(struct lexer *lexer, const char *word)
{
	struct token t;
	do
		t = lexer_next(lexer);
	while (!token_is(&t, word) && !token_is_symbol(&t, word) && t.kind != TOKEN_END &&
		t.kind != TOKEN_BAD);
}

struct walk { /* over a translation, past what tree_change.c wrote */
	struct lexer lexer;
	enum { NOWHERE, IN_VALUE, IN_ROWS } inside; /* of pg_assign(value, …), of FROM (VALUES …) */
	unsigned depth;
};

/* The end of what is around a value or rows. */
static bool skip_end(struct walk *w)
{
	static const char *const comma[] = { ",", NULL }, *const close[] = { ")", NULL };
	static const char *const all[] = { "where", "true", NULL };
	if (w->depth)
		return false;
	if (w->inside == IN_VALUE && skip_words(&w->lexer, comma)) {
		skip_behind(&w->lexer, ")");
	} else if (w->inside == IN_ROWS && skip_words(&w->lexer, close)) {
		skip_words(&w->lexer, all);
	} else {
		return false;
	}
	w->inside = NOWHERE;
	return true;
}

static bool skip_added(struct walk *w)
{
	static const char *const value[] = { "pg_assign", "(", NULL };
	static const char *const stated[] = { "pg_default", "(", NULL };
	static const char *const rows[] = { "select", "pg_assign", "(", "column1", NULL };
	static const char *const query[] = { "with", "pg_source", "(", NULL };
	static const char *const chosen[] = { ")", "select", "pg_assign", NULL };
	static const char *const all[] = { "where", "true", NULL };
	if (skip_end(w))
		return true;
	if (skip_words(&w->lexer, rows)) {
		skip_behind(&w->lexer, "from");
		skip_behind(&w->lexer, "(");
		w->inside = IN_ROWS;
		w->depth = 0;
	} else if (skip_words(&w->lexer, query)) {
		skip_behind(&w->lexer, "as");
		skip_behind(&w->lexer, "(");
	} else if (skip_words(&w->lexer, chosen)) {
		skip_behind(&w->lexer, "pg_source");
		skip_words(&w->lexer, all);
	} else if (skip_words(&w->lexer, stated)) {
		skip_behind(&w->lexer, ")");
	} else if (skip_words(&w->lexer, value)) {
		w->inside = IN_VALUE;
		w->depth = 0;
	} else {
		return false;
	}
	return true;
}

static struct token next_written(struct walk *w)
{
	while (skip_added(w))
		continue;
	struct token t = lexer_next(&w->lexer);
	w->depth += token_is_symbol(&t, "(");
	w->depth -= w->depth && token_is_symbol(&t, ")");
	return t;
}

bool place_land(const char *sql, int offset, struct landing *landing)
{
	struct walk walk = { .lexer = { .at = sql, .end = sql + strlen(sql) } };
	*landing = (struct landing){ .nth = 1, .nth_before = 1 };
	if (offset < 0 || (size_t)offset >= strlen(sql))
		return false;
	do {
		landing->before = landing->token;
		landing->token = next_written(&walk);
		if (landing->token.kind == TOKEN_END || landing->token.kind == TOKEN_BAD)
			return false;
	} while (landing->token.text + landing->token.bytes <= sql + offset);
	walk = (struct walk){ .lexer = { .at = sql, .end = landing->token.text } };
	for (struct token t = next_written(&walk); t.kind != TOKEN_END; t = next_written(&walk)) {
		landing->nth += place_alike(&t, &landing->token);
		landing->nth_before +=
			t.text != landing->before.text && place_alike(&t, &landing->before);
	}
	return true;
}

int error_text_position(const char *text, size_t text_bytes, const char *sql, int offset)
{
	struct landing l;
	if (!place_land(sql, offset, &l))
		return 0;
	struct token found = place_nth_alike(text, text_bytes, &l.token, l.nth);
	return found.kind == TOKEN_END ? 0 : place_of(text, &found);
}

bool place_is_name(const struct token *t, const char *name)
{
	const char *at = t->text + 1, *end = t->text + t->bytes - 1;
	if (t->kind != TOKEN_NAME)
		return token_is(t, name);
	for (; at < end && *name; name++) {
		if (*at++ != *name)
			return false;
		at += *name == '"'; /* it is doubled */
	}
	return at == end && !*name;
}

int place_of_relation(const char *text, size_t bytes, const char *name)
{
	static const char *const before[] = { "from", "join", "into", "update", "only" };
	struct lexer lexer = { .at = text, .end = text + bytes };
	struct token t = lexer_next(&lexer), previous = { .kind = TOKEN_END };
	if (token_is(&t, "drop") || token_is(&t, "alter") || token_is(&t, "truncate"))
		return 0;
	for (; t.kind != TOKEN_END && t.kind != TOKEN_BAD; t = lexer_next(&lexer)) {
		bool here = token_is_symbol(&previous, ",");
		for (size_t i = 0; i < sizeof before / sizeof *before; i++)
			here |= token_is(&previous, before[i]);
		if (here && place_is_name(&t, name))
			return place_of(text, &t);
		previous = t;
	}
	return 0;
}

int place_of_text(const char *text, size_t bytes, const char *name)
{
	struct lexer lexer = { .at = text, .end = text + bytes };
	for (struct token t = lexer_next(&lexer); t.kind != TOKEN_END && t.kind != TOKEN_BAD;
		t = lexer_next(&lexer)) {
		bool literal = t.kind == TOKEN_STRING && t.bytes == strlen(name) + 2 &&
			       memcmp(t.text + 1, name, t.bytes - 2) == 0;
		if (literal || place_is_name(&t, name))
			return place_of(text, &t);
	}
	return 0;
}

int place_of_column(const char *text, size_t bytes, const char *name)
{
	char table[128] = "";
	const char *dot = strchr(name, '.'), *column = dot ? dot + 1 : name;
	struct lexer lexer = { .at = text, .end = text + bytes };
	struct token before = { .kind = TOKEN_END }, previous = before;
	snprintf(table, sizeof table, "%.*s", dot ? (int)(dot - name) : 0, name);
	for (struct token t = lexer_next(&lexer); t.kind != TOKEN_END && t.kind != TOKEN_BAD;
		t = lexer_next(&lexer)) {
		bool qualified = token_is_symbol(&previous, ".");
		bool here = dot ? qualified && place_is_name(&before, table)
				: !qualified && !token_is(&previous, "as");
		if (here && place_is_name(&t, column))
			return place_of(text, dot ? &before : &t);
		before = previous;
		previous = t;
	}
	return 0;
}

int place_of_target(const char *text, size_t bytes, const char *name)
{
	static const char *const ends[] = { "from", "where", "returning" };
	struct lexer lexer = { .at = text, .end = text + bytes };
	bool set = false, target = false;
	unsigned depth = 0;
	for (struct token t = lexer_next(&lexer); t.kind != TOKEN_END && t.kind != TOKEN_BAD;
		t = lexer_next(&lexer)) {
		if (target && place_is_name(&t, name))
			return place_of(text, &t);
		depth += token_is_symbol(&t, "(");
		depth -= depth && token_is_symbol(&t, ")");
		set |= depth == 0 && token_is(&t, "set");
		for (size_t i = 0; depth == 0 && i < sizeof ends / sizeof *ends; i++)
			set &= !token_is(&t, ends[i]);
		if (depth == 0 && (token_is(&t, "set") || token_is_symbol(&t, ",")))
			target = set;
		else if (token_is_symbol(&t, "="))
			target = false;
	}
	return 0;
}
