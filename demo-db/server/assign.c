/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the assignment of values to columns: the reading of declared types, and which cast each of
 * them is. It must not know statements.
 */
#include "demo-db/server/assign.h"
#include "demo-db/engine/engine.h"
#include "demo-db/server/functions_casts.h"
#include "demo-db/server/stamps.h"
#include "demo-db/server/stored.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Not deterministic: for a constant's sake SQLite would copy the call and guard it. */
#define ASSIGN_FLAGS   (SQLITE_UTF8 | SQLITE_INNOCUOUS)
#define NAMED_MAX      128 /* columns remembered on a connection … */
#define PROBES_MAX     8   /* … and how many of them may be looked at */
#define PLACES_MAX     256
#define NAME_MAX_BYTES 128
#define PLACE_NAMES    STORED_MAX /* places whose columns' names are remembered */

#define SIZE_MOST    10485760 /* characters of a text, as there */
#define FIRST_SHIFT  8	      /* in a type: the length, or the precision */
#define SECOND_SHIFT 40	      /* … the scale */

enum kind { /* of a column; ANY is what SQLite's affinity does */
	KIND_ANY,
	KIND_INT2,
	KIND_INT4,
	KIND_INT8,
	KIND_ROWID,
	KIND_BOOL,
	KIND_REAL,
	KIND_DOUBLE,
	KIND_NUMERIC,
	KIND_VARCHAR,
	KIND_CHAR,
	KIND_DATE,
	KIND_TIME,
	KIND_TIMESTAMP,
	KIND_TIMESTAMPTZ,
	KIND_UUID,
};

/* ---- Types ----------------------------------------------------------------------------------- */

static const struct {
	const char *word;
	enum kind kind;
} words[] = {
	{ "integer", KIND_INT4 },
	{ "int4", KIND_INT4 },
	{ "int", KIND_ROWID },
	{ "bigint", KIND_INT8 },
	{ "int8", KIND_INT8 },
	{ "smallint", KIND_INT2 },
	{ "int2", KIND_INT2 },
	{ "real", KIND_REAL },
	{ "float4", KIND_REAL },
	{ "double", KIND_DOUBLE },
	{ "float8", KIND_DOUBLE },
	{ "float", KIND_DOUBLE },
	{ "numeric", KIND_NUMERIC },
	{ "decimal", KIND_NUMERIC },
	{ "varchar", KIND_VARCHAR },
	{ "char", KIND_CHAR },
	{ "character", KIND_CHAR },
	{ "bpchar", KIND_CHAR },
	{ "date", KIND_DATE },
	{ "time", KIND_TIME },
	{ "timestamp", KIND_TIMESTAMP },
	{ "timestamptz", KIND_TIMESTAMPTZ },
	{ "uuid", KIND_UUID },
	{ "bool", KIND_BOOL },
	{ "boolean", KIND_BOOL },
};

static enum kind kind_of(const char *declared)
{
	size_t bytes = 0;
	while (isalnum((unsigned char)declared[bytes]))
		bytes++;
	for (size_t i = 0; bytes && i < sizeof words / sizeof *words; i++)
		if (strncasecmp(declared, words[i].word, bytes) == 0 && !words[i].word[bytes])
			return words[i].kind;
	return KIND_ANY;
}

/* char(n) and varchar(n); without n a char is one character, the others take any. */
static int64_t type_of_text(const char *declared, enum kind kind, int length)
{
	if (kind == KIND_CHAR && strcasestr(declared, "varying"))
		kind = KIND_VARCHAR;
	if (kind == KIND_CHAR && !length && strncasecmp(declared, "bpchar", 6) != 0)
		length = 1;
	return length ? (int64_t)kind | (int64_t)length << FIRST_SHIFT : KIND_ANY;
}

/* Of times and timestamps; zones of a time of day are not known here. */
static int64_t type_of_time(const char *declared, enum kind kind, int digits, bool sized)
{
	bool zoned = strcasestr(declared, "with time zone") != NULL;
	if (kind == KIND_TIME && zoned)
		return KIND_ANY;
	if (kind == KIND_TIMESTAMP && zoned)
		kind = KIND_TIMESTAMPTZ;
	if (!sized || digits > STAMP_DIGITS)
		digits = STAMP_DIGITS;
	return (int64_t)kind | (int64_t)digits << FIRST_SHIFT;
}

