/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the casts to numbers, booleans and sized texts, which fail in PostgreSQL's words; the engine
 * tells the SQLSTATE by them. It must not know columns or statements. Dates are in
 * functions_dates.c.
 */
#include "demo-db/server/functions_casts.h"
#include "demo-db/server/functions_text.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define INVALID	    "invalid input syntax for type %s: \"%.100s\""
#define DIGITS_MOST 1e15 /* a float has no digits behind the point beyond this */

void cast_refuse(sqlite3_context *c, const char *format, const char *a, const char *b)
{
	char *message = sqlite3_mprintf(format, a, b);
	if (message)
		sqlite3_result_error(c, message, -1);
	else
		sqlite3_result_error_nomem(c);
	sqlite3_free(message);
}

/* Only white space from here on? */
static bool ends(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return *at == '\0';
}

/* ---- Integers -------------------------------------------------------------------------------- */

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

/* ---- Floats and numeric ---------------------------------------------------------------------- */

enum read { READ_NOTHING, READ_INTEGER, READ_REAL };

struct number {
	int64_t integer;
	double real; /* of either */
};

static enum read number_of_text(
	sqlite3_context *c, const char *type, const char *text, struct number *n)
{
	char *end;
	errno = 0;
	n->integer = strtoll(text, &end, 10);
	n->real = (double)n->integer;
	if (end != text && ends(end) && !errno)
		return READ_INTEGER;
	errno = 0;
	n->real = strtod(text, &end);
	if (end != text && ends(end) && !(errno && isinf(n->real)))
		return READ_REAL;
	bool range = end != text && ends(end);
	cast_refuse(c, range ? "\"%.100s\" is out of range for type %s" : INVALID,
		range ? text : type, range ? type : text);
	return READ_NOTHING;
}

/* NOTHING: NULL, or an error was told. */
static enum read read_number(
	sqlite3_context *c, const char *type, sqlite3_value *from, struct number *n)
{
	const char *text;
	switch (sqlite3_value_type(from)) {
	case SQLITE_NULL:
		return READ_NOTHING;
	case SQLITE_INTEGER:
		n->integer = sqlite3_value_int64(from);
		n->real = (double)n->integer;
		return READ_INTEGER;
	case SQLITE_FLOAT:
		n->real = sqlite3_value_double(from);
		return READ_REAL;
	default:
		text = (const char *)sqlite3_value_text(from);
		return text ? number_of_text(c, type, text, n) : READ_NOTHING;
	}
}

/* SQLite would make NULL of what is not a number. */
static void give_real(sqlite3_context *c, double value)
{
	if (isnan(value))
		sqlite3_result_text(c, "NaN", -1, SQLITE_STATIC);
	else
		sqlite3_result_double(c, value);
}

void cast_float8(sqlite3_context *c, sqlite3_value *from)
{
	struct number n;
	if (read_number(c, "double precision", from, &n) != READ_NOTHING)
		give_real(c, n.real);
}

void cast_float4(sqlite3_context *c, sqlite3_value *from)
{
	struct number n;
	if (read_number(c, "real", from, &n) == READ_NOTHING)
		return;
	if (fabs(n.real) <= (double)FLT_MAX || !isfinite(n.real))
		give_real(c, isfinite(n.real) ? (double)(float)n.real : n.real);
	else
		cast_refuse(c, "\"%.100s\" is out of range for type %s",
			(const char *)sqlite3_value_text(from), "real");
}

/* Halves away from zero. What was written with a half is seldom one in binary: a few last places
 * are forgiven. */
static double rounded(double value, int scale)
{
	double power = pow(10, scale), many = fabs(value) * power;
	if (!(many < DIGITS_MOST))
		return value;
	return copysign(floor(many * (1 + 2 * DBL_EPSILON) + 0.5) / power, value) + 0.0;
}

void cast_numeric(sqlite3_context *c, sqlite3_value *from, int precision, int scale)
{
	struct number n;
	char size[32];
	enum read read = read_number(c, "numeric", from, &n);
	if (read == READ_NOTHING)
		return;
	if (precision && isfinite(n.real)) {
		n.real = read == READ_REAL ? rounded(n.real, scale) : n.real;
		if (fabs(n.real) >= pow(10, precision - scale)) {
			snprintf(size, sizeof size, "(%d, %d)", precision, scale);
			cast_refuse(c, "numeric field overflow %s%s", size, "");
			return;
		}
	}
	if (read == READ_INTEGER)
		sqlite3_result_int64(c, n.integer);
	else
		give_real(c, n.real);
}

/* ---- Booleans -------------------------------------------------------------------------------- */

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

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Bytes of so many characters of UTF-8, or of all there are. */
static size_t character_bytes(const char *text, size_t bytes, int characters)
{
	size_t at = 0;
	for (; at < bytes && characters; characters--)
		do
			at++;
		while (at < bytes && ((unsigned char)text[at] & 0xc0) == 0x80);
	return at;
}

