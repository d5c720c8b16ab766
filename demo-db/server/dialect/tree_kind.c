/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the types of expressions.
 * Source: PostgreSQL documentation, "Type Conversion"; results of operators and functions as pg_operator
 * and pg_proc have them.
 */
#include "demo-db/server/dialect/tree_kind.h"

#include <stdlib.h>
#include <string.h>

static struct kind of(enum pg_type type)
{
	return (struct kind){ type, -1, type == PG_NUMERIC, false };
}

/* ---- Families -------------------------------------------------------------------------------- */

enum family tree_family(enum pg_type type)
{
	switch (type) {
	case PG_UNKNOWN:
		return FAMILY_UNKNOWN;
	case PG_UNKNOWN_LITERAL:
		return FAMILY_LITERAL;
	case PG_INT2:
	case PG_INT4:
	case PG_INT8:
	case PG_NUMERIC:
	case PG_FLOAT4:
	case PG_FLOAT8:
		return FAMILY_NUMBER;
	case PG_BOOL:
		return FAMILY_BOOL;
	case PG_TEXT:
	case PG_VARCHAR:
	case PG_BPCHAR:
	case PG_NAME:
		return FAMILY_TEXT;
	case PG_DATE:
	case PG_TIMESTAMP:
	case PG_TIMESTAMPTZ:
		return FAMILY_TIME;
	default:
		return FAMILY_OTHER;
	}
}

/* The wider of two numbers or of two times is further behind. */
static int width(enum pg_type type)
{
	static const enum pg_type order[] = { PG_INT2, PG_INT4, PG_INT8, PG_NUMERIC, PG_FLOAT4,
		PG_FLOAT8, PG_DATE, PG_TIMESTAMP, PG_TIMESTAMPTZ };
	for (int i = 0; i < (int)(sizeof order / sizeof *order); i++)
		if (order[i] == type)
			return i;
	return -1;
}

enum pg_type tree_common(enum pg_type a, enum pg_type b)
{
	enum family family = tree_family(a);
	if (a == b || b == PG_UNKNOWN_LITERAL)
		return a;
	if (a == PG_UNKNOWN_LITERAL)
		return b;
	if (family != tree_family(b) || family == FAMILY_OTHER)
		return PG_UNKNOWN;
	if (family == FAMILY_TEXT)
		return a == PG_TEXT || b == PG_TEXT ? PG_TEXT : a;
	return width(a) > width(b) ? a : b;
}

enum pg_type tree_common_of(struct writer *w, const List *expressions, enum pg_type with)
{
	const ListCell *cell;
	foreach (cell, expressions)
		with = tree_common(with, tree_kind(w, lfirst(cell)).type);
	return with;
}

enum pg_type tree_beside(struct kind kind)
{
	return kind.wide ? PG_INT8 : kind.type;
}

/* ---- Parameters ------------------------------------------------------------------------------ */

static enum pg_type type_of_parameter(const struct writer *w, int number)
{
	const struct dialect_context *context = w->context;
	if (number < 1)
		return PG_UNKNOWN;
	if (number <= context->literal_count)
		return PG_INT4;
	if (number <= context->parameter_count && context->parameter_types[number - 1])
		return context->parameter_types[number - 1];
	if (number <= w->result->parameter_count && w->result->parameter_types[number - 1])
		return w->result->parameter_types[number - 1];
	return PG_UNKNOWN_LITERAL;
}

void tree_adopt(struct writer *w, const Node *expression, enum pg_type type)
{
	struct dialect *d = w->result;
	const ParamRef *parameter = (const ParamRef *)expression;
	if (!IsA(expression, ParamRef) || type == PG_UNKNOWN || type == PG_UNKNOWN_LITERAL ||
		type_of_parameter(w, parameter->number) != PG_UNKNOWN_LITERAL ||
		parameter->number > UINT16_MAX)
		return;
	if (parameter->number > d->parameter_count) {
		enum pg_type *grown =
			realloc(d->parameter_types, (size_t)parameter->number * sizeof *grown);
		if (!grown) {
			w->out.failed = w->failed = true;
			return;
		}
		for (int i = d->parameter_count; i < parameter->number; i++)
			grown[i] = PG_UNKNOWN;
		d->parameter_types = grown;
		d->parameter_count = (uint16_t)parameter->number;
	}
	d->parameter_types[parameter->number - 1] = type;
}

/* ---- Operators ------------------------------------------------------------------------------- */

