/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the cutting of SQL text into tokens: strings in all four spellings, nested comments,
 * parameters, operators.
 */
#include "demo-db/server/dialect/lexer.h"

#include <ctype.h>
#include <string.h>

static bool word_start(char c)
{
	return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool word_part(char c)
{
	return word_start(c) || isdigit((unsigned char)c) || c == '$';
}

static size_t left(const struct lexer *lexer)
{
	return (size_t)(lexer->end - lexer->at);
}

static char peek(const struct lexer *lexer, size_t ahead)
{
	return ahead < left(lexer) ? lexer->at[ahead] : '\0';
}

/* Skips a comment with nested ones inside; false if it never ends. */
static bool skip_block_comment(struct lexer *lexer)
{
	unsigned depth = 0;
	while (lexer->at < lexer->end) {
		if (peek(lexer, 0) == '/' && peek(lexer, 1) == '*') {
			depth++;
			lexer->at += 2;
		} else if (peek(lexer, 0) == '*' && peek(lexer, 1) == '/') {
			lexer->at += 2;
			if (--depth == 0)
				return true;
		} else {
			lexer->at++;
		}
	}
	return false;
}

static void skip_line_comment(struct lexer *lexer)
{
	const char *newline = memchr(lexer->at, '\n', left(lexer));
	lexer->at = newline ? newline + 1 : lexer->end;
}

/* False on a comment that never ends. */
static bool skip_space(struct lexer *lexer)
{
	while (lexer->at < lexer->end) {
		if (isspace((unsigned char)*lexer->at))
			lexer->at++;
		else if (peek(lexer, 0) == '-' && peek(lexer, 1) == '-')
			skip_line_comment(lexer);
		else if (peek(lexer, 0) != '/' || peek(lexer, 1) != '*')
			return true;
		else if (!skip_block_comment(lexer))
			return false;
	}
	return true;
}

/* Moves past a quoted run that starts at lexer->at; a doubled quote stays inside it. */
static bool skip_quoted(struct lexer *lexer, bool backslash)
{
	const char quote = *lexer->at++;
	while (lexer->at < lexer->end) {
		const char *close = memchr(lexer->at, quote, left(lexer));
		const char *escape = backslash ? memchr(lexer->at, '\\', left(lexer)) : NULL;
		if (escape && (!close || escape < close)) {
			lexer->at = escape + (lexer->end - escape > 1 ? 2 : 1);
			continue;
		}
		if (!close)
			break;
		lexer->at = close;
		bool doubled = peek(lexer, 1) == quote;
		lexer->at += 1 + doubled;
		if (!doubled)
			return true;
	}
	lexer->at = lexer->end;
	return false;
}

/* Bytes of the $tag$ at lexer->at, 0 if none stands there. */
static size_t dollar_tag(const struct lexer *lexer)
{
	size_t bytes = 1;
	if (word_start(peek(lexer, bytes)))
		while (word_part(peek(lexer, bytes)) && peek(lexer, bytes) != '$')
			bytes++;
	return peek(lexer, bytes) == '$' ? bytes + 1 : 0;
}

static enum token_kind scan_dollar(struct lexer *lexer)
{
	if (isdigit((unsigned char)peek(lexer, 1))) {
		lexer->at++;
		while (isdigit((unsigned char)peek(lexer, 0)))
			lexer->at++;
		return TOKEN_PARAMETER;
	}
	size_t tag = dollar_tag(lexer);
	if (tag == 0) {
		lexer->at++;
		return TOKEN_SYMBOL;
	}
	const char *close = memmem(lexer->at + tag, left(lexer) - tag, lexer->at, tag);
	lexer->at = close ? close + tag : lexer->end;
	return close ? TOKEN_DOLLAR : TOKEN_BAD;
}

static enum token_kind scan_word(struct lexer *lexer)
{
	const char first = peek(lexer, 0), second = peek(lexer, 1);
	if (second == '\'' && strchr("eExX", first)) {
		lexer->at++;
		bool escapes = first == 'e' || first == 'E';
		if (!skip_quoted(lexer, escapes))
			return TOKEN_BAD;
		return escapes ? TOKEN_ESCAPE : TOKEN_BLOB;
	}
	while (word_part(peek(lexer, 0)))
		lexer->at++;
	return TOKEN_WORD;
}

/* 0xe+1 is a sum, as SQLite reads it. */
static enum token_kind scan_number(struct lexer *lexer)
{
	bool hex = peek(lexer, 0) == '0' && (peek(lexer, 1) | 0x20) == 'x', exponent = false;
	while (isalnum((unsigned char)peek(lexer, 0)) || peek(lexer, 0) == '.' ||
		(exponent && (peek(lexer, 0) == '+' || peek(lexer, 0) == '-'))) {
		exponent = !hex && (peek(lexer, 0) == 'e' || peek(lexer, 0) == 'E');
		lexer->at++;
	}
	return TOKEN_NUMBER;
}

static enum token_kind scan_symbol(struct lexer *lexer)
{
	static const char *const pairs[] = { "::", "||", "<=", ">=", "<>", "!=", "->", "==", "<<",
		">>", ":=" };
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		if (peek(lexer, 0) == pairs[i][0] && peek(lexer, 1) == pairs[i][1]) {
			lexer->at += 2;
			return i == 0 ? TOKEN_CAST : TOKEN_SYMBOL;
		}
	}
	lexer->at++;
	return TOKEN_SYMBOL;
}

