/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the names and types of result columns.
 * Source: PostgreSQL documentation, "Column Labels"; FigureColname's rules as they show.
 */
#include "demo-db/server/dialect/tree_writer.h"

#include <string.h>

#define NO_NAME "?column?"

/* ---- Names ----------------------------------------------------------------------------------- */

struct label {
	const char *name; /* NULL: none */
	bool weak;	  /* what a cast around it may replace */
};

static struct label label_of(const Node *node);

static struct label strong(const char *name)
{
	return (struct label){ name, false };
}

/* The inner name if it has one that is strong, else the word. */
static struct label weak(const Node *inner, const char *word)
{
	struct label label = inner ? label_of(inner) : (struct label){ NULL, true };
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

static struct label label_of_sublink(const SubLink *link)
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
	return target->name ? strong(target->name) : label_of(target->val);
}

static struct label label_of(const Node *node)
{
	const Node *last;
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
			strVal(llast(((const TypeCast *)node)->typeName->names)));
	case T_CollateClause:
		return label_of(((const CollateClause *)node)->arg);
	case T_CaseExpr:
		return weak((const Node *)((const CaseExpr *)node)->defresult, "case");
	case T_CoalesceExpr:
		return strong("coalesce");
	case T_MinMaxExpr:
		return strong(((const MinMaxExpr *)node)->op == IS_GREATEST ? "greatest" : "least");
	case T_RowExpr:
		return strong("row");
	case T_SQLValueFunction:
		return label_of_value((const SQLValueFunction *)node);
	case T_SubLink:
		return label_of_sublink((const SubLink *)node);
	default:
		return (struct label){ NULL, true };
	}
}

const char *tree_column_name(const Node *expression)
{
	struct label label = label_of(expression);
	return label.name ? label.name : NO_NAME;
}

/* ---- Types ----------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum pg_type type;
} functions[] = {
	{ "count", PG_INT8 },
	{ "row_number", PG_INT8 },
	{ "rank", PG_INT8 },
	{ "dense_rank", PG_INT8 },
	{ "length", PG_INT4 },
	{ "char_length", PG_INT4 },
	{ "octet_length", PG_INT4 },
	{ "strpos", PG_INT4 },
	{ "position", PG_INT4 },
	{ "character_length", PG_INT4 },
	{ "extract", PG_NUMERIC },
	{ "date_part", PG_FLOAT8 },
	{ "date_trunc", PG_TIMESTAMP },
	{ "starts_with", PG_BOOL },
	{ "bool_and", PG_BOOL },
	{ "bool_or", PG_BOOL },
	{ "every", PG_BOOL },
	{ "pg_backend_pid", PG_INT4 },
	{ "avg", PG_FLOAT8 },
	{ "random", PG_FLOAT8 },
	{ "sqrt", PG_FLOAT8 },
	{ "lower", PG_TEXT },
	{ "upper", PG_TEXT },
	{ "btrim", PG_TEXT },
	{ "trim", PG_TEXT },
	{ "substr", PG_TEXT },
	{ "substring", PG_TEXT },
	{ "replace", PG_TEXT },
	{ "concat", PG_TEXT },
	{ "concat_ws", PG_TEXT },
	{ "left", PG_TEXT },
	{ "right", PG_TEXT },
	{ "lpad", PG_TEXT },
	{ "rpad", PG_TEXT },
	{ "repeat", PG_TEXT },
	{ "reverse", PG_TEXT },
	{ "split_part", PG_TEXT },
	{ "version", PG_TEXT },
	{ "current_database", PG_TEXT },
	{ "current_schema", PG_TEXT },
	{ "string_agg", PG_TEXT },
	{ "now", PG_TIMESTAMPTZ },
	{ "clock_timestamp", PG_TIMESTAMPTZ },
	{ "statement_timestamp", PG_TIMESTAMPTZ },
	{ "transaction_timestamp", PG_TIMESTAMPTZ },
	{ "cancel_task", PG_BOOL },
	{ "pg_cancel_backend", PG_BOOL },
};

static enum pg_type type_of_call(const FuncCall *call)
{
	const char *name = strVal(llast(call->funcname));
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (strcmp(name, functions[i].name) == 0)
			return functions[i].type;
	return PG_UNKNOWN;
}

static enum pg_type type_of_constant(const A_Const *constant)
{
	if (constant->isnull)
		return PG_UNKNOWN;
	switch (nodeTag(&constant->val)) {
	case T_Integer:
		return PG_INT4;
	case T_Float:
		return strpbrk(constant->val.fval.fval, ".eE") ||
				       strlen(constant->val.fval.fval) > 18
			       ? PG_NUMERIC
			       : PG_INT8;
	case T_Boolean:
		return PG_BOOL;
	default:
		return PG_TEXT;
	}
}

static enum pg_type type_of_value(const SQLValueFunction *value)
{
	switch (value->op) {
	case SVFOP_CURRENT_DATE:
		return PG_DATE;
	case SVFOP_CURRENT_TIMESTAMP:
		return PG_TIMESTAMPTZ;
	default:
		return PG_UNKNOWN;
	}
}

static enum pg_type type_of_operation(const A_Expr *e)
{
	static const char *const comparisons[] = { "=", "<", ">", "<=", ">=", "<>", "~", "!~", "~*",
		"!~*", "~~", "!~~", "~~*", "!~~*" };
	if (e->kind == AEXPR_NULLIF)
		return PG_UNKNOWN;
	if (e->kind != AEXPR_OP)
		return PG_BOOL;
	for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
		if (e->lexpr && strcmp(strVal(llast(e->name)), comparisons[i]) == 0)
			return PG_BOOL;
	return PG_UNKNOWN;
}

static enum pg_type type_of_cast(const TypeCast *cast)
{
	const char *word = strVal(llast(cast->typeName->names));
	return pg_type_named(word, strlen(word));
}

enum pg_type tree_type(const Node *node)
{
	switch (nodeTag(node)) {
	case T_A_Const:
		return type_of_constant((const A_Const *)node);
	case T_TypeCast:
		return type_of_cast((const TypeCast *)node);
	case T_FuncCall:
		return type_of_call((const FuncCall *)node);
	case T_SQLValueFunction:
		return type_of_value((const SQLValueFunction *)node);
	case T_A_Expr:
		return type_of_operation((const A_Expr *)node);
	case T_BoolExpr:
	case T_NullTest:
	case T_BooleanTest:
		return PG_BOOL;
	case T_SubLink:
		return ((const SubLink *)node)->subLinkType == EXPR_SUBLINK ? PG_UNKNOWN : PG_BOOL;
	default:
		return PG_UNKNOWN;
	}
}

static bool is_star(const Node *node)
{
	return IsA(node, ColumnRef) && IsA(llast(((const ColumnRef *)node)->fields), A_Star);
}

void tree_note_columns(struct writer *w, const List *targets)
{
	struct dialect *d = w->result;
	const ListCell *cell;
	foreach (cell, targets) {
		const Node *value = lfirst_node(ResTarget, cell)->val;
		if (is_star(value) || d->column_count == DIALECT_COLUMNS_TYPED_MAX)
			return;
		d->column_types[d->column_count++] = tree_type(value);
	}
}

void tree_note_query(struct writer *w, const SelectStmt *query)
{
	while (query->op != SETOP_NONE)
		query = query->larg;
	tree_note_columns(w, query->targetList);
}
