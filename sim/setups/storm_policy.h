/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storm_policy.h - what may defend a storm's server: a retry budget, a DAGOR gate, a statement
 * timeout, the core's cancel, and their combinations. The objects are libcancel's own.
 */
#ifndef SIM_SETUPS_STORM_POLICY_H
#define SIM_SETUPS_STORM_POLICY_H

#include "sim/admission/guard.h"
#include "sim/report/lane.h"
#include "sim/setups/storm.h"
#include "sim/setups/world_keys.h"

enum sim_defence { /* bits */
	SIM_DEFEND_BUDGET = 1,
	SIM_DEFEND_DAGOR = 2,
	SIM_DEFEND_TIMEOUT = 4,
	SIM_DEFEND_CANCEL = 8,
};

#define SIM_DEFENCES                                                                               \
	"none|budget|dagor|timeout|cancel|budget+dagor|cancel+budget|cancel+dagor|cancel+timeout|" \
	"cancel+budget+dagor"
/* The bits of the i-th choice of SIM_DEFENCES. */
unsigned sim_defence_bits(size_t choice);
const char *sim_defence_name(size_t choice);

struct sim_defender { /* state of one run */
	struct sim_guard guard;
	struct cancel_pipeline_config pipeline;
};

/* Arms `storm` with the defences; the defender must outlive the run. The keys are
 * SIM_KEYS_DEFENCE's. 0, or -1 when an option is refused. */
int sim_defend(const struct sim_run *run, unsigned bits, struct sim_defender *defender,
	struct sim_storm *storm);
/* Of one that was allocated. */
void sim_defender_free(struct sim_defender *defender);

#define SIM_KEYS_DEFENCE                                                                           \
	{ "budget", SIM_KEY_INT, "15", 1, 1000000, NULL, "retries a second the budget allows" },   \
		{ "statement_timeout_ms", SIM_KEY_INT, "500", 1, 1000000, NULL,                    \
			"the statement timeout, from the first slot or the arrival" },             \
		SIM_KEYS_WATCH

#endif
