/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewriter.h - what the parts of the rewriting share: the token in hand, the text so far, and where
 * its last operand began. Internal to rewrite*.c.
 */
#ifndef DEMO_DB_REWRITER_H
#define DEMO_DB_REWRITER_H

#include "demo-db/server/dialect/lexer.h"
#include "demo-db/server/dialect/rewrite.h"

#define REWRITE_DEPTH_MAX  100 /* parentheses inside each other */
#define REWRITE_NO_OPERAND SIZE_MAX

struct text {
	char *data;
	size_t bytes, capacity;
	bool failed;
};

enum rewrite_paren { /* what an open parenthesis is */
	PAREN_PLAIN,
	PAREN_CALL,
	PAREN_TABLE,  /* behind FROM, JOIN or a comma */
	PAREN_CAST,   /* of CAST( … AS type) */
	PAREN_SERIES, /* of generate_series( … ) in a FROM */
	PAREN_WORDS,  /* of a call whose FROM, FOR or IN is a comma */
};

enum assign_part { /* where in a statement that stores values */
	ASSIGN_NOTHING,
	ASSIGN_INSERT,	   /* before its rows */
	ASSIGN_ROW,	   /* in the only row of VALUES */
	ASSIGN_ROWS,	   /* in several, or in a query, that became a common table */
	ASSIGN_TARGET,	   /* behind SET, before = */
	ASSIGN_EXPRESSION, /* the next token begins one */
	ASSIGN_VALUE,	   /* in the expression */
	ASSIGN_TUPLE,	   /* in a row of them */
	ASSIGN_QUERY,	   /* the next token begins the query a list of columns is set from */
};

struct assignment {
	enum assign_part part;
	struct token table;   /* no text: none yet */
	struct lexer columns; /* in front of the next name; at NULL: columns by their place */
	unsigned place;	      /* of the next column */
	unsigned count;	      /* columns of the common table */
	unsigned item;	      /* in a row of it */
	unsigned depth;	      /* of parentheses around its rows, or of the row's own values */
	const char *rows_at;
	bool stores_last; /* of rewrite.h */
	bool unlisted;	  /* an INSERT without a list of columns */
	bool values;	  /* the common table is VALUES */
	bool tuple;	  /* the columns in front of = are a list */
	bool open;	  /* a value is being written */
};

#define REWRITE_COMMAS_MAX 2 /* remembered inside a parenthesis */

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
		size_t inside_at;  /* what is inside it */
		size_t comma_at[REWRITE_COMMAS_MAX];
		unsigned commas;
		enum rewrite_paren what;
	} open[REWRITE_DEPTH_MAX];
	bool divides[REWRITE_DEPTH_MAX + 1]; /* the operand to come at this depth is a divisor */
	struct {
		bool inside;		/* of an ORDER BY */
		bool down, placed;	/* this term says DESC, NULLS */
	} order[REWRITE_DEPTH_MAX + 1]; /* by depth */
	bool order_word;		/* ORDER, or ORDER BY, was just written */
	bool schema;			/* CREATE or ALTER: it is kept as SQLite's text */
	bool alter, create_table, create_index, drop; /* create_table: of ALTER TABLE, too */
	unsigned default_depth; /* 1 + the depth a DEFAULT's parenthesis is to be closed at; 0: none
				 */
	bool deletes, uses;	/* DELETE; its USING has become a query */
	struct assignment assign;
};

void rewrite_append(struct text *t, const char *data, size_t bytes);
void rewrite_append_text(struct text *t, const char *text);
void rewrite_append_quoted(struct text *t, const char *data, size_t bytes);
void rewrite_insert(struct text *t, size_t at, const char *text);
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
bool rewrite_ends_default(const struct token *t);
/* A type of columns that has another name in SQLite; NULL: none. */
const char *rewrite_column_type(const struct token *t);

/* rewrite_assign.c: before each token, and behind the last. */
void rewrite_assign(struct rewriter *r);
void rewrite_assign_end(struct rewriter *r);

/* rewrite_names.c: fails where a name is none in PostgreSQL; before each token. */
void rewrite_refuse_names(struct rewriter *r);

/* rewrite_forms.c; true: taken, `r->token` is behind it. */
bool rewrite_dropped(struct rewriter *r);  /* what means nothing here */
bool rewrite_operator(struct rewriter *r); /* ~, ILIKE, OPERATOR(…) */
bool rewrite_word(struct rewriter *r);	   /* a word that begins something else here */
void rewrite_closed(struct rewriter *r);   /* a parenthesis was closed */
/* DELETE … USING; before each token, and behind the last. */
void rewrite_using(struct rewriter *r);
void rewrite_using_end(struct rewriter *r);

#endif
