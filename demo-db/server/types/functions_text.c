/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns functions of texts and the aggregates of booleans. Positions and lengths are characters of
 * UTF-8.
 */
#include "demo-db/server/types/functions_text.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RESULT_MAX_BYTES (1 << 28) /* of repeat and padding */

static const char *text_of(sqlite3_value *value)
{
	return (const char *)sqlite3_value_text(value);
}

static bool any_null(int argc, sqlite3_value **argv)
{
	for (int i = 0; i < argc; i++)
		if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
			return true;
	return false;
}

static void give(sqlite3_context *c, const char *text, size_t bytes)
{
	sqlite3_result_text64(c, text, bytes, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* ---- Characters ------------------------------------------------------------------------------ */

static const char *next_character(const char *at)
{
	do
		at++;
	while (((unsigned char)*at & 0xc0) == 0x80);
	return at;
}

static int64_t characters(const char *text)
{
	int64_t count = 0;
	for (; *text; text = next_character(text))
		count++;
	return count;
}

static const char *skip_characters(const char *text, int64_t count)
{
	for (; *text && count > 0; count--)
		text = next_character(text);
	return text;
}

bool functions_like(const char *pattern, const char *text)
{
	const char *star = NULL, *retry = NULL; /* behind the last %, and where it may go on */
	for (;;) {
		if (*pattern == '%') {
			star = ++pattern;
			retry = text;
		} else if (*text && *pattern == '_') {
			pattern++;
			text = next_character(text);
		} else {
			bool escaped = *pattern == '\\' && pattern[1];
			char wanted = pattern[escaped];
			if (*text &&
				tolower((unsigned char)*text) == tolower((unsigned char)wanted)) {
				pattern += 1 + escaped;
				text++;
			} else if (!*text && !*pattern) {
				return true;
			} else if (!star || !*retry) {
				return false;
			} else {
				pattern = star;
				text = retry = next_character(retry);
			}
		}
	}
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static void char_length(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	if (!any_null(argc, argv))
		sqlite3_result_int64(c, characters(text_of(argv[0])));
}

static void octet_length(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	if (!any_null(argc, argv))
		sqlite3_result_int(c, sqlite3_value_bytes(argv[0]));
}

static void give_position(sqlite3_context *c, const char *text, const char *part)
{
	const char *found = strstr(text, part);
	int64_t before = 0;
	for (const char *at = text; found && at < found; at = next_character(at))
		before++;
	sqlite3_result_int64(c, found ? before + 1 : 0);
}

static void position_in(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	if (!any_null(argc, argv))
		give_position(c, text_of(argv[1]), text_of(argv[0]));
}

static void strpos(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	if (!any_null(argc, argv))
		give_position(c, text_of(argv[0]), text_of(argv[1]));
}

static void starts_with(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	if (any_null(argc, argv))
		return;
	const char *text = text_of(argv[0]), *start = text_of(argv[1]);
	sqlite3_result_int(c, strncmp(text, start, strlen(start)) == 0);
}

/* A negative count leaves out so many at the other end. */
static void left(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	if (any_null(argc, argv))
		return;
	const char *text = text_of(argv[0]);
	int64_t count = sqlite3_value_int64(argv[1]);
	if (count < 0)
		count += characters(text);
	give(c, text, (size_t)(skip_characters(text, count) - text));
}

static void right(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	if (any_null(argc, argv))
		return;
	const char *text = text_of(argv[0]);
	int64_t count = sqlite3_value_int64(argv[1]);
	const char *from = skip_characters(text, count < 0 ? -count : characters(text) - count);
	give(c, from, strlen(from));
}

static void reverse(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	if (any_null(argc, argv))
		return;
	const char *text = text_of(argv[0]);
	size_t bytes = strlen(text), end = bytes;
	char *result = malloc(bytes + 1);
	if (!result) {
		sqlite3_result_error_nomem(c);
		return;
	}
	for (const char *at = text; *at;) {
		const char *next = next_character(at);
		end -= (size_t)(next - at);
		memcpy(result + end, at, (size_t)(next - at));
		at = next;
	}
	sqlite3_result_text64(c, result, bytes, free, SQLITE_UTF8);
}

static void repeat(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	if (any_null(argc, argv))
		return;
	const char *text = text_of(argv[0]);
	int64_t count = sqlite3_value_int64(argv[1]), bytes = (int64_t)strlen(text);
	if (count < 0 || bytes == 0)
		count = 0;
	if (bytes && count > RESULT_MAX_BYTES / bytes) {
		sqlite3_result_error_toobig(c);
		return;
	}
	char *result = malloc((size_t)(bytes * count) + 1);
	if (!result) {
		sqlite3_result_error_nomem(c);
		return;
	}
	for (int64_t i = 0; i < count; i++)
		memcpy(result + i * bytes, text, (size_t)bytes);
	sqlite3_result_text64(c, result, (sqlite3_uint64)(bytes * count), free, SQLITE_UTF8);
}

/* lpad and rpad (by their user data): to `count` characters with `fill`, cut if longer. */
static void pad(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	bool left_side = sqlite3_user_data(c) != NULL;
	if (any_null(argc, argv))
		return;
	const char *text = text_of(argv[0]), *fill = argc > 2 ? text_of(argv[2]) : " ";
	int64_t wanted = sqlite3_value_int64(argv[1]), has = characters(text);
	size_t kept = (size_t)(skip_characters(text, wanted) - text);
	if (wanted <= has || !*fill) {
		give(c, text, wanted > 0 ? kept : 0);
		return;
	}
	if (wanted > RESULT_MAX_BYTES / 4) {
		sqlite3_result_error_toobig(c);
		return;
	}
	size_t room = strlen(text) + (size_t)(wanted - has) * 4, used = 0;
	char *result = malloc(room + 1);
	if (!result) {
		sqlite3_result_error_nomem(c);
		return;
	}
	if (!left_side)
		used = strlen(memcpy(result, text, strlen(text) + 1));
	const char *at = fill;
	for (int64_t i = has; i < wanted; i++) {
		const char *next = next_character(at);
		memcpy(result + used, at, (size_t)(next - at));
		used += (size_t)(next - at);
		at = *next ? next : fill;
	}
	if (left_side) {
		memcpy(result + used, text, strlen(text));
		used += strlen(text);
	}
	sqlite3_result_text64(c, result, used, free, SQLITE_UTF8);
}

static void split_part(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	if (any_null(argc, argv))
		return;
	const char *text = text_of(argv[0]), *by = text_of(argv[1]);
	int64_t field = sqlite3_value_int64(argv[2]);
	if (field <= 0) {
		sqlite3_result_error(c, "field position must be greater than zero", -1);
		return;
	}
	while (--field && text && *by) {
		text = strstr(text, by);
		text = text ? text + strlen(by) : NULL;
	}
	const char *end = text && *by ? strstr(text, by) : NULL;
	if (!text || (!*by && field))
		give(c, "", 0);
	else
		give(c, text, end ? (size_t)(end - text) : strlen(text));
}

/* concat, and concat_ws when there is user data: its first argument goes between the others. */
static void concat(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	bool separated = sqlite3_user_data(c) != NULL;
	const char *between = separated && argc ? text_of(argv[0]) : "";
	sqlite3_str *out = sqlite3_str_new(sqlite3_context_db_handle(c));
	bool first = true;
	if (between) {
		for (int i = separated; i < argc; i++) {
			if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
				continue;
			sqlite3_str_appendf(out, "%s%s", first ? "" : between, text_of(argv[i]));
			first = false;
		}
		sqlite3_result_text(c, sqlite3_str_value(out) ? sqlite3_str_value(out) : "", -1,
			SQLITE_TRANSIENT);
	}
	sqlite3_free(sqlite3_str_finish(out));
}

/* ---- Values ---------------------------------------------------------------------------------- */

static int compare(sqlite3_value *a, sqlite3_value *b)
{
	if (sqlite3_value_type(a) == SQLITE_TEXT && sqlite3_value_type(b) == SQLITE_TEXT)
		return strcmp(text_of(a), text_of(b));
	double x = sqlite3_value_double(a), y = sqlite3_value_double(b);
	return (x > y) - (x < y);
}

/* greatest, and least when there is user data; NULL is left out. */
static void extreme(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	int sign = sqlite3_user_data(c) ? -1 : 1;
	sqlite3_value *best = NULL;
	for (int i = 0; i < argc; i++)
		if (sqlite3_value_type(argv[i]) != SQLITE_NULL &&
			(!best || sign * compare(argv[i], best) > 0))
			best = argv[i];
	if (best)
		sqlite3_result_value(c, best);
}

struct tally { /* of bool_and and bool_or */
	int64_t rows, holds;
};

static void tally_step(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	struct tally *tally = sqlite3_aggregate_context(c, sizeof *tally);
	if (!tally || any_null(argc, argv))
		return;
	tally->rows++;
	tally->holds += sqlite3_value_int(argv[0]) != 0;
}

static void tally_end(sqlite3_context *c)
{
	bool all = sqlite3_user_data(c) == NULL;
	const struct tally *tally = sqlite3_aggregate_context(c, 0);
	if (tally && tally->rows)
		sqlite3_result_int(c, all ? tally->holds == tally->rows : tally->holds > 0);
}

/* ---- The table ------------------------------------------------------------------------------- */

int functions_text_install(sqlite3 *db)
{
	static char other; /* the second of two that share a function */
	static const struct {
		const char *name;
		int arguments;
		void *data;
		void (*call)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = { { "char_length", 1, NULL, char_length },
		{ "character_length", 1, NULL, char_length },
		{ "octet_length", 1, NULL, octet_length }, { "strpos", 2, NULL, strpos },
		{ "pg_position", 2, NULL, position_in }, { "starts_with", 2, NULL, starts_with },
		{ "pg_left", 2, NULL, left }, { "pg_right", 2, NULL, right },
		{ "reverse", 1, NULL, reverse }, { "repeat", 2, NULL, repeat },
		{ "lpad", 2, &other, pad }, { "lpad", 3, &other, pad }, { "rpad", 2, NULL, pad },
		{ "rpad", 3, NULL, pad }, { "split_part", 3, NULL, split_part },
		{ "concat", -1, NULL, concat }, { "concat_ws", -1, &other, concat },
		{ "greatest", -1, NULL, extreme }, { "least", -1, &other, extreme } };
	static const struct {
		const char *name;
		void *data;
	} tallies[] = { { "bool_and", NULL }, { "every", NULL }, { "bool_or", &other } };
	int rc = SQLITE_OK;
	for (size_t i = 0; rc == SQLITE_OK && i < sizeof functions / sizeof *functions; i++)
		rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments,
			FUNCTIONS_FLAGS, functions[i].data, functions[i].call, NULL, NULL, NULL);
	for (size_t i = 0; rc == SQLITE_OK && i < sizeof tallies / sizeof *tallies; i++)
		rc = sqlite3_create_function_v2(db, tallies[i].name, 1, FUNCTIONS_FLAGS,
			tallies[i].data, NULL, tally_step, tally_end, NULL);
	return rc;
}
