/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what names stand for: the tables, subqueries and common tables that a query reads, with
 * their columns.
 */
#include "demo-db/server/dialect/tree_kind.h"

#include <stdlib.h>
#include <string.h>

struct relation {
	struct relation *next;
	const char *name;
	struct query_column *columns;
	int count; /* -1: not known */
};

struct common {
	struct common *next;
	const CommonTableExpr *table;
	bool recursive;
	unsigned reading; /* how often its columns are being looked for: it reads itself */
	bool known;	  /* they have been */
	struct query_column *columns;
	int count;
};

struct scope {
	struct scope *outer;
	struct relation *relations;
	struct common *commons;
	bool merged; /* USING or NATURAL: what * stands for is not known */
};

static const struct kind unknown = { PG_UNKNOWN, -1, false, false };

/* ---- Memory ---------------------------------------------------------------------------------- */

struct block {
	struct block *next;
};

void *tree_allocate(struct writer *w, size_t count, size_t bytes)
{
	struct block *block = calloc(1, sizeof *block + count * bytes);
	if (!block) {
		w->out.failed = w->failed = true;
		return NULL;
	}
	block->next = w->blocks;
	w->blocks = block;
	return block + 1;
}

void tree_free_blocks(struct writer *w)
{
	for (struct block *block = w->blocks, *next; block; block = next) {
		next = block->next;
		free(block);
	}
	w->blocks = NULL;
}

/* ---- Columns of a query ---------------------------------------------------------------------- */

/* Tables that were looked up, by their name. */
struct table {
	struct table *next;
	const char *name;
	struct query_column *columns;
	int count;
};

/* What the schema tells is good until it is asked again. */
static const char *keep(struct writer *w, const char *name)
{
	char *kept = tree_allocate(w, strlen(name) + 1, 1);
	return kept ? strcpy(kept, name) : "";
}

/* The columns a view's own query says more of. It is SQLite's SQL, of which the grammar may not read
 * all. */
static void type_by_view(struct writer *w, const char *sql, struct query_column *to, int count)
{
	struct query_column *columns;
	struct scope *scope = w->scope;
	PgQueryInternalParsetreeAndError parsed = pg_query_raw_parse(sql);
	const ViewStmt *view = parsed.error || list_length(parsed.tree) != 1
				       ? NULL
				       : (ViewStmt *)linitial_node(RawStmt, parsed.tree)->stmt;
	if (parsed.error)
		pg_query_free_error(parsed.error);
	free(parsed.stderr_buffer);
	if (!view || !IsA(view, ViewStmt))
		return;
	w->scope = NULL;
	if (tree_query_columns(w, (SelectStmt *)view->query, &columns) == count)
		for (int i = 0; i < count; i++)
			if (to[i].kind.type == PG_UNKNOWN)
				to[i].kind = columns[i].kind;
	w->scope = scope;
}

static int look_up(struct writer *w, const char *name, struct query_column **columns)
{
	const struct dialect_schema *schema = w->context->schema;
	const struct dialect_table *table = schema ? schema->find(schema->arg, name) : NULL;
	if (!table)
		return -1;
	int count = (int)table->count;
	char *view = table->view ? strdup(table->view) : NULL;
	*columns = tree_allocate(w, table->count, sizeof **columns);
	for (uint32_t i = 0; *columns && i < table->count; i++)
		(*columns)[i] = (struct query_column){ keep(w, table->columns[i].name),
			{ table->columns[i].type, table->columns[i].scale, false,
				table->columns[i].wide } };
	if (*columns && view)
		type_by_view(w, view, *columns, count);
	free(view);
	return *columns ? count : -1;
}

static int columns_of_table(struct writer *w, const char *name, struct query_column **columns)
{
	for (const struct table *t = w->tables; t; t = t->next)
		if (strcmp(t->name, name) == 0) {
			*columns = t->columns;
			return t->count;
		}
	int count = look_up(w, name, columns);
	struct table *t = tree_allocate(w, 1, sizeof *t);
	if (!t)
		return -1;
	*t = (struct table){ w->tables, name, *columns, count };
	w->tables = t;
	return count;
}

static int count_targets(struct writer *w, const List *targets)
{
	int count = 0;
	const ListCell *cell;
	foreach (cell, targets) {
		const ColumnRef *column = (const ColumnRef *)lfirst_node(ResTarget, cell)->val;
		bool star = IsA(column, ColumnRef) && IsA(llast(column->fields), A_Star);
		if (!star) {
			count++;
			continue;
		}
		if (w->scope->merged)
			return -1;
		const char *of =
			list_length(column->fields) > 1 ? strVal(linitial(column->fields)) : NULL;
		for (const struct relation *r = w->scope->relations; r; r = r->next)
			if (!of || strcmp(of, r->name) == 0) {
				if (r->count < 0)
					return -1;
				count += r->count;
			}
	}
	return count;
}

/* Relations are kept last first. */
static int put_star(const struct relation *r, const char *of, struct query_column *to)
{
	if (!r)
		return 0;
	int count = put_star(r->next, of, to);
	if (of && strcmp(of, r->name) != 0)
		return count;
	memcpy(to + count, r->columns, (size_t)r->count * sizeof *to);
	return count + r->count;
}

