/* SPDX-License-Identifier: Apache-2.0 */
/* storm_map.h - which culprits a storm survives: load against time to release. */
#ifndef SIM_SETUPS_STORM_MAP_H
#define SIM_SETUPS_STORM_MAP_H

#include "sim/report/lane.h"

/* Adds the map (table "map", a picture in text, a plot) and the boundary beside the closed form
 * (table "boundary") to the report. Nobody defends; the lock is taken at exactly 30 s. */
void sim_storm_map(struct sim_run *run);

#endif
