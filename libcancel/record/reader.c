/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a file piece by piece and gives its looks one by one.
 */
#include "libcancel/record/crc.h"
#include "libcancel/record/header.h"

#define MAGIC_BYTES (sizeof RECORD_MAGIC - 1)

static enum record_item fail(struct record_reader *r, const char *error, size_t at)
{
	r->error = error;
	r->error_at = at;
	return RECORD_ITEM_ERROR;
}

/* Moves to the next piece. 0 where there is none, or an error was noted. */
static unsigned next_piece(struct record_reader *r)
{
	size_t at = r->file.at;
	if (at == r->file.size)
		return 0;
	unsigned kind = get_byte(&r->file);
	uint32_t length = get_u32(&r->file), crc = get_u32(&r->file);
	if (r->file.bad || length > r->file.size - r->file.at) {
		fail(r, "the file ends in the middle of a piece", at);
		return 0;
	}
	const unsigned char *from = r->file.from + r->file.at;
	uint32_t found = crc32_of(CRC32_START, r->file.from + at, 5);
	if (crc32_of(found, from, length) != crc) {
		fail(r, "a piece is damaged: its checksum is another", at);
		return 0;
	}
	r->piece = (struct byte_reader){ .from = from, .size = length };
	r->piece_at = r->file.at;
	r->file.at += length;
	return kind;
}

int record_open(struct record_reader *r, const void *bytes, size_t size)
{
	*r = (struct record_reader){ .file = { .from = bytes, .size = size } };
	if (size < MAGIC_BYTES || memcmp(bytes, RECORD_MAGIC, MAGIC_BYTES) != 0) {
		bool newer = size > 14 && memcmp(bytes, RECORD_MAGIC, 14) == 0;
		fail(r, newer ? "a format of another version" : "this is no record", 0);
		return -1;
	}
	r->file.at = MAGIC_BYTES;
	unsigned kind = next_piece(r);
	if (kind != RECORD_HEADER) {
		if (!r->error)
			fail(r, "the first piece is no header", MAGIC_BYTES);
		return -1;
	}
	const char *error = header_read_config(&r->piece, &r->config);
	r->piece.at = 0;
	if (!error)
		error = header_read_fields(&r->piece, &r->layout);
	if (error) {
		fail(r, error, r->piece_at);
		return -1;
	}
	r->look_number = r->config.first_look ? r->config.first_look - 1 : 0;
	return 0;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static size_t tasks_bytes(uint32_t limit)
{
	return limit * sizeof(struct cancel_ledger_task);
}

static size_t entries_bytes(uint32_t limit)
{
	return (size_t)limit * CANCEL_ENTRIES_MAX * sizeof(struct cancel_ledger_entry);
}

size_t record_reader_bytes(const struct record_reader *r)
{
	uint32_t limit = r->config.pipeline.task_limit;
	return record_state_bytes(limit) + tasks_bytes(limit) + entries_bytes(limit) +
	       RECORD_EVENTS_MAX * sizeof(struct cancel_event);
}

void record_attach(struct record_reader *r, void *block)
{
	uint32_t limit = r->config.pipeline.task_limit;
	unsigned char *at = block;
	r->state = block;
	record_state_init(r->state, limit);
	at += record_state_bytes(limit);
	r->look.tasks = (struct cancel_ledger_task *)at;
	at += tasks_bytes(limit);
	r->look.entries = (struct cancel_ledger_entry *)at;
	at += entries_bytes(limit);
	r->look.events = (struct cancel_event *)at;
	r->look.event_room = RECORD_EVENTS_MAX;
}

/* ---- Items ----------------------------------------------------------------------------------- */

static enum record_item read_look(struct record_reader *r)
{
	size_t at = r->piece_at + r->piece.at;
	const char *error = record_read_look(r->state, &r->piece, &r->layout, &r->look);
	if (error)
		return fail(r, error, at);
	r->look_number++;
	return RECORD_ITEM_LOOK;
}

static enum record_item take_config(struct record_reader *r)
{
	uint32_t task_limit = r->config.pipeline.task_limit;
	const char *error = header_read_config(&r->piece, &r->config);
	r->config.pipeline.task_limit = task_limit;
	return error ? fail(r, error, r->piece_at) : RECORD_ITEM_CONFIG;
}

enum record_item record_next(struct record_reader *r)
{
	while (!r->error) {
		if (r->in_looks && r->piece.at < r->piece.size)
			return read_look(r);
		r->in_looks = false;
		unsigned kind = next_piece(r);
		if (!kind)
			break;
		if (kind == RECORD_CONFIG)
			return take_config(r);
		if (kind == RECORD_RESTART)
			record_state_restart(r->state);
		r->in_looks = kind == RECORD_RESTART || kind == RECORD_LOOKS;
		const char *error =
			kind == RECORD_NAMES ? header_read_names(&r->piece, &r->names) : NULL;
		if (error)
			return fail(r, error, r->piece_at);
	}
	return r->error ? RECORD_ITEM_ERROR : RECORD_ITEM_END;
}
