/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exercise: how long a retry budget takes to heal lane 2, beside the formula, with the cap of the
 * bucket swept and with budgets that are a share of the originals.
 */
#include "sim/lanes/lanes.h"
#include "sim/setups/single_keys.h"

const struct sim_key sim_healing_time_keys[] = {
	{ "budget", SIM_KEY_INTS, "5,10,15,19", 1, 1000000, NULL, "retries a second" },
	{ "share_pct", SIM_KEY_INTS, "5,10,20", 1, 100, NULL,
		"retries as a share of originals, for the second table" },
	SIM_KEY_LOAD("280"),
	SIM_KEYS_SERVER,
	SIM_KEY_RETRIES("1"),
	SIM_KEYS_OUTAGE,
	{ "duration_s", SIM_KEY_INT, "3000", 1, 100000, NULL, "arrivals end here" },
	{ 0 },
};

/* The second it heals in, or how it ends. */
static struct sim_cell heal(
	struct sim_run *run, const struct sim_budget_options *budget, int64_t *second)
{
	struct sim_guard_options options = { .budget = *budget };
	struct sim_single single = sim_single_read(run, (uint64_t)sim_int(run, "load"));
	enum sim_end end = SIM_METASTABLE;
	struct sim_guard guard;
	*second = -1;
	if (sim_guard_init(&guard, &options) == 0)
		end = sim_single_try(run, &single, &guard, second, "%llu retries a second",
			(unsigned long long)budget->bucket.rate);
	if (*second >= 0)
		return SIM_INT(*second);
	return SIM_TEXT(end == SIM_UNDECIDED ? "undecided" : "never");
}

/* end + (D−T)(L+b)/(C−L−b) + T·C/(C−L); negative when the budget does not fit into the headroom. */
static double formula_s(struct sim_run *run, double budget)
{
	double capacity = 1e9 / (double)sim_int(run, "service_ns");
	double load = (double)sim_int(run, "load");
	double timeout = (double)sim_int(run, "timeout_ms") / 1e3;
	double outage = (double)sim_int(run, "outage_ms") / 1e3;
	double end = (double)sim_int(run, "outage_start_ms") / 1e3 + outage;
	double headroom = capacity - load - budget;
	if (headroom < 1e-3)
		return -1.0;
	return end + (outage - timeout) * (load + budget) / headroom +
	       timeout * capacity / (capacity - load);
}

static struct sim_cell formula_of(double seconds)
{
	return seconds >= 0.0 ? SIM_REAL(seconds) : SIM_TEXT("never");
}

static void budgets(struct sim_run *run)
{
	static const char columns[] =
		"budget_per_s|heal_second|formula_s:1|drain_per_s:1|heal_second_burst_1";
	struct sim_table *table = sim_table(run, "budgets", "Healing time by budget", columns);
	struct sim_plot *plot = sim_report_plot(run->report, run->lane->what,
		"budget, retries a second", "healed at second", SIM_AXIS_LOG_Y);
	struct sim_series *measured = sim_plot_series(plot, "measured", SIM_POINTS);
	struct sim_series *formula = sim_plot_series(plot, "formula", SIM_LINES);
	double headroom = 1e9 / (double)sim_int(run, "service_ns") - (double)sim_int(run, "load");
	for (size_t i = 0; i < sim_count(run, "budget"); i++) {
		uint64_t budget = (uint64_t)sim_item(run, "budget", i);
		struct sim_budget_options full = { .kind = SIM_BUDGET_BUCKET,
			.bucket = { .rate = budget } };
		struct sim_budget_options drip = full;
		int64_t second, drip_second;
		drip.bucket.burst = 1;
		struct sim_cell heals = heal(run, &full, &second);
		struct sim_cell drips = heal(run, &drip, &drip_second);
		double predicted = formula_s(run, (double)budget);
		SIM_ROW(table, SIM_INT(budget), heals, formula_of(predicted),
			SIM_REAL(headroom - (double)budget), drips);
		if (second >= 0)
			sim_plot_point(measured, (double)budget, (double)second);
		if (predicted >= 0.0)
			sim_plot_point(formula, (double)budget, predicted);
	}
}

/* ---- Budgets as a share of originals ---- */

static void shares(struct sim_run *run)
{
	static const char columns[] =
		"share_pct|retries_per_s:1|heal_second|formula_s:1|heal_second_finagle";
	struct sim_table *table = sim_table(run, "shares",
		"Budgets that are a share of the originals: a bucket, Finagle's without reserve",
		columns);
	for (size_t i = 0; i < sim_count(run, "share_pct"); i++) {
		int64_t share = sim_item(run, "share_pct", i);
		double rate = (double)sim_int(run, "load") * (double)share / 100.0;
		uint64_t percents = (uint64_t)(sim_int(run, "load") * share);
		/* Filled by a share of the load, its cap one second's worth. */
		struct sim_budget_options bucket = { .kind = SIM_BUDGET_BUCKET,
			.bucket = { .rate = percents,
				.per_ns = 100 * SIM_NS_PER_S,
				.burst = (percents + 99) / 100 } };
		struct sim_budget_options finagle = { .kind = SIM_BUDGET_FINAGLE,
			.share_ppm = (uint32_t)share * 10000,
			.no_reserve = true };
		int64_t second;
		struct sim_cell bucket_heals = heal(run, &bucket, &second);
		struct sim_cell finagle_heals = heal(run, &finagle, &second);
		SIM_ROW(table, SIM_INT(share), SIM_REAL(rate), bucket_heals,
			formula_of(formula_s(run, rate)), finagle_heals);
	}
}

int sim_healing_time_run(struct sim_run *run)
{
	double capacity = 1e9 / (double)sim_int(run, "service_ns");
	double load = (double)sim_int(run, "load");
	budgets(run);
	shares(run);
	sim_note(run->report,
		"formula: end + (D-T)(L+b)/(C-L-b) + T*C/(C-L); the backlog drains at "
		"headroom - budget, so the time grows like 1/(headroom - budget).");
	sim_note(run->report, "A share of the originals heals only below headroom/load = %.1f %%.",
		100.0 * (capacity - load) / load);
	return 0;
}
