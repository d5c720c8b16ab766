/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the table from SQLite's phrases to PostgreSQL's.
 */
#include "demo-db/server/dialect/error_text.h"
#include "demo-db/server/dialect/checks.h"
#include "demo-db/server/dialect/lexer.h"
#include "demo-db/server/dialect/error_position.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* What follows `before` at the start of the message goes between `words` and `rest`. */
static const struct {
	const char *before, *words, *rest; /* rest NULL: what follows is left out */
} phrases[] = {
	{ "no such table: main.", "relation \"", "\" does not exist" },
	{ "no such table: ", "relation \"", "\" does not exist" },
	{ "no such view: ", "view \"", "\" does not exist" },
	{ "no such index: ", "index \"", "\" does not exist" },
	{ "no such trigger: ", "trigger \"", "\" does not exist" },
	{ "no such function: ", "function ", "() does not exist" },
	{ "ambiguous column name: ", "column reference \"", "\" is ambiguous" },
	{ "SELECTs to the left and right of UNION do not have",
		"each UNION query must have the same number of columns", NULL },
	{ "SELECTs to the left and right of INTERSECT do not have",
		"each INTERSECT query must have the same number of columns", NULL },
	{ "SELECTs to the left and right of EXCEPT do not have",
		"each EXCEPT query must have the same number of columns", NULL },
	{ "sub-select returns ", "subquery must return only one column", NULL },
	{ "all VALUES must have the same number", "VALUES lists must all be the same length",
		NULL },
	{ "misuse of aggregate: ", "aggregate functions are not allowed here: ", "" },
	{ "default value of column", "cannot use column reference in DEFAULT expression", NULL },
	{ "duplicate column name: ", "column \"", "\" specified more than once" },
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
	snprintf(table, ERROR_TEXT_MAX / 4, "%.*s", (int)(dot < 64 ? dot : 64), list);
	snprintf(constraint, ERROR_TEXT_MAX / 2, "%s", table);
	columns[0] = '\0';
	for (const char *at = list; *at;) {
		const char *end = strchrnul(at, ',');
		const char *name = memchr(at, '.', (size_t)(end - at));
		name = name ? name + 1 : at;
		int bytes = (int)(end - name < 40 ? end - name : 40);
		size_t used = strlen(columns), named = strlen(constraint);
		if (used + 44 < ERROR_TEXT_MAX / 2 && named + 48 < ERROR_TEXT_MAX / 2) {
			snprintf(columns + used, ERROR_TEXT_MAX / 2 - used, "%s%.*s",
				used ? ", " : "", bytes, name);
			snprintf(constraint + named, ERROR_TEXT_MAX / 2 - named, "_%.*s", bytes,
				name);
		}
		at = *end ? end + 1 + (end[1] == ' ') : end;
	}
	size_t named = strlen(constraint);
	snprintf(constraint + named, ERROR_TEXT_MAX / 2 - named, "_key");
}

static bool word_constraint(const char *message, struct error_text *w)
{
	char list[PART_MAX], table[ERROR_TEXT_MAX / 4], columns[ERROR_TEXT_MAX / 2],
		constraint[ERROR_TEXT_MAX / 2];
	bool key = quoted(message, "PRIMARY KEY constraint failed: ", "", list);
	bool unique = key || quoted(message, "UNIQUE constraint failed: ", "", list);
	bool null = !unique && quoted(message, "NOT NULL constraint failed: ", "", list);
	if (!unique && !null)
		return false;
	split_columns(list, table, columns, constraint);
	if (key)
		snprintf(constraint, sizeof constraint, "%s_pkey", table);
	if (unique) {
		snprintf(w->message, sizeof w->message,
			"duplicate key value violates unique constraint \"%s\"", constraint);
		snprintf(w->detail, sizeof w->detail, "Key (%s) already exists.", columns);
	} else {
		snprintf(w->message, sizeof w->message,
			"null value in column \"%s\" of relation \"%s\" violates not-null "
			"constraint",
			columns, table);
	}
	return true;
}

static bool word_syntax(const char *message, struct error_text *w)
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

