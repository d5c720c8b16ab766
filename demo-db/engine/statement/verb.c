/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb.c - reads the first words of a statement.
 *
 * Owns a tokenizer for words, and the grammar of the statements that belong to the engine rather
 * than to SQLite (transactions, LOCK TABLE). Everything else is SQLite's to parse.
 */
#include "demo-db/engine/statement/verb.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

const char *verb_tag(enum verb verb)
{
	static const char *const tags[] = {
#define X(name, tag) [name] = tag,
		VERBS(X)
#undef X
	};
	return tags[verb];
}

/* ---- Words ----------------------------------------------------------------------------------- */

static const char *skip_blank(const char *at)
{
	for (;;) {
		if (isspace((unsigned char)*at)) {
			at++;
		} else if (at[0] == '-' && at[1] == '-') {
			at += strcspn(at, "\n");
		} else if (at[0] == '/' && at[1] == '*') {
			const char *end = strstr(at + 2, "*/");
			at = end ? end + 2 : at + strlen(at);
		} else {
			return at;
		}
	}
}

struct word {
	const char *start;
	size_t length;
};

static bool is_word_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

/* The next word at *at, or one other byte; empty at the end of the text. */
static struct word next_word(const char **at)
{
	const char *start = skip_blank(*at);
	const char *end = start;
	if (*start == '"') {
		end = strchr(start + 1, '"');
		end = end ? end + 1 : start + strlen(start);
	} else {
		while (is_word_byte(*end))
			end++;
		if (end == start && *end)
			end++;
	}
	*at = end;
	return (struct word){ .start = start, .length = (size_t)(end - start) };
}

static bool is(struct word word, const char *keyword)
{
	return strlen(keyword) == word.length && strncasecmp(word.start, keyword, word.length) == 0;
}

static bool accept(const char **at, const char *keyword)
{
	const char *rest = *at;
	if (!is(next_word(&rest), keyword))
		return false;
	*at = rest;
	return true;
}

static bool at_end(const char *at)
{
	while (accept(&at, ";"))
		;
	return *skip_blank(at) == '\0';
}

bool verb_is_blank(const char *sql)
{
	return at_end(sql);
}

/* ---- Kinds ----------------------------------------------------------------------------------- */

struct keyword {
	const char *word;
	enum verb verb;
};

static const struct keyword first_words[] = {
	{ "select", VERB_SELECT },
	{ "insert", VERB_INSERT },
	{ "update", VERB_UPDATE },
	{ "delete", VERB_DELETE },
	{ "begin", VERB_BEGIN },
	{ "commit", VERB_COMMIT },
	{ "end", VERB_COMMIT },
	{ "rollback", VERB_ROLLBACK },
	{ "abort", VERB_ROLLBACK },
	{ "start", VERB_BEGIN },
	{ "values", VERB_SELECT },
	{ "replace", VERB_INSERT },
	{ "with", VERB_OTHER },
	{ "savepoint", VERB_SAVEPOINT },
	{ "release", VERB_SAVEPOINT },
	{ "lock", VERB_LOCK },
	{ "create", VERB_CREATE_OTHER },
	{ "drop", VERB_DROP_OTHER },
	{ "alter", VERB_ALTER },
	{ "reindex", VERB_REINDEX },
	{ "analyze", VERB_ANALYZE },
	{ "vacuum", VERB_VACUUM },
	{ "explain", VERB_EXPLAIN },
	{ "pragma", VERB_PRAGMA },
	{ "attach", VERB_ATTACH },
	{ "detach", VERB_ATTACH },
};

static const struct keyword objects[] = {
	{ "table", VERB_CREATE_TABLE },
	{ "index", VERB_CREATE_INDEX },
	{ "view", VERB_CREATE_VIEW },
	{ "trigger", VERB_CREATE_TRIGGER },
};

static enum verb look_up(
	const struct keyword *table, size_t count, struct word word, enum verb other)
{
	for (size_t i = 0; i < count; i++)
		if (is(word, table[i].word))
			return table[i].verb;
	return other;
}

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* CREATE [TEMP|TEMPORARY|UNIQUE|VIRTUAL] object, DROP object */
static enum verb verb_of_definition(const char *at, enum verb verb)
{
	while (accept(&at, "temp") || accept(&at, "temporary") || accept(&at, "unique") ||
		accept(&at, "virtual"))
		;
	enum verb created = look_up(objects, COUNT(objects), next_word(&at), VERB_CREATE_OTHER);
	if (verb == VERB_CREATE_OTHER)
		return created;
	return (enum verb)(created - VERB_CREATE_TABLE + VERB_DROP_TABLE);
}

/* WITH … AS (…) verb: the first verb outside parentheses. */
static enum verb verb_after_with(const char *at)
{
	int depth = 0;
	for (struct word word = next_word(&at); word.length; word = next_word(&at)) {
		if (*word.start == '\'') {
			at = word.start + 1 + strcspn(word.start + 1, "'");
			at += *at == '\'';
			continue;
		}
		depth += *word.start == '(';
		depth -= *word.start == ')';
		if (depth)
			continue;
		enum verb verb = look_up(first_words, 4, word, VERB_OTHER);
		if (verb != VERB_OTHER)
			return verb;
	}
	return VERB_OTHER;
}

enum verb verb_of(const char *sql)
{
	const char *at = sql;
	while (accept(&at, ";"))
		;
	struct word word = next_word(&at);
	if (!word.length)
		return VERB_EMPTY;
	enum verb verb = look_up(first_words, COUNT(first_words), word, VERB_OTHER);
	if (is(word, "with"))
		return verb_after_with(at);
	if (verb == VERB_CREATE_OTHER || verb == VERB_DROP_OTHER)
		return verb_of_definition(at, verb);
	if (is(word, "start"))
		return accept(&at, "transaction") ? VERB_BEGIN : VERB_OTHER;
	if (verb == VERB_ROLLBACK) {
		if (!accept(&at, "work"))
			accept(&at, "transaction");
		return accept(&at, "to") ? VERB_SAVEPOINT : VERB_ROLLBACK;
	}
	return verb;
}

