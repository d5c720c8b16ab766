/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the casts and the matching of patterns, as SQLite functions that fail in PostgreSQL's words;
 * the engine tells the SQLSTATE by them. It must not know statements. Texts and dates are in
 * functions_text.c.
 */
#include "demo-db/server/functions.h"
#include "demo-db/server/assign.h"
#include "demo-db/server/functions_casts.h"
#include "demo-db/server/functions_text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void cast_refuse(sqlite3_context *c, const char *format, const char *a, const char *b)
{
	char *message = sqlite3_mprintf(format, a, b);
	if (message)
		sqlite3_result_error(c, message, -1);
	else
		sqlite3_result_error_nomem(c);
	sqlite3_free(message);
}

#define INVALID "invalid input syntax for type %s: \"%.100s\""

/* Only white space from here on? */
static bool ends(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return *at == '\0';
}

/* ---- Numbers -------------------------------------------------------------------------------- */

const struct integer_type integer_types[] = { { "smallint", INT16_MIN, INT16_MAX },
	{ "integer", INT32_MIN, INT32_MAX }, { "bigint", INT64_MIN, INT64_MAX },
	{ "integer", INT64_MIN, INT64_MAX } };

static void give_integer(sqlite3_context *c, const struct integer_type *type, int64_t value)
{
	if (value < type->least || value > type->most)
		cast_refuse(c, "%s out of range", type->name, "");
	else
		sqlite3_result_int64(c, value);
}

static void integer_of_text(sqlite3_context *c, const struct integer_type *type, const char *text)
{
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (end == text || !ends(end))
		cast_refuse(c, INVALID, type->name, text);
	else if (errno || value < type->least || value > type->most)
		cast_refuse(c, "value \"%.100s\" is out of range for type %s", text, type->name);
	else
		sqlite3_result_int64(c, value);
}

/* Rounds halves away from zero, as numeric does. */
void cast_integer(sqlite3_context *c, const struct integer_type *type, sqlite3_value *from)
{
	switch (sqlite3_value_type(from)) {
	case SQLITE_NULL:
		return;
	case SQLITE_INTEGER:
		give_integer(c, type, sqlite3_value_int64(from));
		return;
	case SQLITE_FLOAT: {
		double value = round(sqlite3_value_double(from));
		if (value >= -0x1p63 && value < 0x1p63)
			give_integer(c, type, (int64_t)value);
		else
			cast_refuse(c, "%s out of range", type->name, "");
		return;
	}
	default:
		integer_of_text(c, type, (const char *)sqlite3_value_text(from));
	}
}

static void to_integer(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	cast_integer(c, sqlite3_user_data(c), argv[0]);
}

void cast_real(sqlite3_context *c, const char *type, sqlite3_value *from)
{
	bool numeric = strcmp(type, "numeric") == 0;
	if (sqlite3_value_type(from) == SQLITE_INTEGER && numeric) {
		sqlite3_result_value(c, from);
		return;
	}
	if (sqlite3_value_type(from) != SQLITE_TEXT) {
		if (sqlite3_value_type(from) != SQLITE_NULL)
			sqlite3_result_double(c, sqlite3_value_double(from));
		return;
	}
	const char *text = (const char *)sqlite3_value_text(from);
	char *end;
	errno = 0;
	long long whole = strtoll(text, &end, 10);
	if (numeric && end != text && ends(end) && !errno) {
		sqlite3_result_int64(c, whole);
		return;
	}
	double value = strtod(text, &end);
	if (end == text || !ends(end))
		cast_refuse(c, INVALID, type, text);
	else
		sqlite3_result_double(c, value);
}

/* Of numeric, or (by its user data) of double precision. */
static void to_real(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	cast_real(c, sqlite3_user_data(c), argv[0]);
}

/* PostgreSQL takes every beginning of these words that tells them apart. */
static int bool_of_text(const char *text)
{
	static const struct {
		const char *word;
		size_t least;
		int value;
	} words[] = { { "true", 1, 1 }, { "false", 1, 0 }, { "yes", 1, 1 }, { "no", 1, 0 },
		{ "on", 2, 1 }, { "off", 2, 0 }, { "1", 1, 1 }, { "0", 1, 0 } };
	text += strspn(text, " \t\n");
	size_t bytes = strcspn(text, " \t\n");
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (bytes >= words[i].least && strncasecmp(text, words[i].word, bytes) == 0 &&
			bytes <= strlen(words[i].word))
			return words[i].value;
	return -1;
}