static bool word_exists(const char *message, struct error_text *w)
{
	char name[PART_MAX];
	if (quoted(message, "there is already a table named ", "", name)) {
		snprintf(w->message, sizeof w->message, "relation \"%s\" already exists", name);
		return true;
	}
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

/* ---- What the message is about --------------------------------------------------------------- */

/* The server writes `AS "name"` behind expressions: an error there is one at what follows. */
static bool is_inserted(const struct error_text_source *source, const struct landing *l)
{
	struct token as = { .kind = TOKEN_WORD, .text = "AS", .bytes = 2 };
	return place_alike(&l->token, &as) && l->token.text[2] == ' ' && l->token.text[3] == '"' &&
	       place_nth_alike(source->text, source->text_bytes, &as, 1).kind == TOKEN_END;
}

static void point_at(
	const struct error_text_source *source, const struct token *t, struct error_text *w)
{
	const char *text = source->text;
	if (t->kind == TOKEN_END)
		snprintf(w->message, sizeof w->message, "syntax error at end of input");
	else
		snprintf(w->message, sizeof w->message, "syntax error at or near \"%.*s\"",
			(int)(t->bytes < 60 ? t->bytes : 60), t->text);
	w->position = t->kind == TOKEN_END ? error_text_characters(text, source->text_bytes) + 1
					   : place_of(text, t);
}

static void point_behind(
	const struct error_text_source *source, const struct token *t, struct error_text *w)
{
	struct lexer lexer = { .at = t->text + t->bytes, .end = source->text + source->text_bytes };
	struct token next = lexer_next(&lexer);
	if (next.kind != TOKEN_BAD)
		point_at(source, &next, w);
}

/* The last token is the semicolon, or the text ends too early. */
static void point_at_end(const struct error_text_source *source, struct error_text *w)
{
	struct lexer lexer = { .at = source->text, .end = source->text + source->text_bytes };
	struct token t = lexer_next(&lexer);
	while (t.kind != TOKEN_END && t.kind != TOKEN_BAD && !token_is_symbol(&t, ";"))
		t = lexer_next(&lexer);
	if (t.kind != TOKEN_BAD)
		point_at(source, &t, w);
}

/* What the message quotes at its end: "abc", or the column of another message. */
static bool quotes(const char *message, char name[PART_MAX])
{
	const char *column = strstr(message, " has no column named ");
	const char *open = strstr(message, ": \"");
	if (column)
		return quoted(column, " has no column named ", "", name);
	bool value = strncmp(message, "invalid input syntax for type", 29) == 0 ||
		     strncmp(message, "date/time field value out of range", 34) == 0;
	if (strncmp(message, "value \"", 7) == 0)
		return quoted(message, "value \"", "\"", name);
	if (*message == '"')
		return quoted(message, "\"", "\"", name);
	return value && open && quoted(open, ": \"", "\"", name);
}

/* CREATE INDEX, ALTER and DROP do not say where the column stands. */
static bool is_silent(const struct error_text_source *source)
{
	struct lexer lexer = { .at = source->text, .end = source->text + source->text_bytes };
	struct token t = lexer_next(&lexer);
	if (token_is(&t, "alter") || token_is(&t, "drop"))
		return true;
	bool create = token_is(&t, "create");
	t = lexer_next(&lexer);
	if (token_is(&t, "unique"))
		t = lexer_next(&lexer);
	return create && token_is(&t, "index");
}

static void find_place(const struct error_text_source *source, struct error_text *w)
{
	char name[PART_MAX];
	struct landing l;
	if (quotes(source->message, name)) {
		w->position = place_of_text(source->text, source->text_bytes, name);
		return;
	}
	bool column = quoted(source->message, "no such column: ", "", name) ||
		      quoted(source->message, "ambiguous column name: ", "", name);
	if (strcmp(source->message, "incomplete input") == 0) {
		point_at_end(source, w);
	} else if (quoted(source->message, "no such table: ", "", name)) {
		w->position = place_of_relation(source->text, source->text_bytes, name);
	} else if (column && is_silent(source)) {
		return;
	} else if (column && source->offset < 0) { /* SQLite does not say, as in ON */
		w->position = place_of_column(source->text, source->text_bytes, name);
	} else if (!source->sql || !place_land(source->sql, source->offset, &l)) {
		return;
	} else if (is_inserted(source, &l)) {
		struct token before =
			place_nth_alike(source->text, source->text_bytes, &l.before, l.nth_before);
		if (before.kind != TOKEN_END)
			point_behind(source, &before, w);
	} else {
		w->position = error_text_position(
			source->text, source->text_bytes, source->sql, source->offset);
	}
}

/* ---- Messages that need the statement -------------------------------------------------------- */

/* The relation an INSERT, UPDATE, DELETE or ALTER changes; "" if none is found. */
static void changed_relation(const struct error_text_source *source, char name[PART_MAX])
{
	struct lexer lexer = { .at = source->text, .end = source->text + source->text_bytes };
	struct token t = lexer_next(&lexer);
	name[0] = '\0';
	while (t.kind == TOKEN_WORD && !token_is(&t, "into") && !token_is(&t, "update") &&
		!token_is(&t, "from") && !token_is(&t, "table"))
		t = lexer_next(&lexer);
	if (t.kind == TOKEN_WORD)
		t = lexer_next(&lexer);
	bool in_quotes = t.kind == TOKEN_NAME;
	size_t bytes = t.bytes - 2u * in_quotes;
	if (t.kind == TOKEN_WORD || in_quotes)
		snprintf(
			name, PART_MAX, "%.*s", (int)(bytes < 64 ? bytes : 64), t.text + in_quotes);
}

/* Does `name` stand for a table here: a word without a dot behind it? */
static bool names_table(const struct error_text_source *source, const char *name)
{
	struct lexer lexer = { .at = source->text, .end = source->text + source->text_bytes };
	for (struct token t = lexer_next(&lexer); t.kind != TOKEN_END && t.kind != TOKEN_BAD;) {
		struct token next = lexer_next(&lexer);
		if (place_is_name(&t, name) && !token_is_symbol(&next, "."))
			return true;
		t = next;
	}
	return false;
}

/* The column DROP COLUMN looks for, or what an UPDATE or an upsert sets. */
static bool is_of_relation(const struct error_text_source *source, const char *name)
{
	struct lexer lexer = { .at = source->text, .end = source->text + source->text_bytes };
	struct token t = lexer_next(&lexer);
	if (token_is(&t, "alter"))
		return names_table(source, "drop");
	return source->offset < 0 && place_of_target(source->text, source->text_bytes, name);
}

/* ALTER TABLE quotes the name, with its own quotes inside. */
static void take_quotes_off(char name[PART_MAX])
{
	size_t quotes = strspn(name, "\""), bytes = strlen(name) - quotes;
	memmove(name, name + quotes, bytes + 1);
	while (quotes && bytes && name[bytes - 1] == '"')
		name[--bytes] = '\0';
}

static bool word_column(const struct error_text_source *source, struct error_text *w)
{
	char name[PART_MAX], table[PART_MAX], relation[PART_MAX];
	if (quoted(source->message, "no such column: " CHECKS_PARENT ".", "", name)) {
		snprintf(w->message, sizeof w->message,
			"column \"%s\" referenced in foreign key constraint does not exist", name);
		return true;
	}
	if (quoted(source->message, "no such column: " CHECKS_BEYOND ".", "", name)) {
		strcpy(w->sqlstate, "0A000");
		snprintf(w->message, sizeof w->message,
			"a column named \"%.100s\" is not supported here", name);
		return true;
	}
	bool target = quoted(source->message, "no such column: " CHECKS_TARGET ".", "", name);
	if (!target && !quoted(source->message, "no such column: ", "", name))
		return false;
	take_quotes_off(name);
	size_t bytes = strcspn(name, ".");
	bool qualified = name[bytes] == '.';
	snprintf(table, sizeof table, "%.*s", (int)bytes, name);
	/* of an upsert there is no other word for the row it did not insert */
	const char *said = strcasecmp(table, "excluded") == 0 ? "conflict" : table;
	if (!qualified && source->text && (target || is_of_relation(source, name))) {
		changed_relation(source, relation);
		snprintf(w->message, sizeof w->message,
			"column \"%.100s\" of relation \"%.100s\" does not exist", name, relation);
		w->position = place_of_target(source->text, source->text_bytes, name);
		if (target && !w->position) /* in the list of an INSERT */
			w->position = place_of_text(source->text, source->text_bytes, name);
	} else if (!qualified)
		snprintf(w->message, sizeof w->message, "column \"%s\" does not exist", name);
	else if (!source->text || names_table(source, said))
		snprintf(w->message, sizeof w->message, "column %s does not exist", name);
	else {
		snprintf(w->message, sizeof w->message,
			"missing FROM-clause entry for table \"%.100s\"", table);
		strcpy(w->sqlstate, "42P01");
	}
	return true;
}

/* SQLite does not tell which table of a join lacks it. */
static bool word_listed_column(const char *message, struct error_text *w)
{
	char name[PART_MAX];
	if (quoted(message, "cannot join using column ", " - column", name))
		snprintf(w->message, sizeof w->message,
			"column \"%s\" specified in USING clause does not exist in both tables",
			name);
	else if (quoted(message, "unknown column \"", "\" in foreign key", name))
		snprintf(w->message, sizeof w->message,
			"column \"%s\" referenced in foreign key constraint does not exist", name);
	else
		return false;
	return true;
}

/* A constraint with a name, or the expression of one without: PostgreSQL names it by its column. */
static bool word_check(const struct error_text_source *source, struct error_text *w)
{
	char what[PART_MAX], table[PART_MAX] = "";
	if (!quoted(source->message, "CHECK constraint failed: ", "", what))
		return false;
	if (source->text)
		changed_relation(source, table);
	struct lexer lexer = { .at = what, .end = what + strlen(what) };
	struct token first = lexer_next(&lexer), second = lexer_next(&lexer);
	struct token column = first;
	while (column.kind != TOKEN_WORD && column.kind != TOKEN_END && column.kind != TOKEN_BAD) {
		column = second;
		second = lexer_next(&lexer);
	}
	bool named = first.kind == TOKEN_WORD && second.kind == TOKEN_END;
	snprintf(w->message, sizeof w->message,
		"new row for relation \"%.64s\" violates check constraint \"%.64s%s%.*s%s\"", table,
		named ? "" : table, named ? "" : "_", (int)(column.bytes < 64 ? column.bytes : 64),
		column.text, named ? "" : "_check");
	return true;
}

/* SQLite does not tell which constraint. */
static bool word_foreign_key(const struct error_text_source *source, struct error_text *w)
{
	char table[PART_MAX] = "";
	struct token verb = { .kind = TOKEN_END };
	if (strcmp(source->message, "FOREIGN KEY constraint failed") != 0)
		return false;
	if (source->text) {
		struct lexer lexer = { .at = source->text,
			.end = source->text + source->text_bytes };
		verb = lexer_next(&lexer);
		changed_relation(source, table);
	}
	const char *what = token_is(&verb, "insert")   ? "insert or update on table"
			   : token_is(&verb, "delete") ? "update or delete on table"
						       : "insert, update or delete on table";
	if (*table)
		snprintf(w->message, sizeof w->message, "%s \"%s\" violates foreign key constraint",
			what, table);
	else /* deferred, and found by COMMIT */
		snprintf(w->message, sizeof w->message,
			"insert, update or delete violates foreign key constraint");
	return true;
}

static bool word_count(const char *message, struct error_text *w)
{
	unsigned columns, values;
	char table[65];
	bool whole = sscanf(message, "table %64s has %u columns but %u values were supplied", table,
			     &columns, &values) == 3;
	if (!whole && sscanf(message, "%u values for %u columns", &values, &columns) != 2)
		return false;
	strcpy(w->sqlstate, "42601");
	if (values > columns)
		snprintf(w->message, sizeof w->message,
			"INSERT has more expressions than target columns");
	else if (!whole)
		snprintf(w->message, sizeof w->message,
			"INSERT has more target columns than expressions");
	else
		snprintf(w->message, sizeof w->message, "%s", message);
	return true;
}

/* DROP says what it looked for. */
static bool word_drop(const struct error_text_source *source, struct error_text *w)
{
	char name[PART_MAX];
	if (!source->text || !quoted(source->message, "no such table: ", "", name))
		return false;
	struct lexer lexer = { .at = source->text, .end = source->text + source->text_bytes };
	struct token t = lexer_next(&lexer);
	if (token_is(&t, "drop"))
		snprintf(w->message, sizeof w->message, "table \"%s\" does not exist", name);
	return token_is(&t, "drop");
}

static bool word_new_column(const char *message, struct error_text *w)
{
	char table[PART_MAX];
	const char *between = strstr(message, " has no column named ");
	if (!between || !quoted(message, "table ", " has no column named ", table))
		return false;
	snprintf(w->message, sizeof w->message,
		"column \"%.100s\" of relation \"%.100s\" does not exist",
		between + strlen(" has no column named "), table);
	return true;
}

/* psql's other commands ask for more of the catalog than there is. */
static bool word_catalog(const char *message, struct error_text *w)
{
	char name[PART_MAX];
	bool table = quoted(message, "no such table: pg_", "", name);
	bool call = quoted(message, "no such function: pg_", "", name);
	if (!table && !call && strcmp(message, "no such function: obj_description") != 0)
		return false;
	strcpy(w->sqlstate, "0A000");
	snprintf(w->message, sizeof w->message,
		"this part of the system catalog is not supported: %s",
		message + (table ? strlen("no such table: ") : strlen("no such function: ")));
	w->hint = "What \\d, \\dt, \\di, \\dv, \\dn, \\du and \\l ask is there; sqlite_schema has "
		  "the rest.";
	return true;
}

/* A month or a day there never is. */
static void word_datestyle(struct error_text *w)
{
	char *mark = strstr(w->message, "\" (datestyle)");
	if (!mark || strncmp(w->message, "date/time field", 15) != 0)
		return;
	mark[1] = '\0';
	w->hint = "Perhaps you need a different \"datestyle\" setting.";
}

static bool word_overflow(const char *message, struct error_text *w)
{
	int precision, scale;
	if (sscanf(message, "numeric field overflow (%d, %d)", &precision, &scale) != 2)
		return false;
	snprintf(w->message, sizeof w->message, "numeric field overflow");
	int written = snprintf(w->detail, sizeof w->detail,
		"A field with precision %d, scale %d must round to an absolute value less than ",
		precision, scale);
	size_t left = sizeof w->detail - (size_t)written;
	if (precision > scale)
		snprintf(w->detail + written, left, "10^%d.", precision - scale);
	else
		snprintf(w->detail + written, left, "1.");
	return true;
}

static bool word_plain(const char *message, struct error_text *w)
{
	char name[PART_MAX];
	for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++) {
		if (quoted(message, phrases[i].before, "", name)) {
			snprintf(w->message, sizeof w->message, "%s%s%s", phrases[i].words,
				phrases[i].rest ? name : "",
				phrases[i].rest ? phrases[i].rest : "");
			return true;
		}
	}
	return false;
}

