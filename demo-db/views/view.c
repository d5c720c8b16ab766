/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the virtual table behind every view.
 */
#include "demo-db/views/view.h"
#include "demo-db/views/catalog.h"
#include "demo-db/server/types/functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct view_context {
	const struct view *view;
	struct services *services;
};

struct change { /* to be taken back if the statement or its transaction fails */
	struct change *before;
	char *key, *value; /* as it was */
	int level;	   /* of the savepoint it was made in */
};

struct view_table {
	sqlite3_vtab base; /* must be first */
	struct view_context context;
	int columns;
	struct change *last;
	int level;
};

struct view_cursor {
	sqlite3_vtab_cursor base; /* must be first */
	struct view_rows rows;
	size_t at; /* row */
};

/* ---- Rows ------------------------------------------------------------------------------------ */

static struct view_cell *add(struct view_rows *rows)
{
	static struct view_cell nowhere;
	if (rows->count == rows->room) {
		size_t room = rows->room ? rows->room * 2 : 256;
		struct view_cell *cells =
			rows->failed ? NULL : realloc(rows->cells, room * sizeof *cells);
		if (!cells) {
			rows->failed = true;
			return &nowhere;
		}
		rows->cells = cells;
		rows->room = room;
	}
	struct view_cell *cell = &rows->cells[rows->count++];
	memset(cell, 0, sizeof *cell);
	return cell;
}

void view_null(struct view_rows *rows)
{
	add(rows)->type = CELL_NULL;
}

void view_integer(struct view_rows *rows, int64_t value)
{
	struct view_cell *cell = add(rows);
	cell->type = CELL_INTEGER;
	cell->integer = value;
}

void view_bool(struct view_rows *rows, bool value)
{
	view_integer(rows, value);
}

void view_real(struct view_rows *rows, double value)
{
	struct view_cell *cell = add(rows);
	cell->type = CELL_REAL;
	cell->real = value;
}

void view_text(struct view_rows *rows, const char *text)
{
	struct view_cell *cell = add(rows);
	cell->text = text && !rows->failed ? strdup(text) : NULL;
	cell->type = cell->text ? CELL_TEXT : CELL_NULL;
}

void view_ms(struct view_rows *rows, uint64_t ns)
{
	view_real(rows, (double)(ns / 1000) / 1000);
}

void view_ms_or_null(struct view_rows *rows, uint64_t ns)
{
	if (ns)
		view_ms(rows, ns);
	else
		view_null(rows);
}

static void rows_free(struct view_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->cells[i].text);
	free(rows->cells);
	*rows = (struct view_rows){ 0 };
}

/* ---- The module ------------------------------------------------------------------------------ */

static int count_columns(const char *columns)
{
	int count = 1;
	for (; *columns; columns++)
		count += *columns == ',';
	return count;
}

static int connect(
	sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **out, char **error)
{
	const struct view_context *context = arg;
	struct view_table *table = sqlite3_malloc64(sizeof *table);
	char *sql = sqlite3_mprintf("CREATE TABLE x(%s)", context->view->columns);
	(void)argc;
	(void)argv;
	(void)error;
	int rc = table && sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
	sqlite3_free(sql);
	if (rc != SQLITE_OK) {
		sqlite3_free(table);
		return rc;
	}
	memset(table, 0, sizeof *table);
	table->context = *context;
	table->columns = count_columns(context->view->columns);
	*out = &table->base;
	return SQLITE_OK;
}

