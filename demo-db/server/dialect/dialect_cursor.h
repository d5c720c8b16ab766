/* SPDX-License-Identifier: Apache-2.0 */
/* dialect_cursor.h - reading a statement word by word. Internal to dialect*.c. */
#ifndef DEMO_DB_DIALECT_CURSOR_H
#define DEMO_DB_DIALECT_CURSOR_H

#include "demo-db/server/dialect/dialect.h"
#include "demo-db/server/dialect/lexer.h"

struct cursor {		  /* the statement being read, one token ahead */
	const char *text; /* where it begins */
	struct lexer lexer;
	struct token token;
};

void cursor_step(struct cursor *c);
/* Steps over the word if it is in hand. */
bool cursor_accept(struct cursor *c, const char *word);
bool cursor_at_end(const struct cursor *c);
void dialect_refuse(struct dialect *d, const char *sqlstate, const char *message, const char *hint);

/* dialect_refused.c: true when it was refused. The cursor is behind the first word. */
bool dialect_refuse_by_word(const struct token *first, struct dialect *d);
bool dialect_refuse_create(struct cursor *c, struct dialect *d);
/* CREATE OR REPLACE; left standing behind it. */
bool dialect_refuse_replace(struct cursor *c, struct dialect *d);
bool dialect_refuse_alter(const struct cursor *c, struct dialect *d);

#endif
