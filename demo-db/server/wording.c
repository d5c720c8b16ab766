/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the table from SQLite's phrases to PostgreSQL's. It must not know sessions or the protocol.
 */
#include "demo-db/server/wording.h"
#include "demo-db/server/lexer.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What follows `before` at the start of the message goes between `words` and `rest`. */
static const struct {
	const char *before, *words, *rest;
} phrases[] = {
	{ "no such table: ", "relation \"", "\" does not exist" },
	{ "no such view: ", "view \"", "\" does not exist" },
	{ "no such index: ", "index \"", "\" does not exist" },
	{ "no such trigger: ", "trigger \"", "\" does not exist" },
	{ "no such column: ", "column \"", "\" does not exist" },
	{ "no such function: ", "function ", "() does not exist" },
	{ "ambiguous column name: ", "column reference \"", "\" is ambiguous" },
	{ "CHECK constraint failed: ", "new row violates check constraint \"", "\"" },
};

#define PART_MAX 204 /* bytes of a name or list taken out of a message */

static bool quoted(const char *message, const char *before, const char *after, char name[PART_MAX])
{
	size_t from = strlen(before), to;
	if (strncmp(message, before, from) != 0)
		return false;
	const char *end = *after ? strstr(message + from, after) : NULL;
	to = end ? (size_t)(end - message) : strlen(message);
	snprintf(name, PART_MAX, "%.*s", (int)(to - from < 200 ? to - from : 200), message + from);
	return !*after || end;
}

/* "t.a, t.b" → table "t", columns "a, b", constraint "t_a_b_key". */
static void split_columns(const char *list, char *table, char *columns, char *constraint)
{
	size_t dot = strcspn(list, ".");
	snprintf(table, WORDING_MAX / 4, "%.*s", (int)(dot < 64 ? dot : 64), list);
	snprintf(constraint, WORDING_MAX / 2, "%s", table);
	columns[0] = '\0';
	for (const char *at = list; *at;) {
		const char *end = strchrnul(at, ',');
		const char *name = memchr(at, '.', (size_t)(end - at));
		name = name ? name + 1 : at;
		int bytes = (int)(end - name < 40 ? end - name : 40);
		size_t used = strlen(columns), named = strlen(constraint);
		if (used + 44 < WORDING_MAX / 2 && named + 48 < WORDING_MAX / 2) {
			snprintf(columns + used, WORDING_MAX / 2 - used, "%s%.*s", used ? ", " : "",
				bytes, name);
			snprintf(constraint + named, WORDING_MAX / 2 - named, "_%.*s", bytes, name);
		}
		at = *end ? end + 1 + (end[1] == ' ') : end;
	}
	size_t named = strlen(constraint);
	snprintf(constraint + named, WORDING_MAX / 2 - named, "_key");
}

static bool word_constraint(const char *message, struct wording *w)
{
	char list[PART_MAX], table[WORDING_MAX / 4], columns[WORDING_MAX / 2],
		constraint[WORDING_MAX / 2];
	bool unique = quoted(message, "UNIQUE constraint failed: ", "", list);
	bool null = !unique && quoted(message, "NOT NULL constraint failed: ", "", list);
	if (!unique && !null)
		return false;
	split_columns(list, table, columns, constraint);
	if (unique) {
		snprintf(w->message, sizeof w->message,
			"duplicate key value violates unique constraint \"%s\"", constraint);
		snprintf(w->detail, sizeof w->detail, "Key (%s) already exists in \"%s\".", columns,
			table);
	} else {
		snprintf(w->message, sizeof w->message,
			"null value in column \"%s\" of relation \"%s\" violates not-null "
			"constraint",
			columns, table);
	}
	return true;
}

static bool word_syntax(const char *message, struct wording *w)
{
	char name[PART_MAX];
	if (quoted(message, "near \"", "\": syntax error", name))
		snprintf(w->message, sizeof w->message, "syntax error at or near \"%s\"", name);
	else if (quoted(message, "unrecognized token: ", "", name))
		snprintf(w->message, sizeof w->message, "syntax error at or near %s", name);
	else if (strcmp(message, "incomplete input") == 0)
		snprintf(w->message, sizeof w->message, "syntax error at end of input");
	else
		return false;
	return true;
}

static bool word_exists(const char *message, struct wording *w)
{
	char name[PART_MAX];
	static const char *const kinds[] = { "table ", "view ", "index ", "trigger " };
	for (size_t i = 0; i < 4; i++) {
		if (quoted(message, kinds[i], " already exists", name)) {
			char *plain = name + strspn(name, "\"");
			plain[strcspn(plain, "\"")] = '\0';
			snprintf(w->message, sizeof w->message, "relation \"%s\" already exists",
				plain);
			return true;
		}
	}
	return false;
}

void wording_of(const char *sqlstate, const char *message, struct wording *w)
{
	char name[PART_MAX];
	w->detail[0] = '\0';
	if (strcmp(sqlstate, "25P02") == 0) {
		snprintf(w->message, sizeof w->message,
			"current transaction is aborted, commands ignored until end of transaction "
			"block");
		return;
	}
	if (strcmp(message, "FOREIGN KEY constraint failed") == 0) {
		snprintf(w->message, sizeof w->message,
			"insert, update or delete violates foreign key constraint");
		return;
	}
	if (word_constraint(message, w) || word_syntax(message, w) || word_exists(message, w))
		return;
	for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++) {
		if (quoted(message, phrases[i].before, "", name)) {
			snprintf(w->message, sizeof w->message, "%s%s%s", phrases[i].words, name,
				phrases[i].rest);
			return;
		}
	}
	snprintf(w->message, sizeof w->message, "%s", message);
}

/* ---- Positions ------------------------------------------------------------------------------ */

int wording_characters(const char *text, size_t bytes)
{
	int characters = 0;
	for (size_t i = 0; i < bytes; i++)
		characters += ((unsigned char)text[i] & 0xc0) != 0x80;
	return characters;
}

int wording_position(const char *text, size_t text_bytes, const char *sql, int offset)
{
	struct lexer theirs = { .at = text, .end = text + text_bytes };
	struct lexer ours = { .at = sql, .end = sql + strlen(sql) };
	if (offset < 0 || (size_t)offset >= strlen(sql))
		return 0;
	for (;;) {
		struct token a = lexer_next(&theirs), b = lexer_next(&ours);
		if (a.kind == TOKEN_END || b.kind == TOKEN_END || a.kind == TOKEN_BAD)
			return 0;
		if (b.text + b.bytes <= sql + offset)
			continue;
		bool alike = a.bytes == b.bytes && memcmp(a.text, b.text, a.bytes) == 0;
		return alike ? wording_characters(text, (size_t)(a.text - text)) + 1 : 0;
	}
}
