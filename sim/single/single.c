/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of the single-server model and what is read from them. */
#include "sim/single/single.h"

#include <stdlib.h>

#include "sim/base/memory.h"

void sim_windows_init(struct sim_windows *windows, const struct sim_single *single)
{
	size_t seconds = (single->duration_ns + SIM_NS_PER_S - 1) / SIM_NS_PER_S;
	*windows = (struct sim_windows){
		.rows = sim_alloc(seconds, sizeof(struct sim_window)),
		.count = seconds,
	};
}

void sim_windows_free(struct sim_windows *windows)
{
	free(windows->rows);
	*windows = (struct sim_windows){ 0 };
}

uint64_t *sim_windows_backlog(const struct sim_windows *windows)
{
	uint64_t *backlog = sim_alloc(windows->count, sizeof(*backlog)), now = 0;
	for (size_t i = 0; i < windows->count; i++) {
		const struct sim_window *row = &windows->rows[i];
		now += row->offered - row->rejected;
		now -= row->completed;
		backlog[i] = now;
	}
	return backlog;
}

/* Exactly the load. The truncated interval puts one more original into a second now and then: that
 * one counts where the second before it is at the load. (A server that still catches up serves
 * more.) */
static bool at_load(const struct sim_windows *windows, size_t second, uint64_t load)
{
	uint32_t goodput = windows->rows[second].goodput;
	if (goodput == load)
		return true;
	return goodput == load + 1 && second > 0 && windows->rows[second - 1].goodput == load;
}

int64_t sim_heal_second(const struct sim_windows *windows, const struct sim_single *single)
{
	uint64_t load = SIM_NS_PER_S / single->interval_ns;
	size_t from = single->outage_start_ns / SIM_NS_PER_S, healed = windows->count;
	while (healed > from && at_load(windows, healed - 1, load))
		healed--;
	return healed < windows->count ? (int64_t)healed : -1;
}