/* The kind, and above it the numbers in parentheses. */
static int64_t type_of(const char *declared, bool primary)
{
	enum kind kind = declared ? kind_of(declared) : KIND_ANY;
	const char *open = kind == KIND_ANY ? NULL : strchr(declared, '(');
	char *end = NULL;
	bool sized = open && isdigit((unsigned char)open[1 + strspn(open + 1, " ")]);
	long first = sized ? strtol(open + 1, &end, 10) : 0, second = 0;
	if (sized && end[strspn(end, " ")] == ',')
		second = strtol(end + strspn(end, " ,"), NULL, 10);
	if ((open && !sized) || first > SIZE_MOST || second < 0 || second > SIZE_MOST)
		return KIND_ANY;
	if (kind == KIND_TIME || kind == KIND_TIMESTAMP || kind == KIND_TIMESTAMPTZ)
		return type_of_time(declared, kind, (int)first, sized);
	if (kind == KIND_CHAR || kind == KIND_VARCHAR)
		return type_of_text(declared, kind, (int)first);
	if (kind == KIND_INT4 && primary && strcasecmp(declared, "integer") == 0)
		kind = KIND_ROWID;
	return (int64_t)kind | (int64_t)first << FIRST_SHIFT | (int64_t)second << SECOND_SHIFT;
}

/* ---- Columns ---------------------------------------------------------------------------------
 */

struct column {
	uint64_t known_at; /* the engine's compile number; 0: nothing */
	const char *name;  /* a literal: it is there, and no other, until something is compiled */
	int64_t type;
};

/* What was looked up on a connection: single columns, and those of the table an INSERT without a
 * list filled last, in their order. */
struct columns {
	struct column named[NAMED_MAX];
	uint64_t placed_at;
	char table[NAME_MAX_BYTES];
	int count;
	int64_t placed[PLACES_MAX];
	char names[PLACE_NAMES][NAME_MAX_BYTES]; /* table.column */
};

