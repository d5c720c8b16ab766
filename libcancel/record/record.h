/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - a file of looks: its pieces, its header, and a reader of the whole. The format is
 * described in docs/record.md. Nothing here does I/O or allocates.
 *
 * A file is RECORD_MAGIC and pieces. A piece is a letter, the length of what it holds and a CRC-32
 * over all of it, so that a file that was cut off or damaged is noticed, with the place.
 */
#ifndef CANCEL_RECORD_RECORD_H
#define CANCEL_RECORD_RECORD_H

#include <cancel/observe.h>

#include "libcancel/record/looks.h"

#define RECORD_MAGIC	   "cancel-record 1\n"
#define RECORD_PIECE_BYTES 9u /* of a piece, before what it holds */
#define RECORD_TASKS_MAX   (1u << 20)

enum record_piece {
	RECORD_HEADER = 'H',  /* configuration and fields, as lines of text; the first piece */
	RECORD_CONFIG = 'C',  /* the configuration again: it has changed */
	RECORD_NAMES = 'N',   /* names of resources and classes, as lines of text */
	RECORD_RESTART = 'K', /* looks, the first of them in full */
	RECORD_LOOKS = 'L',   /* looks that go on */
};

struct record_names {
	char resources[CANCEL_RESOURCES_MAX][CANCEL_NAME_MAX];
	char classes[CANCEL_CLASSES_MAX][CANCEL_NAME_MAX];
};

struct record_config {
	struct cancel_pipeline_config pipeline; /* policy and estimator by name, below */
	char policy[CANCEL_NAME_MAX], estimator[CANCEL_NAME_MAX];
	uint64_t first_look; /* number of the file's first look, from 1 */
	bool flight;	     /* what was before it is not kept anywhere */
};

/* ---- Writing --------------------------------------------------------------------------------- */

/* Room for the head of a piece is left at its beginning; the end fills it in. */
size_t record_begin_piece(struct byte_writer *out);
void record_end_piece(struct byte_writer *out, size_t begin, enum record_piece kind);
/* Magic and header. */
void record_write_header(struct byte_writer *out, const struct record_config *config);
void record_write_config(struct byte_writer *out, const struct record_config *config);
void record_write_name(
	struct byte_writer *out, const char *of, uint32_t index, const char *name); /* a line */

/* A number that differs when two verdicts differ in anything a caller can see. */
uint64_t record_digest(const struct cancel_verdict *verdict);
/* The digest that is written. */
static inline uint32_t record_short_digest(const struct cancel_verdict *verdict)
{
	uint64_t digest = record_digest(verdict);
	return (uint32_t)(digest ^ digest >> 32);
}

/* ---- Reading --------------------------------------------------------------------------------- */

enum record_item { RECORD_ITEM_LOOK, RECORD_ITEM_CONFIG, RECORD_ITEM_END, RECORD_ITEM_ERROR };

struct record_reader {
	struct byte_reader file, piece;
	bool in_looks; /* `piece` has looks */
	size_t piece_at;
	struct record_config config;
	struct record_names names;
	struct record_layout layout;
	struct record_state *state;
	struct record_look look;
	uint64_t look_number; /* of `look` */
	const char *error;    /* what is wrong, and where: bytes from the start of the file */
	size_t error_at;
};

/* Reads the header. 0, or -1 with `error`. The bytes must outlive the reader. */
int record_open(struct record_reader *reader, const void *bytes, size_t size);
/* The memory that reading on takes, and the block, zeroed and aligned for any object. */
size_t record_reader_bytes(const struct record_reader *reader);
void record_attach(struct record_reader *reader, void *block);
/* The next look (in `look`), a changed configuration (in `config`), the end, or an error. */
enum record_item record_next(struct record_reader *reader);

#endif