static struct kind kind_of_numbers(char symbol, enum pg_type a, enum pg_type b)
{
	enum pg_type type = tree_common(a, b);
	if (type == PG_FLOAT4 && a != b)
		type = PG_FLOAT8;
	if (symbol == '%' && (type == PG_FLOAT4 || type == PG_FLOAT8))
		return of(PG_UNKNOWN_LITERAL);
	return of(type);
}

static bool is_integer(enum pg_type type)
{
	return type == PG_INT2 || type == PG_INT4 || type == PG_INT8;
}

/* Of dates and timestamps. */
static struct kind kind_of_times(char symbol, enum pg_type a, enum pg_type b)
{
	bool days = is_integer(b) && b != PG_INT8;
	if (a == PG_DATE && b == PG_DATE && symbol == '-')
		return of(PG_INT4);
	if (a == PG_DATE && days && (symbol == '+' || symbol == '-'))
		return of(PG_DATE);
	if (b == PG_DATE && is_integer(a) && a != PG_INT8 && symbol == '+')
		return of(PG_DATE);
	if (symbol == '-' && tree_family(a) == FAMILY_TIME && tree_family(b) == FAMILY_TIME)
		return of(PG_INTERVAL);
	return of(PG_UNKNOWN_LITERAL);
}

/* PG_UNKNOWN_LITERAL: there is no such operator. */
struct kind tree_arithmetic_kind(struct writer *w, const A_Expr *e)
{
	char symbol = *strVal(llast(e->name));
	enum pg_type b = tree_kind(w, e->rexpr).type;
	enum pg_type a = e->lexpr ? tree_kind(w, e->lexpr).type : b;
	if (a == PG_UNKNOWN || b == PG_UNKNOWN)
		return of(PG_UNKNOWN);
	if (a == PG_UNKNOWN_LITERAL && b == PG_UNKNOWN_LITERAL)
		return of(PG_UNKNOWN);
	a = a == PG_UNKNOWN_LITERAL ? b : a;
	b = b == PG_UNKNOWN_LITERAL ? a : b;
	if (tree_family(a) == FAMILY_NUMBER && tree_family(b) == FAMILY_NUMBER)
		return kind_of_numbers(symbol, a, b);
	if (e->lexpr && (tree_family(a) == FAMILY_TIME || tree_family(b) == FAMILY_TIME))
		return kind_of_times(symbol, a, b);
	return of(tree_family(a) == FAMILY_OTHER || tree_family(b) == FAMILY_OTHER
			  ? PG_UNKNOWN
			  : PG_UNKNOWN_LITERAL);
}

static struct kind kind_of_operation(struct writer *w, const A_Expr *e)
{
	const char *symbol = strVal(llast(e->name));
	if (e->kind == AEXPR_NULLIF)
		return of(tree_kind(w, e->lexpr).type);
	if (e->kind != AEXPR_OP)
		return of(PG_BOOL);
	if (strlen(symbol) == 1 && strchr("+-*/%", *symbol)) {
		struct kind kind = tree_arithmetic_kind(w, e);
		return kind.type == PG_UNKNOWN_LITERAL ? of(PG_UNKNOWN) : kind;
	}
	if (strcmp(symbol, "||") == 0)
		return of(tree_kind(w, e->lexpr).type == PG_BYTEA ? PG_BYTEA : PG_TEXT);
	if (strpbrk(symbol, "<>=~") && strcmp(symbol, "<<") != 0 && strcmp(symbol, ">>") != 0 &&
		e->lexpr && *symbol != '-')
		return of(PG_BOOL);
	enum pg_type bits = tree_kind(w, e->rexpr).type;
	return of(is_integer(bits) && !e->lexpr ? bits : PG_UNKNOWN);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum pg_type type;
} functions[] = {
	{ "count", PG_INT8 },
	{ "row_number", PG_INT8 },
	{ "rank", PG_INT8 },
	{ "dense_rank", PG_INT8 },
	{ "ntile", PG_INT4 },
	{ "percent_rank", PG_FLOAT8 },
	{ "cume_dist", PG_FLOAT8 },
	{ "length", PG_INT4 },
	{ "char_length", PG_INT4 },
	{ "octet_length", PG_INT4 },
	{ "strpos", PG_INT4 },
	{ "position", PG_INT4 },
	{ "character_length", PG_INT4 },
	{ "date_part", PG_FLOAT8 },
	{ "date_trunc", PG_TIMESTAMP },
	{ "starts_with", PG_BOOL },
	{ "bool_and", PG_BOOL },
	{ "bool_or", PG_BOOL },
	{ "every", PG_BOOL },
	{ "pg_backend_pid", PG_INT4 },
	{ "random", PG_FLOAT8 },
	{ "lower", PG_TEXT },
	{ "upper", PG_TEXT },
	{ "btrim", PG_TEXT },
	{ "ltrim", PG_TEXT },
	{ "rtrim", PG_TEXT },
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
	{ "current_database", PG_NAME },
	{ "current_schema", PG_NAME },
	{ "string_agg", PG_TEXT },
	{ "group_concat", PG_TEXT },
	{ "set_config", PG_TEXT },
	{ "now", PG_TIMESTAMPTZ },
	{ "clock_timestamp", PG_TIMESTAMPTZ },
	{ "statement_timestamp", PG_TIMESTAMPTZ },
	{ "transaction_timestamp", PG_TIMESTAMPTZ },
	{ "gen_random_uuid", PG_UUID },
	{ "cancel_task", PG_BOOL },
};

