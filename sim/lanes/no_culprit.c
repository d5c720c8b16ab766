/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane no-culprit: short requests alone, too many of them. There is nobody to cancel, and nobody
 * may be.
 */
#include "sim/report/lane.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/base/stats.h"
#include "sim/setups/world_keys.h"

static const struct sim_key keys[] = {
	{ "load_pct", SIM_KEY_INTS, "60,80,95,110,150,300", 1, 10000, NULL,
		"offered, of the capacity" },
	{ "slots", SIM_KEY_CHOICES, "all", 0, 0, "tracked|untracked",
		"whether the CPU slots are instrumented as a queue" },
	{ "service", SIM_KEY_CHOICES, "all", 0, 0, "fixed|exponential", "its shape" },
	{ "cpus", SIM_KEY_INT, "4", 1, 1000, NULL, "CPU slots" },
	{ "service_ms", SIM_KEY_REAL, "5", 0.001, 100000, NULL, "mean CPU time of a request" },
	{ "burst_pct", SIM_KEY_INT, "50", 0, 10000, NULL,
		"of the capacity more, for 2 s in every 10" },
	{ "slo_ms", SIM_KEY_INT, "100", 1, 1000000, NULL, "a request's objective" },
	{ "timeout_ms", SIM_KEY_INT, "1000", 1, 1000000, NULL, "a client's patience" },
	{ "retries", SIM_KEY_INT, "1", 0, 100, NULL, "after it" },
	{ "duration_s", SIM_KEY_INT, "30", 5, 10000, NULL, "arrivals end here" },
	SIM_KEYS_WATCH,
	{ 0 },
};

static const struct sim_column columns[] = {
	{ "load_pct", NULL, 0 },
	{ "slots", NULL, 0 },
	{ "service", NULL, 0 },
	{ "cancels", "all seeds", 0 },
	{ "goodput_qps", NULL, 1 },
	{ "goodput_ci95", "+-", 1 },
	{ "late_s", NULL, 2 },
	{ "suspect_pct", "of windows", 1 },
	{ "regular_pct", "announced", 1 },
	{ "resource_pct", NULL, 1 },
};

struct setup {
	int64_t load_pct;
	bool tracked, fixed;
};

struct sums {
	struct sim_stats goodput, late, suspect, regular, resource;
	uint64_t cancels;
};

static void draw(void *arg, struct sim_rng *rng, uint64_t sequence, uint64_t *args)
{
	(void)sequence;
	args[0] = sim_dist_draw(arg, rng);
}

static bool add_server(struct sim_world *w, const struct sim_run *run, const struct setup *s)
{
	struct sim_resource_options cpus = { .name = "cpus",
		.type = CANCEL_QUEUE,
		.capacity = (uint64_t)sim_int(run, "cpus"),
		.untracked = !s->tracked };
	struct sim_step steps[] = {
		{ .kind = SIM_STEP_SLOT, .resource = 0, .amount = 1 },
		{ .kind = SIM_STEP_COMPUTE, .amount_arg = 1 },
		{ .kind = SIM_STEP_FREE, .resource = 0, .amount = 1 },
	};
	return sim_world_resource(w, &cpus) == 0 && sim_world_script(w, steps, 3) == 0;
}

static uint64_t gap_ns(const struct sim_run *run, int64_t load_pct)
{
	double capacity = (double)sim_int(run, "cpus") * 1e3 / sim_real(run, "service_ms");
	return (uint64_t)(1e9 / (capacity * (double)load_pct / 100)) + 1;
}

static bool add_clients(struct sim_world *w, const struct sim_run *run, const struct setup *s,
	const struct sim_dist *service)
{
	struct sim_client_options client = {
		.struct_size = sizeof client,
		.name = "request",
		.flags = CANCEL_CANCELLABLE,
		.slo_ns = (uint64_t)sim_int(run, "slo_ms") * SIM_NS_PER_MS,
		.measured = true,
		.gap = { .shape = SIM_EXPONENTIAL, .mean = gap_ns(run, s->load_pct) },
		.timeout_ns = (uint64_t)sim_int(run, "timeout_ms") * SIM_NS_PER_MS,
		.retries = (uint32_t)sim_int(run, "retries"),
		.draw = draw,
	};
	client.draw_arg = (void *)service;
	if (sim_world_client(w, &client) < 0)
		return false;
	uint64_t end_s = (uint64_t)sim_int(run, "duration_s");
	if (sim_int(run, "burst_pct") == 0)
		return true;
	client.gap.mean = gap_ns(run, sim_int(run, "burst_pct"));
	for (uint64_t at_s = 8; at_s < end_s && at_s < 10 * (SIM_CLIENTS_MAX - 2); at_s += 10) {
		client.first_ns = at_s * SIM_NS_PER_S;
		client.until_ns = (at_s + 2) * SIM_NS_PER_S;
		if (sim_world_client(w, &client) < 0)
			return false;
	}
	return true;
}

