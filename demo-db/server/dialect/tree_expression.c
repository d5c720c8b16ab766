/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns expressions: constants, columns, operators, what is written with words.
 */
#include "demo-db/server/dialect/tree_kind.h"

#include <stdio.h>
#include <string.h>

/* ---- Constants and columns ------------------------------------------------------------------- */

static void write_constant(struct writer *w, const A_Const *constant)
{
	if (constant->isnull) {
		tree_put(w, "NULL");
		return;
	}
	switch (nodeTag(&constant->val)) {
	case T_Integer:
		text_append_format(&w->out, "%d", intVal(&constant->val));
		break;
	case T_Float:
		tree_put(w, constant->val.fval.fval);
		break;
	case T_Boolean:
		tree_put(w, boolVal(&constant->val) ? "true" : "false");
		break;
	case T_String:
		text_append_quoted(&w->out, strVal(&constant->val), strlen(strVal(&constant->val)));
		break;
	default:
		tree_lacks(w, "a bit string", constant->location);
	}
}

static void write_parameter(struct writer *w, const ParamRef *parameter)
{
	if (parameter->number == 0) /* libpg_query's own */
		tree_refuse(w, "42601", "syntax error at or near \"?\"", parameter->location);
	text_append_format(&w->out, "?%d", parameter->number);
}

/* Of schema.table.column the schema is dropped. */
static void write_column(struct writer *w, const ColumnRef *column)
{
	const ListCell *cell;
	int skipped = list_length(column->fields) - 2;
	foreach (cell, column->fields) {
		const Node *field = lfirst(cell);
		if (foreach_current_index(cell) < skipped)
			continue;
		if (foreach_current_index(cell) > (skipped > 0 ? skipped : 0))
			tree_put(w, ".");
		if (IsA(field, A_Star))
			tree_put(w, "*");
		else
			tree_put_name(w, strVal(field));
	}
}

/* ---- Operators ------------------------------------------------------------------------------- */

static bool is_one_of(const char *text, const char *const *list)
{
	while (*list && strcmp(*list, text) != 0)
		list++;
	return *list != NULL;
}

static bool is_nonzero(const Node *node)
{
	const A_Const *constant = (const A_Const *)node;
	if (!IsA(node, A_Const) || constant->isnull)
		return false;
	if (IsA(&constant->val, Integer))
		return intVal(&constant->val) != 0;
	return IsA(&constant->val, Float) &&
	       strspn(constant->val.fval.fval, "0.") != strcspn(constant->val.fval.fval, "eE");
}

/* SQLite's division by zero is NULL: the divisor goes through a function that minds. */
static void write_divisor(struct writer *w, Node *node)
{
	bool minds = !is_nonzero(node);
	if (minds)
		tree_put(w, "pg_divisor(");
	if (minds)
		tree_expression(w, node);
	else
		tree_operand(w, node);
	if (minds)
		tree_put(w, ")");
}

/* The pattern of LIKE or ILIKE, which may have said its escape. */
static void write_pattern(struct writer *w, Node *pattern, bool caseless)
{
	const FuncCall *escape = (const FuncCall *)pattern;
	bool said = IsA(pattern, FuncCall) && list_length(escape->args) == 2 &&
		    strcmp(strVal(llast(escape->funcname)), "like_escape") == 0;
	if (!said) {
		tree_operand(w, pattern);
	} else if (caseless) {
		tree_lacks(w, "ILIKE with ESCAPE", escape->location);
	} else {
		tree_operand(w, linitial(escape->args));
		tree_put(w, " ESCAPE ");
		tree_operand(w, lsecond(escape->args));
	}
}

/* ~, ~*, ~~ and ~~*, and the same behind !. REGEXP calls the server's function; what stands before
 * the pattern tells it the rest. */
