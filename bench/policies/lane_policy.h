/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane_policy.h - what may defend a server in a live lane: a row each in
 * bench/policies/lane_policies.c.
 */
#ifndef BENCH_LANE_POLICY_H
#define BENCH_LANE_POLICY_H

#include "bench/load/clients.h"

enum lane_defence {	   /* bits */
	LANE_BUDGET = 1,   /* a retry budget common to all clients */
	LANE_GATE = 2,	   /* the server's admission gate */
	LANE_CANCEL = 4,   /* libcancel acts; else it only watches */
	LANE_QUEUE = 8,	   /* the server is told priorities without a gate; with one it always is */
	LANE_TIMEOUT = 16, /* the server gives a statement up when its client does */
	LANE_LIMIT = 32,   /* so many statements wait in the server as can be answered in time */
	LANE_LONGEST = 64, /* an operator's script kills what has run longest */
};

struct lane_policy {
	const char *name, *what;
	unsigned defences;
	uint32_t budget_pct; /* the budget, of the headroom: capacity minus load */
	uint32_t load_pct;   /* 0: the lane's own load */
	enum crowd_refusal on_refusal;
};

extern const struct lane_policy lane_policies[]; /* ends with a NULL name */
const struct lane_policy *lane_policy_find(const char *name);

#define LANE_BUDGET_PCT 30 /* of policy `budget`: well inside the headroom */

#endif
