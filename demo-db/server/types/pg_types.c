/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the look-up of types. */
#include "demo-db/server/types/pg_types.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define CAST(function) PG_CAST_FUNCTION
#define KEPT	       PG_CAST_KEPT
#define REFUSED	       PG_CAST_REFUSED
#define BINARY	       true
#define TEXT_ONLY      false

static const struct pg_type_row rows[] = {
#define PG_TYPE(id, oid, name, spelling, affinity, cast, length, binary)                           \
	{ PG_##id, name, spelling, affinity, cast, length, binary },
#include "demo-db/server/types/pg_types.def"
};

enum use { USE_TYPE = 1, USE_SERIAL = 2, USE_FOREIGN = 4 };

static const struct {
	const char *word;
	enum pg_type type;
	enum use use;
} words[] = {
#define PG_TYPE(id, oid, name, spelling, affinity, cast, length, binary)                           \
	{ name, PG_##id, USE_TYPE },
#define PG_WORD(word, id)    { word, PG_##id, USE_TYPE },
#define PG_SERIAL(word, id)  { word, PG_##id, USE_SERIAL },
#define PG_FOREIGN(word, id) { word, PG_##id, USE_FOREIGN },
#include "demo-db/server/types/pg_types.def"
};

const struct pg_type_row *pg_type_row(enum pg_type type)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].type == type)
			return &rows[i];
	return NULL;
}

static enum pg_type find(const char *word, size_t bytes, unsigned uses)
{
	for (size_t i = 0; bytes && i < sizeof words / sizeof *words; i++)
		if ((words[i].word[0] | 0x20) == (word[0] | 0x20) && (words[i].use & uses) &&
			strncasecmp(word, words[i].word, bytes) == 0 && !words[i].word[bytes])
			return words[i].type;
	return PG_UNKNOWN;
}

enum pg_type pg_type_named(const char *word, size_t bytes)
{
	return find(word, bytes, USE_TYPE);
}

bool pg_type_is_serial(const char *word, size_t bytes)
{
	return find(word, bytes, USE_SERIAL) != PG_UNKNOWN;
}

enum pg_type pg_type_varied(enum pg_type type, bool varying, bool zoned)
{
	switch (type) {
	case PG_BPCHAR:
		return varying ? PG_VARCHAR : type;
	case PG_TIME:
		return zoned ? PG_TIMETZ : type;
	case PG_TIMESTAMP:
		return zoned ? PG_TIMESTAMPTZ : type;
	default:
		return type;
	}
}

enum pg_type pg_type_declared(const char *declared)
{
	size_t bytes = 0;
	while (isalnum((unsigned char)declared[bytes]))
		bytes++;
	enum pg_type type = find(declared, bytes, USE_TYPE | USE_SERIAL | USE_FOREIGN);
	const char *rest = declared + bytes;
	return *rest ? pg_type_varied(type, strcasestr(rest, "varying") != NULL,
			       strcasestr(rest, "with time zone") != NULL)
		     : type;
}
