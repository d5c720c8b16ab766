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
	for (uint32_t i = 0; i < d->column_count; i++)
		sink += d->column_types[i];
	sink += s->kind.priority + s->type_count;
}

/* t is a table, v a view, and nothing else is known. */
static const struct dialect_table *find_table(void *arg, const char *name)
{
	static struct dialect_column columns[] = { { "id", PG_INT4, -1, true },
		{ "n", PG_NUMERIC, 2, false }, { "d", PG_DATE, -1, false },
		{ "b", PG_BOOL, -1, false }, { "s", PG_TEXT, -1, false },
		{ "ts", PG_TIMESTAMP, -1, false }, { "f", PG_FLOAT8, -1, false } };
	static struct dialect_column computed[] = { { "q", PG_UNKNOWN, -1, false },
		{ "e", PG_UNKNOWN, -1, false } };
	static const struct dialect_table t = { 7, columns, NULL }, v = { 2, computed,
		"CREATE VIEW v AS SELECT pg_divide(pg_scaled(n, "
		"2), '3') AS q, pg_date_add(d, 1) AS e FROM t" };
	(void)arg;
	return strcmp(name, "t") == 0 ? &t : strcmp(name, "v") == 0 ? &v : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const struct dialect_schema schema = { .version = 1, .find = find_table };
	static const struct dialect_context context = {
		.user = "u", .database = "d", .version = "v", .process = 1, .schema = &schema
	};
	static struct parameterized literals;
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
		if (parameterize(at, left, &literals)) {
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
