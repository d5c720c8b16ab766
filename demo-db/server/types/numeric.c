/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns numeric as SQL functions; the arithmetic is in decimal.c.
 */
#include "demo-db/server/types/numeric.h"
#include "demo-db/server/types/casts.h"
#include "demo-db/server/types/decimal.h"
#include "demo-db/server/types/functions_text.h"
#include "demo-db/server/types/values.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- Values ---------------------------------------------------------------------------------- */

/* False: NULL, or an error was told. */
static bool take(sqlite3_context *c, sqlite3_value *value, int scale, struct decimal *d)
{
	const char *text;
	switch (sqlite3_value_type(value)) {
	case SQLITE_NULL:
		return false;
	case SQLITE_INTEGER:
		decimal_of_integer(sqlite3_value_int64(value), d);
		return scale < 0 || decimal_round(d, scale, false) == DECIMAL_FINE;
	case SQLITE_FLOAT:
		if (decimal_of_real(sqlite3_value_double(value), scale, d))
			return true;
		cast_refuse(c, "cannot convert %s to %s", "infinity", "numeric");
		return false;
	default:
		text = (const char *)sqlite3_value_text(value);
		if (text && decimal_read(text, d))
			return scale < 0 || decimal_round(d, scale, false) == DECIMAL_FINE;
		cast_refuse(c, "invalid input syntax for type %s: \"%.100s\"", "numeric",
			text ? text : "");
		return false;
	}
}

static void give(sqlite3_context *c, const struct decimal *d, enum decimal_answer answer)
{
	char text[DECIMAL_TEXT_MAX];
	if (answer == DECIMAL_BY_ZERO) {
		sqlite3_result_error(c, "division by zero", -1);
	} else if (answer == DECIMAL_TOO_LONG) {
		sqlite3_result_error(c, "a numeric of so many digits is out of range", -1);
	} else {
		decimal_write(d, text);
		sqlite3_result_text(c, text, -1, SQLITE_TRANSIENT);
	}
}

/* ---- Functions ------------------------------------------------------------------------------- */

static void scaled(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	struct decimal d;
	(void)argc;
	if (take(c, argv[0], sqlite3_value_int(argv[1]), &d))
		give(c, &d, DECIMAL_FINE);
}

/* numeric(p, s) has p - s digits in front of the point. */
static void exact(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	int precision = argc > 1 ? sqlite3_value_int(argv[1]) : -1;
	int scale = argc > 2 ? sqlite3_value_int(argv[2]) : 0;
	char size[32];
	struct decimal d;
	if (!take(c, argv[0], -1, &d))
		return;
	enum decimal_answer answer = precision < 0 ? DECIMAL_FINE : decimal_round(&d, scale, false);
	if (precision >= 0 && !d.nan && d.count - d.scale > precision - scale && d.count) {
		snprintf(size, sizeof size, "(%d, %d)", precision, scale);
		cast_refuse(c, "numeric field overflow %s%s", size, "");
		return;
	}
	give(c, &d, answer);
}

enum operation { ADD, SUBTRACT, MULTIPLY, DIVIDE, MODULO };

static void operate(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	struct decimal a, b, result;
	enum decimal_answer answer = DECIMAL_FINE;
	(void)argc;
	if (!take(c, argv[0], -1, &a) || !take(c, argv[1], -1, &b))
		return;
	switch ((enum operation)(intptr_t)sqlite3_user_data(c)) {
	case ADD:
		answer = decimal_add(&a, &b, false, &result);
		break;
	case SUBTRACT:
		answer = decimal_add(&a, &b, true, &result);
		break;
	case MULTIPLY:
		answer = decimal_multiply(&a, &b, &result);
		break;
	case DIVIDE:
		answer = decimal_divide(&a, &b, &result);
		break;
	case MODULO:
		answer = decimal_modulo(&a, &b, &result);
		break;
	}
	give(c, &result, answer);
}

static void negate(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	struct decimal d;
	(void)argc;
	if (!take(c, argv[0], -1, &d))
		return;
	d.negative = !d.negative && d.count;
	give(c, &d, DECIMAL_FINE);
}

enum shortening { ROUND, TRUNC, CEIL, FLOOR };

static void shorten(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	const struct decimal one = { .count = 1, .digits = { 1 } };
	enum shortening how = (enum shortening)(intptr_t)sqlite3_user_data(c);
	int scale = argc > 1 ? sqlite3_value_int(argv[1]) : 0;
	struct decimal d, cut;
	if ((argc > 1 && sqlite3_value_type(argv[1]) == SQLITE_NULL) || !take(c, argv[0], -1, &d))
		return;
	if (how == ROUND) {
		enum decimal_answer answer = decimal_round(&d, scale, false);
		give(c, &d, answer);
		return;
	}
	cut = d;
	enum decimal_answer answer = decimal_round(&cut, scale, true);
	int order = decimal_compare(&d, &cut);
	if (answer == DECIMAL_FINE && ((how == CEIL && order > 0) || (how == FLOOR && order < 0)))
		answer = decimal_add(&cut, &one, how == FLOOR, &cut);
	give(c, &cut, answer);
}

static void absolute(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	struct decimal d;
	(void)argc;
	if (!take(c, argv[0], -1, &d))
		return;
	d.negative = false;
	give(c, &d, DECIMAL_FINE);
}

