/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that was cut off, damaged or made by another version: one clear error with its place, and
 * what stands before it is read.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "libcancel/record/record.h"

#define LOOKS 5u

static unsigned char file[16384];
static size_t file_bytes, header_end, second_piece;

static void write_looks(
	struct byte_writer *out, struct record_state *s, uint64_t first, enum record_piece kind)
{
	static const uint64_t latency[CANCEL_HISTOGRAM_MAX];
	const struct record_note note = { 0 };
	size_t begin = record_begin_piece(out);
	for (uint64_t i = first; i < first + LOOKS; i++) {
		struct cancel_ledger_task task = { .id = 7, .episode_start_ns = 5, .slot = 3 };
		const struct cancel_ledger ledger = {
			.now_ns = i * 50000000, .tasks = &task, .task_count = 1, .latency = latency
		};
		task.active_ns = ledger.now_ns;
		assert_true(record_write_look(s, out, &ledger, &note));
	}
	record_end_piece(out, begin, kind);
}

static int write_file(void **state)
{
	struct record_config config = {
		.pipeline.task_limit = 64, .policy = "none", .estimator = "proportional"
	};
	struct record_state *s = calloc(1, record_state_bytes(64));
	struct byte_writer out = { .to = file, .size = sizeof file };
	(void)state;
	assert_non_null(s);
	config.first_look = 1;
	record_state_init(s, 64);
	record_write_header(&out, &config);
	header_end = out.used;
	write_looks(&out, s, 1, RECORD_RESTART);
	second_piece = out.used;
	write_looks(&out, s, 1 + LOOKS, RECORD_LOOKS);
	file_bytes = out.used;
	free(s);
	return out.full ? -1 : 0;
}

/* Reads all there is; returns how many looks, and leaves what was wrong in `error`. */
static uint32_t read_all(size_t bytes, const char **error, size_t *at)
{
	struct record_reader r;
	uint32_t looks = 0;
	*error = NULL;
	if (record_open(&r, file, bytes) == 0) {
		void *block = calloc(1, record_reader_bytes(&r));
		enum record_item item;
		assert_non_null(block);
		record_attach(&r, block);
		while ((item = record_next(&r)) == RECORD_ITEM_LOOK)
			looks++;
		assert_true(item == RECORD_ITEM_END || item == RECORD_ITEM_ERROR);
		free(block);
	}
	*error = r.error;
	*at = r.error_at;
	return looks;
}

static void a_whole_file_is_read_to_its_end(void **state)
{
	const char *error;
	size_t at;
	(void)state;
	assert_int_equal(read_all(file_bytes, &error, &at), 2 * LOOKS);
	assert_null(error);
}

static void a_file_cut_off_anywhere_gives_its_whole_pieces_and_the_place(void **state)
{
	(void)state;
	for (size_t bytes = 0; bytes < file_bytes; bytes++) {
		const char *error;
		size_t at;
		uint32_t looks = read_all(bytes, &error, &at);
		bool between = bytes == header_end || bytes == second_piece;
		assert_int_equal(looks, bytes >= second_piece ? LOOKS : 0);
		assert_int_equal(error == NULL, between);
		assert_in_range(error ? at : 0, 0, bytes);
	}
}

static void a_changed_byte_is_noticed_at_its_piece(void **state)
{
	(void)state;
	for (size_t i = 0; i < file_bytes; i++) {
		const char *error;
		size_t at;
		file[i] ^= 0x10;
		read_all(file_bytes, &error, &at);
		file[i] ^= 0x10;
		assert_non_null(error);
		assert_in_range(at, 0, i);
		if (i > second_piece)
			assert_int_equal(at, second_piece);
	}
}

static void another_version_and_another_kind_of_file_are_told_apart(void **state)
{
	const char *error;
	size_t at;
	(void)state;
	file[14] = '2';
	read_all(file_bytes, &error, &at);
	assert_string_equal(error, "a format of another version");
	file[0] = 'C';
	read_all(file_bytes, &error, &at);
	assert_string_equal(error, "this is no record");
	memcpy(file, RECORD_MAGIC, sizeof RECORD_MAGIC - 1);
}

/* The file of a newer writer: a table with one more field in the middle, and one less. */
static size_t write_newer(unsigned char *to, size_t size)
{
	struct byte_writer out = { .to = to, .size = size };
	put_text(&out, RECORD_MAGIC);
	size_t begin = record_begin_piece(&out);
	put_text(&out, "task_limit=8\npolicy=none\nestimator=proportional\nunheard_of=yes\n"
		       "fields.ledger=completed:c\nfields.resource=type:v\nfields.event=kind:v\n"
		       "fields.task=id:i unheard_of:t slo_ns:v\nfields.entry=\n");
	record_end_piece(&out, begin, RECORD_HEADER);
	begin = record_begin_piece(&out);
	put_time(&out, 50);	/* since the look before */
	put_varint(&out, 0);	/* ledger: as expected */
	put_varint(&out, 0);	/* resources */
	put_varint(&out, 0);	/* of those changed */
	put_varint(&out, 0);	/* latencies */
	put_varint(&out, 0);	/* events */
	put_varint(&out, 1);	/* tasks */
	put_varint(&out, 0);	/* as expected */
	put_signed(&out, 5);	/* its slot */
	put_varint(&out, 7);	/* all three fields */
	put_scaled(&out, 9);	/* id */
	put_time(&out, 123456); /* the field nobody knows */
	put_signed(&out, 777);	/* slo_ns */
	put_byte(&out, 0);
	record_end_piece(&out, begin, RECORD_RESTART);
	return out.used;
}

static void fields_of_a_newer_writer_are_passed_over(void **state)
{
	unsigned char newer[1024];
	struct record_reader r;
	(void)state;
	size_t bytes = write_newer(newer, sizeof newer);
	assert_int_equal(record_open(&r, newer, bytes), 0);
	void *block = calloc(1, record_reader_bytes(&r));
	assert_non_null(block);
	record_attach(&r, block);
	assert_int_equal(record_next(&r), RECORD_ITEM_LOOK);
	assert_int_equal(r.look.ledger.task_count, 1);
	assert_int_equal(r.look.tasks[0].id, 9);
	assert_int_equal(r.look.tasks[0].slo_ns, 777);
	assert_int_equal(r.look.tasks[0].slot, 5);
	assert_int_equal(r.look.tasks[0].sequence, 0);
	assert_int_equal(record_next(&r), RECORD_ITEM_END);
	free(block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_file_is_read_to_its_end),
		cmocka_unit_test(a_file_cut_off_anywhere_gives_its_whole_pieces_and_the_place),
		cmocka_unit_test(a_changed_byte_is_noticed_at_its_piece),
		cmocka_unit_test(another_version_and_another_kind_of_file_are_told_apart),
		cmocka_unit_test(fields_of_a_newer_writer_are_passed_over),
	};
	return cmocka_run_group_tests(tests, write_file, NULL);
}
