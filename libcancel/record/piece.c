/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the pieces of a file that are not looks.
 */
#include "libcancel/record/crc.h"
#include "libcancel/record/record.h"

size_t record_begin_piece(struct byte_writer *out)
{
	static const unsigned char head[RECORD_PIECE_BYTES];
	size_t begin = out->used;
	put_bytes(out, head, sizeof head);
	return begin;
}

void record_end_piece(struct byte_writer *out, size_t begin, enum record_piece kind)
{
	if (out->full)
		return;
	size_t length = out->used - begin - RECORD_PIECE_BYTES;
	struct byte_writer head = { .to = out->to + begin, .size = RECORD_PIECE_BYTES };
	put_byte(&head, kind);
	put_u32(&head, (uint32_t)length);
	uint32_t crc = crc32_of(CRC32_START, head.to, head.used);
	put_u32(&head, crc32_of(crc, out->to + begin + RECORD_PIECE_BYTES, length));
}

static void put_pair(struct byte_writer *out, const char *name, uint64_t value)
{
	put_text(out, name);
	put_byte(out, '=');
	put_decimal(out, value);
	put_byte(out, '\n');
}

static void put_words(struct byte_writer *out, const char *name, const char *value)
{
	put_text(out, name);
	put_byte(out, '=');
	put_text(out, value);
	put_byte(out, '\n');
}

static void put_config(struct byte_writer *out, const struct record_config *c)
{
	put_pair(out, "first_look", c->first_look);
	put_pair(out, "flight", c->flight);
	put_pair(out, "task_limit", c->pipeline.task_limit);
	put_pair(out, "act", c->pipeline.act);
	put_words(out, "policy", c->policy);
	put_words(out, "estimator", c->estimator);
	put_pair(out, "window_ms", c->pipeline.window_ms);
#define X(name, fallback, min, max, text)                                                          \
	put_pair(out, #name, c->pipeline.name ? c->pipeline.name : fallback);
	CANCEL_THRESHOLDS(X)
#undef X
}

/* fields.task=id:i sequence:n … */
static void put_table(struct byte_writer *out, const struct record_table *table)
{
	put_text(out, "fields.");
	put_text(out, table->name);
	for (uint32_t i = 0; i < table->count; i++) {
		put_byte(out, i ? ' ' : '=');
		put_text(out, table->fields[i].name);
		put_byte(out, ':');
		put_byte(out, (unsigned char)record_kind_letters[table->fields[i].kind]);
	}
	put_byte(out, '\n');
}

void record_write_header(struct byte_writer *out, const struct record_config *config)
{
	put_text(out, RECORD_MAGIC);
	size_t begin = record_begin_piece(out);
	put_config(out, config);
	for (uint32_t i = 0; i < RECORD_TABLE_COUNT; i++)
		put_table(out, &record_tables[i]);
	record_end_piece(out, begin, RECORD_HEADER);
}

void record_write_config(struct byte_writer *out, const struct record_config *config)
{
	size_t begin = record_begin_piece(out);
	put_config(out, config);
	record_end_piece(out, begin, RECORD_CONFIG);
}

void record_write_name(struct byte_writer *out, const char *of, uint32_t index, const char *name)
{
	put_text(out, of);
	put_byte(out, '.');
	put_decimal(out, index);
	put_byte(out, '=');
	for (; *name; name++)
		put_byte(out, *name == '\n' ? ' ' : (unsigned char)*name);
	put_byte(out, '\n');
}
