/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the cutting of a simple query's text into statements, and where each is looked for.
 */
#include "demo-db/server/session/query_text.h"
#include "demo-db/server/dialect/lexer.h"
#include "demo-db/server/session/backend.h"
#include "demo-db/server/session/services.h"
#include "common/hash.h"

#include <stdlib.h>
#include <string.h>

bool query_speaks_latin1(const struct backend *backend)
{
	return strcmp(settings_get(&backend->settings, SETTING_client_encoding), "LATIN1") == 0;
}

const char *query_in_utf8(struct backend *backend, const char *text)
{
	size_t bytes = strlen(text);
	if (!query_speaks_latin1(backend))
		return text;
	free(backend->query.recoded);
	char *utf8 = backend->query.recoded = malloc(2 * bytes + 1);
	if (utf8)
		utf8[encoding_from_latin1(utf8, text, bytes)] = '\0';
	return utf8;
}

/* Only white space, comments and semicolons left? */
bool query_text_ends(const struct query *q)
{
	struct lexer lexer = { .at = q->text, .end = q->text + q->text_bytes };
	struct token t;
	if (q->text_bytes == 0)
		return true;
	do
		t = lexer_next(&lexer);
	while (token_is_symbol(&t, ";"));
	return t.kind == TOKEN_END;
}

/* Cuts the next statement off the text; NULL: memory is out. */
struct statement *query_text_next(struct backend *backend)
{
	struct query *q = &backend->query;
	struct dialect_context context = query_context(backend);
	struct parameterized taken;
	const char *source = q->text;
	size_t used, bytes;
	uint64_t hash;
	bool exact =
		atomic_load_explicit(&backend->services->partial_indexes, memory_order_relaxed);
	taken.count = 0;
	if (!exact && parameterize(q->text, q->text_bytes, &taken)) {
		used = taken.used;
		source = taken.text;
		bytes = taken.bytes;
		hash = taken.hash;
		memcpy(q->literals, taken.values, taken.count * sizeof *taken.values);
	} else {
		used = bytes = lexer_statement_bytes(q->text, q->text_bytes);
		taken.count = 0;
		hash = hash_bytes(
			HASH_START, source, bytes < LITERALS_TEXT_MAX ? bytes : LITERALS_TEXT_MAX);
	}
	struct statement *s =
		prepared_simple(&backend->prepared, source, bytes, hash, taken.count, &context);
	q->written = q->text;
	q->written_bytes = used;
	q->text += used;
	q->text_bytes -= used;
	return s;
}
