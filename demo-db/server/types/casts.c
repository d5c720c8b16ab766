/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the casts to numbers, booleans and sized texts, which fail in PostgreSQL's words; the
 * engine tells the SQLSTATE by them. Dates are in functions_dates.c.
 */
#include "demo-db/server/types/casts.h"
#include "demo-db/server/types/decimal.h"
#include "demo-db/server/types/functions_text.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define INVALID	       "invalid input syntax for type %s: \"%.100s\""
#define INTEGER_DIGITS 18   /* always fit 64 bits */
#define DIGITS_MOST    1e15 /* a float has no digits behind the point beyond this */

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

bool cast_holds(const struct cast *cast, int64_t value)
{
	switch (cast->wide ? PG_INT8 : cast->type) {
	case PG_INT2:
		return value >= INT16_MIN && value <= INT16_MAX;
	case PG_INT4:
		return value >= INT32_MIN && value <= INT32_MAX;
	default:
		return true;
	}
}

static void out_of_range(sqlite3_context *c, const struct cast *cast)
{
	cast_refuse(c, "%s out of range", pg_type_row(cast->type)->spelling, "");
}

static void give_integer(sqlite3_context *c, const struct cast *cast, int64_t value)
{
	if (cast_holds(cast, value))
		sqlite3_result_int64(c, value);
	else
		out_of_range(c, cast);
}

static void integer_of_text(sqlite3_context *c, const struct cast *cast, const char *text)
{
	const char *name = pg_type_row(cast->type)->spelling;
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (end == text || !ends(end))
		cast_refuse(c, INVALID, name, text);
	else if (errno || !cast_holds(cast, value))
		cast_refuse(c, "value \"%.100s\" is out of range for type %s", text, name);
	else
		sqlite3_result_int64(c, value);
}

