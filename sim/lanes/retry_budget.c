/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane 2: lane 1 with a token bucket in front of the retries. It heals when the budget fits into
 * the headroom. Owns the lane's keys; the bucket is libcancel's.
 */
#include <stdio.h>

#include "sim/admission/guard.h"
#include "sim/lanes/lanes.h"
#include "sim/setups/single_tables.h"

const struct sim_key sim_retry_budget_keys[] = {
	{ "budget", SIM_KEY_INTS, "15,25", 0, 1000000, NULL, "retries a second, one run each" },
	{ "burst", SIM_KEY_INT, "0", 0, 1000000, NULL,
		"tokens the bucket holds; 0: as the budget" },
	{ "starts_full", SIM_KEY_FLAG, "yes", 0, 0, NULL, "the bucket at the start" },
	SIM_KEY_LOAD("280"),
	SIM_KEYS_SERVER,
	SIM_KEY_RETRIES("1"),
	SIM_KEYS_OUTAGE,
	SIM_KEY_DURATION("800"),
	SIM_KEY_ENGINE,
	SIM_KEY_ROWS("20,29,35,60,120,160,199,240,320,400,560,640,799"),
	{ 0 },
};

static int run_one(struct sim_run *run, struct sim_single_result *result)
{
	uint64_t burst = (uint64_t)sim_int(run, "burst");
	struct sim_guard_options options = {
		.budget = { .kind = SIM_BUDGET_BUCKET,
			.bucket = { .rate = (uint64_t)result->value,
				.burst = burst,
				.start_empty = !sim_flag(run, "starts_full") } },
	};
	struct sim_guard guard;
	if (sim_guard_init(&guard, &options) < 0)
		return sim_fail(run, "budget %lld with burst %llu is no token bucket",
			(long long)result->value, (unsigned long long)burst);
	result->single = sim_single_read(run, (uint64_t)sim_int(run, "load"));
	snprintf(result->label, sizeof(result->label), "budget %lld", (long long)result->value);
	sim_single_run(run, &guard, result);
	return 0;
}

int sim_retry_budget_run(struct sim_run *run)
{
	return sim_single_runs(run, "budget", "budget_per_s", run_one);
}
