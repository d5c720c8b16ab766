/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the assignment of values to columns: the reading of declared types, and which cast each of
 * them is. It must not know statements.
 */
#include "demo-db/server/assign.h"
#include "demo-db/engine/engine.h"
#include "demo-db/server/functions_casts.h"
#include "demo-db/server/functions_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PLACES_MAX 256 /* columns of an INSERT without a list that are remembered */

enum kind { /* of a column; ANY is what SQLite's affinity does */
	KIND_ANY,
	KIND_INT2,
	KIND_INT4,
	KIND_INT8,
	KIND_ROWID,
	KIND_BOOL,
	KIND_VARCHAR,
	KIND_CHAR,
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
	{ "varchar", KIND_VARCHAR },
	{ "char", KIND_CHAR },
	{ "character", KIND_CHAR },
	{ "bpchar", KIND_CHAR },
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

/* The kind, and above it the numbers in parentheses; of CHAR without one: 1. */
static int64_t type_of(const char *declared, bool primary)
{
	enum kind kind = declared ? kind_of(declared) : KIND_ANY;
	int first = 0;
	const char *open = kind == KIND_ANY ? NULL : strchr(declared, '(');
	if (kind == KIND_INT4 && primary && strcasecmp(declared, "integer") == 0)
		kind = KIND_ROWID;
	if (kind == KIND_CHAR && strcasestr(declared, "varying"))
		kind = KIND_VARCHAR;
	if (open && sscanf(open, "(%9d", &first) != 1)
		first = 0;
	if (kind == KIND_CHAR && first == 0 && strncasecmp(declared, "bpchar", 6) != 0)
		first = 1;
	if ((kind == KIND_CHAR || kind == KIND_VARCHAR) && first == 0)
		kind = KIND_ANY;
	return (int64_t)kind | (int64_t)first << 8;
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* Those of one table, in the order an INSERT fills them; good for one run of a statement. */
struct places {
	sqlite3 *db;
	uint64_t run;
	char table[128];
	int count;
	int64_t types[PLACES_MAX];
};

static int read_places(struct places *places, sqlite3 *db, const char *table)
{
	sqlite3_stmt *stmt = NULL;
	char *sql = sqlite3_mprintf("PRAGMA table_info(\"%w\")", table);
	places->count = 0;
	db_reads_schema(true);
	int rc = sql ? sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;
	while (rc == SQLITE_OK && places->count < PLACES_MAX &&
		(rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *declared = (const char *)sqlite3_column_text(stmt, 2);
		places->types[places->count++] =
			type_of(declared, sqlite3_column_int(stmt, 5) != 0);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	db_reads_schema(false);
	sqlite3_free(sql);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static void give_place(sqlite3_context *c, const char *table, int place)
{
	static _Thread_local struct places places;
	sqlite3 *db = sqlite3_context_db_handle(c);
	bool kept = places.db == db && places.run == db_run_number() &&
		    strcmp(places.table, table) == 0;
	int rc = kept ? SQLITE_OK : read_places(&places, db, table);
	if (rc != SQLITE_OK) {
		places.db = NULL;
		sqlite3_result_error_code(c, rc);
		return;
	}
	places.db = strlen(table) < sizeof places.table ? db : NULL;
	places.run = db_run_number();
	snprintf(places.table, sizeof places.table, "%s", table);
	sqlite3_result_int64(c, place < places.count ? places.types[place] : KIND_ANY);
}

static void column_type(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	const char *table = (const char *)sqlite3_value_text(argv[0]), *declared = NULL;
	int primary = 0;
	(void)argc;
	if (!table)
		return;
	if (sqlite3_value_type(argv[1]) == SQLITE_INTEGER) {
		give_place(c, table, sqlite3_value_int(argv[1]));
		return;
	}
	const char *column = (const char *)sqlite3_value_text(argv[1]);
	bool found =
		column && sqlite3_table_column_metadata(sqlite3_context_db_handle(c), NULL, table,
				  column, &declared, NULL, NULL, &primary, NULL) == SQLITE_OK;
	sqlite3_result_int64(c, found ? type_of(declared, primary != 0) : KIND_ANY);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static size_t character_bytes(const char *text, int characters)
{
	size_t at = 0;
	for (; text[at] && characters; characters--)
		do
			at++;
		while (((unsigned char)text[at] & 0xc0) == 0x80);
	return at;
}

/* Blanks beyond the length are cut; those of CHAR are not kept at all: rows.c pads it. */
static void give_text(sqlite3_context *c, sqlite3_value *value, int length, bool padded)
{
	const char *text = (const char *)sqlite3_value_text(value);
	size_t bytes = (size_t)sqlite3_value_bytes(value);
	char number[16];
	if (!text) {
		sqlite3_result_error_nomem(c);
		return;
	}
	size_t most = length && bytes > (size_t)length ? character_bytes(text, length) : bytes;
	if (text[most + strspn(text + most, " ")] != '\0') {
		snprintf(number, sizeof number, "%d", length);
		cast_refuse(c, "value too long for type %s(%s)",
			padded ? "character" : "character varying", number);
		return;
	}
	while (padded && most && text[most - 1] == ' ')
		most--;
	if (most == bytes && sqlite3_value_type(value) == SQLITE_TEXT)
		sqlite3_result_value(c, value);
	else
		sqlite3_result_text64(c, text, most, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void assign(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	int64_t type = sqlite3_value_int64(argv[1]);
	enum kind kind = (enum kind)(type & 0xff);
	int first = (int)(type >> 8 & 0xffffff);
	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	switch (kind) {
	case KIND_INT2:
	case KIND_INT4:
	case KIND_INT8:
	case KIND_ROWID:
		cast_integer(c, &integer_types[kind - KIND_INT2], argv[0]);
		break;
	case KIND_BOOL:
		cast_bool(c, argv[0]);
		break;
	case KIND_VARCHAR:
	case KIND_CHAR:
		give_text(c, argv[0], first, kind == KIND_CHAR);
		break;
	case KIND_ANY:
		sqlite3_result_value(c, argv[0]);
		break;
	}
}

int assign_install(sqlite3 *db)
{
	int rc = sqlite3_create_function_v2(
		db, "pg_assign", 2, FUNCTIONS_FLAGS, NULL, assign, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function_v2(db, "pg_column_type", 2, FUNCTIONS_FLAGS, NULL,
			column_type, NULL, NULL, NULL);
	return rc;
}
