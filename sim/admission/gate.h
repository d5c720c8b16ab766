/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.h - an admission gate at a server: one of libcancel's, a coin, or a user's three hooks.
 * Whoever runs the server asks at arrival and at the start of service, and tells of the answer.
 */
#ifndef SIM_ADMISSION_GATE_H
#define SIM_ADMISSION_GATE_H

#include <cancel/admission/codel.h>
#include <cancel/admission/dagor.h>
#include <cancel/admission/seda.h>

#include "sim/base/policy.h"
#include "sim/base/rng.h"

enum sim_gate_kind {
	SIM_SHED_NONE,
	SIM_SHED_RANDOM,  /* a coin with p = rate / requests of the last second */
	SIM_SHED_CODEL,	  /* at the head of the queue, by its delay */
	SIM_SHED_SEDA,	  /* a rate steered by the 99th percentile of response times */
	SIM_SHED_DAGOR_Q, /* priorities, steered by queuing time */
	SIM_SHED_DAGOR_R, /* priorities, steered by response time */
	SIM_SHED_HOOKS,	  /* the three hooks of `policy`, shared by all servers of the service */
	SIM_SHED_KINDS,
};

struct sim_gate_options {
	enum sim_gate_kind kind;
	double rate_qps;       /* RANDOM: what one server lets in */
	uint64_t target_ns;    /* CODEL, SEDA; 0: theirs */
	uint64_t threshold_ns; /* DAGOR; 0: its own, by signal */
	uint64_t window_ns;    /* DAGOR; 0: its own */
	uint32_t window_requests;
	enum cancel_dagor_rule rule;
	uint32_t user_levels;	  /* DAGOR; 0: its own */
	uint32_t business_levels; /* DAGOR: those in use; 0: 64. What callers shed is spread over
				     them */
	bool collaborative; /* DAGOR: levels ride on replies and callers refuse before sending */
	struct sim_policy policy; /* HOOKS */
};

struct sim_coin { /* lets in rate / requests of the last second */
	uint64_t second, requests, last_requests;
};

struct sim_gate {
	const struct sim_gate_options *options;
	union {
		struct sim_coin coin;
		struct cancel_codel codel;
		struct cancel_seda seda;
		struct cancel_dagor *dagor;
	};
};

/* 0, or -1: the options make no gate. They must outlive it. */
int sim_gate_init(struct sim_gate *gate, const struct sim_gate_options *options);
void sim_gate_free(struct sim_gate *gate);
bool sim_gate_admit(struct sim_gate *gate, uint64_t now_ns, const struct sim_attempt *attempt,
	struct sim_rng *rng);
/* At the head of the queue. False: shed it. */
bool sim_gate_start(struct sim_gate *gate, uint64_t now_ns, uint64_t queuing_ns);
void sim_gate_answered(struct sim_gate *gate, uint64_t now_ns, uint64_t response_ns);
struct cancel_dagor *sim_gate_dagor(const struct sim_gate *gate); /* NULL for others */

#endif
