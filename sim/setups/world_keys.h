/* SPDX-License-Identifier: Apache-2.0 */
/* world_keys.h - the keys of lanes in which libcancel's core watches a world. */
#ifndef SIM_SETUPS_WORLD_KEYS_H
#define SIM_SETUPS_WORLD_KEYS_H

#include "sim/report/lane.h"
#include "sim/world/world.h"

/* The names in the rows of policy.h, as choices of a key. */
#define SIM_CHOICE(symbol, name, what) "|" name
#define SIM_CHOOSERS		       (&(CANCEL_POLICIES(SIM_CHOICE))[1])
#define SIM_ESTIMATORS		       (&(CANCEL_ESTIMATORS(SIM_CHOICE))[1])

#define SIM_KEYS_WATCH_TIMES                                                                       \
	{ "deliver_ms", SIM_KEY_REAL, "1", 0.001, 1000000, NULL,                                   \
		"from a verdict to the host's cancel action" },                                    \
		{ "ack_ms", SIM_KEY_REAL, "5", 0.001, 1000000, NULL,                               \
			"from the action to the task's next checkpoint" },                         \
		{ "rollback_pct", SIM_KEY_REAL, "10", 0.0001, 100000, NULL,                        \
			"undoing takes so much of the work done" },                                \
		{ "window_ms", SIM_KEY_INT, "50", 1, 1000, NULL, "the controller's window" },      \
	{                                                                                          \
		"pause_ms", SIM_KEY_INT, "100", 1, 1000000, NULL, "between two cancels"            \
	}
#define SIM_KEYS_WATCH                                                                             \
	SIM_KEYS_WATCH_TIMES,                                                                      \
		{ "choose", SIM_KEY_CHOICE, "multi-objective", 0, 0, SIM_CHOOSERS,                 \
			"how the core chooses" },                                                  \
	{                                                                                          \
		"estimator", SIM_KEY_CHOICE, "proportional", 0, 0, SIM_ESTIMATORS,                 \
			"how the core predicts use"                                                \
	}

/* The first keys into the options of a world that is watched; `pipeline` must outlive it. */
void sim_watch_times(const struct sim_run *run, struct sim_world_options *options,
	struct cancel_pipeline_config *pipeline);
/* All of them. */
void sim_watch_read(const struct sim_run *run, struct sim_world_options *options,
	struct cancel_pipeline_config *pipeline);

#endif
