/* SPDX-License-Identifier: Apache-2.0 */
/* Budget, gate, timeout and core put between a storm's clients and its server. */
#include "sim/setups/storm_policy.h"

#include <stdlib.h>

#define LEVELS 4 /* business levels, as in lane 3 */

static const struct {
	const char *name;
	unsigned bits;
} defences[] = {
	{ "none", 0 },
	{ "budget", SIM_DEFEND_BUDGET },
	{ "dagor", SIM_DEFEND_DAGOR },
	{ "timeout", SIM_DEFEND_TIMEOUT },
	{ "cancel", SIM_DEFEND_CANCEL },
	{ "budget+dagor", SIM_DEFEND_BUDGET | SIM_DEFEND_DAGOR },
	{ "cancel+budget", SIM_DEFEND_CANCEL | SIM_DEFEND_BUDGET },
	{ "cancel+dagor", SIM_DEFEND_CANCEL | SIM_DEFEND_DAGOR },
	{ "cancel+timeout", SIM_DEFEND_CANCEL | SIM_DEFEND_TIMEOUT },
	{ "cancel+budget+dagor", SIM_DEFEND_CANCEL | SIM_DEFEND_BUDGET | SIM_DEFEND_DAGOR },
};

unsigned sim_defence_bits(size_t choice)
{
	return defences[choice].bits;
}

const char *sim_defence_name(size_t choice)
{
	return defences[choice].name;
}

int sim_defend(
	const struct sim_run *run, unsigned bits, struct sim_defender *d, struct sim_storm *storm)
{
	struct sim_guard_options guard = {
		.gate = { .kind = bits & SIM_DEFEND_DAGOR ? SIM_SHED_DAGOR_Q : SIM_SHED_NONE,
			.business_levels = LEVELS },
		.budget = { .kind = bits & SIM_DEFEND_BUDGET ? SIM_BUDGET_BUCKET : SIM_BUDGET_NONE,
			.bucket = { .rate = (uint64_t)sim_int(run, "budget") } },
		.levels = LEVELS,
		.interval_ns = SIM_NS_PER_S / storm->load_qps,
	};
	if (sim_guard_init(&d->guard, &guard) < 0)
		return -1;
	storm->policy = sim_guard_policy(&d->guard);
	sim_watch_read(run, &storm->world, &d->pipeline);
	storm->world.seed = run->seed;
	if (bits & SIM_DEFEND_TIMEOUT)
		storm->world.statement_timeout_ns = sim_ns(run, "statement_timeout_ms");
	if (!(bits & SIM_DEFEND_CANCEL))
		storm->world.pipeline = NULL;
	return 0;
}

void sim_defender_free(struct sim_defender *defender)
{
	sim_guard_free(&defender->guard);
	free(defender);
}