static int read_places(struct columns *columns, sqlite3 *db, const char *table)
{
	sqlite3_stmt *stmt = NULL;
	char *sql = sqlite3_mprintf("PRAGMA table_info(\"%w\")", table);
	columns->count = 0;
	db_reads_schema(true);
	int rc = sql ? sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	for (; rc == SQLITE_ROW && columns->count < PLACES_MAX; rc = sqlite3_step(stmt)) {
		if (columns->count < PLACE_NAMES)
			snprintf(columns->names[columns->count], NAME_MAX_BYTES, "%s.%s", table,
				(const char *)sqlite3_column_text(stmt, 1));
		columns->placed[columns->count++] =
			type_of((const char *)sqlite3_column_text(stmt, 2),
				sqlite3_column_int(stmt, 5) != 0);
	}
	sqlite3_finalize(stmt);
	db_reads_schema(false);
	sqlite3_free(sql);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* 0, or SQLite's error; the type is KIND_ANY where there is no such column. */
static int find_placed(
	struct columns *columns, sqlite3 *db, const char *table, int place, int64_t *type)
{
	uint64_t now = db_compile_number();
	int rc = SQLITE_OK;
	if (!now || columns->placed_at != now || strcmp(columns->table, table) != 0) {
		rc = read_places(columns, db, table); /* compiles, too */
		size_t bytes = strlen(table) + 1;
		bool whole = rc == SQLITE_OK && bytes <= sizeof columns->table;
		if (whole)
			memcpy(columns->table, table, bytes);
		columns->placed_at = whole ? db_compile_number() : 0;
	}
	*type = place >= 0 && place < columns->count ? columns->placed[place] : KIND_ANY;
	return rc;
}

/* Of table.column, with a backslash before the table's own dots and backslashes: both; the table is
 * the caller's to free, NULL: no memory. */
static char *split_name(const char *name, const char **column)
{
	char *table = sqlite3_mprintf("%s", name), *to = table;
	while (table && *name && *name != '.') {
		name += *name == '\\' && name[1];
		*to++ = *name++;
	}
	if (table)
		*to = '\0';
	*column = name + (*name == '.');
	return table;
}

static int64_t look_up(sqlite3 *db, const char *name)
{
	const char *declared = NULL, *column;
	int primary = 0, rc = SQLITE_NOMEM;
	char *table = split_name(name, &column);
	if (table)
		rc = sqlite3_table_column_metadata(
			db, NULL, table, column, &declared, NULL, NULL, &primary, NULL);
	sqlite3_free(table);
	return rc == SQLITE_OK ? type_of(declared, primary != 0) : KIND_ANY;
}

static int64_t find_named(struct columns *columns, sqlite3 *db, const char *name)
{
	uint64_t now = db_compile_number();
	uintptr_t at = ((uintptr_t)name >> 4) * 31;
	struct column *free_one = &columns->named[at % NAMED_MAX];
	for (uintptr_t i = at; i < at + PROBES_MAX; i++) {
		struct column *column = &columns->named[i % NAMED_MAX];
		if (!now || column->known_at != now) { /* what comes behind is not filled */
			free_one = column;
			break;
		}
		if (column->name == name)
			return column->type;
	}
	*free_one = (struct column){ .known_at = now, .name = name, .type = look_up(db, name) };
	return free_one->type;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void store(sqlite3_context *c, int64_t type, sqlite3_value *value)
{
	enum kind kind = (enum kind)(type & 0xff);
	int first = (int)(type >> FIRST_SHIFT & 0x7fffffff);
	switch (kind) {
	case KIND_INT2:
	case KIND_INT4:
	case KIND_INT8:
	case KIND_ROWID:
		cast_integer(c, &integer_types[kind - KIND_INT2], value);
		break;
	case KIND_BOOL:
		cast_bool(c, value);
		break;
	case KIND_REAL:
		cast_float4(c, value);
		break;
	case KIND_DOUBLE:
		cast_float8(c, value);
		break;
	case KIND_NUMERIC:
		cast_numeric(c, value, first, (int)(type >> SECOND_SHIFT));
		break;
	case KIND_VARCHAR:
	case KIND_CHAR:
		cast_text(c, value, first, kind == KIND_CHAR, false);
		break;
	case KIND_DATE:
		cast_date(c, value);
		break;
	case KIND_TIME:
		cast_time(c, value, first);
		break;
	case KIND_TIMESTAMP:
	case KIND_TIMESTAMPTZ:
		cast_timestamp(c, value, kind == KIND_TIMESTAMPTZ, first);
		break;
	case KIND_UUID:
		cast_uuid(c, value);
		break;
	case KIND_ANY:
		sqlite3_result_value(c, value);
		break;
	}
}

/* A text as it will be stored, surely. */
static bool is_final(enum kind kind, const char *text, size_t bytes)
{
	switch (kind) {
	case KIND_ANY:
		return true;
	case KIND_VARCHAR:
		return bytes == 0 || text[bytes - 1] != ' ';
	case KIND_DATE:
		return stamp_is_kept(text, bytes, STAMP_DATE);
	case KIND_TIMESTAMP:
		return stamp_is_kept(text, bytes, STAMP_TIMESTAMP);
	case KIND_TIMESTAMPTZ:
		return stamp_is_kept(text, bytes, STAMP_TIMESTAMPTZ);
	default:
		return false;
	}
}

/* What is about to be stored, where it is sure how PostgreSQL would show it. */
static void note(const char *column, int64_t type, sqlite3_value *value)
{
	enum kind kind = (enum kind)(type & 0xff);
	bool number =
		kind == KIND_INT2 || kind == KIND_INT4 || kind == KIND_INT8 || kind == KIND_ROWID;
	int is = sqlite3_value_type(value);
	if (is == SQLITE_INTEGER && (number || kind == KIND_ANY || kind == KIND_VARCHAR)) {
		stored_integer(column, sqlite3_value_int64(value));
		return;
	}
	size_t bytes = is == SQLITE_TEXT ? (size_t)sqlite3_value_bytes(value) : STORED_TEXT_MAX;
	const char *text = bytes < STORED_TEXT_MAX ? (const char *)sqlite3_value_text(value) : NULL;
	if (text && number)
		stored_integer(column, strtoll(text, NULL, 10));
	else if (text && is_final(kind, text, bytes))
		stored_text(column, text, bytes);
	else
		stored_unknown(column);
}

/* The usual case of an integer that fits. */
static bool store_integer(sqlite3_context *c, const char *column, int64_t type, sqlite3_value *from)
{
	enum kind kind = (enum kind)(type & 0xff);
	if (kind < KIND_INT2 || kind > KIND_ROWID || sqlite3_value_type(from) != SQLITE_INTEGER)
		return false;
	const struct integer_type *range = &integer_types[kind - KIND_INT2];
	int64_t value = sqlite3_value_int64(from);
	if (value < range->least || value > range->most)
		return false;
	stored_integer(column, value);
	sqlite3_result_int64(c, value);
	return true;
}

static void assign(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	const char *name = (const char *)sqlite3_value_text(argv[1]);
	(void)argc;
	if (!name) {
		sqlite3_result_value(c, argv[0]);
		return;
	}
	int64_t type = find_named(sqlite3_user_data(c), sqlite3_context_db_handle(c), name);
	if (store_integer(c, name, type, argv[0]) || sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	note(name, type, argv[0]);
	store(c, type, argv[0]);
}

static void assign_placed(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	struct columns *columns = sqlite3_user_data(c);
	const char *table = (const char *)sqlite3_value_text(argv[1]);
	int place = sqlite3_value_int(argv[2]);
	int64_t type = KIND_ANY;
	int rc = table ? find_placed(columns, sqlite3_context_db_handle(c), table, place, &type)
		       : SQLITE_OK;
	(void)argc;
	if (rc != SQLITE_OK)
		sqlite3_result_error_code(c, rc);
	if (rc != SQLITE_OK || sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	if (place >= 0 && place < PLACE_NAMES && place < columns->count)
		note(columns->names[place], type, argv[0]);
	store(c, type, argv[0]);
}

/* ---- Defaults -------------------------------------------------------------------------------- */

/* The first column of the first row; `name` and `place` are its parameters. NULL: no row. */
static sqlite3_stmt *first_row(
	sqlite3 *db, const char *sql, const char *table, const char *column, int place)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sql ? sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;
	if (rc == SQLITE_OK && table) {
		sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, column, -1, SQLITE_STATIC);
		sqlite3_bind_int(stmt, 3, place);
	}
	if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		return stmt;
	sqlite3_finalize(stmt);
	return NULL;
}

/* pg_default('table.column'), pg_default('table', place): what DEFAULT stands for; NULL if nothing
 * is declared, of which SQLite makes the next rowid. */
static void give_default(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	static const char find[] = "SELECT dflt_value FROM pragma_table_info(?1) WHERE ?2 IS NULL "
				   "OR name = ?2 COLLATE NOCASE LIMIT 1 OFFSET ?3";
	sqlite3 *db = sqlite3_context_db_handle(c);
	const char *name = (const char *)sqlite3_value_text(argv[0]), *column = NULL;
	int place = argc > 1 ? sqlite3_value_int(argv[1]) : 0;
	char *table = !name	 ? NULL
		      : argc > 1 ? sqlite3_mprintf("%s", name)
				 : split_name(name, &column);
	if (!table)
		return;
	db_reads_schema(true);
	sqlite3_stmt *found = first_row(db, find, table, column, place);
	const char *text = found ? (const char *)sqlite3_column_text(found, 0) : NULL;
	char *sql = text ? sqlite3_mprintf("SELECT %s", text) : NULL;
	sqlite3_stmt *value = sql ? first_row(db, sql, NULL, NULL, 0) : NULL;
	if (value)
		sqlite3_result_value(c, sqlite3_column_value(value, 0));
	sqlite3_finalize(value);
	sqlite3_finalize(found);
	db_reads_schema(false);
	sqlite3_free(sql);
	sqlite3_free(table);
}

int assign_install(sqlite3 *db)
{
	struct columns *columns = calloc(1, sizeof *columns);
	if (!columns)
		return SQLITE_NOMEM;
	int rc = sqlite3_create_function_v2(
		db, "pg_assign", 2, ASSIGN_FLAGS, columns, assign, NULL, NULL, free);
	if (rc == SQLITE_OK) /* its data goes with the other's */
		rc = sqlite3_create_function_v2(
			db, "pg_assign", 3, ASSIGN_FLAGS, columns, assign_placed, NULL, NULL, NULL);
	for (int arguments = 1; rc == SQLITE_OK && arguments <= 2; arguments++)
		rc = sqlite3_create_function_v2(db, "pg_default", arguments, ASSIGN_FLAGS, NULL,
			give_default, NULL, NULL, NULL);
	return rc;
}
