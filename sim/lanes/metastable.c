/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane 1: a 10 s outage at 30 s, clients that retry once. Above half the capacity the storm it
 * seeds never ends. The model is single/single.h's.
 */
#include <stdio.h>

#include "sim/lanes/lanes.h"
#include "sim/setups/single_tables.h"

const struct sim_key sim_metastable_keys[] = {
	SIM_KEY_LOADS("280,140"),
	SIM_KEYS_SERVER,
	SIM_KEY_RETRIES("1"),
	SIM_KEYS_OUTAGE,
	SIM_KEY_DURATION("200"),
	SIM_KEY_ENGINE,
	SIM_KEY_ROWS("20,29,35,60,120,160,199"),
	{ 0 },
};

static int run_load(struct sim_run *run, struct sim_single_result *result)
{
	result->single = sim_single_read(run, (uint64_t)result->value);
	snprintf(result->label, sizeof(result->label), "%lld QPS", (long long)result->value);
	sim_single_run(run, NULL, result);
	return 0;
}

int sim_metastable_run(struct sim_run *run)
{
	return sim_single_runs(run, "load", "load_qps", run_load);
}
