/* SPDX-License-Identifier: Apache-2.0 */
/* admit.h - a session asks whether its transaction may begin; its priority and level. */
#ifndef DEMO_DB_ADMIT_H
#define DEMO_DB_ADMIT_H

#include "demo-db/server/dialect/priority.h"

#include <stdint.h>

struct backend;

enum admit_answer {
	ADMIT_GO,
	ADMIT_WAIT,	 /* ask again when served next */
	ADMIT_REFUSED,	 /* an error was told */
	ADMIT_CANCELLED, /* while it waited */
};

/* May the statement in hand begin? */
enum admit_answer admit_ask(struct backend *backend);
/* Its request goes to the engine: the gate hears when it starts, once for each admit_ask. */
void admit_starts(struct backend *backend);
/* A statement that was let in by admit_ask has ended. */
void admit_ended(struct backend *backend);
/* Around a statement that keeps others out. */
void admit_maintenance(struct backend *backend, bool begins);
/* The business priority of a statement of this kind in this session. */
enum priority admit_priority(struct backend *backend, enum priority kind);
/* Tells the admission level with the next report of settings, if it is another. */
void admit_tell_level(struct backend *backend, uint64_t now_ns);
/* The client leaves. */
void admit_forget(struct backend *backend);
/* The statement was cancelled for choking the server and keeps coming back: it is refused before it
 * gets hold of anything. */
bool admit_keeps_out(struct backend *backend);

#endif