static bool write_match(struct writer *w, const char *symbol, Node *pattern)
{
	static const struct {
		const char *symbol, *sql;
	} matches[] = { { "~", "REGEXP " }, { "~*", "REGEXP '(?i)' || " }, { "~~", "LIKE " },
		{ "~~*", "REGEXP '(?like)' || " } };
	bool not = *symbol == '!';
	for (size_t i = 0; i < sizeof matches / sizeof *matches; i++) {
		if (strcmp(symbol + not, matches[i].symbol) != 0)
			continue;
		tree_put(w, not ? " NOT " : " ");
		tree_put(w, matches[i].sql);
		write_pattern(w, pattern, strcmp(matches[i].symbol, "~~*") == 0);
		return true;
	}
	return false;
}

static void lacks_operator(struct writer *w, const A_Expr *e)
{
	char what[64];
	snprintf(what, sizeof what, "operator %.40s", strVal(llast(e->name)));
	tree_lacks(w, what, e->location);
}

/* Those whose meaning depends on types. */
static bool write_typed_operator(struct writer *w, const A_Expr *e, const char *symbol)
{
	static const char *const arithmetic[] = { "+", "-", "*", "/", "%", NULL };
	static const char *const comparisons[] = { "=", "<", ">", "<=", ">=", "<>", NULL };
	if (is_one_of(symbol, arithmetic))
		return tree_write_arithmetic(w, e);
	if (e->lexpr && is_one_of(symbol, comparisons))
		return tree_write_comparison(w, e);
	if (!e->lexpr || strcmp(symbol, "||") != 0)
		return false;
	tree_text(w, e->lexpr);
	tree_put(w, " || ");
	tree_text(w, e->rexpr);
	return true;
}

static void write_operator(struct writer *w, const A_Expr *e)
{
	static const char *const prefixes[] = { "-", "+", "~", NULL };
	static const char *const both[] = { "+", "-", "*", "/", "%", "=", "<", ">",
		"<=", ">=", "<>", "||", "&", "|", "<<", ">>", "->", "->>", NULL };
	const char *symbol = strVal(llast(e->name));
	if (write_typed_operator(w, e, symbol))
		return;
	if (!e->lexpr && is_one_of(symbol, prefixes)) {
		tree_put(w, symbol);
		tree_operand(w, e->rexpr);
		return;
	}
	if (!e->lexpr) {
		lacks_operator(w, e);
		return;
	}
	tree_operand(w, e->lexpr);
	if (write_match(w, symbol, e->rexpr))
		return;
	if (!is_one_of(symbol, both)) {
		lacks_operator(w, e);
		return;
	}
	tree_put(w, " ");
	tree_put(w, symbol);
	tree_put(w, " ");
	if (strcmp(symbol, "/") == 0 || strcmp(symbol, "%") == 0)
		write_divisor(w, e->rexpr);
	else
		tree_operand(w, e->rexpr);
}

static void write_in(struct writer *w, const A_Expr *e, bool not, const List *items)
{
	const ListCell *cell;
	enum pg_type left = tree_beside(tree_kind(w, e->lexpr));
	tree_compared(w, e->lexpr, tree_common_of(w, items, left));
	tree_put(w, not ? " NOT IN (" : " IN (");
	foreach (cell, items) {
		if (foreach_current_index(cell))
			tree_put(w, ", ");
		tree_compared(w, lfirst(cell), left);
	}
	tree_put(w, ")");
}

/* = ANY (ARRAY[…]) is IN, <> ALL is NOT IN. */
static void write_any(struct writer *w, const A_Expr *e, const char *symbol)
{
	if (strcmp(strVal(llast(e->name)), symbol) == 0 && IsA(e->rexpr, A_ArrayExpr))
		write_in(w, e, *symbol == '<', ((const A_ArrayExpr *)e->rexpr)->elements);
	else
		tree_lacks(w, "arrays", e->location);
}

