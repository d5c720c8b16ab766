/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error_text.h - the engine's errors in PostgreSQL's words, and where in the client's text they
 * point.
 *
 * SQLSTATEs are the engine's; here its message becomes the one PostgreSQL users know. What has no
 * counterpart stays as it is. Pure.
 */
#ifndef DEMO_DB_WORDING_H
#define DEMO_DB_WORDING_H

#include <stddef.h>
#include <stdint.h>

#define WORDING_MAX 320

struct wording_source {
	const char *sqlstate, *message; /* the engine's */
	const char *text;		/* the client's statement; NULL: unknown */
	size_t text_bytes;
	const char *sql; /* its translation … */
	int offset;	 /* … and the byte of it the message is about, -1 unknown */
};

struct wording {
	char message[WORDING_MAX], detail[WORDING_MAX]; /* detail "": none */
	const char *hint;				/* NULL: none */
	char sqlstate[6];				/* the engine's, or a finer one */
	int position;					/* character of `text` from 1; 0 none */
};

void wording_of(const struct wording_source *source, struct wording *wording);

/* Character (from 1) of `text` that byte `offset` of `sql`, its translation, came from; 0 unknown.
 * The nth token of that spelling there is the nth of that spelling here. */
int wording_position(const char *text, size_t text_bytes, const char *sql, int offset);
/* The same for bytes, both from 1; the end is the end. */
size_t wording_place(const char *text, size_t text_bytes, const char *sql, size_t place);
/* Characters of UTF-8 in `bytes` bytes. */
int wording_characters(const char *text, size_t bytes);

#endif
