/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane 1: a 10 s outage at 30 s, clients that retry once. Above half the capacity the storm it
 * seeds never ends. Owns the lane's keys and tables; the model is single.h's.
 */
#include "sim/lane.h"

#include <stdlib.h>

#include "sim/single.h"

static const struct sim_key keys[] = {
	{ "load", SIM_KEY_INTS, "280,140", 1, 1000000, NULL, "originals a second, one run each" },
	{ "service_ns", SIM_KEY_INT, "3333333", 1, 1000000000000, NULL, "service time" },
	{ "timeout_ms", SIM_KEY_INT, "1000", 1, 1000000, NULL, "a client's patience" },
	{ "retries", SIM_KEY_INT, "1", 0, 100, NULL, "retries of an original at most" },
	{ "outage_start_ms", SIM_KEY_INT, "30000", 0, 1000000000, NULL, "the outage begins" },
	{ "outage_ms", SIM_KEY_INT, "10000", 0, 1000000000, NULL, "and lasts" },
	{ "duration_s", SIM_KEY_INT, "200", 1, 1000000, NULL, "arrivals end here" },
	{ 0 },
};

static const struct sim_column window_columns[] = {
	{ "second", NULL, 0 },
	{ "offered", NULL, 0 },
	{ "rejected", NULL, 0 },
	{ "goodput", NULL, 0 },
	{ "backlog", NULL, 0 },
	{ "load_qps", NULL, 0 },
};

static int run_metastable(struct sim_run *run)
{
	struct sim_table *table = sim_report_table(run->report, "windows", "A row a second",
		SIM_TABLE_ALL, window_columns, sizeof(window_columns) / sizeof(window_columns[0]));
	for (size_t i = 0; i < sim_count(run, "load"); i++) {
		struct sim_single single = {
			.interval_ns = SIM_NS_PER_S / (uint64_t)sim_item(run, "load", i),
			.service_ns = (uint64_t)sim_int(run, "service_ns"),
			.timeout_ns = (uint64_t)sim_int(run, "timeout_ms") * SIM_NS_PER_MS,
			.retries = (uint32_t)sim_int(run, "retries"),
			.outage_start_ns =
				(uint64_t)sim_int(run, "outage_start_ms") * SIM_NS_PER_MS,
			.outage_ns = (uint64_t)sim_int(run, "outage_ms") * SIM_NS_PER_MS,
			.duration_ns = (uint64_t)sim_int(run, "duration_s") * SIM_NS_PER_S,
		};
		struct sim_windows windows;
		sim_sweep(&single, NULL, NULL, run->events_limit, &windows);
		uint64_t *backlog = sim_windows_backlog(&windows);
		for (size_t second = 0; second < windows.count; second++) {
			sim_row(table);
			sim_put_int(table, (int64_t)second);
			sim_put_int(table, windows.rows[second].offered);
			sim_put_int(table, windows.rows[second].rejected);
			sim_put_int(table, windows.rows[second].goodput);
			sim_put_int(table, (int64_t)backlog[second]);
			sim_put_int(table, sim_item(run, "load", i));
		}
		free(backlog);
		sim_windows_free(&windows);
	}
	return 0;
}

const struct sim_lane sim_lane_metastable = {
	.name = "metastable",
	.number = 1,
	.what = "A 10 s outage, one retry: below half the capacity it heals, above it never does",
	.keys = keys,
	.run = run_metastable,
};
