/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns queries: SELECT, VALUES, set operations, what stands in FROM, common tables.
 */
#include "demo-db/server/dialect/tree_kind.h"

#include <string.h>

/* ---- Relations ------------------------------------------------------------------------------- */

/* pg_catalog.t and public.t are t. */
static bool is_dropped_schema(const char *name)
{
	return strcmp(name, "public") == 0 || strcmp(name, "pg_catalog") == 0;
}

void tree_relation(struct writer *w, const RangeVar *relation)
{
	if (relation->schemaname && !is_dropped_schema(relation->schemaname)) {
		tree_put_name(w, relation->schemaname);
		tree_put(w, ".");
	}
	tree_put_name(w, relation->relname);
}

static void put_alias(struct writer *w, const Alias *alias)
{
	if (!alias)
		return;
	tree_put(w, " AS ");
	tree_put_name(w, alias->aliasname);
}

/* (WITH alias(a, b) AS (…) SELECT * FROM alias): columns of whatever follows get names. */
static void open_named(struct writer *w, const Alias *alias)
{
	tree_put(w, "(WITH ");
	tree_put_name(w, alias->aliasname);
	tree_put(w, "(");
	tree_put_names(w, alias->colnames);
	tree_put(w, ") AS (");
}

static void close_named(struct writer *w, const Alias *alias)
{
	tree_put(w, ") SELECT * FROM ");
	tree_put_name(w, alias->aliasname);
	tree_put(w, ")");
}

static void write_table(struct writer *w, const RangeVar *relation)
{
	const Alias *alias = relation->alias;
	if (!alias || !alias->colnames) {
		tree_relation(w, relation);
	} else {
		open_named(w, alias);
		tree_put(w, "SELECT * FROM ");
		tree_relation(w, relation);
		close_named(w, alias);
	}
	put_alias(w, alias);
}

/* (VALUES …) v (a, b) is (SELECT column1 AS a, column2 AS b FROM (VALUES …)) AS v. */
static void write_named_values(struct writer *w, SelectStmt *values, const List *names)
{
	const ListCell *cell;
	tree_put(w, "(SELECT");
	foreach (cell, names) {
		int i = foreach_current_index(cell);
		text_append_format(&w->out, i ? ", column%d AS " : " column%d AS ", i + 1);
		tree_put_name(w, strVal(lfirst(cell)));
	}
	tree_put(w, " FROM (");
	tree_query(w, values);
	tree_put(w, "))");
}

static void write_subquery(struct writer *w, const RangeSubselect *range)
{
	SelectStmt *query = (SelectStmt *)range->subquery;
	const Alias *alias = range->alias;
	if (range->lateral) {
		tree_lacks(w, "LATERAL", -1);
	} else if (alias && alias->colnames && query->valuesLists) {
		write_named_values(w, query, alias->colnames);
	} else if (alias && alias->colnames) {
		open_named(w, alias);
		tree_query(w, query);
		close_named(w, alias);
	} else {
		tree_put(w, "(");
		tree_query(w, query);
		tree_put(w, ")");
	}
	put_alias(w, alias);
}

/* generate_series(a, b[, s]) is a recursive query. */
static void write_series(struct writer *w, const FuncCall *call, const Alias *alias)
{
	const char *table = alias ? alias->aliasname : "generate_series";
	const char *column = alias && alias->colnames ? strVal(linitial(alias->colnames)) : table;
	tree_put(w, "(WITH RECURSIVE series(n, step, last) AS (SELECT * FROM (SELECT ");
	tree_expression(w, linitial(call->args));
	tree_put(w, " AS n, ");
	if (list_length(call->args) > 2)
		tree_expression(w, lthird(call->args));
	else
		tree_put(w, "1");
	tree_put(w, " AS step, ");
	tree_expression(w, lsecond(call->args));
	tree_put(w,
		" AS last) WHERE CASE WHEN step > 0 THEN n <= last ELSE n >= last END UNION ALL "
		"SELECT n + step, step, last FROM series WHERE CASE WHEN step > 0 THEN n + "
		"step <= last WHEN step < 0 THEN n + step >= last END) SELECT n AS ");
	tree_put_name(w, column);
	tree_put(w, " FROM series) AS ");
	tree_put_name(w, table);
}

static void write_function(struct writer *w, const RangeFunction *range)
{
	const FuncCall *call = linitial(linitial_node(List, range->functions));
	if (IsA(call, FuncCall) && strcmp(strVal(llast(call->funcname)), "generate_series") == 0 &&
		list_length(call->args) >= 2 && list_length(call->args) <= 3 &&
		list_length(range->functions) == 1 && !range->lateral && !range->ordinality)
		write_series(w, call, range->alias);
	else
		tree_lacks(w, "a function in FROM other than generate_series", -1);
}

