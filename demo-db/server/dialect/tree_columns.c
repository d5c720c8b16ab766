/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the names and types of result columns.
 * Source: PostgreSQL documentation, "Column Labels"; FigureColname's rules as they show.
 */
#include "demo-db/server/dialect/tree.h"
#include "demo-db/server/dialect/tree_kind.h"

#include <string.h>

#define NO_NAME "?column?"

/* ---- Names ----------------------------------------------------------------------------------- */

struct label {
	const char *name; /* NULL: none */
	bool weak;	  /* what a cast around it may replace */
};

static struct label label_of(const Node *node, int depth);

static struct label strong(const char *name)
{
	return (struct label){ name, false };
}

/* The inner name if it has one that is strong, else the word. */
static struct label weak(const Node *inner, const char *word, int depth)
{
	struct label label = inner ? label_of(inner, depth) : (struct label){ NULL, true };
	return label.name && !label.weak ? label : (struct label){ word, true };
}

static struct label label_of_value(const SQLValueFunction *value)
{
	static const char *const names[] = { [SVFOP_CURRENT_DATE] = "current_date",
		[SVFOP_CURRENT_TIME] = "current_time",
		[SVFOP_CURRENT_TIME_N] = "current_time",
		[SVFOP_CURRENT_TIMESTAMP] = "current_timestamp",
		[SVFOP_CURRENT_TIMESTAMP_N] = "current_timestamp",
		[SVFOP_LOCALTIME] = "localtime",
		[SVFOP_LOCALTIME_N] = "localtime",
		[SVFOP_LOCALTIMESTAMP] = "localtimestamp",
		[SVFOP_LOCALTIMESTAMP_N] = "localtimestamp",
		[SVFOP_CURRENT_ROLE] = "current_role",
		[SVFOP_CURRENT_USER] = "current_user",
		[SVFOP_USER] = "user",
		[SVFOP_SESSION_USER] = "session_user",
		[SVFOP_CURRENT_CATALOG] = "current_catalog",
		[SVFOP_CURRENT_SCHEMA] = "current_schema" };
	return strong(names[value->op]);
}

static struct label label_of_sublink(const SubLink *link, int depth)
{
	const SelectStmt *query = (const SelectStmt *)link->subselect;
	if (link->subLinkType == EXISTS_SUBLINK)
		return strong("exists");
	if (link->subLinkType == ARRAY_SUBLINK)
		return strong("array");
	if (link->subLinkType != EXPR_SUBLINK)
		return (struct label){ NULL, true };
	while (query->op != SETOP_NONE)
		query = query->larg;
	if (query->valuesLists)
		return strong("column1");
	const ResTarget *target = query->targetList ? linitial(query->targetList) : NULL;
	if (!target)
		return (struct label){ NULL, true };
	return target->name ? strong(target->name) : label_of(target->val, depth);
}

static struct label label_of(const Node *node, int depth)
{
	const Node *last;
	if (++depth > TREE_DEPTH_MAX) /* whoever writes it refuses it */
		return (struct label){ NULL, true };
	switch (nodeTag(node)) {
	case T_ColumnRef:
		last = llast(((const ColumnRef *)node)->fields);
		return IsA(last, String) ? strong(strVal(last)) : (struct label){ NULL, true };
	case T_FuncCall:
		return strong(strVal(llast(((const FuncCall *)node)->funcname)));
	case T_A_Expr:
		return ((const A_Expr *)node)->kind == AEXPR_NULLIF ? strong("nullif")
								    : (struct label){ NULL, true };
	case T_TypeCast:
		return weak(((const TypeCast *)node)->arg,
			strVal(llast(((const TypeCast *)node)->typeName->names)), depth);
	case T_CollateClause:
		return label_of(((const CollateClause *)node)->arg, depth);
	case T_CaseExpr:
		return weak((const Node *)((const CaseExpr *)node)->defresult, "case", depth);
	case T_CoalesceExpr:
		return strong("coalesce");
	case T_MinMaxExpr:
		return strong(((const MinMaxExpr *)node)->op == IS_GREATEST ? "greatest" : "least");
	case T_RowExpr:
		return strong("row");
	case T_SQLValueFunction:
		return label_of_value((const SQLValueFunction *)node);
	case T_SubLink:
		return label_of_sublink((const SubLink *)node, depth);
	default:
		return (struct label){ NULL, true };
	}
}

const char *tree_column_name(const Node *expression)
{
	struct label label = label_of(expression, 0);
	return label.name ? label.name : NO_NAME;
}

/* ---- Types ----------------------------------------------------------------------------------- */

static void note(struct dialect *d, const struct query_column *columns, int count)
{
	for (int i = 0; i < count && d->column_count < DIALECT_COLUMNS_TYPED_MAX; i++) {
		enum pg_type type = columns[i].kind.type;
		d->column_types[d->column_count++] = type == PG_UNKNOWN_LITERAL ? PG_TEXT : type;
	}
}

void tree_note_columns(struct writer *w, const List *targets)
{
	struct query_column *columns;
	int count = tree_target_columns(w, targets, &columns);
	note(w->result, columns, count);
}

void tree_note_query(struct writer *w, const SelectStmt *query)
{
	struct query_column *columns;
	int count = tree_query_columns(w, query, &columns);
	note(w->result, columns, count);
}
