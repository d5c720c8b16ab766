/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder.h - writes each ledger and its verdict to files (docs/record.md), or keeps the last half
 * a minute of them in memory until a decision is made.
 *
 * One thread at a time. A recorder takes its memory when it is opened, as address space that is
 * filled as it is needed. Files have mode 0600 and are locked: a second recorder on the same path
 * is refused.
 */
#ifndef CANCEL_RECORDER_RECORDER_H
#define CANCEL_RECORDER_RECORDER_H

#include "libcancel/record/record.h"
#include "libcancel/recorder/text.h"

#define RECORDER_FILE_BYTES   (16u << 20) /* then the file becomes PATH.1, and a new one begins */
#define RECORDER_FILES	      4u	  /* PATH, PATH.1 … the oldest is PATH.3 */
#define RECORDER_PIECE_BYTES  (64u << 10) /* written when so much is there … */
#define RECORDER_PIECE_NS     1000000000u /* … or so much time has passed */
#define RECORDER_FLIGHT_NS    30000000000u
#define RECORDER_FLIGHT_BYTES (8u << 20)
#define RECORDER_FLIGHT_FILES 16u /* PATH.1 … by the decision's serial */
#define RECORDER_PATH_MAX     512u

struct recorder_options {
	const char *path;
	struct text_names names; /* must outlive the recorder */
	bool flight;		 /* the last half a minute, beside each decision */
	bool fresh;		 /* a file that is there is replaced, else it becomes PATH.1 */
	bool ledgers_only;	 /* no verdicts */
	uint64_t file_bytes;	 /* [RECORDER_FILE_BYTES] */
};

struct recorder; /* opaque */

/* NULL with one line in `message` when it cannot be: a path that cannot be written, no memory. */
struct recorder *recorder_open(const struct recorder_options *options,
	const struct cancel_pipeline_config *config, char message[CANCEL_TEXT_MAX]);
/* Writes what is left. In a forked child the file is not ours: `abandon` leaves it alone. */
void recorder_close(struct recorder *r);
void recorder_abandon(struct recorder *r);

/* The configuration changed after the last look. */
void recorder_configure(struct recorder *r, const struct cancel_pipeline_config *config);
/* Keeps a ledger and its verdict, in memory: no system call. Before anybody changes the verdict. */
void recorder_take(struct recorder *r, const struct cancel_ledger *ledger,
	const struct cancel_verdict *verdict);
/* Writes what is due. False, once: it could not, with a line in `message`; nothing more is
 * recorded. */
bool recorder_flush(struct recorder *r, char message[CANCEL_TEXT_MAX]);

#endif
