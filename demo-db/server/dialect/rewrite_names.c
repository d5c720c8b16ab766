/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the refusal of what SQLite takes for a name and PostgreSQL does not: texts, [names], names
 * in backticks, a word as a default, which is a text to SQLite, and a text to order or to group
 * by, which does neither.
 */
#include "demo-db/server/dialect/rewriter.h"

#include <string.h>
#include <strings.h>

static void refuse(struct rewriter *r)
{
	rewrite_fail(r, "42601", "syntax error at or near", &r->token);
}

/* ---- Texts ---------------------------------------------------------------------------------- */

/* Behind words that a name follows. */
static bool follows_name_word(const struct rewriter *r)
{
	static const char *const words[] = { "join", "into", "update", "as", NULL };
	static const char *const definitions[] = { "table", "view", "index", "column", "add",
		"rename", "to", "exists", "constraint", "references", NULL };
	const struct token *previous = &r->previous;
	if (token_is(previous, "from")) /* not FROM of IS DISTINCT FROM, of a call */
		return !token_is(&r->before, "distinct") &&
		       (r->depth == 0 || r->open[r->depth - 1].what != PAREN_WORDS);
	return token_is_symbol(previous, ".") || rewrite_in_list(previous, words) ||
	       ((r->schema || r->drop) && rewrite_in_list(previous, definitions));
}

/* In a list of columns: of an INSERT, in front of = in SET, of a definition. */
static bool is_in_name_list(const struct rewriter *r)
{
	static const char *const ends[] = { "asc", "desc", "nulls", "collate", NULL };
	struct token next = rewrite_look(r);
	bool item = token_is_symbol(&r->previous, "(") || token_is_symbol(&r->previous, ",");
	bool alone = token_is_symbol(&next, ",") || token_is_symbol(&next, ")") ||
		     rewrite_in_list(&next, ends);
	return r->depth == 1 && item && !r->alter &&
	       (r->create_table || (r->create_index && alone));
}

/* ---- Defaults -------------------------------------------------------------------------------- */

/* A lone word behind DEFAULT that is no constant. */
static void refuse_default(struct rewriter *r)
{
	static const char *const constants[] = { "null", "true", "false", "current_timestamp",
		"current_date", "current_time", "current_user", "current_catalog", "session_user",
		"user", "localtime", "localtimestamp", "as", NULL };
	struct token next = rewrite_look(r);
	bool word = r->token.kind == TOKEN_NAME ||
		    (r->token.kind == TOKEN_WORD && !rewrite_in_list(&r->token, constants));
	bool set = token_is(&r->before, "set"); /* ON DELETE SET DEFAULT */
	if (!word || set || !rewrite_ends_default(&next))
		return;
	rewrite_fail_at(r, "0A000", "cannot use column reference in DEFAULT expression");
	if (r->alter) /* it does not say where */
		r->rewrite->place = 0;
}

/* A byte order mark is a letter in PostgreSQL and white space in SQLite. */
static void refuse_word(struct rewriter *r)
{
	const struct token *t = &r->token;
	if (t->text[0] == '\xef' && t->bytes >= 3 && memcmp(t->text, "\xef\xbb\xbf", 3) == 0)
		refuse(r);
	else if (r->schema && token_is(&r->previous, "default"))
		refuse_default(r);
}

static void refuse_symbol(struct rewriter *r)
{
	char symbol = r->token.text[0];
	if (symbol == '[' &&
		(r->operand_at != REWRITE_NO_OPERAND || token_is(&r->previous, "array")))
		rewrite_fail_at(r, "0A000", "arrays are not supported");
	else if (symbol == '[' || symbol == '`')
		refuse(r);
}

void rewrite_refuse_names(struct rewriter *r)
{
	switch (r->token.kind) {
	case TOKEN_WORD:
	case TOKEN_NAME:
		refuse_word(r);
		break;
	case TOKEN_SYMBOL:
		refuse_symbol(r);
		break;
	case TOKEN_STRING:
	case TOKEN_ESCAPE:
	case TOKEN_DOLLAR:
		if (follows_name_word(r) || is_in_name_list(r))
			refuse(r);
		break;
	default:
		break;
	}
}