static void write_between(struct writer *w, const A_Expr *e, const char *word)
{
	List *bounds = (List *)e->rexpr;
	enum pg_type left = tree_beside(tree_kind(w, e->lexpr));
	tree_compared(w, e->lexpr, tree_common_of(w, bounds, left));
	tree_put(w, word);
	tree_compared(w, linitial(bounds), left);
	tree_put(w, " AND ");
	tree_compared(w, lsecond(bounds), left);
}

/* x IS [NOT] DISTINCT FROM y */
static void write_distinct(struct writer *w, const A_Expr *e)
{
	if (tree_write_comparison(w, e))
		return;
	tree_operand(w, e->lexpr);
	tree_put(w, e->kind == AEXPR_DISTINCT ? " IS NOT " : " IS ");
	tree_operand(w, e->rexpr);
}

static void write_nullif(struct writer *w, const A_Expr *e)
{
	enum pg_type left = tree_kind(w, e->lexpr).type;
	enum pg_type type = tree_common(left, tree_kind(w, e->rexpr).type);
	if (type == PG_NUMERIC && left != PG_NUMERIC) /* it would answer with the left one */
		tree_lacks(w, "NULLIF of a number and a numeric", e->location);
	tree_put(w, "nullif(");
	tree_as(w, e->lexpr, type);
	tree_put(w, type == PG_NUMERIC ? " COLLATE pg_numeric, " : ", ");
	tree_as(w, e->rexpr, type);
	tree_put(w, ")");
}

static void write_operation(struct writer *w, const A_Expr *e)
{
	switch (e->kind) {
	case AEXPR_OP:
		write_operator(w, e);
		break;
	case AEXPR_OP_ANY:
		write_any(w, e, "=");
		break;
	case AEXPR_OP_ALL:
		write_any(w, e, "<>");
		break;
	case AEXPR_DISTINCT:
	case AEXPR_NOT_DISTINCT:
		write_distinct(w, e);
		break;
	case AEXPR_NULLIF:
		write_nullif(w, e);
		break;
	case AEXPR_IN:
		write_in(w, e, *strVal(llast(e->name)) == '<', (const List *)e->rexpr);
		break;
	case AEXPR_LIKE:
	case AEXPR_ILIKE:
		tree_operand(w, e->lexpr);
		write_match(w, strVal(llast(e->name)), e->rexpr);
		break;
	case AEXPR_BETWEEN:
		write_between(w, e, " BETWEEN ");
		break;
	case AEXPR_NOT_BETWEEN:
		write_between(w, e, " NOT BETWEEN ");
		break;
	case AEXPR_SIMILAR:
		tree_lacks(w, "SIMILAR TO", e->location);
		break;
	default:
		tree_lacks(w, "BETWEEN SYMMETRIC", e->location);
	}
}

static void write_bool(struct writer *w, const BoolExpr *e)
{
	static const char *const words[] = { "AND", "OR", "NOT" };
	const ListCell *cell;
	tree_put(w, e->boolop == NOT_EXPR ? "NOT " : "");
	foreach (cell, e->args) {
		if (foreach_current_index(cell))
			tree_put(w, e->boolop == AND_EXPR ? " AND " : " OR ");
		tree_condition(w, lfirst(cell), words[e->boolop], tree_operand);
	}
}

static void write_truth(struct writer *w, const BooleanTest *test)
{
	static const char *const words[] = { " IS TRUE", " IS NOT TRUE", " IS FALSE",
		" IS NOT FALSE", " IS NULL", " IS NOT NULL" };
	tree_operand(w, (Node *)test->arg);
	tree_put(w, words[test->booltesttype]);
}

/* ---- Order and windows ----------------------------------------------------------------------- */

