/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wording.h - the engine's errors in PostgreSQL's words, and where in the client's text they point.
 *
 * SQLSTATEs are the engine's; here its message becomes the one PostgreSQL users know. What has no
 * counterpart stays as it is. Pure.
 */
#ifndef DEMO_DB_WORDING_H
#define DEMO_DB_WORDING_H

#include <stddef.h>
#include <stdint.h>

#define WORDING_MAX 320

struct wording {
	char message[WORDING_MAX], detail[WORDING_MAX]; /* detail "": none */
};

void wording_of(const char *sqlstate, const char *engine_message, struct wording *wording);

/* Character (from 1) of `text` that byte `offset` of `sql`, its translation, came from; 0 unknown.
 * Found by counting tokens, believed only if both tokens read alike. */
int wording_position(const char *text, size_t text_bytes, const char *sql, int offset);
/* Characters of UTF-8 in `bytes` bytes. */
int wording_characters(const char *text, size_t bytes);

#endif