static enum token_kind scan(struct lexer *lexer)
{
	const char c = *lexer->at;
	if (word_start(c))
		return scan_word(lexer);
	if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)peek(lexer, 1))))
		return scan_number(lexer);
	if (c == '$' || (c == '?' && isdigit((unsigned char)peek(lexer, 1))))
		return scan_dollar(lexer); /* ?1 is what $1 is translated to */
	if (c == '\'')
		return skip_quoted(lexer, false) ? TOKEN_STRING : TOKEN_BAD;
	if (c == '"')
		return skip_quoted(lexer, false) ? TOKEN_NAME : TOKEN_BAD;
	return scan_symbol(lexer);
}

struct token lexer_next(struct lexer *lexer)
{
	const char *before = lexer->at;
	bool closed = skip_space(lexer);
	struct token token = { .text = lexer->at, .spaced = lexer->at != before };
	if (!closed)
		token.kind = TOKEN_BAD;
	else if (lexer->at < lexer->end)
		token.kind = scan(lexer);
	token.bytes = (size_t)(lexer->at - token.text);
	return token;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Most words differ in their first letter. */
bool token_is(const struct token *token, const char *word)
{
	return token->kind == TOKEN_WORD && lower(token->text[0]) == lower(word[0]) &&
	       strlen(word) == token->bytes && strncasecmp(token->text, word, token->bytes) == 0;
}

bool token_is_symbol(const struct token *token, const char *symbol)
{
	return token->kind == TOKEN_SYMBOL && token->text[0] == symbol[0] &&
	       strlen(symbol) == token->bytes && memcmp(token->text, symbol, token->bytes) == 0;
}

/* CREATE TRIGGER has semicolons inside BEGIN … END. */
size_t lexer_statement_bytes(const char *sql, size_t bytes)
{
	struct lexer lexer = { .at = sql, .end = sql + bytes };
	bool create = false, trigger = false, first = true;
	unsigned depth = 0;
	for (;;) {
		struct token token = lexer_next(&lexer);
		if (token.kind == TOKEN_END || token.kind == TOKEN_BAD)
			return bytes;
		if (first)
			create = token_is(&token, "create");
		first = false;
		trigger |= create && token_is(&token, "trigger");
		if (trigger && (token_is(&token, "begin") || token_is(&token, "case")))
			depth++;
		else if (trigger && depth && token_is(&token, "end"))
			depth--;
		else if (depth == 0 && token_is_symbol(&token, ";"))
			return (size_t)(lexer.at - sql);
	}
}
