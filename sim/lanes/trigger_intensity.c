/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exercise: the longest outage a load survives, beside the closed form. An outage is bisected to
 * the millisecond.
 */
#include "sim/lanes/lanes.h"
#include "sim/setups/single_keys.h"

const struct sim_key sim_trigger_intensity_keys[] = {
	SIM_KEY_LOADS("151,160,200,250,280,290,299"),
	SIM_KEYS_SERVER,
	SIM_KEY_RETRIES("1"),
	SIM_KEY_OUTAGE_START,
	{ "outage_max_ms", SIM_KEY_INT, "20000", 1, 1000000, NULL, "the longest outage tried" },
	{ "starts", SIM_KEY_INT, "16", 1, 1000, NULL,
		"starts within one arrival gap, for the column any_start_ms" },
	{ "duration_s", SIM_KEY_INT, "2000", 1, 100000, NULL,
		"arrivals end here; healed means healed by then" },
	{ 0 },
};

static const char columns[] = "load_qps|survives_ms|any_start_ms|formula_ms|utilisation_pct:1";

struct search {
	struct sim_run *run;
	struct sim_single single;
};

static bool survives(void *state, uint64_t outage_ms)
{
	struct search *search = state;
	int64_t second;
	search->single.outage_ns = outage_ms * SIM_NS_PER_MS;
	return sim_single_try(search->run, &search->single, NULL, &second, "an outage of %llu ms",
		       (unsigned long long)outage_ms) == SIM_HEALED;
}

/* The longest that heals wherever in the gap between two arrivals it starts. */
static uint64_t longest_any_start(struct search search, uint64_t longest_ms)
{
	uint64_t starts = (uint64_t)sim_int(search.run, "starts");
	uint64_t first_ns = search.single.outage_start_ns;
	for (uint64_t i = 0; i < starts; i++) {
		search.single.outage_start_ns = first_ns + search.single.interval_ns * i / starts;
		if (longest_ms > 0 && !survives(&search, longest_ms))
			longest_ms = sim_largest(longest_ms, survives, &search);
	}
	return longest_ms;
}

/* One retry: T·(1 + (1−ρ)²/ρ) − one service time (docs/simulator.md derives it). */
static double formula_ms(const struct sim_single *single, double load)
{
	double rho = load * (double)single->service_ns / 1e9;
	double timeout_ms = (double)single->timeout_ns / 1e6;
	return timeout_ms * (1.0 + (1.0 - rho) * (1.0 - rho) / rho) -
	       (double)single->service_ns / 1e6;
}

int sim_trigger_intensity_run(struct sim_run *run)
{
	struct sim_table *table =
		sim_table(run, "trigger_intensity", "The longest outage that heals", columns);
	struct sim_plot *plot = sim_report_plot(run->report, run->lane->what, "load, QPS",
		"longest outage that heals, ms", SIM_AXIS_LINEAR);
	struct sim_series *measured = sim_plot_series(plot, "at the given start", SIM_LINES_POINTS);
	struct sim_series *bound = sim_plot_series(plot, "formula (any start)", SIM_LINES_POINTS);
	uint64_t fails_ms = (uint64_t)sim_int(run, "outage_max_ms") + 1;
	size_t count = sim_count(run, "load");
	for (size_t i = 0; i < count; i++) {
		int64_t load = sim_item(run, "load", i);
		struct sim_single single = sim_single_read(run, (uint64_t)load);
		struct search search = { run, single };
		uint64_t found_ms = sim_largest(fails_ms, survives, &search);
		SIM_ROW(table, SIM_INT(load), SIM_INT(found_ms),
			SIM_INT(longest_any_start(search, found_ms)),
			single.retries == 1 ? SIM_REAL(formula_ms(&single, (double)load))
					    : SIM_NONE,
			SIM_REAL((double)load * (double)single.service_ns / 1e7));
		sim_plot_point(measured, (double)load, (double)found_ms);
		if (single.retries == 1)
			sim_plot_point(bound, (double)load, formula_ms(&single, (double)load));
		sim_progress(run, i + 1, count);
	}
	sim_note(run->report, "survives_ms: for an outage that starts exactly at outage_start_ms; "
			      "any_start_ms: wherever between two arrivals it starts;");
	sim_note(run->report, "formula_ms: a lower bound for any start, T(1 + (1-r)^2/r) - one "
			      "service time, r the utilisation, for one retry.");
	return 0;
}
