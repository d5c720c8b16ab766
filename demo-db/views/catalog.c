/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the virtual tables: a scan runs the table's SELECT on the same connection and hands its
 * columns on, with the declared types clients are told.
 */
#include "demo-db/views/catalog.h"
#include "demo-db/engine/engine.h"

#include <stdlib.h>

struct table {
	sqlite3_vtab base;
	sqlite3 *db;
	const struct catalog_table *what;
};

struct cursor {
	sqlite3_vtab_cursor base;
	sqlite3_stmt *stmt;
	sqlite3_int64 row;
	int last; /* what stepping said */
};

static int connect(sqlite3 *db, void *what, int argc, const char *const *argv, sqlite3_vtab **table,
	char **error)
{
	(void)argc;
	(void)argv;
	(void)error;
	struct table *made = calloc(1, sizeof *made);
	if (!made)
		return SQLITE_NOMEM;
	made->db = db;
	made->what = what;
	char *sql = sqlite3_mprintf("CREATE TABLE x(%s)", made->what->columns);
	int rc = sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
	sqlite3_free(sql);
	if (rc == SQLITE_OK)
		rc = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	if (rc != SQLITE_OK)
		free(made);
	else
		*table = &made->base;
	return rc;
}

static int disconnect(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	info->estimatedCost = 1000;
	info->estimatedRows = 100;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor)
{
	(void)table;
	struct cursor *made = calloc(1, sizeof *made);
	*cursor = made ? &made->base : NULL;
	return made ? SQLITE_OK : SQLITE_NOMEM;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	sqlite3_finalize(cursor->stmt);
	free(cursor);
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	db_reads_schema(true);
	cursor->last = sqlite3_step(cursor->stmt);
	db_reads_schema(false);
	cursor->row++;
	return cursor->last == SQLITE_ROW || cursor->last == SQLITE_DONE ? SQLITE_OK : cursor->last;
}

static int filter(
	sqlite3_vtab_cursor *base, int number, const char *text, int argc, sqlite3_value **argv)
{
	struct cursor *cursor = (struct cursor *)base;
	const struct table *table = (const struct table *)base->pVtab;
	(void)number;
	(void)text;
	(void)argc;
	(void)argv;
	sqlite3_finalize(cursor->stmt);
	cursor->stmt = NULL;
	cursor->row = 0;
	db_reads_schema(true); /* nobody's tables: no locks */
	int rc = sqlite3_prepare_v2(table->db, table->what->sql, -1, &cursor->stmt, NULL);
	db_reads_schema(false);
	if (rc != SQLITE_OK) {
		sqlite3_free(base->pVtab->zErrMsg);
		base->pVtab->zErrMsg = sqlite3_mprintf("%s", sqlite3_errmsg(table->db));
	}
	return rc == SQLITE_OK ? next(base) : rc;
}

static int eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->last != SQLITE_ROW;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *result, int at)
{
	sqlite3_result_value(result, sqlite3_column_value(((struct cursor *)base)->stmt, at));
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
	*id = ((struct cursor *)base)->row;
	return SQLITE_OK;
}

/* Without xCreate a table of the module's name is there by itself. */
static const sqlite3_module module = { .iVersion = 2,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = eof,
	.xColumn = column,
	.xRowid = rowid };

int catalog_install(sqlite3 *db)
{
	int rc = catalog_functions_install(db);
	for (size_t i = 0; rc == SQLITE_OK && i < catalog_table_count; i++)
		rc = sqlite3_create_module_v2(db, catalog_tables[i].name, &module,
			(void *)(size_t)&catalog_tables[i], NULL);
	return rc;
}
