/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns a scanner that knows just enough of SQL to see which numbers are values. Whatever it is not
 * sure of (comments, dollar quotes, escapes, parameters) it declines.
 */
#include "demo-db/server/dialect/parameterize.h"
#include "demo-db/server/types/pg_types.h"
#include "common/hash.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define DIGITS_MAX 9 /* always an integer, never a bigint */

enum region { LISTS, VALUES, CONDITIONS }; /* where the scanner is: what may be taken there */
enum before { NOTHING, OPERATOR, SEPARATOR, OPERAND };

struct scan {
	const char *at, *end;
	struct parameterized *to;
	enum region region;
	enum before before;
	const char *word; /* the last one */
	size_t word_bytes;
	bool declined;
};

static void put(struct scan *s, const char *data, size_t bytes)
{
	struct parameterized *to = s->to;
	if (bytes >= sizeof to->text - to->bytes) {
		s->declined = true;
		return;
	}
	memcpy(to->text + to->bytes, data, bytes);
	to->bytes += bytes;
	to->hash = hash_bytes(to->hash, data, bytes);
}

static bool is(const char *word, size_t bytes, const char *key)
{
	return strlen(key) == bytes && strncasecmp(word, key, bytes) == 0;
}

static bool is_word_part(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Key words change the region; "conflict" makes the text matter. */
static void note_word(struct scan *s, const char *word, size_t bytes)
{
	s->before = OPERAND;
	switch (word[0] | 0x20) {
	case 'w':
		if (is(word, bytes, "where"))
			s->region = CONDITIONS;
		s->declined |= is(word, bytes, "with") || is(word, bytes, "window");
		break;
	case 's':
		if (is(word, bytes, "set"))
			s->region = CONDITIONS;
		break;
	case 'v':
		if (is(word, bytes, "values"))
			s->region = VALUES;
		break;
	case 'a':
	case 'b':
		if (is(word, bytes, "and") || is(word, bytes, "between"))
			s->before = OPERATOR;
		break;
	case 'c':
		s->declined |= is(word, bytes, "conflict");
		break;
	case 'g':
	case 'o':
	case 'h':
	case 'r':
	case 'u':
		if (is(word, bytes, "group") || is(word, bytes, "order") ||
			is(word, bytes, "having") || is(word, bytes, "returning") ||
			is(word, bytes, "union"))
			s->region = LISTS;
		break;
	default:
		break;
	}
}

static void scan_word(struct scan *s)
{
	const char *word = s->at;
	while (s->at < s->end && is_word_part(*s->at))
		s->at++;
	size_t bytes = (size_t)(s->at - word);
	if (s->at < s->end && (*s->at == '\'' || *s->at == '$')) {
		s->declined = true; /* E'…', X'…', U&'…' or a name with a dollar */
		return;
	}
	note_word(s, word, bytes);
	s->word = word;
	s->word_bytes = bytes;
	put(s, word, bytes);
}

static bool may_take(const struct scan *s)
{
	if (s->region == VALUES)
		return s->before == SEPARATOR || s->before == OPERATOR;
	return s->region == CONDITIONS && s->before == OPERATOR;
}

static void take_number(struct scan *s, const char *digits, size_t count)
{
	struct parameterized *to = s->to;
	char name[4] = "$";
	int64_t value = 0;
	if (to->count == LITERALS_MAX) {
		s->declined = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		value = value * 10 + (digits[i] - '0');
	to->values[to->count++] = (struct db_value){ .type = DB_INTEGER, .integer = value };
	size_t at = 1;
	if (to->count >= 10)
		name[at++] = (char)('0' + to->count / 10);
	name[at++] = (char)('0' + to->count % 10);
	put(s, name, at);
}

static void scan_number(struct scan *s)
{
	const char *digits = s->at;
	while (s->at < s->end && isdigit((unsigned char)*s->at))
		s->at++;
	size_t count = (size_t)(s->at - digits);
	bool whole = s->at == s->end || (!is_word_part(*s->at) && *s->at != '.');
	if (whole && count <= DIGITS_MAX && may_take(s)) {
		take_number(s, digits, count);
	} else {
		while (s->at < s->end && (is_word_part(*s->at) || *s->at == '.'))
			s->at++;
		put(s, digits, (size_t)(s->at - digits));
	}
	s->before = OPERAND;
	s->word = NULL;
}

static void scan_quoted(struct scan *s)
{
	const char *start = s->at;
	char quote = *s->at++;
	const char *close = memchr(s->at, quote, (size_t)(s->end - s->at));
	s->declined |= !close;
	s->at = close ? close + 1 : s->end; /* a doubled quote begins the next part */
	put(s, start, (size_t)(s->at - start));
	s->before = OPERAND;
	s->word = NULL;
}

/* A type, whose numbers would be part of it; only white space stands behind the word. */
static bool is_type(const struct scan *s)
{
	return s->word && (is(s->word, s->word_bytes, "varying") ||
				  pg_type_named(s->word, s->word_bytes) != PG_UNKNOWN);
}

static void scan_type_size(struct scan *s)
{
	const char *start = s->at, *close = memchr(start, ')', (size_t)(s->end - start));
	s->declined |= !close;
	s->at = close ? close + 1 : s->end;
	put(s, start, (size_t)(s->at - start));
	s->before = OPERAND;
}

static void scan_symbol(struct scan *s)
{
	char c = *s->at, next = s->at + 1 < s->end ? s->at[1] : '\0';
	if ((c == '-' && next == '-') || (c == '/' && next == '*') || c == '$' || c == '?' ||
		c == '[' || c == '\\') {
		s->declined = true;
		return;
	}
	if (c == '(' && s->region == VALUES && is_type(s)) {
		scan_type_size(s);
		return;
	}
	s->word = NULL;
	put(s, s->at++, 1);
	if (c == '=' || c == '<' || c == '>' || c == '+' || c == '-' || c == '*')
		s->before = OPERATOR;
	else if (c == '(' || c == ',')
		s->before = s->region == VALUES ? SEPARATOR : NOTHING;
	else
		s->before = c == ')' ? OPERAND : NOTHING;
}

static void scan_one(struct scan *s)
{
	char c = *s->at;
	if (isspace((unsigned char)c)) {
		put(s, " ", 1);
		while (s->at < s->end && isspace((unsigned char)*s->at))
			s->at++;
	} else if (isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80) {
		scan_word(s);
	} else if (isdigit((unsigned char)c)) {
		scan_number(s);
	} else if (c == '\'' || c == '"') {
		scan_quoted(s);
	} else {
		scan_symbol(s);
	}
}

static bool worth_it(const char *sql, size_t bytes)
{
	static const char *const verbs[] = { "select ", "insert ", "update ", "delete " };
	for (size_t i = 0; bytes > 7 && i < 4; i++)
		if (strncasecmp(sql, verbs[i], 7) == 0)
			return true;
	return false;
}

bool parameterize(const char *sql, size_t bytes, struct parameterized *literals)
{
	struct scan s = { .at = sql, .end = sql + bytes, .to = literals };
	while (s.at < s.end && isspace((unsigned char)*s.at))
		s.at++;
	if (!worth_it(s.at, (size_t)(s.end - s.at)))
		return false;
	literals->bytes = 0;
	literals->count = 0;
	literals->hash = HASH_START;
	while (s.at < s.end && *s.at != ';' && !s.declined)
		scan_one(&s);
	if (s.declined)
		return false;
	literals->used = (size_t)(s.at - sql) + (s.at < s.end);
	literals->text[literals->bytes] = '\0';
	return true;
}
