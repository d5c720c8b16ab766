/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission.h - what is asked before a transaction may begin: is admission paused, is somebody's
 * maintenance in the way, does the gate admit it, may the log take it.
 *
 * A transaction that is under way is never asked: it holds locks others wait for. Any thread.
 */
#ifndef DEMO_DB_ADMISSION_H
#define DEMO_DB_ADMISSION_H

#include "demo-db/server/admission/gate.h"

#include <pthread.h>
#include <cancel/admission/busy.h>
#include <cancel/admission/io_tokens.h>

enum admission_answer {
	ADMISSION_GO,
	ADMISSION_WAIT, /* paused, or the log is behind: ask again when the server wakes everybody */
	ADMISSION_REFUSED, /* `refusal` says why */
};

/* A transaction that wants to begin, and what it has been granted. */
struct admission_turn {
	enum priority priority;
	uint64_t user_level;  /* hash of whose request it is */
	bool writes;	      /* its first statement does */
	bool waiting;	      /* it was told to wait before */
	uint64_t asked_bytes; /* of I/O tokens; 0: none */
};

struct admission_refusal { /* as the client is told */
	const char *sqlstate;
	char message[160], hint[160];
};

struct admission {
	struct gate gate;
	_Atomic bool paused;
	_Atomic uint32_t waiting; /* clients that were told to wait */
	_Atomic uint64_t busy_refused, io_waits;
	/* maintenance and tokens, under the lock */
	pthread_mutex_t lock;
	struct cancel_busy busy_all, busy_writers; /* who is kept out */
	uint32_t blocking_all, blocking_writers;
	_Atomic bool maintaining; /* either of them: a look without the lock */
	bool tokens_on;
	struct cancel_io_tokens tokens;
	uint64_t log_bytes, drained_bytes;
};

int admission_init(struct admission *admission, const struct config *config);
void admission_free(struct admission *admission);
/* May it begin? */
enum admission_answer admission_ask(struct admission *admission, struct admission_turn *turn,
	uint64_t now_ns, struct admission_refusal *refusal);
/* What it asked of the log is settled with what it wrote. */
void admission_settle(
	struct admission *admission, struct admission_turn *turn, uint64_t now_ns, uint64_t bytes);
/* Around a statement that keeps others out. */
void admission_maintenance(struct admission *admission, enum blocks whom, bool begins);
/* Every tick: looks at the log. True: somebody who waits may go on. */
bool admission_tick(struct admission *admission, uint64_t log_bytes, uint64_t now_ns);

#endif