/* ---- Joins ----------------------------------------------------------------------------------- */

/* Behind a comma SQLite would join it to everything in front. */
static bool stands_apart(const Node *node)
{
	const JoinExpr *join = (const JoinExpr *)node;
	if (!IsA(node, JoinExpr))
		return false;
	return join->isNatural || join->usingClause || join->jointype == JOIN_RIGHT ||
	       join->jointype == JOIN_FULL || stands_apart(join->larg);
}

static const char *word_of_join(const JoinExpr *join)
{
	switch (join->jointype) {
	case JOIN_LEFT:
		return " LEFT JOIN ";
	case JOIN_FULL:
		return " FULL JOIN ";
	case JOIN_RIGHT:
		return " RIGHT JOIN ";
	default:
		return join->quals || join->usingClause || join->isNatural ? " JOIN "
									   : " CROSS JOIN ";
	}
}

static void write_item(struct writer *w, Node *node);

static void write_join(struct writer *w, const JoinExpr *join)
{
	bool nested = IsA(join->rarg, JoinExpr);
	if (join->alias || join->join_using_alias)
		tree_lacks(w, "an alias of a join", -1);
	write_item(w, join->larg);
	if (join->isNatural)
		tree_put(w, " NATURAL");
	tree_put(w, word_of_join(join));
	if (nested)
		tree_put(w, "(");
	write_item(w, join->rarg);
	if (nested)
		tree_put(w, ")");
	if (join->usingClause) {
		tree_put(w, " USING (");
		tree_put_names(w, join->usingClause);
		tree_put(w, ")");
	} else if (join->quals) {
		tree_put(w, " ON ");
		tree_condition(w, join->quals, "JOIN/ON", tree_expression);
	}
}

static void write_item(struct writer *w, Node *node)
{
	if (!tree_enter(w))
		return;
	switch (nodeTag(node)) {
	case T_RangeVar:
		write_table(w, (const RangeVar *)node);
		break;
	case T_JoinExpr:
		write_join(w, (const JoinExpr *)node);
		break;
	case T_RangeSubselect:
		write_subquery(w, (const RangeSubselect *)node);
		break;
	case T_RangeFunction:
		write_function(w, (const RangeFunction *)node);
		break;
	case T_RangeTableSample:
		tree_lacks(w, "TABLESAMPLE", ((const RangeTableSample *)node)->location);
		break;
	default:
		tree_lacks(w, "what FROM reads", -1);
	}
	tree_leave(w);
}

void tree_from_list(struct writer *w, const char *word, const List *from)
{
	const ListCell *cell;
	foreach (cell, from) {
		bool apart = foreach_current_index(cell) && stands_apart(lfirst(cell));
		tree_put(w, foreach_current_index(cell) ? ", " : word);
		tree_put(w, apart ? "(" : "");
		write_item(w, lfirst(cell));
		tree_put(w, apart ? ")" : "");
	}
}

/* ---- Common tables --------------------------------------------------------------------------- */

static void write_common_table(struct writer *w, Node *node)
{
	const CommonTableExpr *table = (const CommonTableExpr *)node;
	static const char *const words[] = { " AS (", " AS MATERIALIZED (",
		" AS NOT MATERIALIZED (" };
	if (!IsA(table->ctequery, SelectStmt))
		tree_lacks(w, "WITH of a statement that changes rows", table->location);
	else if (table->search_clause || table->cycle_clause)
		tree_lacks(w, "SEARCH or CYCLE", table->location);
	if (w->failed)
		return;
	tree_put_name(w, table->ctename);
	if (table->aliascolnames) {
		tree_put(w, "(");
		tree_put_names(w, table->aliascolnames);
		tree_put(w, ")");
	}
	tree_put(w, words[table->ctematerialized]);
	tree_query(w, (SelectStmt *)table->ctequery);
	tree_put(w, ")");
}

void tree_with(struct writer *w, const WithClause *with)
{
	if (!with)
		return;
	tree_put(w, with->recursive ? "WITH RECURSIVE " : "WITH ");
	tree_put_list(w, with->ctes, ", ", write_common_table);
	tree_put(w, " ");
}

/* ---- Queries --------------------------------------------------------------------------------- */

