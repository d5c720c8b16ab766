/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the functions psql calls beside the catalogs: names of types, definitions of indexes and
 * constraints. They read the catalogs; they
 */
#include "demo-db/views/catalog.h"
#include "demo-db/engine/engine.h"
#include "demo-db/server/types/values.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS (SQLITE_UTF8 | SQLITE_INNOCUOUS)

/* ---- Types ----------------------------------------------------------------------------------- */

/* Of a word that is no type: what its values are as a rule, by SQLite's affinity. */
static enum pg_type type_by_affinity(const char *declared)
{
	return strcasestr(declared, "int") ? PG_INT8 : PG_TEXT;
}

static void declared_type(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	enum pg_type type = pg_type_declared(text ? text : "");
	(void)argc;
	sqlite3_result_int(c, (int)(type ? type : type_by_affinity(text ? text : "")));
}

/* PostgreSQL's atttypmod: length + 4, or precision and scale beside each other + 4. */
static void declared_modifier(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	const char *open = text ? strchr(text, '(') : NULL;
	int first, second = 0, read = open ? sscanf(open, "(%5d ,%5d", &first, &second) : 0;
	enum pg_type type = pg_type_declared(text ? text : "");
	(void)argc;
	if (!open && text && value_width(text))
		sqlite3_result_int(c, (int)value_width(text) + 4);
	else if (read < 1 || first < 0 || second < 0)
		sqlite3_result_int(c, -1);
	else
		sqlite3_result_int(c, type == PG_NUMERIC ? (first << 16 | second) + 4 : first + 4);
}

static void format_type(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	enum pg_type type = (enum pg_type)sqlite3_value_int(argv[0]);
	const struct pg_type_row *row = pg_type_row(type);
	int modifier = sqlite3_value_int(argv[1]) - 4;
	bool plain = sqlite3_value_type(argv[1]) == SQLITE_NULL || modifier < 0;
	const char *name = row ? row->spelling : "text";
	char text[64];
	(void)argc;
	if (!plain && type == PG_NUMERIC)
		snprintf(text, sizeof text, "numeric(%d,%d)", modifier >> 16, modifier & 0xffff);
	else if (!plain && (type == PG_VARCHAR || type == PG_BPCHAR))
		snprintf(text, sizeof text, "%s(%d)", type == PG_BPCHAR ? "character" : name,
			modifier);
	else
		snprintf(text, sizeof text, "%s", name);
	sqlite3_result_text(c, text, -1, SQLITE_TRANSIENT);
}

/* ---- Objects --------------------------------------------------------------------------------- */

/* The first column of the first row of `sql` with the value as ?1 is the result. */
static void look_up(sqlite3_context *c, const char *sql, sqlite3_value *value, sqlite3_value *more)
{
	sqlite3_stmt *stmt = NULL;
	db_reads_schema(true);
	int rc = sqlite3_prepare_v2(sqlite3_context_db_handle(c), sql, -1, &stmt, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_value(stmt, 1, value);
	if (rc == SQLITE_OK && more)
		rc = sqlite3_bind_value(stmt, 2, more);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		sqlite3_result_value(c, sqlite3_column_value(stmt, 0));
	else if (rc != SQLITE_DONE)
		sqlite3_result_error_code(c, rc);
	sqlite3_finalize(stmt);
	db_reads_schema(false);
}

static void index_definition(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	static const char whole[] =
		"SELECT 'CREATE ' || CASE WHEN i.indisunique THEN 'UNIQUE ' ELSE '' END || 'INDEX "
		"' || "
		"x.relname || ' ON public.' || t.relname || ' USING btree (' || (SELECT "
		"group_concat(coalesce(attname, 'expression'), ', ') FROM pg_attribute WHERE "
		"attrelid "
		"= x.oid) || ')' FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN "
		"pg_class t ON t.oid = i.indrelid WHERE i.indexrelid = ?1";
	static const char part[] =
		"SELECT coalesce(attname, 'expression') FROM pg_attribute WHERE attrelid = ?1 AND "
		"attnum = ?2";
	bool one = argc > 1 && sqlite3_value_int(argv[1]) != 0;
	look_up(c, one ? part : whole, argv[0], one ? argv[1] : NULL);
}

static void constraint_definition(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	look_up(c, "SELECT condef FROM pg_constraint WHERE oid = ?1", argv[0], NULL);
}

/* Of 'name'::regclass or '123'::regclass: the id. */
static void class_id(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	(void)argc;
	if (!text)
		return;
	if (*text && strspn(text, "0123456789") == strlen(text)) {
		sqlite3_result_int64(c, atoll(text));
		return;
	}
	look_up(c, "SELECT oid FROM pg_class WHERE relname = ?1", argv[0], NULL);
}

/* Of id::regclass: the name. */
static void class_name(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	look_up(c, "SELECT relname FROM pg_class WHERE oid = ?1", argv[0], NULL);
}

static void owner(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	(void)argv;
	sqlite3_result_text(c, "demo", -1, SQLITE_STATIC);
}

static void encoding(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	(void)argv;
	sqlite3_result_text(c, "UTF8", -1, SQLITE_STATIC);
}

static void yes(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	(void)argv;
	sqlite3_result_int(c, 1);
}

static void first_argument(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	sqlite3_result_value(c, argv[0]);
}

static void nothing(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)c;
	(void)argc;
	(void)argv;
}

int catalog_functions_install(sqlite3 *db)
{
	static const struct {
		const char *name;
		void (*call)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = { { "pg_declared_type", declared_type },
		{ "pg_declared_modifier", declared_modifier }, { "format_type", format_type },
		{ "pg_get_indexdef", index_definition },
		{ "pg_get_constraintdef", constraint_definition }, { "pg_regclass_id", class_id },
		{ "pg_regclass_name", class_name }, { "pg_get_userbyid", owner },
		{ "pg_encoding_to_char", encoding }, { "pg_table_is_visible", yes },
		{ "pg_get_expr", first_argument }, { "array_to_string", nothing },
		{ "pg_partition_ancestors", nothing } };
	int rc = SQLITE_OK;
	for (size_t i = 0; rc == SQLITE_OK && i < sizeof functions / sizeof *functions; i++)
		rc = sqlite3_create_function_v2(db, functions[i].name, -1, FLAGS, NULL,
			functions[i].call, NULL, NULL, NULL);
	return rc;
}
