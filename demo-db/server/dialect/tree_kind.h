/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_kind.h - the types of expressions, and the columns that names stand for. Internal to tree*.c.
 *
 * Without a schema, of a view's expressions and of functions that are not listed the type is not
 * known (PG_UNKNOWN): the first row tells it. A text without a type is PG_UNKNOWN_LITERAL, and so is
 * a parameter until something tells its type.
 */
#ifndef DEMO_DB_TREE_KIND_H
#define DEMO_DB_TREE_KIND_H

#include "demo-db/server/dialect/tree_writer.h"

struct kind {
	enum pg_type type;
	int scale;  /* of a numeric column: digits behind the point; -1: any */
	bool exact; /* a numeric that is the text of its digits (numeric.h), not SQLite's number */
	bool wide;  /* an integer column that may be a bigserial */
};

enum family {
	FAMILY_UNKNOWN,
	FAMILY_LITERAL,
	FAMILY_NUMBER,
	FAMILY_BOOL,
	FAMILY_TEXT,
	FAMILY_TIME,
	FAMILY_OTHER
};

enum family tree_family(enum pg_type type);
struct kind tree_kind(struct writer *w, const Node *expression);
/* The type a parameter beside it has. */
enum pg_type tree_beside(struct kind kind);
/* What values of both become; PG_UNKNOWN: not known, or nothing. */
enum pg_type tree_common(enum pg_type a, enum pg_type b);
enum pg_type tree_common_of(struct writer *w, const List *expressions, enum pg_type with);
/* Of an arithmetic operator. */
struct kind tree_arithmetic_kind(struct writer *w, const A_Expr *e);
/* A parameter of no type yet has this one. */
void tree_adopt(struct writer *w, const Node *expression, enum pg_type type);

/* tree_scope.c: what FROM names, from here until tree_leave_scope. */
struct scope;
struct scope *tree_enter_scope(struct writer *w, const WithClause *with, const List *from);
void tree_add_relation(struct writer *w, const RangeVar *relation);
/* The row an ON CONFLICT did not insert. */
void tree_add_excluded(struct writer *w, const RangeVar *relation);
void tree_leave_scope(struct writer *w, struct scope *scope);
struct kind tree_column_kind(struct writer *w, const ColumnRef *column);
/* Of a query's columns, in memory of the writer's; -1: not known how many. */
struct query_column {
	const char *name;
	struct kind kind;
};
int tree_target_columns(struct writer *w, const List *targets, struct query_column **columns);
int tree_query_columns(struct writer *w, const SelectStmt *query, struct query_column **columns);
/* Of a table's column that is stored into; by its place where the name is NULL. */
struct kind tree_stored_kind(struct writer *w, const char *table, const char *name, int place);

/* tree_typed.c */
/* A numeric as the text of its digits. */
tree_write tree_exact;
/* As a value of the type, which it can become. */
void tree_as(struct writer *w, Node *expression, enum pg_type type);
/* As SQLite's number, if it is a numeric. */
tree_write tree_number;
/* As PostgreSQL writes it as a text. */
tree_write tree_text;
/* False: not known here. */
bool tree_write_arithmetic(struct writer *w, const A_Expr *e);
bool tree_write_comparison(struct writer *w, const A_Expr *e);
/* Without what stands behind its parenthesis. */
bool tree_write_typed_call(struct writer *w, const FuncCall *call, const char *name);
/* Where `what` ("WHERE") wants a boolean, which is written so. */
void tree_condition(struct writer *w, Node *expression, const char *what, tree_write *write);
/* As one side of a comparison with something of the type. */
void tree_compared(struct writer *w, Node *expression, enum pg_type with);
/* With what orders and groups it. */
tree_write tree_term;

#endif