static void write_target(struct writer *w, const ResTarget *target, enum pg_type wanted)
{
	const char *name = target->name ? target->name : tree_column_name(target->val);
	bool column = IsA(target->val, ColumnRef);
	bool exact =
		wanted == PG_NUMERIC || (!column && tree_kind(w, target->val).type == PG_NUMERIC);
	bool typed = w->view && exact && IsA(target->val, A_Const);
	tree_put(w, typed ? "pg_exact(" : ""); /* else it reads as a text there */
	if (exact)
		tree_exact(w, target->val);
	else if (wanted != PG_UNKNOWN)
		tree_as(w, target->val, wanted);
	else
		tree_expression(w, target->val);
	tree_put(w, typed ? ")" : "");
	if (exact && w->compares)
		tree_put(w, " COLLATE pg_numeric");
	if (column && !target->name && !exact && wanted == PG_UNKNOWN)
		return;
	tree_put(w, " AS \"");
	for (const char *c = name; *c; c++)
		text_append(&w->out, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
	tree_put(w, "\"");
}

void tree_target(struct writer *w, Node *node)
{
	write_target(w, (const ResTarget *)node, PG_UNKNOWN);
}

static void write_row(struct writer *w, Node *row)
{
	tree_put(w, "(");
	tree_put_list(w, (const List *)row, ", ", tree_expression);
	tree_put(w, ")");
}

/* An arm of a set operation that SQLite cannot write in its place is a subquery. */
static void write_arm(struct writer *w, SelectStmt *arm, bool right)
{
	bool inside = (right && arm->op != SETOP_NONE) || arm->sortClause || arm->limitCount ||
		      arm->limitOffset || arm->withClause;
	tree_put(w, inside ? "SELECT * FROM (" : "");
	tree_query(w, arm);
	tree_put(w, inside ? ")" : "");
}

static bool arms_have(struct writer *w, const SelectStmt *query, int count)
{
	struct query_column *columns;
	for (; query->op != SETOP_NONE; query = query->larg) {
		if (!arms_have(w, query->rarg, count))
			return false;
	}
	return tree_query_columns(w, query, &columns) == count;
}

/* The types its columns get; NULL: each arm's own. */
static const enum pg_type *types_of_arms(struct writer *w, const SelectStmt *query)
{
	struct query_column *columns;
	int count = tree_query_columns(w, query, &columns);
	if (count <= 0 || !arms_have(w, query, count))
		return NULL;
	enum pg_type *types = tree_allocate(w, (size_t)count, sizeof *types);
	for (int i = 0; types && i < count; i++)
		types[i] =
			columns[i].kind.type == PG_UNKNOWN_LITERAL ? PG_TEXT : columns[i].kind.type;
	return types;
}

static void write_set_operation(struct writer *w, const SelectStmt *query)
{
	static const char *const words[] = { "", " UNION ", " INTERSECT ", " EXCEPT " };
	if (query->all && query->op != SETOP_UNION) {
		tree_lacks(w, query->op == SETOP_EXCEPT ? "EXCEPT ALL" : "INTERSECT ALL", -1);
		return;
	}
	const enum pg_type *wanted = w->wanted ? w->wanted : types_of_arms(w, query);
	w->wanted = wanted;
	write_arm(w, query->larg, false);
	tree_put(w, words[query->op]);
	tree_put(w, query->all ? "ALL " : "");
	w->wanted = wanted;
	write_arm(w, query->rarg, true);
	w->wanted = NULL;
}

/* SQLite orders no VALUES. */
static void write_values(struct writer *w, const SelectStmt *query)
{
	bool inside = query->sortClause || query->limitCount || query->limitOffset;
	tree_put(w, inside ? "SELECT * FROM (VALUES " : "VALUES ");
	tree_put_list(w, query->valuesLists, ", ", write_row);
	tree_put(w, inside ? ")" : "");
}

static bool is_plain_constant(const Node *node)
{
	const A_Const *constant = (const A_Const *)node;
	return IsA(node, A_Const) && (constant->isnull || !IsA(&constant->val, Integer));
}

static void write_group(struct writer *w, Node *node)
{
	if (IsA(node, GroupingSet))
		tree_lacks(w, "GROUPING SETS", ((const GroupingSet *)node)->location);
	else if (is_plain_constant(node))
		tree_refuse(w, "42601", "non-integer constant in GROUP BY",
			((const A_Const *)node)->location);
	else
		tree_term(w, node);
}

/* Is the term a result column, by its place or its name, that is exact? */
static bool names_exact(struct writer *w, const List *targets, const Node *term)
{
	const A_Const *place = (const A_Const *)term;
	const List *fields = IsA(term, ColumnRef) ? ((const ColumnRef *)term)->fields : NIL;
	const ListCell *cell;
	foreach (cell, targets) {
		const ResTarget *target = lfirst_node(ResTarget, cell);
		bool named = list_length(fields) == 1 && IsA(linitial(fields), String) &&
			     target->name && strcmp(target->name, strVal(linitial(fields))) == 0;
		if (IsA(term, A_Const))
			named = intVal(&place->val) == foreach_current_index(cell) + 1;
		if (named)
			return tree_kind(w, target->val).type == PG_NUMERIC &&
			       !IsA(target->val, ColumnRef);
	}
	return false;
}

static void write_order_by(struct writer *w, const SelectStmt *query)
{
	const ListCell *cell;
	foreach (cell, query->sortClause) {
		const SortBy *sort = lfirst_node(SortBy, cell);
		if (is_plain_constant(sort->node)) {
			tree_refuse(w, "42601", "non-integer constant in ORDER BY",
				((const A_Const *)sort->node)->location);
			return;
		}
		tree_put(w, foreach_current_index(cell) ? ", " : " ORDER BY ");
		tree_sort_by(w, sort, names_exact(w, query->targetList, sort->node));
	}
}

static void write_named_window(struct writer *w, Node *node)
{
	WindowDef window = *(const WindowDef *)node;
	tree_put_name(w, window.name);
	window.name = NULL;
	tree_put(w, " AS ");
	tree_window(w, &window);
}

static void write_clause(struct writer *w, const char *word, Node *expression)
{
	if (!expression)
		return;
	tree_put(w, word);
	tree_expression(w, expression);
}

static void write_condition(struct writer *w, const char *word, const char *what, Node *condition)
{
	if (!condition)
		return;
	tree_put(w, word);
	tree_condition(w, condition, what, tree_expression);
}

static void write_clauses(struct writer *w, const char *word, const List *list, tree_write *write)
{
	if (!list)
		return;
	tree_put(w, word);
	tree_put_list(w, list, ", ", write);
}

static bool has_star(const List *targets)
{
	const ListCell *cell;
	foreach (cell, targets) {
		const ColumnRef *column = (const ColumnRef *)lfirst_node(ResTarget, cell)->val;
		if (IsA(column, ColumnRef) && IsA(llast(column->fields), A_Star))
			return true;
	}
	return false;
}

/* Each as the type that is wanted of it; NULL: as it is. */
static void write_targets(struct writer *w, const List *targets, const enum pg_type *wanted)
{
	const ListCell *cell;
	foreach (cell, targets) {
		int i = foreach_current_index(cell);
		if (i)
			tree_put(w, ", ");
		write_target(w, lfirst(cell), wanted ? wanted[i] : PG_UNKNOWN);
	}
}

static void write_select(struct writer *w, const SelectStmt *query)
{
	if (query->intoClause)
		tree_lacks(w, "SELECT INTO", -1);
	else if (!query->targetList)
		tree_lacks(w, "SELECT without columns", -1);
	else if (query->distinctClause && linitial(query->distinctClause))
		tree_lacks(w, "DISTINCT ON", -1);
	else if (query->groupDistinct)
		tree_lacks(w, "GROUP BY DISTINCT", -1);
	bool before = w->compares;
	const enum pg_type *wanted = has_star(query->targetList) ? NULL : w->wanted;
	w->compares = query->distinctClause || w->wanted;
	w->wanted = NULL;
	tree_put(w, query->distinctClause ? "SELECT DISTINCT " : "SELECT ");
	write_targets(w, query->targetList, wanted);
	w->compares = before;
	tree_from_list(w, " FROM ", query->fromClause);
	write_condition(w, " WHERE ", "WHERE", query->whereClause);
	write_clauses(w, " GROUP BY ", query->groupClause, write_group);
	write_condition(w, " HAVING ", "HAVING", query->havingClause);
	write_clauses(w, " WINDOW ", query->windowClause, write_named_window);
}

static void write_limit(struct writer *w, const SelectStmt *query)
{
	const A_Const *count = (const A_Const *)query->limitCount;
	bool all = !count || (IsA(count, A_Const) && count->isnull);
	if ((int)query->limitOption == TREE_LIMIT_WITH_TIES)
		tree_lacks(w, "WITH TIES", -1);
	if (all && !query->limitOffset)
		return;
	tree_put(w, " LIMIT ");
	if (all)
		tree_put(w, "-1");
	else
		tree_expression(w, query->limitCount);
	write_clause(w, " OFFSET ", query->limitOffset);
}

void tree_query(struct writer *w, SelectStmt *query)
{
	if (!tree_enter(w))
		return;
	struct scope *scope = tree_enter_scope(w, query->withClause, query->fromClause);
	const enum pg_type *wanted = w->wanted;
	w->wanted = NULL; /* of this list, and of none in its common tables */
	tree_with(w, query->withClause);
	w->wanted = query->valuesLists ? NULL : wanted;
	if (query->op != SETOP_NONE)
		write_set_operation(w, query);
	else if (query->valuesLists)
		write_values(w, query);
	else
		write_select(w, query);
	write_order_by(w, query);
	write_limit(w, query);
	tree_leave_scope(w, scope);
	tree_leave(w);
}
