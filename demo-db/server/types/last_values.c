/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the notes of what was assigned.
 */
#include "demo-db/server/types/last_values.h"
#include "demo-db/engine/engine.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COLUMN_MAX_BYTES 128

enum what { UNKNOWN, INTEGER, TEXT };

struct note {
	const char *from; /* what was copied: the same literal while the statement runs */
	char column[COLUMN_MAX_BYTES];
	enum what what;
	int64_t integer;
	char text[STORED_TEXT_MAX];
};

static _Thread_local struct {
	uint64_t run; /* the engine's number of the statement they are of */
	unsigned count;
	struct note notes[STORED_MAX];
} stored;

/* The column's note; NULL: there is no room for it. */
static struct note *note_of(const char *column)
{
	uint64_t run = db_run_number();
	if (stored.run != run) {
		stored.run = run;
		stored.count = 0;
	}
	for (unsigned i = 0; i < stored.count; i++)
		if (stored.notes[i].from == column)
			return &stored.notes[i];
	size_t bytes = strlen(column);
	if (stored.count == STORED_MAX || bytes >= COLUMN_MAX_BYTES)
		return NULL;
	struct note *note = &stored.notes[stored.count++];
	note->from = column;
	memcpy(note->column, column, bytes + 1);
	return note;
}

void last_values_integer(const char *column, int64_t value)
{
	struct note *note = note_of(column);
	if (note) {
		note->what = INTEGER;
		note->integer = value;
	}
}

void last_values_text(const char *column, const char *text, size_t bytes)
{
	struct note *note = note_of(column);
	if (!note)
		return;
	note->what = bytes < STORED_TEXT_MAX ? TEXT : UNKNOWN;
	if (note->what == TEXT) {
		memcpy(note->text, text, bytes);
		note->text[bytes] = '\0';
	}
}

void last_values_unknown(const char *column)
{
	struct note *note = note_of(column);
	if (note)
		note->what = UNKNOWN;
}

/* ---- Telling --------------------------------------------------------------------------------- */

static const struct note *find(const char *column, size_t bytes)
{
	for (unsigned i = stored.count; i--;) { /* the last of several */
		const struct note *note = &stored.notes[i];
		if (strncasecmp(note->column, column, bytes) == 0 && !note->column[bytes])
			return note->what == UNKNOWN ? NULL : note;
	}
	return NULL;
}

bool last_values_key(const char *message, char *detail, size_t bytes)
{
	char names[512] = "", values[1024] = "";
	const char *at = strstr(message, "constraint failed: ");
	if (!at || stored.run != db_run_number())
		return false;
	for (at += strlen("constraint failed: "); *at;) {
		size_t column = strcspn(at, ",");
		const char *dot = memchr(at, '.', column);
		const struct note *note = find(at, column);
		size_t used = strlen(names), spent = strlen(values);
		if (!note || !dot || used + column + 4 > sizeof names ||
			spent + STORED_TEXT_MAX + 4 > sizeof values)
			return false;
		const char *comma = used ? ", " : "";
		snprintf(names + used, sizeof names - used, "%s%.*s", comma,
			(int)(at + column - dot - 1), dot + 1);
		if (note->what == INTEGER)
			snprintf(values + spent, sizeof values - spent, "%s%lld", comma,
				(long long)note->integer);
		else
			snprintf(values + spent, sizeof values - spent, "%s%s", comma, note->text);
		at += column;
		at += strspn(at, ", ");
	}
	int written = snprintf(detail, bytes, "Key (%s)=(%s) already exists.", names, values);
	return written > 0 && (size_t)written < bytes;
}
