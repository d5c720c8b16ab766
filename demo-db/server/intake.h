/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intake.h - what is asked before a transaction may begin: is the intake paused, is somebody's
 * maintenance in the way, does the gate admit it, may the log take it.
 *
 * A transaction that is under way is never asked: it holds locks others wait for.
 */
#ifndef DEMO_DB_INTAKE_H
#define DEMO_DB_INTAKE_H

#include "demo-db/server/gate.h"

#include <pthread.h>
#include <cancel/admission/busy.h>
#include <cancel/admission/io_tokens.h>

struct client;
struct db_engine;

enum intake_answer {
	INTAKE_GO,
	INTAKE_WAIT,	  /* paused, or the log is behind: ask again when kicked */
	INTAKE_REFUSED,	  /* an error was told */
	INTAKE_CANCELLED, /* while it waited */
};

struct intake {
	struct gate gate;
	_Atomic bool paused;
	_Atomic uint32_t waiting; /* clients that were told to wait */
	_Atomic uint64_t busy_refused, io_waits;
	/* maintenance and tokens, under the lock */
	pthread_mutex_t lock;
	struct cancel_busy busy_all, busy_writers; /* who is kept out */
	uint32_t keeping_all, keeping_writers;
	_Atomic bool maintaining; /* either of them: a look without the lock */
	bool tokens_on;
	struct cancel_io_tokens tokens;
	uint64_t log_bytes, drained_bytes;
};

int intake_init(struct intake *intake, const struct config *config);
void intake_free(struct intake *intake);
/* May the client's statement in hand begin? */
enum intake_answer intake_ask(struct client *client);
/* A statement that was let in by intake_ask has ended. */
void intake_ended(struct client *client);
/* Around a statement that keeps others out. */
void intake_maintenance(struct client *client, bool begins);
/* Every tick: looks at the log. True: somebody who waits may go on. */
bool intake_tick(struct intake *intake, uint64_t log_bytes, uint64_t now_ns);

/* The business priority of a statement of this kind in this session. */
enum business intake_business(struct client *client, enum business kind);
/* Tells the admission level with the next report of settings, if it is another. */
void intake_tell_level(struct client *client, uint64_t now_ns);
/* The client leaves. */
void intake_forget(struct client *client);

#endif
