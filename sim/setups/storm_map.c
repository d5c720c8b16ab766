/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map of (load, time to release): heals or metastable, and the boundary between them.
 *
 * Nobody watches here, so a held lock is an outage and the fast sweep gives the world's windows
 * (tests/sim/world_storm.c compares them).
 */

#include "sim/setups/single_keys.h"
#include "sim/setups/storm_policy.h"

#define LOAD_FROM    140
#define LOAD_TO	     299
#define LOAD_STEP    3
#define RELEASE_FROM 500
#define RELEASE_TO   2000
#define RELEASE_STEP 50
#define SECONDS	     200
#define LONG_S	     2000 /* the boundary: runs that only just heal need long */

static enum sim_end end_of(uint64_t load_qps, uint64_t release_ms, uint64_t seconds)
{
	struct sim_single single = {
		.interval_ns = SIM_NS_PER_S / load_qps,
		.service_ns = 3333333,
		.timeout_ns = SIM_NS_PER_S,
		.outage_start_ns = 30 * SIM_NS_PER_S,
		.outage_ns = release_ms * SIM_NS_PER_MS,
		.duration_ns = seconds * SIM_NS_PER_S,
		.retries = 1,
	};
	struct sim_windows windows;
	int64_t second;
	sim_sweep(&single, NULL, NULL, UINT64_MAX, &windows);
	enum sim_end end = sim_single_end(&windows, &single, &second);
	sim_windows_free(&windows);
	return end;
}

static bool heals(void *load_qps, uint64_t release_ms)
{
	return end_of(*(uint64_t *)load_qps, release_ms, LONG_S) == SIM_HEALED;
}

static void put_boundary(struct sim_run *run)
{
	static const char columns[] = "load_qps|largest_release_ms lock taken at 30 s|"
				      "closed_form_ms:1 any instant";
	static uint64_t loads[] = { 151, 160, 180, 200, 225, 250, 280, 290, 299 };
	size_t count = sizeof loads / sizeof *loads;
	struct sim_table *table =
		sim_table(run, "boundary", "The longest hold that heals", columns);
	for (size_t i = 0; i < count; i++) {
		struct sim_storm storm = { .load_qps = loads[i] };
		SIM_ROW(table, SIM_INT(loads[i]), SIM_INT(sim_largest(20000, heals, &loads[i])),
			SIM_REAL((double)sim_storm_survivable_ns(&storm) / 1e6));
		sim_progress(run, i + 1, count);
	}
}

static void put_map(struct sim_run *run)
{
	static const char columns[] = "load_qps|release_ms|end";
	static const char picture_columns[] =
		"release_ms|140_to_299_qps . heals  # metastable  ? draining";
	struct sim_table *table = sim_report_table(
		run->report, "map", "Load and time to release", SIM_TABLE_DATA_ONLY, columns);
	struct sim_table *picture = sim_report_table(run->report, "picture",
		"Which holds are survived", SIM_TABLE_TEXT_ONLY, picture_columns);
	struct sim_plot *plot = sim_report_plot(run->report, "Heals (0) or metastable (1)",
		"load [QPS]", "time to release [ms]", SIM_AXIS_LINEAR);
	struct sim_series *cells = sim_plot_series(plot, "end", SIM_MAP);
	struct sim_series *form = sim_plot_series(plot, "closed form", SIM_LINES);
	for (uint64_t release_ms = RELEASE_TO; release_ms >= RELEASE_FROM;
		release_ms -= RELEASE_STEP) {
		char line[(LOAD_TO - LOAD_FROM) / LOAD_STEP + 2] = { 0 };
		for (uint64_t load = LOAD_FROM; load <= LOAD_TO; load += LOAD_STEP) {
			enum sim_end end = end_of(load, release_ms, SECONDS);
			SIM_ROW(table, SIM_INT(load), SIM_INT(release_ms),
				SIM_TEXT(sim_end_name(end)));
			sim_plot_cell(cells, (double)load, (double)release_ms,
				end == SIM_HEALED	? 0
				: end == SIM_METASTABLE ? 1
							: 0.5);
			line[(load - LOAD_FROM) / LOAD_STEP] = ".?#"[end];
		}
		SIM_ROW(picture, SIM_INT(release_ms), SIM_TEXT(line));
	}
	for (uint64_t load = LOAD_FROM; load <= LOAD_TO; load += LOAD_STEP) {
		struct sim_storm storm = { .load_qps = load };
		sim_plot_point(form, (double)load, (double)sim_storm_survivable_ns(&storm) / 1e6);
	}
}

void sim_storm_map(struct sim_run *run)
{
	put_map(run);
	put_boundary(run);
	sim_note(run->report,
		"Closed form: T (1 + (1 - rho)^2 / rho) - one service time, T the client's "
		"timeout, rho = load / capacity.");
}
