/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.h - the registry of lanes. */
#ifndef SIM_LANES_H
#define SIM_LANES_H

#include "sim/report/lane.h"

/* In the order `cancel-sim list` shows them; ended by NULL. */
extern const struct sim_lane *const sim_lanes[];
/* By name or number; NULL: unknown. */
const struct sim_lane *sim_lane_find(const char *name);

#endif