static void sign(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	struct decimal d;
	(void)argc;
	if (take(c, argv[0], -1, &d))
		sqlite3_result_text(c,
			d.nan	     ? "NaN"
			: d.negative ? "-1"
			: d.count    ? "1"
				     : "0",
			-1, SQLITE_STATIC);
}

/* The value furthest up (greatest), or down; NULLs are not looked at. */
static void furthest(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	int wanted = (int)(intptr_t)sqlite3_user_data(c);
	struct decimal best, d;
	bool any = false;
	for (int i = 0; i < argc; i++) {
		if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
			continue;
		if (!take(c, argv[i], -1, &d))
			return;
		if (!any || decimal_compare(&d, &best) * wanted > 0)
			best = d;
		any = true;
	}
	if (any)
		give(c, &best, DECIMAL_FINE);
}

/* A float as PostgreSQL shows it. */
static void float_text(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	char text[32];
	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_FLOAT) {
		if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
			sqlite3_result_text(
				c, (const char *)sqlite3_value_text(argv[0]), -1, SQLITE_TRANSIENT);
		return;
	}
	value_real_text(sqlite3_value_double(argv[0]), text);
	sqlite3_result_text(c, text, -1, SQLITE_TRANSIENT);
}

/* ---- Aggregates ------------------------------------------------------------------------------ */

struct total {
	struct decimal sum;
	int64_t count;
	enum decimal_answer answer;
};

/* pg_sum(value[, scale of the column]) */
static void change(sqlite3_context *c, int argc, sqlite3_value **argv, bool subtract)
{
	struct total *total;
	struct decimal d;
	if (!take(c, argv[0], argc > 1 ? sqlite3_value_int(argv[1]) : -1, &d))
		return;
	total = sqlite3_aggregate_context(c, sizeof *total);
	if (!total) {
		sqlite3_result_error_nomem(c);
		return;
	}
	total->count += subtract ? -1 : 1;
	if (total->answer == DECIMAL_FINE)
		total->answer = decimal_add(&total->sum, &d, subtract, &total->sum);
}

static void step(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	change(c, argc, argv, false);
}

static void inverse(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	change(c, argc, argv, true);
}

static void give_sum(sqlite3_context *c)
{
	const struct total *total = sqlite3_aggregate_context(c, 0);
	if (total && total->count)
		give(c, &total->sum, total->answer);
}

static void give_average(sqlite3_context *c)
{
	const struct total *total = sqlite3_aggregate_context(c, 0);
	struct decimal count, average;
	if (!total || !total->count)
		return;
	decimal_of_integer(total->count, &count);
	enum decimal_answer answer = total->answer;
	if (answer == DECIMAL_FINE)
		answer = decimal_divide(&total->sum, &count, &average);
	give(c, &average, answer);
}

/* ---- Order ----------------------------------------------------------------------------------- */

static int collate(void *arg, int a_bytes, const void *a_text, int b_bytes, const void *b_text)
{
	char a_copy[DECIMAL_TEXT_MAX], b_copy[DECIMAL_TEXT_MAX];
	struct decimal a, b;
	int bytes = a_bytes < b_bytes ? a_bytes : b_bytes;
	(void)arg;
	if (a_bytes < DECIMAL_TEXT_MAX && b_bytes < DECIMAL_TEXT_MAX) {
		snprintf(a_copy, sizeof a_copy, "%.*s", a_bytes, (const char *)a_text);
		snprintf(b_copy, sizeof b_copy, "%.*s", b_bytes, (const char *)b_text);
		if (decimal_read(a_copy, &a) && decimal_read(b_copy, &b))
			return decimal_compare(&a, &b);
	}
	int order = memcmp(a_text, b_text, (size_t)bytes);
	return order ? order : a_bytes - b_bytes;
}

/* ---- The table ------------------------------------------------------------------------------- */

int numeric_install(sqlite3 *db)
{
	static const struct {
		const char *name;
		int arguments;
		int which;
		void (*function)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
		{ "pg_exact", -1, 0, exact },
		{ "pg_scaled", 2, 0, scaled },
		{ "pg_add", 2, ADD, operate },
		{ "pg_subtract", 2, SUBTRACT, operate },
		{ "pg_multiply", 2, MULTIPLY, operate },
		{ "pg_divide", 2, DIVIDE, operate },
		{ "pg_modulo", 2, MODULO, operate },
		{ "pg_negate", 1, 0, negate },
		{ "pg_round", -1, ROUND, shorten },
		{ "pg_trunc", -1, TRUNC, shorten },
		{ "pg_ceil", 1, CEIL, shorten },
		{ "pg_floor", 1, FLOOR, shorten },
		{ "pg_abs", 1, 0, absolute },
		{ "pg_sign", 1, 0, sign },
		{ "pg_greatest", -1, 1, furthest },
		{ "pg_least", -1, -1, furthest },
		{ "pg_float_text", 1, 0, float_text },
	};
	int rc = sqlite3_create_collation_v2(db, "pg_numeric", SQLITE_UTF8, NULL, collate, NULL);
	for (size_t i = 0; rc == SQLITE_OK && i < sizeof functions / sizeof *functions; i++)
		rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments,
			FUNCTIONS_FLAGS, (void *)(intptr_t)functions[i].which,
			functions[i].function, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_window_function(db, "pg_sum", -1, FUNCTIONS_FLAGS, NULL, step,
			give_sum, give_sum, inverse, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_window_function(db, "pg_avg", -1, FUNCTIONS_FLAGS, NULL, step,
			give_average, give_average, inverse, NULL);
	return rc;
}
