/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text through everything that reads a client's SQL: cut, literals taken out, parsed,
 * translated, judged. Nothing may crash, run past the text, or answer half.
 */
#include "demo-db/server/dialect/lexer.h"
#include "demo-db/server/dialect/parameterize.h"
#include "demo-db/server/session/prepared.h"
#include "demo-db/server/dialect/error_text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static size_t sink;

static const char *const messages[] = { "near \"AS\": syntax error", "incomplete input",
	"no such table: t", "no such column: t.a", "CHECK constraint failed: a > 0",
	"FOREIGN KEY constraint failed", "invalid input syntax for type integer: \"a\"",
	"table t has no column named a", "numeric field overflow (8, 2)",
	"date/time field value out of range: \"a\" (datestyle)" };

static void check(const struct statement *s)
{
	const struct dialect *d = &s->dialect;
	bool for_engine = d->kind == DIALECT_SQL || d->kind == DIALECT_BEGIN;
	if (for_engine && !d->sql)
		abort();
	if (d->kind == DIALECT_REFUSED && (!d->sqlstate[0] || !d->message[0]))
		abort();
	for (size_t i = 0; d->sql && i < sizeof messages / sizeof *messages; i++) {
		const struct error_text_source source = { .sqlstate = "42601",
			.message = messages[i],
			.text = s->source,
			.text_bytes = s->source_bytes,
			.sql = d->sql,
			.offset = (int)(strlen(d->sql) * i / 10) };
		struct error_text text;
		error_text_of(&source, &text);
		sink += (size_t)text.position;
	}
	sink += s->dialect.column_count + s->kind.priority;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const struct dialect_context context = {
		.user = "u", .database = "d", .version = "v", .process = 1
	};
	static struct literals literals;
	char *text = malloc(bytes + 1); /* its end is where the sanitizer looks */
	if (!text)
		return 0;
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	size_t left = strlen(text);
	const char *at = text;
	while (left) {
		size_t used = lexer_statement_bytes(at, left);
		if (used == 0 || used > left)
			abort();
		if (literals_take(at, left, &literals)) {
			if (literals.used == 0 || literals.used > left)
				abort();
			sink += strlen(literals.text);
		}
		struct statement *s = statement_new(at, used, &context);
		if (s)
			check(s);
		statement_free(s);
		at += used;
		left -= used;
	}
	free(text);
	return 0;
}
