/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the table from a statement's words to its business level. It must not know sessions, roles
 * or the gate.
 */
#include "demo-db/server/business.h"
#include "demo-db/server/lexer.h"

#include <string.h>
#include <strings.h>

static const char *const names[] = { "system", "write", "read", "analytical", "auto" };

enum business business_find(const char *name)
{
	unsigned at = 0;
	while (at <= BUSINESS_AUTO && strcasecmp(names[at], name) != 0)
		at++;
	return (enum business)at;
}

const char *business_name(enum business business)
{
	return names[business];
}

struct words { /* seen anywhere in the statement */
	bool from, where, limit, groups, own, others, index, controls;
};

static bool is_one_of(const struct token *t, const char *const *words)
{
	for (; *words; words++)
		if (token_is(t, *words))
			return true;
	return false;
}

static bool is_view_name(const struct token *t)
{
	bool word = t->kind == TOKEN_WORD || t->kind == TOKEN_NAME;
	size_t quoted = t->kind == TOKEN_NAME;
	return word && t->bytes > 7 + quoted && strncasecmp(t->text + quoted, "cancel_", 7) == 0;
}

/* What stands behind FROM, JOIN and the commas between them: ours, or somebody's table. */
static void note_table(struct words *seen, const struct token *t)
{
	if (is_view_name(t))
		seen->own = true;
	else if (!token_is_symbol(t, "("))
		seen->others = true;
}

static struct words read_words(struct lexer *lexer)
{
	static const char *const groups[] = { "group", "having", "over", "union", "intersect",
		"except", NULL };
	static const char *const functions[] = { "cancel_task", "pg_cancel_backend", NULL };
	struct words seen = { 0 };
	bool in_from = false, table_next = false;
	for (struct token t = lexer_next(lexer); t.kind != TOKEN_END && t.kind != TOKEN_BAD;
		t = lexer_next(lexer)) {
		if (table_next)
			note_table(&seen, &t);
		seen.own |= is_view_name(&t) || is_one_of(&t, functions);
		seen.controls |= is_one_of(&t, functions);
		bool from = token_is(&t, "from"), where = token_is(&t, "where");
		in_from = (in_from && !where && !token_is(&t, "select")) || from;
		table_next = from || token_is(&t, "join") || (in_from && token_is_symbol(&t, ","));
		seen.from |= from;
		seen.where |= where;
		seen.limit |= token_is(&t, "limit");
		seen.index |= token_is(&t, "index");
		seen.groups |= is_one_of(&t, groups);
	}
	return seen;
}

static struct business_kind kind_of_read(struct words seen)
{
	bool whole = seen.from && !seen.where && !seen.limit;
	struct business_kind kind = { .business = whole || seen.groups ? BUSINESS_ANALYTICAL
								       : BUSINESS_READ };
	if (seen.own && !seen.others) {
		kind.business = BUSINESS_SYSTEM;
		kind.view = true;
	}
	kind.controls = seen.controls;
	return kind;
}

struct business_kind business_of(const char *sql, size_t bytes)
{
	static const char *const reads[] = { "select", "values", "with", "explain", "pragma",
		NULL };
	static const char *const maintains[] = { "vacuum", "analyze", "reindex", NULL };
	static const char *const defines[] = { "create", "drop", "alter", NULL };
	struct lexer lexer = { .at = sql, .end = sql + bytes };
	struct token first = lexer_next(&lexer);
	struct words seen = read_words(&lexer);
	if (is_one_of(&first, reads))
		return kind_of_read(seen);
	if (is_one_of(&first, maintains))
		return (struct business_kind){ .business = BUSINESS_ANALYTICAL,
			.keeps_out =
				token_is(&first, "analyze") ? KEEPS_OUT_WRITERS : KEEPS_OUT_ALL };
	bool definition = is_one_of(&first, defines);
	static const char *const changes[] = { "update", "insert", "delete", NULL };
	bool own_setting = seen.own && is_one_of(&first, changes);
	return (struct business_kind){ .business = own_setting ? BUSINESS_SYSTEM : BUSINESS_WRITE,
		.view = own_setting && !seen.others,
		.controls = seen.controls || seen.own,
		.definition = definition,
		.partial = definition && seen.index && seen.where,
		.keeps_out = definition && seen.index && token_is(&first, "create")
				     ? KEEPS_OUT_WRITERS
				     : KEEPS_OUT_NOBODY };
}