/* NULL is greater than everything there, smaller here. */
void tree_sort_by(struct writer *w, const SortBy *sort, bool exact)
{
	bool down = sort->sortby_dir == SORTBY_DESC;
	bool first = sort->sortby_nulls == SORTBY_NULLS_FIRST ||
		     (sort->sortby_nulls == SORTBY_NULLS_DEFAULT && down);
	if (sort->sortby_dir == SORTBY_USING)
		tree_lacks(w, "ORDER BY with USING", sort->location);
	tree_term(w, sort->node);
	tree_put(w, exact ? " COLLATE pg_numeric" : "");
	tree_put(w, down ? " DESC" : "");
	tree_put(w, first ? " NULLS FIRST" : " NULLS LAST");
}

void tree_sort(struct writer *w, Node *node)
{
	tree_sort_by(w, (const SortBy *)node, false);
}

static void write_bound(struct writer *w, const WindowDef *window, int options, bool end)
{
	if (options &
		(end ? FRAMEOPTION_END_UNBOUNDED_FOLLOWING : FRAMEOPTION_START_UNBOUNDED_FOLLOWING))
		tree_put(w, "UNBOUNDED FOLLOWING");
	else if (options & (end ? FRAMEOPTION_END_UNBOUNDED_PRECEDING
				: FRAMEOPTION_START_UNBOUNDED_PRECEDING))
		tree_put(w, "UNBOUNDED PRECEDING");
	else if (options & (end ? FRAMEOPTION_END_CURRENT_ROW : FRAMEOPTION_START_CURRENT_ROW))
		tree_put(w, "CURRENT ROW");
	else {
		tree_expression(w, end ? window->endOffset : window->startOffset);
		tree_put(w, options & (end ? FRAMEOPTION_END_OFFSET_PRECEDING
					   : FRAMEOPTION_START_OFFSET_PRECEDING)
				    ? " PRECEDING"
				    : " FOLLOWING");
	}
}

static void write_frame(struct writer *w, const WindowDef *window)
{
	int options = window->frameOptions;
	if (!(options & FRAMEOPTION_NONDEFAULT))
		return;
	tree_put(w, options & FRAMEOPTION_ROWS	   ? " ROWS BETWEEN "
		    : options & FRAMEOPTION_GROUPS ? " GROUPS BETWEEN "
						   : " RANGE BETWEEN ");
	write_bound(w, window, options, false);
	tree_put(w, " AND ");
	write_bound(w, window, options, true);
	if (options & FRAMEOPTION_EXCLUDE_CURRENT_ROW)
		tree_put(w, " EXCLUDE CURRENT ROW");
	else if (options & FRAMEOPTION_EXCLUDE_GROUP)
		tree_put(w, " EXCLUDE GROUP");
	else if (options & FRAMEOPTION_EXCLUDE_TIES)
		tree_put(w, " EXCLUDE TIES");
}

void tree_window(struct writer *w, const WindowDef *window)
{
	if (window->name) {
		tree_put_name(w, window->name);
		return;
	}
	tree_put(w, "(");
	if (window->refname) {
		tree_put_name(w, window->refname);
		tree_put(w, " ");
	}
	if (window->partitionClause) {
		tree_put(w, "PARTITION BY ");
		tree_put_list(w, window->partitionClause, ", ", tree_expression);
	}
	if (window->orderClause) {
		tree_put(w, " ORDER BY ");
		tree_put_list(w, window->orderClause, ", ", tree_sort);
	}
	write_frame(w, window);
	tree_put(w, ")");
}

/* ---- Subqueries ------------------------------------------------------------------------------ */

/* ARRAY(SELECT … FROM pg_auth_members …): there are no groups of roles. */
static bool is_array_of_members(const SubLink *link)
{
	const SelectStmt *query = (const SelectStmt *)link->subselect;
	const Node *from = query->fromClause ? linitial(query->fromClause) : NULL;
	if (link->subLinkType != ARRAY_SUBLINK || !from)
		return false;
	if (IsA(from, JoinExpr))
		from = ((const JoinExpr *)from)->larg;
	return IsA(from, RangeVar) &&
	       strcmp(((const RangeVar *)from)->relname, "pg_auth_members") == 0;
}

