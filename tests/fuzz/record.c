/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a record: ledgers that hold together, or an error with a place inside the file. The
 * first byte chooses: bytes as they are, or as what a piece holds, so that the decoder is reached
 * without guessing a checksum.
 */
#include "libcancel/record/record.h"

#include <stdlib.h>
#include <string.h>

#define TASK_LIMIT 64u
#define LOOKS_MAX  200u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void expect(bool holds)
{
	if (!holds)
		abort();
}

/* A header of ours and one piece with these bytes. */
static size_t wrap(unsigned char *to, size_t size, const uint8_t *data, size_t bytes)
{
	const struct record_config config = { .pipeline.task_limit = TASK_LIMIT,
		.policy = "multi-objective",
		.estimator = "proportional",
		.first_look = 1 };
	struct byte_writer out = { .to = to, .size = size };
	record_write_header(&out, &config);
	size_t begin = record_begin_piece(&out);
	put_bytes(&out, data, bytes);
	record_end_piece(&out, begin, RECORD_RESTART);
	expect(!out.full);
	return out.used;
}

static void check_ledger(const struct cancel_ledger *l)
{
	uint32_t entries = 0;
	for (uint32_t i = 0; i < l->task_count; i++) {
		expect(l->tasks[i].slot < TASK_LIMIT && l->tasks[i].first_entry == entries);
		expect(l->tasks[i].entry_count <= CANCEL_ENTRIES_MAX);
		entries += l->tasks[i].entry_count;
	}
	expect(entries == l->entry_count);
}

static void read_on(struct record_reader *r, size_t size)
{
	enum record_item item = RECORD_ITEM_CONFIG;
	for (uint32_t i = 0; i < LOOKS_MAX && item < RECORD_ITEM_END; i++) {
		item = record_next(r);
		if (item == RECORD_ITEM_LOOK)
			check_ledger(&r->look.ledger);
	}
	expect(item != RECORD_ITEM_ERROR || (r->error && r->error_at <= size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct record_reader r;
	unsigned char wrapped[16384];
	const void *file = data + 1;
	if (bytes < 2 || bytes > 8192)
		return 0;
	size_t size = bytes - 1;
	if (data[0] & 1) {
		size = wrap(wrapped, sizeof wrapped, data + 1, bytes - 1);
		file = wrapped;
	}
	if (record_open(&r, file, size) != 0) {
		expect(r.error && r.error_at <= size);
		return 0;
	}
	if (r.config.pipeline.task_limit > TASK_LIMIT)
		return 0;
	void *block = calloc(1, record_reader_bytes(&r));
	expect(block);
	record_attach(&r, block);
	read_on(&r, size);
	free(block);
	return 0;
}
