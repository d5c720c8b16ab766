/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane_trigger.h - what sets a lane off: statements on a session of its own, one after the other,
 * from the onset until their time is over or somebody stops them.
 */
#ifndef BENCH_LANE_TRIGGER_H
#define BENCH_LANE_TRIGGER_H

#include "lane.h"
#include "wire.h"

struct trigger {
	enum lane_trigger kind;
	uint64_t onset_ns, hold_ns; /* since the start of the run */
	struct wire_session *session;
	enum { TRIGGER_WAITS, TRIGGER_BEGINS, TRIGGER_HOLDS, TRIGGER_ENDS, TRIGGER_OVER } state;
	uint64_t taken_ns, released_ns; /* when it had what it wanted; when it had given it back */
	bool stopped;			/* cancelled before its time */
	uint32_t dumps;
	uint64_t (*now_ns)(void *arg); /* since the start of the run */
	void *arg;
	char error[SERVER_ERROR_MAX]; /* of a statement that failed, "" for none */
};

/* `operator` may pause the intake; `pool` is used by everybody else. */
int trigger_begin(struct trigger *trigger, struct wire_pool *operators, struct wire_pool *pool);
/* Does what is due. */
void trigger_step(struct trigger *trigger, uint64_t now_ns);
/* When trigger_step must be called; UINT64_MAX: not any more. */
uint64_t trigger_next_ns(const struct trigger *trigger);
/* Of its session, as the server numbers it; 0: there is none. */
uint32_t trigger_process(const struct trigger *trigger);

#endif