static void put_targets(struct writer *w, const List *targets, struct query_column *to)
{
	const ListCell *cell;
	foreach (cell, targets) {
		const ResTarget *target = lfirst_node(ResTarget, cell);
		const ColumnRef *column = (const ColumnRef *)target->val;
		if (IsA(column, ColumnRef) && IsA(llast(column->fields), A_Star)) {
			to += put_star(w->scope->relations,
				list_length(column->fields) > 1 ? strVal(linitial(column->fields))
								: NULL,
				to);
			continue;
		}
		to->name = target->name ? target->name : tree_column_name(target->val);
		to->kind = tree_kind(w, target->val);
		if (to->kind.type == PG_NUMERIC && !IsA(column, ColumnRef))
			to->kind.exact = true; /* tree_target writes it so */
		to++;
	}
}

int tree_target_columns(struct writer *w, const List *targets, struct query_column **columns)
{
	int count = w->scope ? count_targets(w, targets) : -1;
	*columns = count < 0 ? NULL : tree_allocate(w, (size_t)count, sizeof **columns);
	if (*columns)
		put_targets(w, targets, *columns);
	return *columns ? count : -1;
}

static int columns_of_select(
	struct writer *w, const SelectStmt *query, struct query_column **columns)
{
	struct scope *scope = tree_enter_scope(w, query->withClause, query->fromClause);
	int count = scope ? tree_target_columns(w, query->targetList, columns) : -1;
	tree_leave_scope(w, scope);
	return count;
}

static int columns_of_values(
	struct writer *w, const SelectStmt *query, struct query_column **columns)
{
	static const char *const names[] = { "column1", "column2", "column3", "column4", "column5",
		"column6", "column7", "column8" };
	int count = list_length(linitial_node(List, query->valuesLists));
	if (count > 8 || !(*columns = tree_allocate(w, (size_t)count, sizeof **columns)))
		return -1;
	for (int i = 0; i < count; i++) {
		enum pg_type type = PG_UNKNOWN_LITERAL;
		const ListCell *cell;
		foreach (cell, query->valuesLists)
			if (i < list_length(lfirst(cell)))
				type = tree_common(
					type, tree_kind(w, list_nth(lfirst(cell), i)).type);
		(*columns)[i] = (struct query_column){ names[i],
			{ type == PG_UNKNOWN_LITERAL ? PG_TEXT : type, -1, false, false } };
	}
	return count;
}

static int columns_of_arms(struct writer *w, const SelectStmt *query, struct query_column **columns)
{
	struct query_column *right = NULL;
	struct scope *scope = tree_enter_scope(w, query->withClause, NIL);
	int count = tree_query_columns(w, query->larg, columns);
	int others = tree_query_columns(w, query->rarg, &right);
	for (int i = 0; i < count && i < others; i++) {
		struct kind *kind = &(*columns)[i].kind;
		bool same = kind->type == right[i].kind.type;
		kind->type = tree_common(kind->type, right[i].kind.type);
		kind->exact = kind->exact || right[i].kind.exact || !same;
		kind->scale = kind->scale == right[i].kind.scale ? kind->scale : -1;
		kind->exact = kind->exact && kind->type == PG_NUMERIC;
	}
	tree_leave_scope(w, scope);
	return count;
}

int tree_query_columns(struct writer *w, const SelectStmt *query, struct query_column **columns)
{
	int count = -1;
	*columns = NULL;
	if (!tree_enter(w))
		return -1;
	if (query->op != SETOP_NONE)
		count = columns_of_arms(w, query, columns);
	else if (query->valuesLists)
		count = columns_of_values(w, query, columns);
	else if (query->targetList)
		count = columns_of_select(w, query, columns);
	tree_leave(w);
	return count;
}

/* ---- Relations ------------------------------------------------------------------------------- */

static void add(struct writer *w, const char *name, const Alias *alias, int count,
	struct query_column *columns)
{
	struct relation *r = tree_allocate(w, 1, sizeof *r);
	bool renames = alias && alias->colnames && count > 0;
	struct query_column *own = renames ? tree_allocate(w, (size_t)count, sizeof *own) : columns;
	if (!r || (renames && !own))
		return;
	if (renames) /* a common table's are read by others, too */
		columns = memcpy(own, columns, (size_t)count * sizeof *own);
	*r = (struct relation){ w->scope->relations, alias ? alias->aliasname : name, columns,
		count };
	w->scope->relations = r;
	for (int i = 0; alias && i < count && i < list_length(alias->colnames); i++)
		columns[i].name = strVal(list_nth(alias->colnames, i));
}

static struct common *find_common(struct writer *w, const char *name)
{
	for (struct scope *scope = w->scope; scope; scope = scope->outer)
		for (struct common *c = scope->commons; c; c = c->next)
			if (strcmp(c->table->ctename, name) == 0 && (c->recursive || !c->reading))
				return c;
	return NULL;
}

