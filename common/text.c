/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the memory of texts that grow.
 */
#include "common/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMATTED_MAX 128

void text_append(struct text *t, const char *data, size_t bytes)
{
	if (t->failed)
		return;
	if (t->capacity - t->bytes <= bytes) {
		size_t capacity = (t->bytes + bytes + 1) * 2;
		char *grown = realloc(t->data, capacity);
		if (!grown) {
			t->failed = true;
			return;
		}
		t->data = grown;
		t->capacity = capacity;
	}
	memcpy(t->data + t->bytes, data, bytes);
	t->bytes += bytes;
	t->data[t->bytes] = '\0';
}

void text_append_string(struct text *t, const char *string)
{
	text_append(t, string, strlen(string));
}

void text_append_format(struct text *t, const char *format, ...)
{
	char formatted[FORMATTED_MAX];
	va_list arguments;
	va_start(arguments, format);
	int bytes = vsnprintf(formatted, sizeof formatted, format, arguments);
	va_end(arguments);
	if (bytes < 0 || bytes >= FORMATTED_MAX)
		t->failed = true;
	else
		text_append(t, formatted, (size_t)bytes);
}

void text_append_quoted(struct text *t, const char *data, size_t bytes)
{
	text_append(t, "'", 1);
	for (size_t i = 0; i < bytes; i++) {
		if (data[i] == '\'')
			text_append(t, "'", 1);
		text_append(t, data + i, 1);
	}
	text_append(t, "'", 1);
}

void text_insert(struct text *t, size_t at, const char *string)
{
	size_t bytes = strlen(string), tail = t->bytes - at;
	text_append(t, string, bytes); /* makes room */
	if (t->failed)
		return;
	memmove(t->data + at + bytes, t->data + at, tail);
	memcpy(t->data + at, string, bytes);
}