static void add_outcome(const struct sim_run *run, const struct sim_result *r, struct sums *sums)
{
	double windows =
		(double)sim_int(run, "duration_s") * 1000 / (double)sim_int(run, "window_ms");
	uint64_t goodput = 0;
	for (size_t i = 0; i < r->window_count; i++)
		goodput += r->windows[i].goodput;
	sim_stats_add(&sums->goodput, (double)goodput / (double)r->window_count);
	sim_stats_add(&sums->late, (double)r->late_bins / 10);
	sim_stats_add(&sums->suspect, 100 * (double)r->suspect_windows / windows);
	sim_stats_add(&sums->regular, 100 * (double)r->regular_windows / windows);
	sim_stats_add(&sums->resource, 100 * (double)r->resource_windows / windows);
	sums->cancels += r->decisions_total;
}

static int run_once(struct sim_run *run, const struct setup *s, uint64_t seed, struct sums *sums)
{
	struct sim_world_options options = { 0 };
	struct cancel_pipeline_config pipeline;
	struct sim_dist service = { .shape = s->fixed ? SIM_FIXED : SIM_EXPONENTIAL,
		.mean = (uint64_t)(sim_real(run, "service_ms") * 1e6) };
	const char *why = "the world's tables do not hold this lane";
	sim_watch_read(run, &options, &pipeline);
	options.duration_ns = (uint64_t)sim_int(run, "duration_s") * SIM_NS_PER_S;
	options.seed = seed;
	struct sim_world *w = sim_world_new(&options, &why);
	if (w && add_server(w, run, s) && add_clients(w, run, s, &service)) {
		struct sim_result result;
		sim_world_run(w);
		sim_world_result(w, &result);
		why = result.broken;
		add_outcome(run, &result, sums);
		if (result.bound)
			sim_note(run->report, "a run stopped at its bound on the %s", result.bound);
	}
	sim_world_free(w);
	return why ? sim_fail(run, "no-culprit: %s", why) : 0;
}

static int run_setup(struct sim_run *run, struct sim_table *table, struct sim_series *series,
	const struct setup *s, uint64_t *cancels)
{
	struct sums sums = { 0 };
	for (uint32_t i = 0; i < run->seeds; i++)
		if (run_once(run, s, run->seed + i, &sums) != 0)
			return -1;
	sim_row(table);
	sim_put_int(table, s->load_pct);
	sim_put_text(table, s->tracked ? "tracked" : "untracked");
	sim_put_text(table, s->fixed ? "fixed" : "exponential");
	sim_put_int(table, (int64_t)sums.cancels);
	sim_put_real(table, sim_stats_mean(&sums.goodput));
	sim_put_real(table, sim_stats_ci95(&sums.goodput));
	sim_put_real(table, sim_stats_mean(&sums.late));
	sim_put_real(table, sim_stats_mean(&sums.suspect));
	sim_put_real(table, sim_stats_mean(&sums.regular));
	sim_put_real(table, sim_stats_mean(&sums.resource));
	sim_plot_point(series, (double)s->load_pct, sim_stats_mean(&sums.regular));
	*cancels += sums.cancels;
	return 0;
}

static int run_no_culprit(struct sim_run *run)
{
	struct sim_table *table =
		sim_report_table(run->report, "overloads", "Overload without a culprit",
			SIM_TABLE_ALL, columns, sizeof columns / sizeof *columns);
	size_t loads = sim_count(run, "load_pct"), slots = sim_count(run, "slots");
	size_t shapes = sim_count(run, "service"), total = loads * slots * shapes;
	struct sim_plot *plot =
		sim_report_plot(run->report, "Windows announced as overload without a culprit",
			"load [% of capacity]", "% of windows", SIM_AXIS_LINEAR);
	struct sim_series *series = NULL;
	uint64_t cancels = 0;
	for (size_t i = 0; i < total; i++) {
		struct setup s = { .load_pct = sim_item(run, "load_pct", i % loads),
			.tracked = sim_item(run, "slots", i / loads % slots) == 0,
			.fixed = sim_item(run, "service", i / loads / slots) == 0 };
		if (i % loads == 0) {
			char label[48];
			snprintf(label, sizeof label, "%s, slots %s",
				s.fixed ? "fixed" : "exponential",
				s.tracked ? "tracked" : "untracked");
			series = sim_plot_series(plot, label, SIM_LINES_POINTS);
		}
		if (run_setup(run, table, series, &s, &cancels) != 0)
			return -1;
		sim_progress(run, i + 1, total);
	}
	sim_fact_int(run->report, "cancels", (int64_t)cancels);
	return 0;
}

const struct sim_lane sim_lane_no_culprit = {
	.name = "no-culprit",
	.what = "Too many short requests and nobody to blame: nothing may be cancelled",
	.keys = keys,
	.seeds = 3,
	.run = run_no_culprit,
};
