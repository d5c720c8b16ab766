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

static int64_t heal_second(
	struct sim_run *run, const struct cancel_bucket_options *bucket, enum sim_end *end)
{
	struct sim_guard_options options = { .budget = { .kind = SIM_BUDGET_BUCKET,
						     .bucket = *bucket } };
	struct sim_single single = sim_single_read(run, (uint64_t)sim_int(run, "load"));
	struct sim_guard guard;
	int64_t second = -1;
	if (sim_guard_init(&guard, &options) < 0)
		return -1;
	*end = sim_single_try(run, &single, &guard, &second, "%llu retries a second",
		(unsigned long long)bucket->rate);
	return second;
}

static int64_t heal_second_burst(
	struct sim_run *run, uint64_t budget, uint64_t burst, enum sim_end *end)
{
	struct cancel_bucket_options bucket = { .rate = budget, .burst = burst };
	return heal_second(run, &bucket, end);
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

static struct sim_cell second_of(int64_t second, enum sim_end end)
{
	if (second >= 0)
		return SIM_INT(second);
	return SIM_TEXT(end == SIM_UNDECIDED ? "undecided" : "never");
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
		enum sim_end end = SIM_METASTABLE, drip_end = SIM_METASTABLE;
		int64_t second = heal_second_burst(run, budget, 0, &end);
		int64_t drip = heal_second_burst(run, budget, 1, &drip_end);
		double predicted = formula_s(run, (double)budget);
		SIM_ROW(table, SIM_INT(budget), second_of(second, end), formula_of(predicted),
			SIM_REAL(headroom - (double)budget), second_of(drip, drip_end));
		if (second >= 0)
			sim_plot_point(measured, (double)budget, (double)second);
		if (predicted >= 0.0)
			sim_plot_point(formula, (double)budget, predicted);
	}
}

/* ---- Budgets as a share of originals ---- */

/* A token bucket filled by `share_pct` of the load, its cap one second's worth. */
static int64_t bucket_share(struct sim_run *run, int64_t share_pct, enum sim_end *end)
{
	uint64_t percents = (uint64_t)sim_int(run, "load") * (uint64_t)share_pct;
	struct cancel_bucket_options bucket = {
		.rate = percents,
		.per_ns = 100 * SIM_NS_PER_S,
		.burst = (percents + 99) / 100,
	};
	return heal_second(run, &bucket, end);
}

static int64_t finagle_share(struct sim_run *run, int64_t share_pct, enum sim_end *end)
{
	struct sim_guard_options options = {
		.budget = { .kind = SIM_BUDGET_FINAGLE,
			.share_ppm = (uint32_t)share_pct * 10000,
			.no_reserve = true },
	};
	struct sim_guard guard;
	struct sim_policy policy;
	struct sim_causal_options causal = { .policy = &policy, .events_limit = run->events_limit };
	struct sim_single single = sim_single_read(run, (uint64_t)sim_int(run, "load"));
	struct sim_windows windows;
	int64_t second;
	if (sim_guard_init(&guard, &options) < 0)
		return -1;
	policy = sim_guard_policy(&guard);
	sim_causal(&single, &causal, &windows, NULL);
	*end = sim_single_end(&windows, &single, &second);
	sim_windows_free(&windows);
	return second;
}

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
		enum sim_end bucket_end = SIM_METASTABLE, finagle_end = SIM_METASTABLE;
		int64_t bucket = bucket_share(run, share, &bucket_end);
		int64_t finagle = finagle_share(run, share, &finagle_end);
		SIM_ROW(table, SIM_INT(share), SIM_REAL(rate), second_of(bucket, bucket_end),
			formula_of(formula_s(run, rate)), second_of(finagle, finagle_end));
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
