/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_task.h - what runs beside the load: statements on a session of its own, one after the other,
 * from its onset until its time is over or somebody stops it. The trigger is one, and so
 * is the company the server keeps meanwhile.
 */
#ifndef BENCH_SCRIPT_TASK_H
#define BENCH_SCRIPT_TASK_H

#include "bench/cases/retry_plan.h"
#include "bench/target/server_process.h"
#include "bench/target/wire.h"

enum script_task_state {
	TASK_WAITS,
	TASK_BEGINS,
	TASK_HOLDS,
	TASK_ENDS,
	TASK_OVER,
	TASK_TURNED_BACK
};

struct script_task {
	enum script_id script;
	uint64_t onset_ns; /* since the start of the run */
	uint64_t hold_ns;  /* so long from then on, if left alone */
	uint32_t resends;  /* a cancelled one is sent again, so often */
	struct wire_session *session;
	enum script_task_state state;
	uint64_t next_ns;	       /* when it goes on; UINT64_MAX: a statement is in hand */
	uint64_t until_ns;	       /* its time, this time */
	uint64_t first_ns;	       /* when it first had what it wanted; 0: it never had */
	uint64_t taken_ns;	       /* the same, this time */
	uint64_t held_ns;	       /* in all, given back */
	uint32_t stopped;	       /* cancelled before its time, so often */
	bool again;		       /* cancelled this time, and to be sent again */
	uint32_t rounds;	       /* statements of its work so far */
	uint64_t (*now_ns)(void *arg); /* since the start of the run */
	void *arg;
	char error[SERVER_ERROR_MAX]; /* of a statement that failed, "" for none */
};

/* `operators` may pause the intake; `pool` is used by everybody else. 0, or -1: no connection. */
int script_task_begin(struct script_task *task, struct wire_pool *operators, struct wire_pool *pool)
	__attribute__((warn_unused_result));
/* Does what is due. */
void script_task_step(struct script_task *task, uint64_t now_ns);
/* When script_task_step must be called; UINT64_MAX: not before an answer. */
uint64_t script_task_next_ns(const struct script_task *task);
/* How long it has held what it wanted, in all; also what it has not given back yet. */
uint64_t script_task_held_ns(const struct script_task *task, uint64_t now_ns);
/* Of its session, as the server numbers it; 0: there is none. */
uint32_t script_task_process(const struct script_task *task);

#endif
