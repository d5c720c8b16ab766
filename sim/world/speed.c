/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the world runs: lane 1 at 280 QPS with a 10 s culprit and nobody watching. */
#include "sim/world/speed.h"

#include "sim/base/clock.h"
#include "sim/setups/storm.h"

int sim_world_speed(uint64_t virtual_s, uint64_t *events)
{
	struct sim_storm storm = { .load_qps = 280,
		.retries = 1,
		.hold_ns = 10 * SIM_NS_PER_S,
		.duration_ns = virtual_s * SIM_NS_PER_S };
	const char *why;
	struct sim_world *world = sim_storm_new(&storm, &why);
	if (!world)
		return -1;
	int status = sim_world_run(world);
	struct sim_result result;
	sim_world_result(world, &result);
	*events = result.events;
	sim_world_free(world);
	return status;
}
