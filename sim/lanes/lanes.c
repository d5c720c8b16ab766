/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of lanes, made of the rows of lanes.def. */
#include "sim/lanes/lanes.h"

#include <string.h>

const struct sim_lane sim_lanes[] = {
#define LANE(file, ...) { __VA_ARGS__, sim_##file##_keys, sim_##file##_run },
#include "sim/lanes/lanes.def"
#undef LANE
	{ 0 },
};

const struct sim_lane *sim_lane_find(const char *name)
{
	int64_t number = 0;
	bool numeric = sim_parse_int(name, 1, 1000, &number);
	for (const struct sim_lane *lane = sim_lanes; lane->name; lane++)
		if (strcmp(lane->name, name) == 0 || (numeric && lane->number == number))
			return lane;
	return NULL;
}
