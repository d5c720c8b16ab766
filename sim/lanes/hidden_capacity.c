/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exercise: the largest load that survives the outage, by number of retries. Bisected to one QPS,
 * because a load that heals implies that all lower ones do.
 */
#include "sim/lanes/lanes.h"
#include "sim/setups/single_keys.h"

const struct sim_key sim_hidden_capacity_keys[] = {
	{ "retries", SIM_KEY_INTS, "1..3", 0, 20, NULL, "retries of an original, one search each" },
	SIM_KEYS_SERVER,
	SIM_KEYS_OUTAGE,
	{ "duration_s", SIM_KEY_INT, "2000", 1, 100000, NULL,
		"arrivals end here; healed means healed by then" },
	{ 0 },
};

static const char columns[] =
	"retries|largest_load_qps|heal_second|theory_qps:1|next_load_qps|next_end";

struct search {
	struct sim_run *run;
	uint32_t retries;
	int64_t heal_second;
};

static enum sim_end try_load(struct search *search, uint64_t load)
{
	struct sim_single single = sim_single_read(search->run, load);
	single.retries = search->retries;
	return sim_single_try(search->run, &single, NULL, &search->heal_second, "%llu QPS",
		(unsigned long long)load);
}

static bool heals(void *search, uint64_t load)
{
	return try_load(search, load) == SIM_HEALED;
}

/* The largest load in [0, capacity] that heals; 0 when none does. */
static uint64_t largest_load(struct search *search, double capacity)
{
	return sim_largest((uint64_t)capacity + 1, heals, search);
}

static void put_row(struct sim_table *table, struct search *search, double capacity)
{
	uint64_t load = largest_load(search, capacity);
	SIM_ROW(table, SIM_INT(search->retries), SIM_INT(load));
	sim_put(table, load > 0 && heals(search, load) ? SIM_INT(search->heal_second) : SIM_NONE);
	sim_put(table, SIM_REAL(capacity / (1.0 + search->retries)));
	sim_put(table, SIM_INT((int64_t)load + 1));
	sim_put(table, SIM_TEXT(sim_end_name(try_load(search, load + 1))));
}

int sim_hidden_capacity_run(struct sim_run *run)
{
	struct sim_table *table = sim_table(
		run, "hidden_capacity", "The largest load that survives the outage", columns);
	double capacity = 1e9 / (double)sim_int(run, "service_ns");
	size_t count = sim_count(run, "retries");
	struct sim_plot *plot = sim_report_plot(run->report, run->lane->what, "retries",
		"largest load that heals, QPS", SIM_AXIS_LINEAR);
	struct sim_series *measured = sim_plot_series(plot, "measured", SIM_LINES_POINTS);
	struct sim_series *theory = sim_plot_series(plot, "capacity/(1+retries)", SIM_LINES);
	if (capacity < 1.0 || capacity > 100000.0)
		return sim_fail(
			run, "service_ns: the capacity, %.3f QPS, must be 1 … 100000", capacity);
	for (size_t i = 0; i < count; i++) {
		struct search search = { run, (uint32_t)sim_item(run, "retries", i), -1 };
		put_row(table, &search, capacity);
		sim_plot_point(measured, search.retries, (double)largest_load(&search, capacity));
		sim_plot_point(theory, search.retries, capacity / (1.0 + search.retries));
		sim_progress(run, i + 1, count);
	}
	sim_note(run->report, "At capacity/(1+retries) itself arrivals and service are exactly "
			      "balanced: the backlog never shrinks.");
	return 0;
}