/* Numerics that are no columns are texts here: 1 IN (SELECT 1.0) would be false. */
static bool compares_exactly(struct writer *w, const SubLink *link)
{
	const SelectStmt *query = (const SelectStmt *)link->subselect;
	struct query_column *columns;
	int count = tree_query_columns(w, query, &columns);
	bool numeric = tree_kind(w, link->testexpr).type == PG_NUMERIC ||
		       (count == 1 && columns[0].kind.type == PG_NUMERIC);
	if (!numeric)
		return false;
	if (query->op != SETOP_NONE || query->valuesLists || !query->targetList)
		return true;
	const ResTarget *target = linitial(query->targetList);
	return !IsA(link->testexpr, ColumnRef) || !IsA(target->val, ColumnRef);
}

static void write_sublink(struct writer *w, const SubLink *link)
{
	const char *symbol = link->operName ? strVal(llast(link->operName)) : "=";
	bool any = link->subLinkType == ANY_SUBLINK && strcmp(symbol, "=") == 0;
	bool none = link->subLinkType == ALL_SUBLINK && strcmp(symbol, "<>") == 0;
	if (is_array_of_members(link)) {
		tree_put(w, "'{}'");
		return;
	}
	if (link->subLinkType == ARRAY_SUBLINK)
		tree_lacks(w, "arrays", link->location);
	else if ((any || none) && compares_exactly(w, link))
		tree_lacks(w, "IN (SELECT …) of a numeric", link->location);
	else if (any || none)
		tree_operand(w, link->testexpr);
	else if (link->subLinkType == EXISTS_SUBLINK)
		tree_put(w, "EXISTS ");
	else if (link->subLinkType != EXPR_SUBLINK)
		tree_lacks(w, "ANY or ALL with this operator", link->location);
	tree_put(w, any ? " IN " : none ? " NOT IN " : "");
	tree_put(w, "(");
	tree_query(w, (SelectStmt *)link->subselect);
	tree_put(w, ")");
}

/* ---- Expressions ----------------------------------------------------------------------------- */

static void write_case(struct writer *w, const CaseExpr *e)
{
	enum pg_type type = tree_kind(w, (const Node *)e).type;
	enum pg_type asked = e->arg ? tree_kind(w, (Node *)e->arg).type : PG_UNKNOWN;
	const ListCell *cell;
	tree_put(w, "CASE");
	if (e->arg) {
		tree_put(w, " ");
		tree_compared(w, (Node *)e->arg, asked);
	}
	foreach (cell, e->args) {
		const CaseWhen *when = lfirst_node(CaseWhen, cell);
		tree_put(w, " WHEN ");
		if (e->arg)
			tree_compared(w, (Node *)when->expr, asked);
		else
			tree_condition(w, (Node *)when->expr, "CASE/WHEN", tree_expression);
		tree_put(w, " THEN ");
		tree_as(w, (Node *)when->result, type);
	}
	if (e->defresult) {
		tree_put(w, " ELSE ");
		tree_as(w, (Node *)e->defresult, type);
	}
	tree_put(w, " END");
}

/* Of values that become one type. */
static void write_arguments(struct writer *w, const char *name, const List *arguments)
{
	enum pg_type type = tree_common_of(w, arguments, PG_UNKNOWN_LITERAL);
	const ListCell *cell;
	tree_put(w, name);
	tree_put(w, "(");
	foreach (cell, arguments) {
		if (foreach_current_index(cell))
			tree_put(w, ", ");
		tree_as(w, lfirst(cell), type);
	}
	tree_put(w, ")");
}

static void write_row(struct writer *w, const RowExpr *row)
{
	tree_put(w, "(");
	tree_put_list(w, row->args, ", ", tree_expression);
	tree_put(w, ")");
}