/* sum and avg */
static struct kind kind_of_total(const char *name, enum pg_type type)
{
	bool sum = *name == 's';
	switch (type) {
	case PG_INT2:
	case PG_INT4:
		return of(sum ? PG_INT8 : PG_NUMERIC);
	case PG_INT8:
	case PG_NUMERIC:
		return of(PG_NUMERIC);
	case PG_FLOAT4:
		return of(sum ? PG_FLOAT4 : PG_FLOAT8);
	case PG_FLOAT8:
		return of(PG_FLOAT8);
	default:
		return of(PG_UNKNOWN);
	}
}

/* Those of numbers, which answer as they are asked. */
static struct kind kind_of_number(const char *name, enum pg_type type, int arguments)
{
	bool rounds = strcmp(name, "abs") != 0 && strcmp(name, "mod") != 0;
	if (tree_family(type) != FAMILY_NUMBER)
		return of(PG_UNKNOWN);
	if (rounds && (arguments > 1 || type == PG_NUMERIC))
		return of(PG_NUMERIC);
	return of(rounds ? PG_FLOAT8 : type);
}

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

/* Of the server's own functions, which stand in the texts of views. */
static struct kind kind_of_own(struct writer *w, const char *name, const Node *first)
{
	static const char *const exact[] = { "exact", "scaled", "add", "subtract", "multiply",
		"divide", "modulo", "negate", "round", "trunc", "ceil", "floor", "abs", "sign",
		"sum", "avg", "greatest", "least", NULL };
	if (is_one_of(name, exact))
		return of(PG_NUMERIC);
	if (strcmp(name, "divisor") == 0)
		return tree_kind(w, first);
	if (strcmp(name, "date_days") == 0)
		return of(PG_INT4);
	if (strcmp(name, "date_add") == 0)
		return of(PG_DATE);
	if (strcmp(name, "timestamp_between") == 0)
		return of(PG_INTERVAL);
	if (strcmp(name, "left") == 0 || strcmp(name, "right") == 0 ||
		strcmp(name, "float_text") == 0)
		return of(PG_TEXT);
	return of(pg_type_named(name, strlen(name)));
}

static struct kind kind_of_call(struct writer *w, const FuncCall *call)
{
	static const char *const totals[] = { "sum", "avg", NULL };
	static const char *const kept[] = { "min", "max", "lag", "lead", "first_value",
		"last_value", "nth_value", NULL };
	static const char *const numbers[] = { "abs", "mod", "round", "trunc", "ceil", "ceiling",
		"floor", "sign", NULL };
	const char *name = strVal(llast(call->funcname));
	Node *first = call->args ? linitial(call->args) : NULL;
	if (first && is_one_of(name, totals))
		return kind_of_total(name, tree_kind(w, first).type);
	if (first && is_one_of(name, kept)) {
		struct kind kind = tree_kind(w, first);
		return kind.type == PG_UNKNOWN_LITERAL ? of(PG_TEXT) : kind;
	}
	if (first && is_one_of(name, numbers))
		return kind_of_number(name,
			strcmp(name, "mod") == 0 ? tree_common_of(w, call->args, PG_UNKNOWN_LITERAL)
						 : tree_kind(w, first).type,
			list_length(call->args));
	if (strcmp(name, "pg_cancel_backend") == 0 || strcmp(name, "pg_terminate_backend") == 0)
		return of(PG_BOOL);
	if (strcmp(name, "pg_sleep") == 0)
		return of(PG_TEXT);
	if (strncmp(name, "pg_", 3) == 0 && first)
		return kind_of_own(w, name + 3, first);
	if (strcmp(name, "sqrt") == 0 && first)
		return of(tree_kind(w, first).type == PG_NUMERIC ? PG_UNKNOWN : PG_FLOAT8);
	if (strcmp(name, "extract") == 0)
		return of(PG_NUMERIC);
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (strcmp(name, functions[i].name) == 0)
			return of(functions[i].type);
	return of(PG_UNKNOWN);
}

