/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_writer.h - what the parts of the writer share: the text so far, and the ways to refuse.
 * Internal to tree*.c.
 *
 * Every function goes on after a refusal until it comes back by itself: once `failed`, nothing
 * more is looked at.
 */
#ifndef DEMO_DB_TREE_WRITER_H
#define DEMO_DB_TREE_WRITER_H

#include "demo-db/server/dialect/dialect.h"
#include "common/text.h"
#include "demo-db/server/dialect/tree_nodes.h"
#include "demo-db/server/types/pg_types.h"

struct writer {
	struct text out;
	const struct dialect_context *context;
	struct dialect *result;
	struct scope *scope; /* tree_kind.h */
	struct block *blocks;
	struct table *tables;
	const enum pg_type *wanted; /* of the select list to come; NULL: its own */
	bool view;     /* the text is kept, and read again for the types of its columns */
	bool compares; /* the select list's values are compared: DISTINCT, set operations */
	unsigned depth;
	bool failed; /* result says why */
};

/* tree.c */
/* The first refusal stays. `location` is a node's, -1 unknown. */
void tree_refuse(struct writer *w, const char *sqlstate, const char *message, int location);
/* 0A000: "<what> is not supported" or, of more than one, "are". */
void tree_lacks(struct writer *w, const char *what, int location);
/* One level down; false: too deep, or it has failed. */
bool tree_enter(struct writer *w);
void tree_leave(struct writer *w);
void tree_put(struct writer *w, const char *text);
/* A name, in quotes where SQLite needs them. */
void tree_put_name(struct writer *w, const char *name);
/* Names with a comma between; of String, or ResTarget. */
void tree_put_names(struct writer *w, const List *names);
/* Items with a separator between. */
typedef void tree_write(struct writer *w, Node *node);
void tree_put_list(struct writer *w, const List *list, const char *separator, tree_write *write);

/* tree_scope.c: zeroed memory that lives as long as the writer; NULL: it has failed. */
void *tree_allocate(struct writer *w, size_t count, size_t bytes);
void tree_free_blocks(struct writer *w);

/* tree_expression.c */
tree_write tree_expression;
/* An expression in the place of an operand. */
tree_write tree_operand;
/* One term of an ORDER BY. */
tree_write tree_sort;
/* `exact`: it names a result column that is a numeric. */
void tree_sort_by(struct writer *w, const SortBy *sort, bool exact);
/* What stands in parentheses behind OVER, or a window's name. */
void tree_window(struct writer *w, const WindowDef *window);

/* tree_call.c */
void tree_call(struct writer *w, const FuncCall *call);
void tree_cast(struct writer *w, const TypeCast *cast);
void tree_value_function(struct writer *w, const SQLValueFunction *value);
/* The type a name stands for; refuses what is none. */
enum pg_type tree_named_type(struct writer *w, const TypeName *name);

/* tree_query.c */
void tree_query(struct writer *w, SelectStmt *query);
tree_write tree_target;
/* What follows `word`; nothing of an empty list. */
void tree_from_list(struct writer *w, const char *word, const List *from);
void tree_with(struct writer *w, const WithClause *with);
void tree_relation(struct writer *w, const RangeVar *relation);

/* tree_change.c */
void tree_insert(struct writer *w, InsertStmt *insert);
void tree_update(struct writer *w, UpdateStmt *update);
void tree_delete(struct writer *w, DeleteStmt *delete);

/* tree_columns.c */
/* PostgreSQL's name for a column without an alias. */
const char *tree_column_name(const Node *expression);
/* Notes the types of the statement's result columns. After a `*` no column's place is known. */
void tree_note_columns(struct writer *w, const List *targets);
void tree_note_query(struct writer *w, const SelectStmt *query);

#endif
