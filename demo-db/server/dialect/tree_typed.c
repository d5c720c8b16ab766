/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what depends on types: arithmetic, comparisons, aggregates, values of another type. A numeric
 * is SQLite's number in a column and the text of its digits in an expression (numeric.h).
 */
#include "demo-db/server/dialect/tree_kind.h"
#include "demo-db/server/types/decimal.h"

#include <stdio.h>
#include <string.h>

#define NO_OPERATOR_HINT                                                                           \
	"No operator matches the given name and argument types. You might need to add explicit "   \
	"type casts."
#define NO_PREFIX_HINT                                                                             \
	"No operator matches the given name and argument type. You might need to add an explicit " \
	"type cast."
#define NO_FUNCTION_HINT                                                                           \
	"No function matches the given name and argument types. You might need to add explicit "   \
	"type casts."

/* ---- Values of a type ------------------------------------------------------------------------ */

static const char *number_of(const Node *node)
{
	const A_Const *constant = (const A_Const *)node;
	bool number = IsA(node, A_Const) && !constant->isnull && IsA(&constant->val, Float);
	return number ? constant->val.fval.fval : NULL;
}

static bool is_text(const Node *node)
{
	const A_Const *constant = (const A_Const *)node;
	return IsA(node, A_Const) && !constant->isnull && IsA(&constant->val, String);
}

static void write_called(struct writer *w, const char *function, Node *argument)
{
	tree_put(w, function);
	tree_put(w, "(");
	tree_expression(w, argument);
	tree_put(w, ")");
}

void tree_exact(struct writer *w, Node *node)
{
	struct kind kind = tree_kind(w, node);
	struct decimal d;
	char text[DECIMAL_TEXT_MAX];
	const char *number = number_of(node);
	if (kind.exact) {
		tree_expression(w, node);
	} else if (number && decimal_read(number, &d)) {
		decimal_write(&d, text);
		text_append_quoted(&w->out, text, strlen(text));
	} else if (kind.type == PG_NUMERIC && kind.scale >= 0) {
		tree_put(w, "pg_scaled(");
		tree_expression(w, node);
		text_append_format(&w->out, ", %d)", kind.scale);
	} else {
		write_called(w, "pg_exact", node);
	}
}

void tree_number(struct writer *w, Node *node)
{
	struct kind kind = tree_kind(w, node);
	if (kind.exact || (kind.type == PG_NUMERIC && IsA(node, ParamRef))) {
		tree_put(w, "CAST(");
		tree_expression(w, node);
		tree_put(w, " AS NUMERIC)");
	} else {
		tree_operand(w, node);
	}
}

void tree_as(struct writer *w, Node *node, enum pg_type type)
{
	struct kind kind = tree_kind(w, node);
	const struct pg_type_row *row = pg_type_row(type);
	bool function = row && row->cast == PG_CAST_FUNCTION && tree_family(type) != FAMILY_TEXT;
	tree_adopt(w, node, type);
	if (type == PG_NUMERIC) {
		tree_exact(w, node);
	} else if (function &&
		   (is_text(node) || (kind.type != type && tree_family(type) == FAMILY_TIME &&
					     tree_family(kind.type) == FAMILY_TIME))) {
		tree_put(w, "pg_");
		write_called(w, row->name, node);
	} else if (type == PG_FLOAT8 || type == PG_FLOAT4) {
		tree_number(w, node);
	} else {
		tree_operand(w, node);
	}
}

void tree_text(struct writer *w, Node *node)
{
	struct kind kind = tree_kind(w, node);
	if (kind.type == PG_BOOL) {
		tree_put(w, "CASE ");
		tree_operand(w, node);
		tree_put(w, " WHEN 0 THEN 'false' WHEN 1 THEN 'true' END");
	} else if (kind.type == PG_NUMERIC) {
		tree_exact(w, node);
	} else if (kind.type == PG_FLOAT8) {
		write_called(w, "pg_float_text", node);
	} else {
		tree_operand(w, node);
	}
}

void tree_term(struct writer *w, Node *node)
{
	if (tree_kind(w, node).exact) {
		tree_operand(w, node);
		tree_put(w, " COLLATE pg_numeric");
	} else {
		tree_expression(w, node);
	}
}

/* ---- What is missing ------------------------------------------------------------------------- */

static const char *word_of(enum pg_type type)
{
	return pg_type_row(type) ? pg_type_row(type)->spelling : "unknown";
}

