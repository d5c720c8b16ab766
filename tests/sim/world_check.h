/* SPDX-License-Identifier: Apache-2.0 */
/* world_check.h - every invariant of a world, for the tests that ask after each event. */
#ifndef TESTS_SIM_WORLD_CHECK_H
#define TESTS_SIM_WORLD_CHECK_H

#include "sim/world/world.h"

/* Lock exclusivity, slots within capacity, conservation of requests and tasks, queue lengths, pool
 * ownership. NULL, or what is broken. */
const char *world_check(const struct sim_world *world);

#endif
