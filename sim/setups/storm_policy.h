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
#include "sim/setups/trial.h"

#define SIM_DEFENCES                                                                               \
	"none|budget|dagor|timeout|cancel|budget+dagor|cancel+budget|cancel+dagor|cancel+timeout|" \
	"cancel+budget+dagor"
/* Whether `policy`, one of SIM_DEFENCES, has the defence of that name. */
bool sim_defends(const char *policy, const char *defence);

/* Runs a storm under a policy, by the keys of SIM_KEYS_DEFENCE and `quarantine_ms` where there is
 * one. The caller frees the world. NULL after sim_fail. `subject`: who stopped at a bound. */
struct sim_world *sim_run_storm(struct sim_run *run, struct sim_storm *storm, const char *policy,
	const char *subject, struct sim_result *result, struct sim_storm_outcome *outcome);

/* The map of load and time to release, nobody watching: heals or metastable, and the boundary. */
void sim_storm_map(struct sim_run *run);

#define SIM_KEYS_DEFENCE                                                                           \
	{ "budget", SIM_KEY_INT, "15", 1, 1000000, NULL, "retries a second the budget allows" },   \
		{ "statement_timeout_ms", SIM_KEY_INT, "500", 1, 1000000, NULL,                    \
			"the statement timeout, from the first slot or the arrival" },             \
		SIM_KEYS_WATCH

#endif