static void no_operator(struct writer *w, const A_Expr *e)
{
	char message[160];
	const char *symbol = strVal(llast(e->name));
	const char *right = word_of(tree_kind(w, e->rexpr).type);
	if (w->failed)
		return;
	if (e->lexpr)
		snprintf(message, sizeof message, "operator does not exist: %s %.20s %s",
			word_of(tree_kind(w, e->lexpr).type), symbol, right);
	else
		snprintf(message, sizeof message, "operator does not exist: %.20s %s", symbol,
			right);
	tree_refuse(w, "42883", message, e->location);
	snprintf(w->result->hint, sizeof w->result->hint, "%s",
		e->lexpr ? NO_OPERATOR_HINT : NO_PREFIX_HINT);
}

static void no_function(struct writer *w, const FuncCall *call, enum pg_type type)
{
	char message[160];
	if (w->failed)
		return;
	snprintf(message, sizeof message, "function %.60s(%s) does not exist",
		strVal(llast(call->funcname)), word_of(type));
	tree_refuse(w, "42883", message, call->location);
	snprintf(w->result->hint, sizeof w->result->hint, "%s", NO_FUNCTION_HINT);
}

void tree_condition(struct writer *w, Node *node, const char *what, tree_write *write)
{
	char message[128];
	enum pg_type type = tree_kind(w, node).type;
	enum family family = tree_family(type);
	tree_adopt(w, node, PG_BOOL);
	if (family != FAMILY_BOOL && family != FAMILY_UNKNOWN && family != FAMILY_LITERAL) {
		snprintf(message, sizeof message,
			"argument of %s must be type boolean, not type %s", what, word_of(type));
		tree_refuse(w, "42804", message, exprLocation(node));
	}
	if (is_text(node))
		write_called(w, "pg_bool", node);
	else
		write(w, node);
}

/* ---- Arithmetic ------------------------------------------------------------------------------ */

static void write_two(struct writer *w, const char *function, Node *a, Node *b, tree_write *write)
{
	tree_put(w, function);
	tree_put(w, "(");
	write(w, a);
	tree_put(w, ", ");
	write(w, b);
	tree_put(w, ")");
}

static void write_numeric(struct writer *w, const A_Expr *e, char symbol)
{
	static const char symbols[] = "+-*/%";
	static const char *const functions[] = { "pg_add", "pg_subtract", "pg_multiply",
		"pg_divide", "pg_modulo" };
	if (e->lexpr) {
		write_two(w, functions[strchr(symbols, symbol) - symbols], e->lexpr, e->rexpr,
			tree_exact);
	} else {
		tree_put(w, symbol == '-' ? "pg_negate(" : "(");
		tree_exact(w, e->rexpr);
		tree_put(w, ")");
	}
}

/* Integers that leave their type are an error. */
static void write_plain(struct writer *w, const A_Expr *e, enum pg_type type)
{
	char symbol = *strVal(llast(e->name));
	bool wide = tree_kind(w, e->rexpr).wide || (e->lexpr && tree_kind(w, e->lexpr).wide);
	bool checked = tree_family(type) == FAMILY_NUMBER && type != PG_FLOAT8 &&
		       type != PG_FLOAT4 && e->lexpr && symbol != '/' && symbol != '%';
	bool divides = symbol == '/' || symbol == '%';
	if (checked)
		text_append_format(&w->out, "pg_%s(", pg_type_row(wide ? PG_INT8 : type)->name);
	if (e->lexpr)
		tree_as(w, e->lexpr, type);
	text_append_format(&w->out, e->lexpr ? " %c " : "%c", symbol);
	tree_put(w, divides ? "pg_divisor(" : "");
	tree_as(w, e->rexpr, type);
	tree_put(w, divides ? ")" : "");
	tree_put(w, checked ? ")" : "");
}

static void write_time(struct writer *w, const A_Expr *e, char symbol)
{
	enum pg_type a = tree_kind(w, e->lexpr).type, b = tree_kind(w, e->rexpr).type;
	bool days = tree_family(b) == FAMILY_NUMBER;
	if (tree_family(a) == FAMILY_NUMBER) {
		write_two(w, "pg_date_add", e->rexpr, e->lexpr, tree_expression);
		return;
	}
	tree_put(w, days							? "pg_date_add("
		    : (a == PG_DATE || a == PG_UNKNOWN_LITERAL) && b == PG_DATE ? "pg_date_days("
		    : a == PG_DATE && b == PG_UNKNOWN_LITERAL			? "pg_date_days("
							      : "pg_timestamp_between(");
	tree_as(w, e->lexpr, a == PG_UNKNOWN_LITERAL ? b : a);
	tree_put(w, days && symbol == '-' ? ", -(" : ", (");
	tree_as(w, e->rexpr, b == PG_UNKNOWN_LITERAL ? a : b);
	tree_put(w, "))");
}

