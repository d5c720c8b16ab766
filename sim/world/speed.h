/* SPDX-License-Identifier: Apache-2.0 */
/* speed.h - the work that `cancel-sim speed` times for world.events_per_s. */
#ifndef SIM_WORLD_SPEED_H
#define SIM_WORLD_SPEED_H

#include <stdint.h>

/* Runs `virtual_s` seconds (31 … 1000) of a storm; *events is what it handled. 0, or -1. The caller
 * takes the time: nothing here reads a clock. */
int sim_world_speed(uint64_t virtual_s, uint64_t *events);

#endif