bool verb_is_vacuum_into(const char *sql)
{
	const char *at = sql;
	for (struct word word = next_word(&at); word.length; word = next_word(&at))
		if (is(word, "into"))
			return true;
	return false;
}

/* ---- The engine's own statements ------------------------------------------------------------- */

static bool parse_level(const char **at, struct begin_options *options)
{
	if (!accept(at, "level"))
		return false;
	if (accept(at, "read"))
		return accept(at, "committed") || accept(at, "uncommitted");
	options->repeatable_read = true;
	if (accept(at, "serializable"))
		return true;
	return accept(at, "repeatable") && accept(at, "read");
}

bool verb_parse_begin(const char *sql, struct begin_options *options)
{
	const char *at = sql;
	*options = (struct begin_options){ 0 };
	while (accept(&at, ";"))
		;
	next_word(&at); /* BEGIN or START */
	if (!accept(&at, "deferred") && !accept(&at, "immediate"))
		accept(&at, "exclusive");
	if (!accept(&at, "transaction"))
		accept(&at, "work");
	while (!at_end(at)) {
		if (accept(&at, "isolation")) {
			if (!parse_level(&at, options))
				return false;
		} else if (accept(&at, "read")) {
			if (accept(&at, "only"))
				options->read_only = true;
			else if (!accept(&at, "write"))
				return false;
		} else if (accept(&at, "not")) {
			if (!accept(&at, "deferrable"))
				return false;
		} else if (!accept(&at, "deferrable")) {
			return false;
		}
		accept(&at, ",");
	}
	return true;
}

bool verb_parse_end(const char *sql)
{
	const char *at = sql;
	while (accept(&at, ";"))
		;
	next_word(&at);
	if (!accept(&at, "transaction"))
		accept(&at, "work");
	return at_end(at);
}

/* Folded to lower case, unless it is quoted. */
static bool copy_folded(struct word word, char name[SAVEPOINT_NAME_MAX])
{
	bool quoted = word.length >= 2 && *word.start == '"';
	if (quoted) {
		word.start++;
		word.length -= 2;
	}
	if (!word.length || (!quoted && !is_word_byte(*word.start)))
		return false;
	size_t bytes = word.length < SAVEPOINT_NAME_MAX ? word.length : SAVEPOINT_NAME_MAX - 1;
	for (size_t i = 0; i < bytes; i++)
		name[i] = quoted ? word.start[i] : (char)tolower((unsigned char)word.start[i]);
	name[bytes] = '\0';
	return true;
}

bool verb_parse_savepoint(const char *sql, struct savepoint_verb *verb)
{
	const char *at = sql;
	while (accept(&at, ";"))
		;
	if (accept(&at, "savepoint")) {
		*verb = (struct savepoint_verb){
			.what = SAVEPOINT_SET, .words = "SAVEPOINT", .tag = "SAVEPOINT"
		};
	} else if (accept(&at, "release")) {
		*verb = (struct savepoint_verb){
			.what = SAVEPOINT_RELEASE, .words = "RELEASE SAVEPOINT", .tag = "RELEASE"
		};
		accept(&at, "savepoint");
	} else {
		*verb = (struct savepoint_verb){ .what = SAVEPOINT_ROLLBACK,
			.words = "ROLLBACK TO SAVEPOINT",
			.tag = "ROLLBACK" };
		next_word(&at); /* ROLLBACK or ABORT */
		if (!accept(&at, "work"))
			accept(&at, "transaction");
		accept(&at, "to");
		accept(&at, "savepoint");
	}
	return copy_folded(next_word(&at), verb->name) && at_end(at);
}

bool verb_is_rollback_to(const char *sql, enum verb verb)
{
	struct savepoint_verb parsed;
	return verb == VERB_SAVEPOINT && verb_parse_savepoint(sql, &parsed) &&
	       parsed.what == SAVEPOINT_ROLLBACK;
}

static bool parse_table_mode(const char **at, enum table_mode *mode)
{
	if (accept(at, "access")) {
		if (accept(at, "share"))
			*mode = TABLE_ACCESS_SHARE;
		else if (accept(at, "exclusive"))
			*mode = TABLE_ACCESS_EXCLUSIVE;
		else
			return false;
	} else if (accept(at, "row")) {
		if (!accept(at, "exclusive"))
			return false;
		*mode = TABLE_ROW_EXCLUSIVE;
	} else if (accept(at, "share")) {
		*mode = TABLE_SHARE;
	} else {
		return false;
	}
	return accept(at, "mode");
}

static bool copy_name(struct word word, char name[TABLE_NAME_MAX])
{
	if (word.length >= 2 && *word.start == '"') {
		word.start++;
		word.length -= 2;
	}
	if (!word.length || word.length >= TABLE_NAME_MAX)
		return false;
	memcpy(name, word.start, word.length);
	name[word.length] = '\0';
	return true;
}

bool verb_parse_lock(const char *sql, char name[TABLE_NAME_MAX], enum table_mode *mode)
{
	const char *at = sql;
	while (accept(&at, ";"))
		;
	next_word(&at);
	accept(&at, "table");
	if (!copy_name(next_word(&at), name))
		return false;
	*mode = TABLE_ACCESS_EXCLUSIVE;
	if (accept(&at, "in") && !parse_table_mode(&at, mode))
		return false;
	return at_end(at);
}
