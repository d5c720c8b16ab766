/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane 1: a 10 s outage at 30 s, clients that retry once. Above half the capacity the storm it
 * seeds never ends. The model is single/single.h's.
 */
#include <stdio.h>

#include "sim/report/lane.h"
#include "sim/base/memory.h"
#include "sim/setups/single_tables.h"

static const struct sim_key keys[] = {
	SIM_KEY_LOADS("280,140"),
	SIM_KEY_SERVICE,
	SIM_KEY_TIMEOUT,
	SIM_KEY_RETRIES("1"),
	SIM_KEY_OUTAGE_START,
	SIM_KEY_OUTAGE("10000"),
	SIM_KEY_DURATION("200"),
	SIM_KEY_ENGINE,
	SIM_KEY_ROWS("20,29,35,60,120,160,199"),
	{ 0 },
};

static int run_metastable(struct sim_run *run)
{
	size_t count = sim_count(run, "load");
	struct sim_single_result *results = sim_alloc(count, sizeof(*results));
	for (size_t i = 0; i < count; i++) {
		struct sim_single_result *result = &results[i];
		result->value = sim_item(run, "load", i);
		result->single = sim_single_read(run, (uint64_t)result->value);
		snprintf(
			result->label, sizeof(result->label), "%lld QPS", (long long)result->value);
		sim_single_run(run, NULL, result);
		sim_progress(run, i + 1, count);
	}
	sim_single_windows(run, results, count, "load_qps");
	sim_single_sample(run, results, count);
	sim_single_ends(run, results, count, "load_qps");
	sim_single_plots(run, results, count);
	sim_single_results_free(results, count);
	return 0;
}

const struct sim_lane sim_lane_metastable = {
	.name = "metastable",
	.number = 1,
	.what = "A 10 s outage, one retry: below half the capacity it heals, above it never does",
	.keys = keys,
	.run = run_metastable,
};
