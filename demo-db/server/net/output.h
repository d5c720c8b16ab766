/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - what goes to one client: a buffer, its socket, and how long the client may not read.
 *
 * Messages are built in `wire` and leave when it is worth a system call. While a statement produces
 * rows the buffer may grow to the soft limit; from there on the producer waits for the client. A
 * client over the soft limit without a break for the soft time, or over the hard limit at once, is
 * given up: `lost` is set and nothing more is sent.
 *
 * One user at a time (the thread that serves the connection, or the worker that runs its
 * statement); what others may read is atomic.
 */
#ifndef DEMO_DB_OUTPUT_H
#define DEMO_DB_OUTPUT_H

#include "demo-db/server/net/protocol.h"

#include <stdatomic.h>
#include <cancel/admission/output_limit.h>

#define OUTPUT_SEND_BYTES (64 << 10) /* sent once so much waits */
#define OUTPUT_KEEP_BYTES (64 << 10) /* a larger buffer is given back when empty */

enum output_lost {
	OUTPUT_FINE,
	OUTPUT_CLOSED, /* the client is gone */
	OUTPUT_HARD,   /* over the hard limit */
	OUTPUT_SOFT,   /* over the soft limit for too long */
};

struct output {
	struct wire_out wire;
	int fd;
	enum output_lost lost;
	struct cancel_output_limit limit;
	_Atomic uint64_t buffered_bytes;   /* of the last send; for views */
	_Atomic uint64_t blocked_since_ns; /* since when not a byte could be sent; 0: it can */
};

struct output_stats { /* of all outputs of the process */
	uint64_t bytes, sends, waits, given_up;
};
void output_stats(struct output_stats *stats);

void output_init(struct output *output, int fd, const struct cancel_output_limit *limit);
void output_free(struct output *output);

/* Sends what the socket takes without waiting. True: all of it. */
bool output_send(struct output *output);
/* For a producer of rows: sends if it is worth it, and over the soft limit waits for the client.
 * `stop` (may be NULL) other than 0: another thread wants the wait to end. False: the client is
 * given up. */
bool output_make_room(struct output *output, const _Atomic uint8_t *stop);

#endif
