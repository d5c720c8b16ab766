/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns INSERT, UPDATE and DELETE. Each value that is stored goes through pg_assign(value, column),
 * which refuses or fits it (assign.h). A column of an INSERT without a list is told by its place.
 * The rows of a query become a common table, several rows of VALUES a subquery, whose columns are
 * assigned.
 */
#include "demo-db/server/dialect/tree_kind.h"

#include <string.h>

#define SOURCE "pg_source" /* the common table; error_text.c knows it by its name */

/* What values are assigned to: columns by name, or by place where the list is NIL. */
struct target {
	const char *table;
	const List *columns; /* of ResTarget */
};

/* ---- Values ---------------------------------------------------------------------------------- */

/* Inside of a text; the table's own dots and backslashes stand behind a backslash if `escape`. */
static void put_inside(struct writer *w, const char *name, bool escape)
{
	for (; *name; name++) {
		if (*name == '\'')
			tree_put(w, "'");
		if (escape && (*name == '.' || *name == '\\'))
			tree_put(w, "\\");
		text_append(&w->out, name, 1);
	}
}

/* 'table.column') or 'table', place): the last arguments of a function. */
static void put_column(struct writer *w, const struct target *target, int place)
{
	if (target->columns && place >= list_length(target->columns)) {
		tree_put(w, "NULL)"); /* one value too many: SQLite says so */
		return;
	}
	tree_put(w, "'");
	put_inside(w, target->table, target->columns != NIL);
	if (target->columns) {
		tree_put(w, ".");
		put_inside(w, list_nth_node(ResTarget, target->columns, place)->name, false);
		tree_put(w, "')");
	} else {
		text_append_format(&w->out, "', %d)", place);
	}
}

static enum pg_type stored_type(struct writer *w, const struct target *target, int place)
{
	const char *name = NULL;
	if (target->columns && place >= list_length(target->columns))
		return PG_UNKNOWN;
	if (target->columns)
		name = list_nth_node(ResTarget, target->columns, place)->name;
	return tree_beside(tree_stored_kind(w, target->table, name, place));
}

/* Fitting the column is pg_assign's: it reads SQLite's numbers, and texts. */
static void put_stored(struct writer *w, Node *value, enum pg_type stored)
{
	struct kind kind = tree_kind(w, value);
	tree_adopt(w, value, stored);
	if (tree_family(stored) == FAMILY_TEXT &&
		(kind.type == PG_NUMERIC || kind.type == PG_BOOL || kind.type == PG_FLOAT8))
		tree_text(w, value);
	else if (kind.exact && stored != PG_NUMERIC)
		tree_number(w, value);
	else if (kind.type == PG_NUMERIC && stored == PG_NUMERIC && IsA(value, A_Const))
		tree_exact(w, value); /* SQLite would round it first */
	else
		tree_expression(w, value);
}

/* The value itself, of DEFAULT the column's. */
static void put_value(struct writer *w, Node *value, const struct target *target, int place)
{
	if (IsA(value, SetToDefault)) {
		tree_put(w, "pg_default(");
		put_column(w, target, place);
	} else {
		put_stored(w, value, stored_type(w, target, place));
	}
}

static void put_assigned(struct writer *w, Node *value, const struct target *target, int place)
{
	tree_put(w, "pg_assign(");
	put_value(w, value, target, place);
	tree_put(w, ", ");
	put_column(w, target, place);
}

