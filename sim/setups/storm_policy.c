/* SPDX-License-Identifier: Apache-2.0 */
/* Budget, gate, timeout and core put between a storm's clients and its server. */
#include "sim/setups/storm_policy.h"

#include <string.h>

#define LEVELS 4 /* business levels, as in lane 3 */

bool sim_defends(const char *policy, const char *defence)
{
	const char *at = strstr(policy, defence);
	return at && strcspn(at, "+") == strlen(defence);
}

static int guard_init(const struct sim_run *run, const char *policy, const struct sim_storm *storm,
	struct sim_guard *guard)
{
	bool gate = sim_defends(policy, "dagor"), budget = sim_defends(policy, "budget");
	struct sim_guard_options options = {
		.gate = { .kind = gate ? SIM_SHED_DAGOR_Q : SIM_SHED_NONE,
			.business_levels = LEVELS },
		.budget = { .kind = budget ? SIM_BUDGET_BUCKET : SIM_BUDGET_NONE,
			.bucket = { .rate = (uint64_t)sim_int(run, "budget") } },
		.levels = LEVELS,
		.interval_ns = SIM_NS_PER_S / storm->load_qps,
	};
	return sim_guard_init(guard, &options);
}

struct sim_world *sim_run_storm(struct sim_run *run, struct sim_storm *storm, const char *policy,
	const char *subject, struct sim_result *result, struct sim_storm_outcome *outcome)
{
	struct cancel_pipeline_config pipeline;
	struct sim_guard guard;
	struct sim_world *world = NULL;
	const char *why = "the budget or the gate is refused";
	sim_watch_read(run, &storm->world, &pipeline);
	storm->world.seed = run->seed;
	if (sim_options_find(&run->options, "quarantine_ms"))
		pipeline.quarantine_ms = (uint32_t)sim_int(run, "quarantine_ms");
	if (sim_defends(policy, "timeout"))
		storm->world.statement_timeout_ns = sim_ns(run, "statement_timeout_ms");
	if (!sim_defends(policy, "cancel"))
		storm->world.pipeline = NULL;
	if (guard_init(run, policy, storm, &guard) == 0) {
		storm->policy = sim_guard_policy(&guard);
		world = sim_storm_new(storm, &why);
	}
	int status = sim_play_world(run, world, why, result, subject);
	sim_guard_free(&guard);
	if (status == 0) {
		sim_storm_read(storm, world, outcome);
		return world;
	}
	sim_world_free(world);
	return NULL;
}
