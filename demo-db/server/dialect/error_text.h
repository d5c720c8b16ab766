/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error_text.h - the engine's errors in PostgreSQL's words, and where in the client's text they
 * point.
 *
 * SQLSTATEs are the engine's; here its message becomes the one PostgreSQL users know. What has no
 * counterpart stays as it is. Pure.
 */
#ifndef DEMO_DB_ERROR_TEXT_H
#define DEMO_DB_ERROR_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define ERROR_TEXT_MAX 320

struct error_text_source {
	const char *sqlstate, *message; /* the engine's */
	const char *text;		/* the client's statement; NULL: unknown */
	size_t text_bytes;
	const char *sql; /* its translation … */
	int offset;	 /* … and the byte of it the message is about, -1 unknown */
};

struct error_text {
	char message[ERROR_TEXT_MAX], detail[ERROR_TEXT_MAX]; /* detail "": none */
	const char *hint;				      /* NULL: none */
	char sqlstate[6];				      /* the engine's, or a finer one */
	int position; /* character of `text` from 1; 0 none */
};

void error_text_of(const struct error_text_source *source, struct error_text *text);

/* Character (from 1) of `text` that byte `offset` of `sql`, its translation, came from; 0 unknown.
 * The nth token of that spelling there is the nth of that spelling here. */
int error_text_position(const char *text, size_t text_bytes, const char *sql, int offset);
/* Characters of UTF-8 in `bytes` bytes. */
int error_text_characters(const char *text, size_t bytes);

#endif
