/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - the three hooks by which a policy takes part in a run, whichever engine runs it. */
#ifndef SIM_BASE_POLICY_H
#define SIM_BASE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* One attempt, as a policy sees it. */
struct sim_attempt {
	uint64_t arrival_ns;
	uint64_t original; /* sequence number of the first attempt, from 0 */
	uint32_t attempt;  /* 0 = first */
	uint32_t priority; /* compound level where one was set (service/service.h), 0 the highest */
	uint64_t user;	   /* whose request it is (service/service.h) */
};

/*
 * A policy: three hooks, each may be NULL (admit all, allow all, look away). Called in the order of
 * virtual time; must depend on nothing but its state and arguments.
 */
struct sim_policy {
	void *state;
	bool (*admit)(void *state, uint64_t now_ns, const struct sim_attempt *attempt);
	bool (*allow_retry)(void *state, uint64_t now_ns, const struct sim_attempt *attempt);
	/* At the start of service: how long it queued. */
	void (*observe_queuing)(void *state, uint64_t now_ns, uint64_t queuing_ns);
};

#endif