/* A recursive one has the columns of its first arm. */
static int columns_of_common(struct writer *w, struct common *common, struct query_column **columns)
{
	const SelectStmt *query = (const SelectStmt *)common->table->ctequery;
	const List *names = common->table->aliascolnames;
	if (!IsA(query, SelectStmt))
		return -1;
	if (common->known) {
		*columns = common->columns;
		return common->count;
	}
	if (common->reading > 1 || (common->reading && query->op == SETOP_NONE))
		return -1;
	if (common->reading)
		query = query->larg;
	common->reading++;
	int count = tree_query_columns(w, query, columns);
	common->reading--;
	for (int i = 0; i < count && i < list_length(names); i++)
		(*columns)[i].name = strVal(list_nth(names, i));
	common->known = common->reading == 0;
	common->columns = *columns;
	common->count = count;
	return count;
}

void tree_add_relation(struct writer *w, const RangeVar *relation)
{
	struct query_column *columns = NULL;
	struct common *common = relation->schemaname ? NULL : find_common(w, relation->relname);
	int count = common ? columns_of_common(w, common, &columns)
			   : columns_of_table(w, relation->relname, &columns);
	add(w, relation->relname, relation->alias, count, columns);
}

void tree_add_excluded(struct writer *w, const RangeVar *relation)
{
	struct query_column *columns = NULL;
	int count = columns_of_table(w, relation->relname, &columns);
	add(w, "excluded", NULL, count, columns);
}

static void add_function(struct writer *w, const RangeFunction *range)
{
	const FuncCall *call = linitial(linitial_node(List, range->functions));
	const char *name = range->alias ? range->alias->aliasname : "generate_series";
	struct query_column *columns = tree_allocate(w, 1, sizeof *columns);
	if (!columns)
		return;
	*columns = (struct query_column){ name, unknown };
	if (IsA(call, FuncCall))
		columns->kind.type = tree_common_of(w, call->args, PG_UNKNOWN_LITERAL);
	add(w, name, range->alias, 1, columns);
}

static void add_item(struct writer *w, const Node *item)
{
	struct query_column *columns = NULL;
	const RangeSubselect *sub = (const RangeSubselect *)item;
	const JoinExpr *join = (const JoinExpr *)item;
	if (!tree_enter(w))
		return;
	if (IsA(item, RangeVar)) {
		tree_add_relation(w, (const RangeVar *)item);
	} else if (IsA(item, JoinExpr)) {
		w->scope->merged |= join->isNatural || join->usingClause;
		add_item(w, join->larg);
		add_item(w, join->rarg);
	} else if (IsA(item, RangeSubselect)) {
		int count = tree_query_columns(w, (const SelectStmt *)sub->subquery, &columns);
		add(w, "", sub->alias, count, columns);
	} else if (IsA(item, RangeFunction)) {
		add_function(w, (const RangeFunction *)item);
	} else {
		add(w, "", NULL, -1, NULL);
	}
	tree_leave(w);
}

struct scope *tree_enter_scope(struct writer *w, const WithClause *with, const List *from)
{
	struct scope *scope = tree_allocate(w, 1, sizeof *scope);
	const ListCell *cell;
	if (!scope)
		return NULL;
	scope->outer = w->scope;
	w->scope = scope;
	foreach (cell, with ? with->ctes : NIL) {
		struct common *common = tree_allocate(w, 1, sizeof *common);
		if (!common)
			return scope;
		*common = (struct common){ scope->commons, lfirst(cell), with->recursive, 0, false,
			NULL, 0 };
		scope->commons = common;
	}
	foreach (cell, from)
		add_item(w, lfirst(cell));
	return scope;
}

void tree_leave_scope(struct writer *w, struct scope *scope)
{
	if (scope)
		w->scope = scope->outer;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* Of one relation. */
static const struct kind *kind_in(const struct relation *r, const char *name)
{
	for (int i = 0; i < r->count; i++)
		if (strcmp(r->columns[i].name, name) == 0)
			return &r->columns[i].kind;
	return NULL;
}

struct kind tree_column_kind(struct writer *w, const ColumnRef *column)
{
	int fields = list_length(column->fields);
	const Node *last = llast(column->fields);
	const char *of = fields > 1 ? strVal(list_nth(column->fields, fields - 2)) : NULL;
	if (!IsA(last, String))
		return unknown;
	for (struct scope *scope = w->scope; scope; scope = scope->outer) {
		bool opaque = false;
		for (const struct relation *r = scope->relations; r; r = r->next) {
			const struct kind *kind = NULL;
			if (!of || strcmp(of, r->name) == 0)
				kind = kind_in(r, strVal(last));
			if (kind)
				return *kind;
			opaque |= r->count < 0;
		}
		if (opaque)
			return unknown;
	}
	return unknown;
}

struct kind tree_stored_kind(struct writer *w, const char *table, const char *name, int place)
{
	struct query_column *columns = NULL;
	int count = columns_of_table(w, table, &columns);
	if (!name)
		return place < count ? columns[place].kind : unknown;
	for (int i = 0; i < count; i++)
		if (strcmp(columns[i].name, name) == 0)
			return columns[i].kind;
	return unknown;
}
