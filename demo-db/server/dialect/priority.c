/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the table from a statement's words to its business priority.
 */
#include "demo-db/server/dialect/priority.h"
#include "demo-db/server/dialect/lexer.h"

#include <string.h>
#include <strings.h>

static const char *const names[] = { "system", "write", "read", "analytical", "auto" };

enum priority priority_find(const char *name)
{
	unsigned at = 0;
	while (at <= PRIORITY_AUTO && strcasecmp(names[at], name) != 0)
		at++;
	return (enum priority)at;
}

const char *priority_name(enum priority priority)
{
	return names[priority];
}

static const char *const changes[] = { "update", "insert", "delete", NULL };

struct words { /* seen anywhere in the statement */
	bool from, where, limit, groups, own, others, index, changes;
};

static bool is_one_of(const struct token *t, const char *const *words)
{
	for (; *words; words++)
		if (token_is(t, *words))
			return true;
	return false;
}

/* In quotes or not. A table of the user's that begins like ours is none of them. */
static bool is_view_name(const struct token *t)
{
	static const char *const views[] = { "cancel_tasks", "cancel_holds", "cancel_resources",
		"cancel_decisions", "cancel_held_back", "cancel_quarantine", "cancel_admission",
		"cancel_settings", "cancel_sessions", "pg_stat_activity", "pg_locks" };
	bool word = t->kind == TOKEN_WORD || t->kind == TOKEN_NAME;
	size_t quote = t->kind == TOKEN_NAME;
	char first = (char)(t->text[quote] | 0x20);
	if (!word || (first != 'c' && first != 'p'))
		return false;
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		if (t->bytes == strlen(views[i]) + 2 * quote &&
			strncasecmp(t->text + quote, views[i], strlen(views[i])) == 0)
			return true;
	return false;
}

/* What stands behind FROM, JOIN and the commas between them, UPDATE and INTO: ours, or somebody's
 * table. */
static void note_table(struct words *seen, const struct token *t)
{
	if (is_view_name(t))
		seen->own = true;
	else if (!token_is_symbol(t, "("))
		seen->others = true;
}

static struct words read_words(struct lexer *lexer, bool table_next)
{
	static const char *const tables[] = { "from", "join", "update", "into", NULL };
	static const char *const groups[] = { "group", "having", "over", "union", "intersect",
		"except", NULL };
	static const char *const functions[] = { "cancel_task", "pg_cancel_backend",
		"pg_terminate_backend", NULL };
	struct words seen = { 0 };
	bool in_from = false;
	for (struct token t = lexer_next(lexer); t.kind != TOKEN_END && t.kind != TOKEN_BAD;
		t = lexer_next(lexer)) {
		if (table_next)
			note_table(&seen, &t);
		seen.own |= is_view_name(&t) || is_one_of(&t, functions);
		bool from = token_is(&t, "from"), where = token_is(&t, "where");
		in_from = (in_from && !where && !token_is(&t, "select")) || from;
		table_next = is_one_of(&t, tables) || (in_from && token_is_symbol(&t, ","));
		seen.from |= from;
		seen.where |= where;
		seen.limit |= token_is(&t, "limit");
		seen.index |= token_is(&t, "index");
		seen.groups |= is_one_of(&t, groups);
		seen.changes |= is_one_of(&t, changes);
	}
	return seen;
}

static struct statement_kind kind_of_read(struct words seen)
{
	bool whole = seen.from && !seen.where && !seen.limit;
	struct statement_kind kind = { .priority = whole || seen.groups ? PRIORITY_ANALYTICAL
									: PRIORITY_READ };
	if (seen.own && !seen.others) {
		kind.priority = PRIORITY_SYSTEM;
		kind.view = true;
	}
	return kind;
}

struct statement_kind priority_of(const char *sql, size_t bytes)
{
	static const char *const reads[] = { "select", "values", "with", "explain", "pragma",
		NULL };
	static const char *const maintains[] = { "vacuum", "analyze", "reindex", NULL };
	static const char *const defines[] = { "create", "drop", "alter", NULL };
	struct lexer lexer = { .at = sql, .end = sql + bytes };
	struct token first = lexer_next(&lexer);
	struct words seen = read_words(&lexer, token_is(&first, "update"));
	if (is_one_of(&first, reads) && !(seen.changes && token_is(&first, "with")))
		return kind_of_read(seen);
	if (is_one_of(&first, maintains))
		return (struct statement_kind){ .priority = PRIORITY_ANALYTICAL,
			.blocks = token_is(&first, "analyze") ? BLOCKS_WRITERS : BLOCKS_ALL };
	bool definition = is_one_of(&first, defines);
	bool own_setting = seen.own && !seen.others && !definition;
	return (struct statement_kind){ .priority = own_setting ? PRIORITY_SYSTEM : PRIORITY_WRITE,
		.view = own_setting,
		.definition = definition,
		.partial = definition && seen.index && seen.where,
		.blocks = definition && seen.index && token_is(&first, "create") ? BLOCKS_WRITERS
										 : BLOCKS_NOBODY };
}
