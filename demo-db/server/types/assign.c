/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the assignment of values to columns: the reading of declared types, and which cast each of
 * them is.
 */
#include "demo-db/server/types/assign.h"
#include "demo-db/engine/engine.h"
#include "demo-db/server/types/casts.h"
#include "demo-db/server/types/datetime.h"
#include "demo-db/server/types/last_values.h"

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

#define SIZE_MOST 10485760 /* characters of a text, as there */

/* ---- Types ----------------------------------------------------------------------------------- */

struct taker {			 /* what a column does with a value */
	cast_function *function; /* NULL: what SQLite's affinity does */
	struct cast cast;
};

static const struct taker anything = { .function = NULL };

/* char(n) and varchar(n); without n a char is one character, the others take any. */
static void take_text(struct taker *taker, const char *declared)
{
	int *length = &taker->cast.first;
	if (*length <= 0)
		*length = -1;
	if (*length < 0 && taker->cast.type == PG_BPCHAR && strncasecmp(declared, "bpchar", 6) != 0)
		*length = 1;
	if (*length < 0)
		*taker = anything;
}

/* INTEGER as the primary key is the rowid; INT is what CREATE TABLE AS makes of every integer. */
static bool is_wide(const char *declared, bool primary)
{
	bool is_int = strncasecmp(declared, "int", 3) == 0 && !isalnum((unsigned char)declared[3]);
	return is_int || (primary && strcasecmp(declared, "integer") == 0);
}

static struct taker taker_of(const char *declared, bool primary)
{
	enum pg_type type = declared ? pg_type_declared(declared) : PG_UNKNOWN;
	struct taker taker = { .function = cast_of(type),
		.cast = { .type = type, .first = -1, .second = -1, .assigns = true } };
	const char *open = taker.function ? strchr(declared, '(') : NULL;
	char *end = NULL;
	bool sized = open && isdigit((unsigned char)open[1 + strspn(open + 1, " ")]);
	long first = sized ? strtol(open + 1, &end, 10) : -1, second = -1;
	if (sized && end[strspn(end, " ")] == ',')
		second = strtol(end + strspn(end, " ,"), NULL, 10);
	if (!taker.function || (open && !sized) || first > SIZE_MOST || second < -1 ||
		second > SIZE_MOST)
		return anything;
	taker.cast.first = (int)first;
	taker.cast.second = (int)second;
	if (type == PG_BPCHAR || type == PG_VARCHAR)
		take_text(&taker, declared);
	else if (type == PG_INT4)
		taker.cast.wide = is_wide(declared, primary);
	return taker;
}

/* ---- Columns --------------------------------------------------------------------------------- */

struct column {
	uint64_t known_at; /* the engine's compile number; 0: nothing */
	const char *name;  /* a literal: it is there, and no other, until something is compiled */
	struct taker taker;
};

/* What was looked up on a connection: single columns, and those of the table an INSERT without a
 * list filled last, in their order. */
struct columns {
	struct column named[NAMED_MAX];
	uint64_t placed_at;
	char table[NAME_MAX_BYTES];
	int count;
	struct taker placed[PLACES_MAX];
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
			taker_of((const char *)sqlite3_column_text(stmt, 2),
				sqlite3_column_int(stmt, 5) != 0);
	}
	sqlite3_finalize(stmt);
	db_reads_schema(false);
	sqlite3_free(sql);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* 0, or SQLite's error; where there is no such column, it takes anything. */
static int find_placed(
	struct columns *columns, sqlite3 *db, const char *table, int place, struct taker *taker)
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
	*taker = place >= 0 && place < columns->count ? columns->placed[place] : anything;
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

static struct taker look_up(sqlite3 *db, const char *name)
{
	const char *declared = NULL, *column;
	int primary = 0, rc = SQLITE_NOMEM;
	char *table = split_name(name, &column);
	if (table)
		rc = sqlite3_table_column_metadata(
			db, NULL, table, column, &declared, NULL, NULL, &primary, NULL);
	sqlite3_free(table);
	return rc == SQLITE_OK ? taker_of(declared, primary != 0) : anything;
}

static struct taker find_named(struct columns *columns, sqlite3 *db, const char *name)
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
			return column->taker;
	}
	*free_one = (struct column){ .known_at = now, .name = name, .taker = look_up(db, name) };
	return free_one->taker;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void store(sqlite3_context *c, const struct taker *taker, sqlite3_value *value)
{
	if (taker->function)
		taker->function(c, value, &taker->cast);
	else
		sqlite3_result_value(c, value);
}

static bool is_integer(const struct taker *taker)
{
	return taker->function == cast_integer;
}

/* A text as it will be stored, surely. */
static bool is_final(const struct taker *taker, const char *text, size_t bytes)
{
	if (!taker->function)
		return true;
	switch (taker->cast.type) {
	case PG_VARCHAR:
		return bytes == 0 || text[bytes - 1] != ' ';
	case PG_DATE:
		return stamp_is_kept(text, bytes, STAMP_DATE);
	case PG_TIMESTAMP:
		return stamp_is_kept(text, bytes, STAMP_TIMESTAMP);
	case PG_TIMESTAMPTZ:
		return stamp_is_kept(text, bytes, STAMP_TIMESTAMPTZ);
	default:
		return false;
	}
}

/* What is about to be stored, where it is sure how PostgreSQL would show it. */
static void note(const char *column, const struct taker *taker, sqlite3_value *value)
{
	bool number = is_integer(taker);
	bool plain = number || !taker->function || taker->cast.type == PG_VARCHAR;
	int is = sqlite3_value_type(value);
	if (is == SQLITE_INTEGER && plain) {
		last_values_integer(column, sqlite3_value_int64(value));
		return;
	}
	size_t bytes = is == SQLITE_TEXT ? (size_t)sqlite3_value_bytes(value) : STORED_TEXT_MAX;
	const char *text = bytes < STORED_TEXT_MAX ? (const char *)sqlite3_value_text(value) : NULL;
	if (text && number)
		last_values_integer(column, strtoll(text, NULL, 10));
	else if (text && is_final(taker, text, bytes))
		last_values_text(column, text, bytes);
	else
		last_values_unknown(column);
}

/* The usual case of an integer that fits. */
static bool store_integer(
	sqlite3_context *c, const char *column, const struct taker *taker, sqlite3_value *from)
{
	if (!is_integer(taker) || sqlite3_value_type(from) != SQLITE_INTEGER)
		return false;
	int64_t value = sqlite3_value_int64(from);
	if (!cast_holds(&taker->cast, value))
		return false;
	last_values_integer(column, value);
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
	struct taker taker = find_named(sqlite3_user_data(c), sqlite3_context_db_handle(c), name);
	if (store_integer(c, name, &taker, argv[0]) || sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	note(name, &taker, argv[0]);
	store(c, &taker, argv[0]);
}

static void assign_placed(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	struct columns *columns = sqlite3_user_data(c);
	const char *table = (const char *)sqlite3_value_text(argv[1]);
	int place = sqlite3_value_int(argv[2]);
	struct taker taker = anything;
	int rc = table ? find_placed(columns, sqlite3_context_db_handle(c), table, place, &taker)
		       : SQLITE_OK;
	(void)argc;
	if (rc != SQLITE_OK)
		sqlite3_result_error_code(c, rc);
	if (rc != SQLITE_OK || sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	if (place >= 0 && place < PLACE_NAMES && place < columns->count)
		note(columns->names[place], &taker, argv[0]);
	store(c, &taker, argv[0]);
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
