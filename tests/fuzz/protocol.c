/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes into the protocol decoder: it answers more, ok or broken, consumes what it says, and
 * what it points at lies inside the input. Reads every field, so that the sanitizers see it.
 */
#include "demo-db/server/net/protocol.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static size_t sink;

static void walk_bind(const struct wire_message *m)
{
	const uint8_t *cursor = m->bind.values;
	for (uint16_t i = 0; i < m->bind.value_count; i++) {
		struct wire_bytes value = wire_next_value(&cursor);
		for (int32_t at = 0; at < value.length; at++)
			sink += value.data[at];
	}
	for (uint16_t i = 0; i < m->bind.result_formats.count; i++)
		sink += wire_word16(m->bind.result_formats, i);
	sink += strlen(m->bind.portal) + strlen(m->bind.statement);
}

static void walk(const struct wire_message *m)
{
	switch (m->kind) {
	case WIRE_QUERY:
		sink += wire_utf8_valid(m->query.sql, strlen(m->query.sql));
		break;
	case WIRE_PARSE:
		sink += strlen(m->parse.name) + strlen(m->parse.sql);
		for (uint16_t i = 0; i < m->parse.types.count; i++)
			sink += wire_word32(m->parse.types, i);
		break;
	case WIRE_BIND:
		walk_bind(m);
		break;
	case WIRE_DESCRIBE:
	case WIRE_CLOSE:
		sink += strlen(m->named.name);
		break;
	case WIRE_EXECUTE:
		sink += strlen(m->execute.portal);
		break;
	case WIRE_STARTUP:
		if (m->startup.protocol >> 16 == 3)
			sink += wire_startup_value(m, "user") != NULL;
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	bool startup = bytes && data[0] == 0;
	while (bytes) {
		struct wire_message m;
		size_t used = 0;
		const char *error;
		if (wire_decode(data, bytes, startup, &m, &used, &error) != WIRE_OK)
			break;
		if (used == 0 || used > bytes)
			abort();
		walk(&m);
		data += used;
		bytes -= used;
		startup = false;
	}
	return 0;
}