/* pg_assign(c1, 't.a'), … of the columns of the rows, which have these kinds; NULL: not known. */
static void put_assigned_columns(struct writer *w, const char *column, const struct target *target,
	int count, const struct query_column *kinds)
{
	for (int i = 0; i < count; i++) {
		enum pg_type stored = stored_type(w, target, i);
		bool number = kinds && kinds[i].kind.exact && stored != PG_NUMERIC &&
			      tree_family(stored) != FAMILY_TEXT;
		text_append_format(&w->out,
			number ? "%spg_assign(CAST(%s%d AS NUMERIC), " : "%spg_assign(%s%d, ",
			i ? ", " : " ", column, i + 1);
		put_column(w, target, i);
	}
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Columns of a query; 0: only the schema knows. */
static int count_columns(const SelectStmt *query)
{
	const ListCell *cell;
	while (query->op != SETOP_NONE)
		query = query->larg;
	if (query->valuesLists)
		return list_length(linitial_node(List, query->valuesLists));
	foreach (cell, query->targetList) {
		const ColumnRef *column = (const ColumnRef *)lfirst_node(ResTarget, cell)->val;
		if (IsA(column, ColumnRef) && IsA(llast(column->fields), A_Star))
			return 0;
	}
	return list_length(query->targetList);
}

/* Columns of a query get names by a common table. */
static void write_source(struct writer *w, SelectStmt *query, const struct target *target)
{
	int count = target->columns ? list_length(target->columns) : count_columns(query);
	if (count == 0) {
		tree_query(w, query);
		return;
	}
	tree_put(w, "WITH " SOURCE "(");
	for (int i = 1; i <= count; i++)
		text_append_format(&w->out, i > 1 ? ", c%d" : "c%d", i);
	tree_put(w, ") AS (");
	tree_query(w, query);
	tree_put(w, ") SELECT");
	struct query_column *kinds;
	bool known = tree_query_columns(w, query, &kinds) == count;
	put_assigned_columns(w, "c", target, count, known ? kinds : NULL);
	tree_put(w, " FROM " SOURCE);
}

static void write_row(struct writer *w, const List *row, const struct target *target,
	void (*put)(struct writer *, Node *, const struct target *, int))
{
	const ListCell *cell;
	tree_put(w, "(");
	foreach (cell, row) {
		if (foreach_current_index(cell))
			tree_put(w, ", ");
		put(w, lfirst(cell), target, foreach_current_index(cell));
	}
	tree_put(w, ")");
}

/* Columns of VALUES have names: column1, … */
static void write_rows(struct writer *w, const List *rows, const struct target *target)
{
	const ListCell *cell;
	if (list_length(rows) == 1) {
		tree_put(w, "VALUES ");
		write_row(w, linitial(rows), target, put_assigned);
		return;
	}
	tree_put(w, "SELECT");
	put_assigned_columns(w, "column", target, list_length(linitial_node(List, rows)), NULL);
	tree_put(w, " FROM (VALUES ");
	foreach (cell, rows) {
		if (foreach_current_index(cell))
			tree_put(w, ", ");
		write_row(w, lfirst(cell), target, put_value);
	}
	tree_put(w, ")");
}

/* ---- SET ------------------------------------------------------------------------------------- */

/* (a, b) = (1, 2), (a, b) = (SELECT …): the columns from `first` on. */
static void write_several(struct writer *w, const MultiAssignRef *several, const List *targets,
	int first, const char *table)
{
	List *columns = NIL;
	for (int i = 0; i < several->ncolumns; i++)
		columns = lappend(columns, list_nth(targets, first + i));
	const struct target target = { table, columns };
	const SubLink *link = (const SubLink *)several->source;
	tree_put(w, "(");
	tree_put_names(w, columns);
	tree_put(w, ") = ");
	if (IsA(several->source, RowExpr)) {
		const List *row = ((const RowExpr *)several->source)->args;
		if (list_length(row) != several->ncolumns)
			tree_refuse(w, "42601", "number of columns does not match number of values",
				((const RowExpr *)several->source)->location);
		else
			write_row(w, row, &target, put_assigned);
	} else if (IsA(link, SubLink) && link->subLinkType == EXPR_SUBLINK) {
		tree_put(w, "(");
		write_source(w, (SelectStmt *)link->subselect, &target);
		tree_put(w, ")");
	} else {
		tree_lacks(w, "a list of columns set from this", -1);
	}
}

static void write_set(struct writer *w, const List *targets, const char *table)
{
	const struct target target = { table, targets };
	for (int at = 0; at < list_length(targets) && !w->failed;) {
		const ResTarget *column = list_nth_node(ResTarget, targets, at);
		const MultiAssignRef *several = (const MultiAssignRef *)column->val;
		if (at)
			tree_put(w, ", ");
		if (column->indirection) {
			tree_lacks(w, "a part of a column as a target", column->location);
		} else if (IsA(several, MultiAssignRef)) {
			write_several(w, several, targets, at, table);
			at += several->ncolumns;
		} else {
			tree_put_name(w, column->name);
			tree_put(w, " = ");
			put_assigned(w, column->val, &target, at++);
		}
	}
}

/* ---- Clauses --------------------------------------------------------------------------------- */

static void write_where(struct writer *w, Node *where)
{
	if (!where)
		return;
	tree_put(w, " WHERE ");
	tree_condition(w, where, "WHERE", tree_expression);
}

static void write_returning(struct writer *w, const List *targets)
{
	if (!targets)
		return;
	tree_note_columns(w, targets);
	tree_put(w, " RETURNING ");
	tree_put_list(w, targets, ", ", tree_target);
}

static void write_changed(struct writer *w, const RangeVar *relation)
{
	tree_relation(w, relation);
	if (relation->alias) {
		tree_put(w, " AS ");
		tree_put_name(w, relation->alias->aliasname);
	}
}

/* ---- INSERT ---------------------------------------------------------------------------------- */

static void write_key(struct writer *w, Node *node)
{
	const IndexElem *element = (const IndexElem *)node;
	if (element->name)
		tree_put_name(w, element->name);
	else
		tree_operand(w, element->expr);
}

static void write_conflict(struct writer *w, const OnConflictClause *conflict, const char *table)
{
	const InferClause *key = conflict->infer;
	tree_put(w, " ON CONFLICT");
	if (key && key->conname)
		tree_lacks(w, "ON CONFLICT ON CONSTRAINT", key->location);
	if (key && key->indexElems) {
		tree_put(w, " (");
		tree_put_list(w, key->indexElems, ", ", write_key);
		tree_put(w, ")");
		write_where(w, key->whereClause);
	}
	if (conflict->action == ONCONFLICT_NOTHING) {
		tree_put(w, " DO NOTHING");
		return;
	}
	tree_put(w, " DO UPDATE SET ");
	w->result->stores_last = false;
	write_set(w, conflict->targetList, table);
	write_where(w, conflict->whereClause);
}

static void write_insert_columns(struct writer *w, const InsertStmt *insert)
{
	const ListCell *cell;
	foreach (cell, insert->cols)
		if (lfirst_node(ResTarget, cell)->indirection)
			tree_lacks(w, "a part of a column as a target",
				lfirst_node(ResTarget, cell)->location);
	if (insert->cols) {
		tree_put(w, " (");
		tree_put_names(w, insert->cols);
		tree_put(w, ")");
	} else if (insert->selectStmt && w->context->insert_columns) {
		tree_put(w, " ");
		tree_put(w, w->context->insert_columns);
	} else {
		w->result->unlisted = insert->selectStmt != NULL;
	}
	tree_put(w, " ");
}

static void write_inserted(struct writer *w, SelectStmt *query, const struct target *target)
{
	bool rows = query->valuesLists && !query->withClause && !query->sortClause &&
		    !query->limitCount && !query->limitOffset;
	w->result->stores_last = rows;
	if (rows)
		write_rows(w, query->valuesLists, target);
	else
		write_source(w, query, target);
}

void tree_insert(struct writer *w, InsertStmt *insert)
{
	const struct target target = { insert->relation->relname, insert->cols };
	SelectStmt *query = (SelectStmt *)insert->selectStmt;
	bool one_row = query && list_length(query->valuesLists) == 1;
	w->result->assigns = true;
	if (insert->override == OVERRIDING_USER_VALUE)
		tree_lacks(w, "OVERRIDING USER VALUE", -1);
	struct scope *scope = tree_enter_scope(w, insert->withClause, NIL);
	tree_with(w, insert->withClause);
	tree_put(w, "INSERT INTO ");
	write_changed(w, insert->relation);
	write_insert_columns(w, insert);
	if (query)
		write_inserted(w, query, &target);
	else
		tree_put(w, "DEFAULT VALUES");
	tree_add_relation(w, insert->relation);
	if (insert->onConflictClause) {
		tree_add_excluded(w, insert->relation);
		tree_put(w, query && !one_row ? " WHERE true" : ""); /* ON is no join's then */
		write_conflict(w, insert->onConflictClause, target.table);
	}
	write_returning(w, insert->returningList);
	tree_leave_scope(w, scope);
}

/* ---- UPDATE and DELETE ----------------------------------------------------------------------- */

void tree_update(struct writer *w, UpdateStmt *update)
{
	w->result->assigns = true;
	w->result->stores_last = !update->fromClause;
	struct scope *scope = tree_enter_scope(w, update->withClause, update->fromClause);
	tree_add_relation(w, update->relation);
	tree_with(w, update->withClause);
	tree_put(w, "UPDATE ");
	write_changed(w, update->relation);
	tree_put(w, " SET ");
	write_set(w, update->targetList, update->relation->relname);
	tree_from_list(w, " FROM ", update->fromClause);
	write_where(w, update->whereClause);
	write_returning(w, update->returningList);
	tree_leave_scope(w, scope);
}

/* USING becomes the FROM of a query that must have a row. */
void tree_delete(struct writer *w, DeleteStmt *delete)
{
	struct scope *scope = tree_enter_scope(w, delete->withClause, delete->usingClause);
	tree_add_relation(w, delete->relation);
	tree_with(w, delete->withClause);
	tree_put(w, "DELETE FROM ");
	write_changed(w, delete->relation);
	tree_from_list(w, " WHERE EXISTS (SELECT 1 FROM ", delete->usingClause);
	write_where(w, delete->whereClause);
	tree_put(w, delete->usingClause ? ")" : "");
	write_returning(w, delete->returningList);
	tree_leave_scope(w, scope);
}