/* Rounds halves away from zero, as numeric does. */
void cast_integer(sqlite3_context *c, sqlite3_value *from, const struct cast *cast)
{
	switch (sqlite3_value_type(from)) {
	case SQLITE_NULL:
		return;
	case SQLITE_INTEGER:
		give_integer(c, cast, sqlite3_value_int64(from));
		return;
	case SQLITE_FLOAT: {
		double value = round(sqlite3_value_double(from));
		if (value >= -0x1p63 && value < 0x1p63)
			give_integer(c, cast, (int64_t)value);
		else
			out_of_range(c, cast);
		return;
	}
	default:
		integer_of_text(c, cast, (const char *)sqlite3_value_text(from));
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

void cast_float8(sqlite3_context *c, sqlite3_value *from, const struct cast *cast)
{
	struct number n;
	(void)cast;
	if (read_number(c, "double precision", from, &n) != READ_NOTHING)
		give_real(c, n.real);
}

void cast_float4(sqlite3_context *c, sqlite3_value *from, const struct cast *cast)
{
	struct number n;
	(void)cast;
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

/* A text for a column: rounded digit by digit. SQLite's number has to hold what is left. */
static void numeric_of_digits(sqlite3_context *c, struct decimal *d, const struct cast *cast)
{
	int precision = cast->first, scale = cast->second > 0 ? cast->second : 0;
	char text[DECIMAL_TEXT_MAX], size[32];
	if (precision > 0 && decimal_round(d, scale, false) == DECIMAL_FINE && d->count &&
		d->count - d->scale > precision - scale) {
		snprintf(size, sizeof size, "(%d, %d)", precision, scale);
		cast_refuse(c, "numeric field overflow %s%s", size, "");
		return;
	}
	while (d->scale > 0 && d->count && d->digits[d->count - 1] == 0) {
		d->scale--;
		d->count--;
	}
	decimal_write(d, text);
	if (d->count == 0 || (d->scale == 0 && d->count <= INTEGER_DIGITS))
		sqlite3_result_int64(c, strtoll(text, NULL, 10));
	else if (d->count <= DBL_DIG)
		sqlite3_result_double(c, strtod(text, NULL));
	else
		cast_refuse(
			c, "a stored numeric of more than 15 digits is not supported%s%s", "", "");
}

void cast_numeric(sqlite3_context *c, sqlite3_value *from, const struct cast *cast)
{
	struct decimal d;
	const char *digits = cast->assigns && sqlite3_value_type(from) == SQLITE_TEXT
				     ? (const char *)sqlite3_value_text(from)
				     : NULL;
	if (digits && decimal_read(digits, &d) && !d.nan) {
		numeric_of_digits(c, &d, cast);
		return;
	}
	int precision = cast->first, scale = cast->second > 0 ? cast->second : 0;
	struct number n;
	char size[32];
	enum read read = read_number(c, "numeric", from, &n);
	if (read == READ_NOTHING)
		return;
	if (precision > 0 && isfinite(n.real)) {
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

void cast_bool(sqlite3_context *c, sqlite3_value *from, const struct cast *cast)
{
	(void)cast;
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

void cast_text(sqlite3_context *c, sqlite3_value *from, const struct cast *cast)
{
	bool is_text = sqlite3_value_type(from) == SQLITE_TEXT, padded = cast->type == PG_BPCHAR;
	int length = cast->first;
	/* of a text its bytes: asking for it as a text would copy it for a NUL behind */
	const char *text =
		is_text ? sqlite3_value_blob(from) : (const char *)sqlite3_value_text(from);
	size_t bytes = (size_t)sqlite3_value_bytes(from), most = bytes;
	char number[16];
	if (!text || length < 0) { /* empty, NULL, or of any length */
		sqlite3_result_value(c, from);
		return;
	}
	if (bytes > (size_t)length)
		most = character_bytes(text, bytes, length);
	if (cast->assigns && !is_blank(text + most, bytes - most)) {
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
void cast_uuid(sqlite3_context *c, sqlite3_value *from, const struct cast *cast)
{
	const char *text = (const char *)sqlite3_value_text(from);
	char uuid[40];
	int digits = 0, at = 0;
	(void)cast;
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

static void to_divisor(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL && sqlite3_value_double(argv[0]) == 0.0)
		sqlite3_result_error(c, "division by zero", -1);
	else
		sqlite3_result_value(c, argv[0]);
}

#define CAST(function) cast_##function
#define KEPT	       NULL
#define REFUSED	       NULL

static const struct named_cast {
	const char *name;
	enum pg_type type;
	cast_function *function;
} casts[] = {
#define PG_TYPE(id, oid, name, spelling, affinity, cast, length, binary)                           \
	{ "pg_" name, PG_##id, cast },
#include "demo-db/server/types/pg_types.def"
};
#define CASTS (sizeof casts / sizeof *casts)

cast_function *cast_of(enum pg_type type)
{
	for (size_t i = 0; i < CASTS; i++)
		if (casts[i].type == type)
			return casts[i].function;
	return NULL;
}

/* pg_<type>(value[, first number[, second]]) */
static void call_cast(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	const struct named_cast *named = sqlite3_user_data(c);
	const struct cast cast = { .type = named->type,
		.first = argc > 1 ? sqlite3_value_int(argv[1]) : -1,
		.second = argc > 2 ? sqlite3_value_int(argv[2]) : -1 };
	if (argc)
		named->function(c, argv[0], &cast);
}

int casts_install(sqlite3 *db)
{
	int rc = SQLITE_OK;
	for (size_t i = 0; rc == SQLITE_OK && i < CASTS; i++)
		if (casts[i].function)
			rc = sqlite3_create_function_v2(db, casts[i].name, -1, FUNCTIONS_FLAGS,
				(void *)(uintptr_t)&casts[i], call_cast, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function_v2(
			db, "pg_divisor", 1, FUNCTIONS_FLAGS, NULL, to_divisor, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function_v2(db, "gen_random_uuid", 0,
			SQLITE_UTF8 | SQLITE_INNOCUOUS, NULL, random_uuid, NULL, NULL, NULL);
	return rc;
}