void error_text_of(const struct error_text_source *source, struct error_text *w)
{
	const char *message = source->message;
	w->detail[0] = '\0';
	w->position = 0;
	w->hint = NULL;
	snprintf(w->sqlstate, sizeof w->sqlstate, "%s", source->sqlstate);
	if (strcmp(source->sqlstate, "25P02") == 0)
		message = "current transaction is aborted, commands ignored until end of "
			  "transaction block";
	else if (strcmp(message, "datatype mismatch") == 0) {
		message = "invalid input syntax for type bigint"; /* only a rowid refuses */
		strcpy(w->sqlstate, "22P02");
	}
	snprintf(w->message, sizeof w->message, "%s", message);
	if (strcmp(message, "permission denied") == 0)
		w->hint = "The role needs \"raise\" in the server's configuration.";
	if (word_constraint(message, w) || word_check(source, w) || word_foreign_key(source, w) ||
		word_exists(message, w) || word_overflow(message, w))
		return;
	if (!word_catalog(message, w) && !word_syntax(message, w) && !word_column(source, w) &&
		!word_listed_column(message, w) && !word_count(message, w) &&
		!word_drop(source, w) && !word_new_column(message, w))
		word_plain(message, w);
	word_datestyle(w);
	if (source->text && !w->position)
		find_place(source, w);
}
