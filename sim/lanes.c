/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of lanes, in the order `cancel-sim list` shows them. A lane is one line here. */
#include "sim/lane.h"

#include <stdlib.h>
#include <string.h>

extern const struct sim_lane sim_lane_metastable;
extern const struct sim_lane sim_lane_retry_budget;
extern const struct sim_lane sim_lane_admission;
extern const struct sim_lane sim_lane_hidden_capacity;
extern const struct sim_lane sim_lane_trigger_intensity;
extern const struct sim_lane sim_lane_healing_time;
extern const struct sim_lane sim_lane_composition;
extern const struct sim_lane sim_lane_culprit_storm;
extern const struct sim_lane sim_lane_zombies;
extern const struct sim_lane sim_lane_many_culprits;
extern const struct sim_lane sim_lane_convoy;
extern const struct sim_lane sim_lane_wrong_progress;
extern const struct sim_lane sim_lane_no_culprit;
extern const struct sim_lane sim_lane_cancel_tree;
extern const struct sim_lane sim_lane_lifecycle;
extern const struct sim_lane sim_lane_signals;
extern const struct sim_lane sim_lane_omission;
extern const struct sim_lane sim_lane_fan_out;
extern const struct sim_lane sim_lane_gaming;
extern const struct sim_lane sim_lane_cache_loss;
extern const struct sim_lane sim_lane_link_imbalance;

const struct sim_lane *const sim_lanes[] = {
	&sim_lane_metastable,
	&sim_lane_retry_budget,
	&sim_lane_admission,
	&sim_lane_hidden_capacity,
	&sim_lane_trigger_intensity,
	&sim_lane_healing_time,
	&sim_lane_composition,
	&sim_lane_culprit_storm,
	&sim_lane_zombies,
	&sim_lane_many_culprits,
	&sim_lane_convoy,
	&sim_lane_wrong_progress,
	&sim_lane_no_culprit,
	&sim_lane_cancel_tree,
	&sim_lane_lifecycle,
	&sim_lane_signals,
	&sim_lane_omission,
	&sim_lane_fan_out,
	&sim_lane_gaming,
	&sim_lane_cache_loss,
	&sim_lane_link_imbalance,
	NULL,
};

const struct sim_lane *sim_lane_find(const char *name)
{
	int64_t number = 0;
	bool numeric = sim_parse_int(name, 1, 1000, &number);
	for (const struct sim_lane *const *lane = sim_lanes; *lane; lane++)
		if (strcmp((*lane)->name, name) == 0 || (numeric && (*lane)->number == number))
			return *lane;
	return NULL;
}
