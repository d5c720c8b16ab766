/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - connections to a server that speaks PostgreSQL's protocol, and statements asked over
 * them without waiting: one thread, libpq's non-blocking calls, libevent.
 *
 * A statement has a connection of its own until its answer is there, whether or not anybody still
 * waits for it; no CancelRequest is ever sent. Answered connections are used again, the longest
 * idle first; when none is idle a new one is opened.
 */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;

enum wire_status {
	WIRE_OK,
	WIRE_REFUSED,	/* 53xxx: admission control */
	WIRE_CANCELLED, /* 57014 */
	WIRE_FAILED,	/* any other error, or the connection went */
};

struct wire_answer {
	enum wire_status status;
	uint32_t retry_after_ms; /* of the HINT of a refusal; 0: none was given */
	const char *message;	 /* of the error, "" for none; valid during the call */
	const void *rows;	 /* of the last result; see wire_value */
};

/* The text in a row and column of an answer, "" beyond them. */
const char *wire_value(const struct wire_answer *answer, int row, int column);
int wire_rows(const struct wire_answer *answer);

typedef void wire_on_answer(void *arg, const struct wire_answer *answer);

struct wire_pool_options {
	size_t struct_size;
	struct event_base *base;
	const char *socket_dir;
	uint16_t port;
	const char *user;
	uint32_t limit; /* connections */
};

struct wire_pool; /* opaque */

/* NULL when memory is out. */
struct wire_pool *wire_pool_new(const struct wire_pool_options *options);
/* Closes every connection; answers still missing never come. */
void wire_pool_free(struct wire_pool *pool);
/* Opens connections until `count` are idle or opening, the limit permitting. */
void wire_pool_open(struct wire_pool *pool, uint32_t count);
/* Asks `sql` (one or more statements, copied); `on_answer` is called once, from the event loop. 0,
 * or -1 when all connections are busy and no more may be opened. */
int wire_ask(struct wire_pool *pool, const char *sql, wire_on_answer *on_answer, void *arg)
	__attribute__((warn_unused_result));

/* One connection that is kept: what a session's state needs. At most one statement at a time. */
struct wire_session;						/* opaque */
struct wire_session *wire_session_take(struct wire_pool *pool); /* NULL: as wire_ask's -1 */
void wire_session_ask(
	struct wire_session *session, const char *sql, wire_on_answer *on_answer, void *arg);
/* From its next statement on the rows of an answer are read one by one and forgotten, so that it
 * may be of any size; with a pause after each `rows` of them, 0: none. While it pauses the client
 * does not read: beyond what buffers hold the server waits for it. 0, or -1: memory is out. */
int wire_session_stream(struct wire_session *session, uint32_t rows, uint32_t pause_ms)
	__attribute__((warn_unused_result));
/* Its number in the server's views; 0 before it is open. */
uint32_t wire_session_process(const struct wire_session *session);
/* Back to the pool, with nothing asked; the next one reads whole answers again. */
void wire_session_give(struct wire_session *session);

struct wire_stats {
	uint32_t connections, busy;
	uint32_t lost;	       /* connections that ended by themselves, or never began */
	const char *last_loss; /* why the last of them did, "" for none */
};
void wire_pool_stats(const struct wire_pool *pool, struct wire_stats *stats);

#endif
