/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the functions psql calls beside the catalogs: names of types, definitions of indexes and
 * constraints. They read the catalogs; they must not know how those are made.
 */
#include "demo-db/views/catalog.h"
#include "demo-db/engine/engine.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FLAGS (SQLITE_UTF8 | SQLITE_INNOCUOUS)

/* ---- Types ---------------------------------------------------------------------------------- */

static const struct {
	const char *words; /* of a declaration, each between spaces */
	int oid;
	const char *name;
} types[] = {
	{ " int4 integer int serial mediumint ", 23, "integer" },
	{ " int8 bigint bigserial ", 20, "bigint" },
	{ " int2 smallint smallserial tinyint ", 21, "smallint" },
	{ " text clob ", 25, "text" },
	{ " varchar ", 1043, "character varying" },
	{ " char character bpchar ", 1042, "character" },
	{ " bool boolean ", 16, "boolean" },
	{ " float8 double float ", 701, "double precision" },
	{ " real float4 ", 700, "real" },
	{ " numeric decimal ", 1700, "numeric" },
	{ " timestamp datetime ", 1114, "timestamp without time zone" },
	{ " timestamptz ", 1184, "timestamp with time zone" },
	{ " date ", 1082, "date" },
	{ " time ", 1083, "time without time zone" },
	{ " bytea blob ", 17, "bytea" },
	{ " json ", 114, "json" },
	{ " jsonb ", 3802, "jsonb" },
	{ " uuid ", 2950, "uuid" },
};
#define TYPES	 (sizeof types / sizeof *types)
#define TEXT_OID 25

static void declared_type(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	char word[40];
	size_t bytes = 0;
	(void)argc;
	while (text && bytes < 32 && isalnum((unsigned char)text[bytes]))
		bytes++;
	snprintf(word, sizeof word, " %.*s ", (int)bytes, text ? text : "");
	bool varying = text && strcasestr(text, "varying");
	bool zone = text && strcasestr(text, "with time zone");
	for (size_t i = 0; bytes && i < TYPES; i++) {
		if (!strcasestr(types[i].words, word))
			continue;
		int oid = varying ? 1043 : zone && types[i].oid == 1114 ? 1184 : types[i].oid;
		sqlite3_result_int(c, oid);
		return;
	}
	sqlite3_result_int(c, TEXT_OID);
}

/* PostgreSQL's atttypmod: length + 4, or precision and scale beside each other + 4. */
static void declared_modifier(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	const char *open = text ? strchr(text, '(') : NULL;
	int first, second = 0, read = open ? sscanf(open, "(%5d ,%5d", &first, &second) : 0;
	bool numeric =
		text && (strncasecmp(text, "num", 3) == 0 || strncasecmp(text, "dec", 3) == 0);
	(void)argc;
	if (read < 1 || first < 0 || second < 0)
		sqlite3_result_int(c, -1);
	else
		sqlite3_result_int(c, numeric ? (first << 16 | second) + 4 : first + 4);
}

static void format_type(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	int oid = sqlite3_value_int(argv[0]), modifier = sqlite3_value_int(argv[1]) - 4;
	bool plain = sqlite3_value_type(argv[1]) == SQLITE_NULL || modifier < 0;
	const char *name = "text";
	char text[64];
	(void)argc;
	for (size_t i = 0; i < TYPES; i++)
		if (types[i].oid == oid)
			name = types[i].name;
	bool sized = oid == 1043 || oid == 1042;
	if (!plain && oid == 1700)
		snprintf(text, sizeof text, "numeric(%d,%d)", modifier >> 16, modifier & 0xffff);
	else if (!plain && sized)
		snprintf(text, sizeof text, "%s(%d)", name, modifier);
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