/* ---- Others ---------------------------------------------------------------------------------- */

static struct kind kind_of_constant(const A_Const *constant)
{
	if (constant->isnull)
		return of(PG_UNKNOWN_LITERAL);
	switch (nodeTag(&constant->val)) {
	case T_Integer:
		return of(PG_INT4);
	case T_Float: {
		const char *text = constant->val.fval.fval;
		size_t digits = strlen(text) - (*text == '-');
		bool large = digits > 19 || (digits == 19 && strcmp(text + (*text == '-'),
								     "9223372036854775807") > 0);
		bool integer = !strpbrk(text, ".eE") && !large;
		return (struct kind){ integer ? PG_INT8 : PG_NUMERIC, -1, false, false };
	}
	case T_Boolean:
		return of(PG_BOOL);
	default:
		return of(PG_UNKNOWN_LITERAL);
	}
}

static struct kind kind_of_value(const SQLValueFunction *value)
{
	switch (value->op) {
	case SVFOP_CURRENT_DATE:
		return of(PG_DATE);
	case SVFOP_CURRENT_TIMESTAMP:
		return of(PG_TIMESTAMPTZ);
	case SVFOP_CURRENT_TIME:
		return of(PG_TIMETZ);
	default:
		return of(PG_NAME);
	}
}

static struct kind kind_of_cast(const TypeCast *cast)
{
	const char *word = strVal(llast(cast->typeName->names));
	return of(pg_type_named(word, strlen(word)));
}

static struct kind kind_of_sublink(struct writer *w, const SubLink *link)
{
	struct query_column *columns;
	if (link->subLinkType != EXPR_SUBLINK)
		return of(PG_BOOL);
	return tree_query_columns(w, (const SelectStmt *)link->subselect, &columns) == 1
		       ? columns[0].kind
		       : of(PG_UNKNOWN);
}

static struct kind kind_of_case(struct writer *w, const CaseExpr *e)
{
	enum pg_type type = PG_UNKNOWN_LITERAL;
	const ListCell *cell;
	foreach (cell, e->args)
		type = tree_common(
			type, tree_kind(w, (Node *)lfirst_node(CaseWhen, cell)->result).type);
	if (e->defresult)
		type = tree_common(type, tree_kind(w, (Node *)e->defresult).type);
	return of(type == PG_UNKNOWN_LITERAL ? PG_TEXT : type);
}

static struct kind of_list(struct writer *w, const List *expressions)
{
	enum pg_type type = tree_common_of(w, expressions, PG_UNKNOWN_LITERAL);
	return of(type == PG_UNKNOWN_LITERAL ? PG_TEXT : type);
}

struct kind tree_kind(struct writer *w, const Node *node)
{
	struct kind kind = of(PG_UNKNOWN);
	if (!tree_enter(w))
		return kind;
	switch (nodeTag(node)) {
	case T_A_Const:
		kind = kind_of_constant((const A_Const *)node);
		break;
	case T_ColumnRef:
		kind = tree_column_kind(w, (const ColumnRef *)node);
		break;
	case T_ParamRef:
		kind.type = type_of_parameter(w, ((const ParamRef *)node)->number);
		break;
	case T_TypeCast:
		kind = kind_of_cast((const TypeCast *)node);
		break;
	case T_FuncCall:
		kind = kind_of_call(w, (const FuncCall *)node);
		break;
	case T_SQLValueFunction:
		kind = kind_of_value((const SQLValueFunction *)node);
		break;
	case T_A_Expr:
		kind = kind_of_operation(w, (const A_Expr *)node);
		break;
	case T_BoolExpr:
	case T_NullTest:
	case T_BooleanTest:
		kind = of(PG_BOOL);
		break;
	case T_SubLink:
		kind = kind_of_sublink(w, (const SubLink *)node);
		break;
	case T_CaseExpr:
		kind = kind_of_case(w, (const CaseExpr *)node);
		break;
	case T_CoalesceExpr:
		kind = of_list(w, ((const CoalesceExpr *)node)->args);
		break;
	case T_MinMaxExpr:
		kind = of_list(w, ((const MinMaxExpr *)node)->args);
		break;
	case T_CollateClause:
		kind = tree_kind(w, ((const CollateClause *)node)->arg);
		break;
	default:
		break;
	}
	tree_leave(w);
	return kind;
}
