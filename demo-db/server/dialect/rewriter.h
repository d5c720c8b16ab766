/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewriter.h - what the parts of the rewriting share: the token in hand, the text so far, and where
 * its last operand began. Internal to rewrite*.c.
 */
#ifndef DEMO_DB_REWRITER_H
#define DEMO_DB_REWRITER_H

#include "demo-db/server/dialect/lexer.h"
#include "demo-db/server/dialect/rewrite.h"
#include "common/text.h"

#define REWRITE_DEPTH_MAX  100 /* parentheses inside each other */
#define REWRITE_NO_OPERAND SIZE_MAX

enum rewrite_paren { /* what an open parenthesis is */
	PAREN_PLAIN,
	PAREN_CALL,
	PAREN_CAST,  /* of CAST( … AS type) */
	PAREN_WORDS, /* of a call whose FROM, FOR or IN is a comma */
};

struct rewriter {
	struct rewrite *rewrite;
	struct lexer lexer;
	struct token token, previous, before; /* before: the previous one */
	const char *text;		      /* of the statement */
	struct text out;
	size_t operand_at; /* where the last complete operand starts in `out` */
	unsigned depth;
	struct {
		size_t operand_at; /* where the operand of the parenthesis starts */
		enum rewrite_paren what;
	} open[REWRITE_DEPTH_MAX];
	bool schema; /* CREATE or ALTER: it is kept as SQLite's text */
	bool alter, create_table, create_index, drop; /* create_table: of ALTER TABLE, too */
	unsigned default_depth; /* 1 + the depth a DEFAULT's parenthesis is to be closed at; 0: none
				 */
};

void rewrite_fail(
	struct rewriter *r, const char *sqlstate, const char *what, const struct token *t);
/* With these words, at the token in hand. */
void rewrite_fail_at(struct rewriter *r, const char *sqlstate, const char *words);
void rewrite_step(struct rewriter *r);
struct token rewrite_look(const struct rewriter *r);
bool rewrite_in_list(const struct token *t, const char *const *words);
void rewrite_operand_begins(struct rewriter *r);
/* What was written last is an operand, whatever tokens it came from. */
void rewrite_operand_ended(struct rewriter *r);

/* rewrite_types.c */
void rewrite_literal(struct rewriter *r);
/* The type in hand, cast to: the last operand is put into it. */
void rewrite_cast(struct rewriter *r);
bool rewrite_typed_literal(struct rewriter *r); /* date '2024-02-29' */
void rewrite_skip_parenthesised(struct rewriter *r);
/* An expression behind DEFAULT gets the parentheses SQLite wants; before each token. */
void rewrite_default(struct rewriter *r);
void rewrite_default_end(struct rewriter *r);
bool rewrite_ends_default(const struct token *t);
/* A type of columns that has another name in SQLite; NULL: none. */
const char *rewrite_column_type(const struct token *t);

/* rewrite_names.c: fails where a name is none in PostgreSQL; before each token. */
void rewrite_refuse_names(struct rewriter *r);

/* rewrite_forms.c; true: taken, `r->token` is behind it. */
bool rewrite_dropped(struct rewriter *r);  /* what means nothing here */
bool rewrite_operator(struct rewriter *r); /* ~, ILIKE, OPERATOR(…) */
bool rewrite_word(struct rewriter *r);	   /* a word that begins something else here */

#endif
