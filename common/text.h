/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - a text that grows while it is written. */
#ifndef COMMON_TEXT_H
#define COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *data; /* ends with a NUL once something was appended; the owner frees it */
	size_t bytes, capacity;
	bool failed; /* memory was out: what is appended since is dropped */
};

void text_append(struct text *t, const char *data, size_t bytes);
void text_append_string(struct text *t, const char *string);
/* Of a short text. */
__attribute__((format(printf, 2, 3))) void text_append_format(
	struct text *t, const char *format, ...);
/* As a literal of SQL. */
void text_append_quoted(struct text *t, const char *data, size_t bytes);
void text_insert(struct text *t, size_t at, const char *string);

#endif