void cast_bool(sqlite3_context *c, sqlite3_value *from)
{
	if (sqlite3_value_type(from) == SQLITE_NULL)
		return;
	if (sqlite3_value_type(from) != SQLITE_TEXT) {
		sqlite3_result_int(c, sqlite3_value_double(from) != 0.0);
		return;
	}
	const char *text = (const char *)sqlite3_value_text(from);
	int value = bool_of_text(text);
	if (value < 0)
		cast_refuse(c, INVALID, "boolean", text);
	else
		sqlite3_result_int(c, value);
}

static void to_bool(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	cast_bool(c, argv[0]);
}

static void to_divisor(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL && sqlite3_value_double(argv[0]) == 0.0)
		sqlite3_result_error(c, "division by zero", -1);
	else
		sqlite3_result_value(c, argv[0]);
}

/* ---- Patterns ------------------------------------------------------------------------------ */

static void free_regex(void *regex)
{
	regfree(regex);
	free(regex);
}

/* The compiled pattern, kept with the statement while its text stays the same; NULL: told why. */
static regex_t *compiled(sqlite3_context *c, const char *pattern, int flags)
{
	regex_t *regex = sqlite3_get_auxdata(c, 0);
	if (regex)
		return regex;
	regex = malloc(sizeof *regex);
	if (!regex) {
		sqlite3_result_error_nomem(c);
		return NULL;
	}
	int failed = regcomp(regex, pattern, REG_EXTENDED | REG_NOSUB | flags);
	if (failed) {
		char why[80];
		regerror(failed, regex, why, sizeof why);
		free(regex);
		cast_refuse(c, "invalid regular expression: %s%s", why, "");
		return NULL;
	}
	sqlite3_set_auxdata(c, 0, regex, free_regex);
	return sqlite3_get_auxdata(c, 0);
}

/* SQLite calls regexp(pattern, text) for text REGEXP pattern. */
static void match(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	static const char like[] = "(?like)", caseless[] = "(?i)";
	const char *pattern = (const char *)sqlite3_value_text(argv[0]);
	const char *text = (const char *)sqlite3_value_text(argv[1]);
	(void)argc;
	if (!pattern || !text)
		return;
	if (strncmp(pattern, like, sizeof like - 1) == 0) {
		sqlite3_result_int(c, functions_like(pattern + sizeof like - 1, text));
		return;
	}
	bool fold = strncmp(pattern, caseless, sizeof caseless - 1) == 0;
	regex_t *regex =
		compiled(c, pattern + (fold ? sizeof caseless - 1 : 0), fold ? REG_ICASE : 0);
	if (regex)
		sqlite3_result_int(c, regexec(regex, text, 0, NULL, 0) == 0);
}

/* ---- The table ------------------------------------------------------------------------------ */

static int install_casts(sqlite3 *db)
{
	static const struct {
		const char *name;
		const void *data;
		void (*call)(sqlite3_context *, int, sqlite3_value **);
		int arguments;
	} functions[] = {
		{ "pg_int2", &integer_types[0], to_integer, 1 },
		{ "pg_int4", &integer_types[1], to_integer, 1 },
		{ "pg_int8", &integer_types[2], to_integer, 1 },
		{ "pg_float8", "double precision", to_real, 1 },
		{ "pg_numeric", "numeric", to_real, 1 },
		{ "pg_bool", NULL, to_bool, 1 },
		{ "pg_divisor", NULL, to_divisor, 1 },
		{ "regexp", NULL, match, 2 },
	};
	int rc = SQLITE_OK;
	for (size_t i = 0; rc == SQLITE_OK && i < sizeof functions / sizeof *functions; i++)
		rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments,
			FUNCTIONS_FLAGS, (void *)(uintptr_t)functions[i].data, functions[i].call,
			NULL, NULL, NULL);
	return rc;
}

int functions_install(sqlite3 *db)
{
	int rc = install_casts(db);
	if (rc == SQLITE_OK)
		rc = functions_text_install(db);
	if (rc == SQLITE_OK)
		rc = assign_install(db);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "PRAGMA case_sensitive_like = ON", NULL, NULL, NULL);
	return rc;
}
