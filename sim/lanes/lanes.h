/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes.h - the registry of lanes. To add one: a row in lanes.def, and a file lanes/NAME.c with its
 * keys and what answers its question.
 */
#ifndef SIM_LANES_H
#define SIM_LANES_H

#include "sim/report/lane.h"

#define LANE(file, name, number, seeds, what)                                                      \
	extern const struct sim_key sim_##file##_keys[];                                           \
	int sim_##file##_run(struct sim_run *run);
#include "sim/lanes/lanes.def"
#undef LANE

/* In the order `cancel-sim list` shows them; ended by one without a name. */
extern const struct sim_lane sim_lanes[];
/* By name or number; NULL: unknown. */
const struct sim_lane *sim_lane_find(const char *name);

#endif