static bool is_blank(const char *text, size_t bytes)
{
	while (bytes && text[bytes - 1] == ' ')
		bytes--;
	return bytes == 0;
}

void cast_text(sqlite3_context *c, sqlite3_value *from, int length, bool padded, bool cut)
{
	bool is_text = sqlite3_value_type(from) == SQLITE_TEXT;
	/* of a text its bytes: asking for it as a text would copy it for a NUL behind */
	const char *text =
		is_text ? sqlite3_value_blob(from) : (const char *)sqlite3_value_text(from);
	size_t bytes = (size_t)sqlite3_value_bytes(from), most = bytes;
	char number[16];
	if (!text) { /* empty, or NULL */
		sqlite3_result_value(c, from);
		return;
	}
	if (bytes > (size_t)length)
		most = character_bytes(text, bytes, length);
	if (!cut && !is_blank(text + most, bytes - most)) {
		snprintf(number, sizeof number, "%d", length);
		cast_refuse(c, "value too long for type %s(%s)",
			padded ? "character" : "character varying", number);
		return;
	}
	while (padded && most && text[most - 1] == ' ')
		most--;
	if (most == bytes && is_text)
		sqlite3_result_value(c, from);
	else
		sqlite3_result_text64(c, text, most, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* 32 digits, a hyphen behind any four, braces around them all. */
void cast_uuid(sqlite3_context *c, sqlite3_value *from)
{
	const char *text = (const char *)sqlite3_value_text(from);
	char uuid[40];
	int digits = 0, at = 0;
	if (!text) /* NULL */
		return;
	bool braces = *text == '{';
	const char *in = text + braces;
	while (digits < 32 && isxdigit((unsigned char)*in)) {
		if (digits == 8 || digits == 12 || digits == 16 || digits == 20)
			uuid[at++] = '-';
		uuid[at++] = (char)tolower((unsigned char)*in++);
		digits++;
		if (digits % 4 == 0 && digits < 32 && *in == '-')
			in++;
	}
	if (digits < 32 || strcmp(in, braces ? "}" : "") != 0)
		cast_refuse(c, INVALID, "uuid", text);
	else
		sqlite3_result_text(c, uuid, at, SQLITE_TRANSIENT);
}

/* ---- As SQL functions ------------------------------------------------------------------------ */

static void to_integer(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	cast_integer(c, sqlite3_user_data(c), argv[0]);
}

static void to_bool(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	cast_bool(c, argv[0]);
}

static void to_uuid(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	cast_uuid(c, argv[0]);
}

static void random_uuid(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	unsigned char b[16];
	char text[40];
	(void)argc;
	(void)argv;
	sqlite3_randomness(sizeof b, b);
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40); /* RFC 9562: version 4, variant 10 */
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	snprintf(text, sizeof text,
		"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
		b[15]);
	sqlite3_result_text(c, text, -1, SQLITE_TRANSIENT);
}

static void to_float8(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	cast_float8(c, argv[0]);
}

static void to_float4(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	cast_float4(c, argv[0]);
}

static void to_numeric(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	cast_numeric(c, argv[0], argc > 1 ? sqlite3_value_int(argv[1]) : 0,
		argc > 2 ? sqlite3_value_int(argv[2]) : 0);
}

/* char if there is user data, else varchar. */
static void to_text(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	cast_text(c, argv[0], sqlite3_value_int(argv[1]), sqlite3_user_data(c) != NULL, true);
}

static void to_divisor(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL && sqlite3_value_double(argv[0]) == 0.0)
		sqlite3_result_error(c, "division by zero", -1);
	else
		sqlite3_result_value(c, argv[0]);
}

int casts_install(sqlite3 *db)
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
		{ "pg_float8", NULL, to_float8, 1 },
		{ "pg_float4", NULL, to_float4, 1 },
		{ "pg_numeric", NULL, to_numeric, -1 },
		{ "pg_bool", NULL, to_bool, 1 },
		{ "pg_uuid", NULL, to_uuid, 1 },
		{ "pg_varchar", NULL, to_text, 2 },
		{ "pg_char", "", to_text, 2 },
		{ "pg_divisor", NULL, to_divisor, 1 },
	};
	int rc = SQLITE_OK;
	for (size_t i = 0; rc == SQLITE_OK && i < sizeof functions / sizeof *functions; i++)
		rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments,
			FUNCTIONS_FLAGS, (void *)(uintptr_t)functions[i].data, functions[i].call,
			NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function_v2(db, "gen_random_uuid", 0,
			SQLITE_UTF8 | SQLITE_INNOCUOUS, NULL, random_uuid, NULL, NULL, NULL);
	return rc;
}