static void not_unique(struct writer *w, const A_Expr *e)
{
	char message[96];
	snprintf(message, sizeof message,
		e->lexpr ? "operator is not unique: unknown %.20s unknown"
			 : "operator is not unique: %.20s unknown",
		strVal(llast(e->name)));
	tree_refuse(w, "42725", message, e->location);
	snprintf(w->result->hint, sizeof w->result->hint,
		"Could not choose a best candidate operator. You might need to add explicit type "
		"casts.");
}

/* Arithmetic there is, but not here. */
static bool is_beyond(enum pg_type type)
{
	return type == PG_TIME || type == PG_TIMETZ || type == PG_INTERVAL;
}

bool tree_write_arithmetic(struct writer *w, const A_Expr *e)
{
	const char *symbol = strVal(llast(e->name));
	if (tree_kind(w, e->rexpr).type == PG_UNKNOWN_LITERAL &&
		(!e->lexpr || tree_kind(w, e->lexpr).type == PG_UNKNOWN_LITERAL)) {
		not_unique(w, e);
		return true;
	}
	if (is_beyond(tree_kind(w, e->rexpr).type) ||
		(e->lexpr && is_beyond(tree_kind(w, e->lexpr).type))) {
		tree_lacks(w, "arithmetic of times of day and intervals", e->location);
		return true;
	}
	struct kind kind = tree_arithmetic_kind(w, e);
	switch (kind.type) {
	case PG_UNKNOWN:
		return false;
	case PG_UNKNOWN_LITERAL:
		no_operator(w, e);
		break;
	case PG_NUMERIC:
		write_numeric(w, e, *symbol);
		break;
	case PG_DATE:
	case PG_INTERVAL:
		write_time(w, e, *symbol);
		break;
	case PG_INT4:
		if (e->lexpr && tree_family(tree_kind(w, e->lexpr).type) == FAMILY_TIME)
			write_time(w, e, *symbol);
		else
			write_plain(w, e, kind.type);
		break;
	default:
		write_plain(w, e, kind.type);
	}
	return true;
}

/* ---- Comparisons ----------------------------------------------------------------------------- */

static bool are_comparable(enum pg_type a, enum pg_type b)
{
	enum family left = tree_family(a), right = tree_family(b);
	if (left == FAMILY_OTHER || right == FAMILY_OTHER || left == FAMILY_UNKNOWN ||
		right == FAMILY_UNKNOWN || left == FAMILY_LITERAL || right == FAMILY_LITERAL)
		return true;
	return left == right;
}

static void write_side(struct writer *w, Node *node, enum pg_type other, bool exact)
{
	struct kind kind = tree_kind(w, node);
	enum pg_type type = kind.type == PG_UNKNOWN_LITERAL ? other : tree_common(kind.type, other);
	tree_adopt(w, node, other);
	if (exact) {
		tree_put(w, "(");
		tree_exact(w, node);
		tree_put(w, " COLLATE pg_numeric)");
	} else if (type == PG_NUMERIC && is_text(node)) {
		write_called(w, "pg_numeric", node);
	} else if (tree_family(type) == FAMILY_NUMBER && !is_text(node)) {
		tree_number(w, node);
	} else if (type == PG_UNKNOWN || type == PG_UNKNOWN_LITERAL) {
		tree_operand(w, node);
	} else {
		tree_as(w, node, type);
	}
}

void tree_compared(struct writer *w, Node *expression, enum pg_type with)
{
	write_side(w, expression, with, false);
}

bool tree_write_comparison(struct writer *w, const A_Expr *e)
{
	struct kind a = tree_kind(w, e->lexpr), b = tree_kind(w, e->rexpr);
	const char *symbol = strVal(llast(e->name));
	bool numbers = tree_family(a.type) == FAMILY_NUMBER && tree_family(b.type) == FAMILY_NUMBER;
	bool real = a.type == PG_FLOAT8 || b.type == PG_FLOAT8 || a.type == PG_FLOAT4 ||
		    b.type == PG_FLOAT4;
	bool exact = numbers && !real && (a.exact || b.exact);
	if (IsA(e->lexpr, RowExpr) || IsA(e->rexpr, RowExpr))
		return false;
	if (!are_comparable(a.type, b.type)) {
		no_operator(w, e);
		return true;
	}
	write_side(w, e->lexpr, tree_beside(b), exact);
	if (e->kind == AEXPR_OP)
		text_append_format(&w->out, " %.8s ", symbol);
	else
		tree_put(w, e->kind == AEXPR_DISTINCT ? " IS NOT " : " IS ");
	write_side(w, e->rexpr, tree_beside(a), exact);
	return true;
}

/* ---- Aggregates and functions of numbers ----------------------------------------------------- */

