/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lexer.h - PostgreSQL's lexical rules: where a statement ends and what its tokens are.
 *
 * Tokens point into the text; nothing is copied. Not thread-safe: one lexer, one caller.
 * Source: PostgreSQL documentation, chapter "Lexical Structure".
 */
#ifndef DEMO_DB_LEXER_H
#define DEMO_DB_LEXER_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind {
	TOKEN_END,    /* of the text */
	TOKEN_WORD,   /* identifier or key word, unquoted */
	TOKEN_NAME,   /* "quoted identifier" */
	TOKEN_STRING, /* 'text' */
	TOKEN_ESCAPE, /* E'te\nxt' */
	TOKEN_DOLLAR, /* $tag$text$tag$ */
	TOKEN_BLOB,   /* X'0a' */
	TOKEN_NUMBER,
	TOKEN_PARAMETER, /* $1, ?1 */
	TOKEN_CAST,	 /* :: */
	TOKEN_SYMBOL,	 /* an operator or one of ( ) , ; . [ ] */
	TOKEN_BAD,	 /* an unterminated string, comment or name */
};

struct token {
	enum token_kind kind;
	const char *text;
	size_t bytes;
	bool spaced; /* white space or a comment stood before it */
};

struct lexer {
	const char *at, *end;
};

struct token lexer_next(struct lexer *lexer);
/* Is it this word (lower case in `word`), in any case? */
bool token_is(const struct token *token, const char *word);
bool token_is_symbol(const struct token *token, const char *symbol);

/* Bytes of the first statement of `sql`, its semicolon included; comments and strings respected. */
size_t lexer_statement_bytes(const char *sql, size_t bytes);

#endif
