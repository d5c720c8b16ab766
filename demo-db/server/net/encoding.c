/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the names of client encodings and the conversion between LATIN1 and UTF-8.
 */
#include "demo-db/server/net/encoding.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *written, *name;
} names[] = { { "utf8", "UTF8" }, { "unicode", "UTF8" }, { "sqlascii", "SQL_ASCII" },
	{ "latin1", "LATIN1" }, { "iso88591", "LATIN1" } };

const char *encoding_name(const char *text)
{
	char word[16];
	size_t bytes = 0;
	for (; *text; text++) {
		if (!isalnum((unsigned char)*text))
			continue;
		if (bytes == sizeof word - 1)
			return NULL;
		word[bytes++] = (char)tolower((unsigned char)*text);
	}
	word[bytes] = '\0';
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i].written, word) == 0)
			return names[i].name;
	return NULL;
}

size_t encoding_from_latin1(char *utf8, const char *text, size_t bytes)
{
	size_t used = 0;
	for (size_t i = 0; i < bytes; i++) {
		uint8_t byte = (uint8_t)text[i];
		if (byte >= 0x80)
			utf8[used++] = (char)(0xc0 | byte >> 6);
		utf8[used++] = (char)(byte < 0x80 ? byte : 0x80 | (byte & 0x3f));
	}
	return used;
}

static size_t character_bytes(uint8_t first)
{
	return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

static void describe(const char *at, size_t bytes, char *error)
{
	int used = snprintf(error, ENCODING_ERROR_MAX, "character with byte sequence");
	for (size_t i = 0; i < bytes; i++)
		used += snprintf(
			error + used, ENCODING_ERROR_MAX - (size_t)used, " 0x%02x", (uint8_t)at[i]);
	snprintf(error + used, ENCODING_ERROR_MAX - (size_t)used,
		" in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\"");
}

bool encoding_to_latin1(char *text, size_t *bytes, char *error)
{
	size_t step, used = 0;
	for (size_t at = 0; at < *bytes; at += step) {
		uint8_t first = (uint8_t)text[at];
		size_t left = *bytes - at;
		step = character_bytes(first);
		step = step < left ? step : left;
		bool fits = step == 1 || (step == 2 && first <= 0xc3);
		if (!fits && error) {
			describe(text + at, step, error);
			return false;
		}
		if (step > 1)
			text[used++] = fits ? (char)(first << 6 | (text[at + 1] & 0x3f)) : '?';
		else
			text[used++] = text[at];
	}
	*bytes = used;
	return true;
}