/* Another function than connect, or the module were a table of every database by itself. */
static int create(
	sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **out, char **error)
{
	return connect(db, arg, argc, argv, out, error);
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	info->estimatedCost = 1000;
	info->estimatedRows = 100;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
	(void)table;
	struct view_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
	if (!cursor)
		return SQLITE_NOMEM;
	memset(cursor, 0, sizeof *cursor);
	*out = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct view_cursor *cursor = (struct view_cursor *)base;
	rows_free(&cursor->rows);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static int filter(
	sqlite3_vtab_cursor *base, int number, const char *text, int argc, sqlite3_value **argv)
{
	struct view_cursor *cursor = (struct view_cursor *)base;
	const struct view_table *table = (const struct view_table *)base->pVtab;
	(void)number;
	(void)text;
	(void)argc;
	(void)argv;
	rows_free(&cursor->rows);
	cursor->at = 0;
	table->context.view->fill(table->context.services, &cursor->rows);
	return cursor->rows.failed ? SQLITE_NOMEM : SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	((struct view_cursor *)base)->at++;
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
	const struct view_cursor *cursor = (struct view_cursor *)base;
	const struct view_table *table = (const struct view_table *)base->pVtab;
	return (cursor->at + 1) * (size_t)table->columns > cursor->rows.count;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *result, int index)
{
	const struct view_cursor *cursor = (struct view_cursor *)base;
	const struct view_table *table = (const struct view_table *)base->pVtab;
	if (index > 1 && sqlite3_vtab_nochange(result))
		return SQLITE_OK;
	const struct view_cell *cell =
		&cursor->rows.cells[cursor->at * (size_t)table->columns + (size_t)index];
	switch (cell->type) {
	case CELL_NULL:
		sqlite3_result_null(result);
		break;
	case CELL_INTEGER:
		sqlite3_result_int64(result, cell->integer);
		break;
	case CELL_REAL:
		sqlite3_result_double(result, cell->real);
		break;
	case CELL_TEXT:
		sqlite3_result_text(result, cell->text, -1, SQLITE_TRANSIENT);
		break;
	}
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
	*id = (sqlite3_int64)((struct view_cursor *)base)->at;
	return SQLITE_OK;
}

static int complain(sqlite3_vtab *table, const char *message)
{
	sqlite3_free(table->zErrMsg);
	table->zErrMsg = sqlite3_mprintf("%s", message);
	return SQLITE_CONSTRAINT_VTAB;
}

/* ---- Changes --------------------------------------------------------------------------------- */

static void forget_change(struct view_table *table)
{
	struct change *change = table->last;
	table->last = change->before;
	free(change->key);
	free(change->value);
	free(change);
}

static void forget_changes(struct view_table *table)
{
	while (table->last)
		forget_change(table);
}

/* Those of deeper savepoints than `level`, the last one first. */
static void take_back(struct view_table *table, int level)
{
	char ignored[256];
	while (table->last && table->last->level > level) {
		const struct change *change = table->last;
		table->context.view->update(table->context.services, change->key, change->value,
			ignored, sizeof ignored);
		forget_change(table);
	}
}

static int remember(struct view_table *table, const char *key, const char *value)
{
	struct change *change = calloc(1, sizeof *change);
	if (!change)
		return SQLITE_NOMEM;
	*change = (struct change){ .before = table->last,
		.key = strdup(key),
		.value = strdup(value),
		.level = table->level };
	table->last = change;
	if (change->key && change->value)
		return SQLITE_OK;
	forget_change(table);
	return SQLITE_NOMEM;
}

static int disconnect(sqlite3_vtab *base)
{
	forget_changes((struct view_table *)base);
	sqlite3_free(base);
	return SQLITE_OK;
}

static int begin(sqlite3_vtab *base)
{
	struct view_table *table = (struct view_table *)base;
	forget_changes(table);
	table->level = 1;
	return SQLITE_OK;
}

static int commit(sqlite3_vtab *base)
{
	forget_changes((struct view_table *)base);
	return SQLITE_OK;
}

static int rollback(sqlite3_vtab *base)
{
	take_back((struct view_table *)base, 0);
	return SQLITE_OK;
}

/* Savepoint n holds what is made at levels above n + 1. */
static int savepoint(sqlite3_vtab *base, int n)
{
	((struct view_table *)base)->level = n + 2;
	return SQLITE_OK;
}

static int release(sqlite3_vtab *base, int n)
{
	struct view_table *table = (struct view_table *)base;
	for (struct change *c = table->last; c; c = c->before)
		c->level = c->level > n + 1 ? n + 1 : c->level;
	table->level = n + 1;
	return SQLITE_OK;
}

static int rollback_to(sqlite3_vtab *base, int n)
{
	struct view_table *table = (struct view_table *)base;
	take_back(table, n + 1);
	table->level = n + 2;
	return SQLITE_OK;
}

static const char *text_of(const struct view_cell *cell)
{
	return cell->type == CELL_TEXT ? cell->text : "";
}

/* Where the row is now, in `rows`, which is the caller's. False: there is no such row. */
static bool find_row(const struct view_table *table, sqlite3_int64 row, struct view_rows *rows)
{
	table->context.view->fill(table->context.services, rows);
	return !rows->failed && row >= 0 &&
	       (size_t)(row + 1) * (size_t)table->columns <= rows->count;
}

/* `cells` is the row as it was, `argv` as it is to be. */
static int change_row(
	struct view_table *table, const struct view_cell *cells, int argc, sqlite3_value **argv)
{
	char message[256];
	const char *key = (const char *)sqlite3_value_text(argv[0]);
	const char *value = (const char *)sqlite3_value_text(argv[1]);
	bool only_value = key && strcmp(key, text_of(cells)) == 0;
	for (int i = 2; i < argc; i++)
		only_value = only_value && sqlite3_value_nochange(argv[i]);
	if (!only_value)
		return complain(&table->base, "only the value can be changed here");
	if (table->context.view->update(
		    table->context.services, key, value ? value : "", message, sizeof message))
		return complain(&table->base, message);
	return remember(table, key, text_of(cells + 1));
}

/* argv is old rowid, new rowid, then the columns. */
static int update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *id)
{
	struct view_table *table = (struct view_table *)base;
	struct view_rows rows = { 0 };
	(void)id;
	if (argc != table->columns + 2 || sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return complain(base, "rows cannot be added or removed here, only changed");
	sqlite3_int64 row = sqlite3_value_int64(argv[0]);
	int rc = SQLITE_NOMEM;
	if (find_row(table, row, &rows))
		rc = change_row(table, rows.cells + row * table->columns, argc - 2, argv + 2);
	rows_free(&rows);
	return rc;
}

#define MODULE(write)                                                                              \
	{                                                                                          \
		.iVersion = 2, .xCreate = create, .xConnect = connect, .xBestIndex = best_index,   \
		.xDisconnect = disconnect, .xDestroy = disconnect, .xOpen = open_cursor,           \
		.xClose = close_cursor, .xFilter = filter, .xNext = next, .xEof = eof,             \
		.xColumn = column, .xRowid = rowid, .xUpdate = write, .xBegin = begin,             \
		.xCommit = commit, .xRollback = rollback, .xSavepoint = savepoint,                 \
		.xRelease = release, .xRollbackTo = rollback_to                                    \
	}

static const sqlite3_module read_only = MODULE(NULL);
static const sqlite3_module writable = MODULE(update);

static const struct view *const views[] = { &view_tasks, &view_holds, &view_resources,
	&view_decisions, &view_held_back, &view_quarantine, &view_admission, &view_settings,
	&view_sessions, &view_activity };
#define VIEWS (sizeof views / sizeof *views)

bool views_are_guarded(const char *name)
{
	for (size_t i = 0; i < VIEWS; i++)
		if (strcasecmp(name, views[i]->name) == 0)
			return true;
	return strcasecmp(name, "cancel_task") == 0 || strcasecmp(name, "pg_cancel_backend") == 0 ||
	       strcasecmp(name, "pg_terminate_backend") == 0;
}

static int install(sqlite3 *db, const struct view *view, struct services *services)
{
	struct view_context *context = malloc(sizeof *context);
	char *sql =
		sqlite3_mprintf("CREATE VIRTUAL TABLE temp.%s USING %s", view->name, view->name);
	int rc = SQLITE_NOMEM;
	if (context && sql) {
		*context = (struct view_context){ .view = view, .services = services };
		rc = sqlite3_create_module_v2(
			db, view->name, view->update ? &writable : &read_only, context, free);
		context = NULL; /* SQLite's now, even on an error */
		if (rc == SQLITE_OK)
			rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	}
	free(context);
	sqlite3_free(sql);
	return rc;
}

int views_install(void *arg, sqlite3 *db)
{
	int rc = functions_install(db);
	if (rc == SQLITE_OK)
		rc = catalog_install(db);
	if (rc == SQLITE_OK)
		rc = view_functions_install(arg, db);
	for (size_t i = 0; rc == SQLITE_OK && i < VIEWS; i++)
		rc = install(db, views[i], arg);
	return rc;
}
