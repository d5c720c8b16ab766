/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane 2: lane 1 with a token bucket in front of the retries. It heals when the budget fits into
 * the headroom. Owns the lane's keys; the bucket is libcancel's.
 */
#include <stdio.h>

#include <cancel/admission/bucket.h>

#include "sim/report/lane.h"
#include "sim/base/memory.h"
#include "sim/setups/single_tables.h"

static const struct sim_key keys[] = {
	{ "budget", SIM_KEY_INTS, "15,25", 0, 1000000, NULL, "retries a second, one run each" },
	{ "burst", SIM_KEY_INT, "0", 0, 1000000, NULL,
		"tokens the bucket holds; 0: as the budget" },
	{ "starts_full", SIM_KEY_FLAG, "yes", 0, 0, NULL, "the bucket at the start" },
	SIM_KEY_LOAD("280"),
	SIM_KEY_SERVICE,
	SIM_KEY_TIMEOUT,
	SIM_KEY_RETRIES("1"),
	SIM_KEY_OUTAGE_START,
	SIM_KEY_OUTAGE("10000"),
	SIM_KEY_DURATION("800"),
	{ "engine", SIM_KEY_CHOICE, "sweep", 0, 0, "sweep|causal",
		"both give the same windows; the sweep is faster" },
	SIM_KEY_ROWS("20,29,35,60,120,160,199,240,320,400,560,640,799"),
	{ 0 },
};

static bool take(void *state, uint64_t now_ns)
{
	return cancel_bucket_admit(state, now_ns, 1);
}

static bool allow(void *state, uint64_t now_ns, const struct sim_attempt *attempt)
{
	(void)attempt;
	return cancel_bucket_admit(state, now_ns, 1);
}

static int run_one(struct sim_run *run, struct sim_single_result *result)
{
	uint64_t burst = (uint64_t)sim_int(run, "burst");
	struct cancel_bucket bucket;
	struct cancel_bucket_options options = {
		.struct_size = sizeof(options),
		.rate = (uint64_t)result->value,
		.burst = burst,
		.start_empty = !sim_flag(run, "starts_full"),
	};
	if (cancel_bucket_init(&bucket, &options) < 0)
		return sim_fail(run, "budget %lld with burst %llu is no token bucket",
			(long long)result->value, (unsigned long long)burst);
	struct sim_policy policy = { .state = &bucket, .allow_retry = allow };
	struct sim_causal_options causal = {
		.policy = &policy,
		.events_limit = run->events_limit,
	};
	result->single = sim_single_read(run, (uint64_t)sim_int(run, "load"));
	snprintf(result->label, sizeof(result->label), "budget %lld", (long long)result->value);
	if (sim_int(run, "engine") == 0)
		sim_sweep(&result->single, take, &bucket, run->events_limit, &result->windows);
	else
		sim_causal(&result->single, &causal, &result->windows, NULL);
	sim_single_judge(result);
	return 0;
}

static int run_retry_budget(struct sim_run *run)
{
	size_t count = sim_count(run, "budget");
	struct sim_single_result *results = sim_alloc(count, sizeof(*results));
	int status = 0;
	for (size_t i = 0; status == 0 && i < count; i++) {
		results[i].value = sim_item(run, "budget", i);
		status = run_one(run, &results[i]);
		sim_progress(run, i + 1, count);
	}
	if (status == 0) {
		sim_single_windows(run, results, count, "budget_per_s");
		sim_single_sample(run, results, count);
		sim_single_ends(run, results, count, "budget_per_s");
		sim_single_plots(run, results, count);
	}
	sim_single_results_free(results, count);
	return status;
}

const struct sim_lane sim_lane_retry_budget = {
	.name = "retry-budget",
	.number = 2,
	.what = "The same outage with a retry budget: it heals if the budget fits into the "
		"headroom",
	.keys = keys,
	.run = run_retry_budget,
};