/* greatest and least */
static void write_most(struct writer *w, const MinMaxExpr *e)
{
	bool greatest = e->op == IS_GREATEST;
	if (tree_common_of(w, e->args, PG_UNKNOWN_LITERAL) == PG_NUMERIC)
		write_arguments(w, greatest ? "pg_greatest" : "pg_least", e->args);
	else
		write_arguments(w, greatest ? "greatest" : "least", e->args);
}

/* COLLATE "C" and "default" are what texts are compared by anyway. */
static void write_collation(struct writer *w, const CollateClause *collate)
{
	const char *name = strVal(llast(collate->collname));
	tree_operand(w, collate->arg);
	if (strcmp(name, "C") == 0 || strcmp(name, "default") == 0)
		return;
	tree_put(w, " COLLATE ");
	tree_put_name(w, name);
}

static void write_test(struct writer *w, const NullTest *test)
{
	tree_operand(w, (Node *)test->arg);
	tree_put(w, test->nulltesttype == IS_NULL ? " IS NULL" : " IS NOT NULL");
}

/* What is written with words. */
static void write_other(struct writer *w, Node *node)
{
	switch (nodeTag(node)) {
	case T_CaseExpr:
		write_case(w, (const CaseExpr *)node);
		break;
	case T_CoalesceExpr:
		write_arguments(w, "coalesce", ((const CoalesceExpr *)node)->args);
		break;
	case T_MinMaxExpr:
		write_most(w, (const MinMaxExpr *)node);
		break;
	case T_SQLValueFunction:
		tree_value_function(w, (const SQLValueFunction *)node);
		break;
	case T_RowExpr:
		write_row(w, (const RowExpr *)node);
		break;
	case T_CollateClause:
		write_collation(w, (const CollateClause *)node);
		break;
	case T_SubLink:
		write_sublink(w, (const SubLink *)node);
		break;
	case T_A_ArrayExpr:
		tree_lacks(w, "arrays", ((const A_ArrayExpr *)node)->location);
		break;
	case T_A_Indirection:
		tree_lacks(w, "arrays", -1);
		break;
	case T_SetToDefault:
		tree_refuse(w, "42601", "DEFAULT is not allowed in this context",
			((const SetToDefault *)node)->location);
		break;
	default:
		tree_lacks(w, "an expression of this kind", -1);
	}
}

void tree_expression(struct writer *w, Node *node)
{
	if (!tree_enter(w))
		return;
	switch (nodeTag(node)) {
	case T_ColumnRef:
		write_column(w, (const ColumnRef *)node);
		break;
	case T_A_Const:
		write_constant(w, (const A_Const *)node);
		break;
	case T_ParamRef:
		write_parameter(w, (const ParamRef *)node);
		break;
	case T_A_Expr:
		write_operation(w, (const A_Expr *)node);
		break;
	case T_TypeCast:
		tree_cast(w, (const TypeCast *)node);
		break;
	case T_FuncCall:
		tree_call(w, (const FuncCall *)node);
		break;
	case T_BoolExpr:
		write_bool(w, (const BoolExpr *)node);
		break;
	case T_NullTest:
		write_test(w, (const NullTest *)node);
		break;
	case T_BooleanTest:
		write_truth(w, (const BooleanTest *)node);
		break;
	default:
		write_other(w, node);
	}
	tree_leave(w);
}

void tree_operand(struct writer *w, Node *node)
{
	const SubLink *link = (const SubLink *)node;
	bool wrap = IsA(node, A_Expr) || IsA(node, BoolExpr) || IsA(node, NullTest) ||
		    IsA(node, BooleanTest) || IsA(node, CollateClause) ||
		    (IsA(node, SubLink) &&
			    (link->subLinkType == ANY_SUBLINK || link->subLinkType == ALL_SUBLINK));
	tree_put(w, wrap ? "(" : "");
	tree_expression(w, node);
	tree_put(w, wrap ? ")" : "");
}
