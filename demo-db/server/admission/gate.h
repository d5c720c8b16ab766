/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.h - the admission gate in front of the workers: DAGOR, fed by queuing time.
 *
 * A transaction (in autocommit, a statement) asks once, when it begins. Its compound level is its
 * business priority (priority.h) times 128 user levels (a hash of the user, another each hour); the
 * gate admits levels below its cursor. Queuing time is what a statement waited for the reactor, from
 * the arrival of its last bytes, and for its worker slot; to receive and read a message is work. The
 * gate hears of it when the statement starts.
 *
 * Two things the plain gate does not know come from libcancel (gate_hear, on its controller
 * thread): while a *regular* overload is announced, queuing times count double; while a *resource*
 * overload is being cured by a cancel, nothing is refused and nothing observed, since the queue is
 * the culprit's doing and will be gone with it (`spare_victims`).
 *
 * Any thread but for gate_watch; admit and observe take no lock. Source of the gate:
 * cancel/admission/dagor.h.
 */
#ifndef DEMO_DB_GATE_H
#define DEMO_DB_GATE_H

#include "demo-db/server/dialect/priority.h"
#include "demo-db/server/config/config.h"

#include <stdatomic.h>
#include <cancel/admission_shared.h>
#include <cancel/observe.h>

#define GATE_USER_LEVELS 128

struct gate {
	struct cancel_dagor_shared *dagor; /* NULL: the gate is off */
	_Atomic bool spare_victims;	   /* anybody may change it */
	uint64_t window_ns;
	_Atomic uint64_t spare_until_ns, regular_until_ns; /* the controller thread writes */
	_Atomic uint64_t heard_ns;			   /* the last queuing time */
	uint64_t standing_since_ns; /* the watching thread's: statements have waited all the time */
	_Atomic uint64_t offered[PRIORITY_LEVELS], refused[PRIORITY_LEVELS];
	_Atomic uint64_t spared; /* would have been refused */
};

struct gate_refusal { /* the numbers that led to it */
	uint32_t level, cursor, levels;
	uint32_t retry_ms;
};

/* 0, or -1 when memory is out. */
int gate_init(struct gate *gate, const struct config *config);
void gate_free(struct gate *gate);
/* False: refuse, and say what is in `refusal`. */
bool gate_admit(struct gate *gate, uint64_t now_ns, enum priority priority, uint64_t user,
	struct gate_refusal *refusal);
void gate_observe(struct gate *gate, uint64_t now_ns, uint64_t delay_ns);
/* Now and then, from one thread: `queued` statements wait for a worker. While nothing tells its
 * queuing time, the time since something did is one: whoever stands in front of a lock with every
 * worker taken would else look like an idle server. */
void gate_watch(struct gate *gate, uint64_t now_ns, uint32_t queued);
void gate_hear(struct gate *gate, const struct cancel_verdict *verdict);
/* What rides on replies: levels below `cursor` of `levels` are admitted. */
struct cancel_dagor_level gate_level(const struct gate *gate, uint64_t now_ns);

#endif
