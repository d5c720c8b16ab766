/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time and its bounds. */
#include "sim/base/clock.h"

#include <assert.h>
#include <stddef.h>

void sim_clock_init(struct sim_clock *clock, uint64_t limit_ns, uint64_t events_limit)
{
	*clock = (struct sim_clock){
		.limit_ns = limit_ns,
		.events_limit = events_limit > 0 ? events_limit : SIM_EVENTS_DEFAULT,
	};
}

bool sim_clock_advance(struct sim_clock *clock, uint64_t at_ns)
{
	assert(at_ns >= clock->now_ns);
	if (at_ns > clock->limit_ns) {
		clock->bound = "virtual time";
		return false;
	}
	if (clock->events >= clock->events_limit) {
		clock->bound = "number of events";
		return false;
	}
	clock->events++;
	clock->now_ns = at_ns;
	return true;
}

const char *sim_clock_bound(const struct sim_clock *clock)
{
	return clock->bound;
}
