/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error_position.h - where in the client's text something stands that SQLite tells of its
 * translation.
 *
 * A token of the translation is looked for in the text as the nth of its spelling; what the
 * rewriting wrote around values and rows is not counted. Pure; O(bytes).
 */
#ifndef DEMO_DB_ERROR_POSITION_H
#define DEMO_DB_ERROR_POSITION_H

#include "demo-db/server/dialect/lexer.h"

/* The token at byte `offset` of `sql`, the one before it, and which of its spelling it is. */
struct landing {
	struct token token, before;
	unsigned nth, nth_before;
};

/* False: nothing stands there, or what does is not the client's. */
bool place_land(const char *sql, int offset, struct landing *landing);

bool place_alike(const struct token *a, const struct token *b);
/* The nth token (from 1) spelled as `wanted`; its kind is END if there are fewer. */
struct token place_nth_alike(
	const char *text, size_t bytes, const struct token *wanted, unsigned n);
/* The character, from 1, a token of `text` stands at. */
int place_of(const char *text, const struct token *t);
/* Is it that name, in quotes or without? */
bool place_is_name(const struct token *t, const char *name);
/* Where a relation of that name is read or changed; 0: nowhere. */
int place_of_relation(const char *text, size_t bytes, const char *name);
/* Of the first token that is the name, or the literal with that text; 0: none. */
int place_of_text(const char *text, size_t bytes, const char *name);
/* Where a column (`name` or `table.name`) is first read; 0: nowhere. */
int place_of_column(const char *text, size_t bytes, const char *name);
/* Where a column of that name is SET; 0: nowhere. */
int place_of_target(const char *text, size_t bytes, const char *name);

#endif
