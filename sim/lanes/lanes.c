/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of lanes, made of the rows of lanes.def. */
#include "sim/lanes/lanes.h"

#include <string.h>

#define LANE(name) extern const struct sim_lane sim_lane_##name;
#include "sim/lanes/lanes.def"
#undef LANE

const struct sim_lane *const sim_lanes[] = {
#define LANE(name) &sim_lane_##name,
#include "sim/lanes/lanes.def"
#undef LANE
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