static void write_scaled_argument(struct writer *w, const char *function, const FuncCall *call)
{
	Node *argument = linitial(call->args);
	struct kind kind = tree_kind(w, argument);
	tree_put(w, function);
	tree_put(w, call->agg_distinct ? "(DISTINCT " : "(");
	if (call->agg_distinct && kind.type == PG_NUMERIC)
		tree_exact(w, argument); /* SQLite's DISTINCT takes one argument */
	else
		tree_expression(w, argument);
	if (!call->agg_distinct && kind.scale >= 0 && !kind.exact)
		text_append_format(&w->out, ", %d", kind.scale);
	tree_put(w, ")");
}

static bool write_total(struct writer *w, const FuncCall *call, const char *name)
{
	Node *argument = linitial(call->args);
	enum pg_type type = tree_kind(w, argument).type;
	bool sum = *name == 's';
	switch (type) {
	case PG_INT2:
	case PG_INT4:
		if (sum)
			return false;
		write_scaled_argument(w, "pg_avg", call);
		return true;
	case PG_INT8:
	case PG_NUMERIC:
		write_scaled_argument(w, sum ? "pg_sum" : "pg_avg", call);
		return true;
	case PG_UNKNOWN:
	case PG_UNKNOWN_LITERAL:
	case PG_FLOAT4:
	case PG_FLOAT8:
	case PG_INTERVAL:
		return false;
	default:
		no_function(w, call, type);
		return true;
	}
}

static void write_exact_call(struct writer *w, const char *function, const FuncCall *call)
{
	tree_put(w, function);
	tree_put(w, "(");
	tree_exact(w, linitial(call->args));
	if (list_length(call->args) > 1) {
		tree_put(w, ", ");
		tree_expression(w, lsecond(call->args));
	}
	tree_put(w, ")");
}

/* round, trunc and their like of a numeric, or with digits. */
static bool write_number_function(struct writer *w, const FuncCall *call, const char *name)
{
	static const char *const functions[][2] = { { "round", "pg_round" },
		{ "trunc", "pg_trunc" }, { "ceil", "pg_ceil" }, { "ceiling", "pg_ceil" },
		{ "floor", "pg_floor" }, { "abs", "pg_abs" }, { "sign", "pg_sign" } };
	int count = list_length(call->args);
	enum pg_type type = tree_kind(w, linitial(call->args)).type;
	bool digits = count == 2 && (strcmp(name, "round") == 0 || strcmp(name, "trunc") == 0);
	if (strcmp(name, "mod") == 0 && count == 2 &&
		tree_common_of(w, call->args, PG_UNKNOWN_LITERAL) == PG_NUMERIC) {
		write_two(w, "pg_modulo", linitial(call->args), lsecond(call->args), tree_exact);
		return true;
	}
	if (tree_family(type) != FAMILY_NUMBER || (type != PG_NUMERIC && !digits))
		return false;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (strcmp(name, functions[i][0]) == 0) {
			if (digits && (type == PG_FLOAT8 || type == PG_FLOAT4))
				no_function(w, call, type);
			else
				write_exact_call(w, functions[i][1], call);
			return true;
		}
	return false;
}

/* extract(second …) and extract(epoch …) have six digits behind the point, but of a date. */
static bool write_extract(struct writer *w, const FuncCall *call)
{
	const A_Const *field = linitial(call->args);
	bool fraction =
		is_text((const Node *)field) && (strcmp(strVal(&field->val), "second") == 0 ||
							strcmp(strVal(&field->val), "epoch") == 0);
	bool date = tree_kind(w, lsecond(call->args)).type == PG_DATE;
	write_two(w, "pg_scaled(date_part", linitial(call->args), lsecond(call->args),
		tree_expression);
	tree_put(w, fraction && !date ? ", 6)" : ", 0)");
	return true;
}

bool tree_write_typed_call(struct writer *w, const FuncCall *call, const char *name)
{
	int count = list_length(call->args);
	if (count == 0)
		return false;
	if (count == 1 && (strcmp(name, "sum") == 0 || strcmp(name, "avg") == 0))
		return write_total(w, call, name);
	if (count == 2 && strcmp(name, "extract") == 0)
		return write_extract(w, call);
	if (count == 1 && (strcmp(name, "min") == 0 || strcmp(name, "max") == 0) &&
		tree_kind(w, linitial(call->args)).exact) {
		text_append_format(&w->out, "%s(", name);
		tree_term(w, linitial(call->args));
		tree_put(w, ")");
		return true;
	}
	if (tree_kind(w, linitial(call->args)).type == PG_NUMERIC &&
		(strcmp(name, "sqrt") == 0 || strcmp(name, "power") == 0 ||
			strcmp(name, "exp") == 0 || strcmp(name, "ln") == 0 ||
			strcmp(name, "log") == 0)) {
		tree_lacks(w, "this function of a numeric", call->location);
		return true;
	}
	return write_number_function(w, call, name);
}
