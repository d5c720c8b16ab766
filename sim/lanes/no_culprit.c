/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane no-culprit: short requests alone, too many of them. There is nobody to cancel, and nobody
 * may be.
 */
#include <stdio.h>

#include "sim/lanes/lanes.h"
#include "sim/setups/trial.h"

enum { TRACKED, UNTRACKED };
enum { FIXED, EXPONENTIAL };

const struct sim_key sim_no_culprit_keys[] = {
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

static const char columns[] =
	"load_pct|slots|service|cancels all seeds|goodput_qps:1|goodput_ci95:1~ +-|"
	"late_s:2|suspect_pct:1 of windows|regular_pct:1 announced|resource_pct:1";

enum { GOODPUT, LATE, SUSPECT, REGULAR, RESOURCE, FIGURES };

struct sums {
	struct sim_stats figures[FIGURES];
	uint64_t cancels;
};

static const char *const swept[] = { "service", "slots", "load_pct", NULL };
static const char *const shown[] = { "load_pct", "slots", "service", NULL };

static uint64_t gap_ns(const struct sim_run *run, int64_t load_pct)
{
	double capacity = (double)sim_int(run, "cpus") * 1e3 / sim_real(run, "service_ms");
	return (uint64_t)(1e9 / (capacity * (double)load_pct / 100)) + 1;
}

static bool build(struct sim_trial *trial)
{
	const struct sim_run *run = trial->run;
	const struct sim_resource_options cpus[] = { { .name = "cpus",
		.type = CANCEL_QUEUE,
		.capacity = (uint64_t)sim_int(run, "cpus"),
		.untracked = sim_int(run, "slots") == UNTRACKED } };
	const struct sim_step steps[] = { SIM_TAKE(0, 1), SIM_COMPUTE_ARG(1), SIM_FREE(0, 1) };
	const struct sim_script scripts[] = { SIM_SCRIPT(steps) };
	struct sim_client_options clients[] = { {
		.name = "request",
		.flags = CANCEL_CANCELLABLE,
		.slo_ns = sim_ns(run, "slo_ms"),
		.measured = true,
		.gap = { .shape = SIM_EXPONENTIAL, .mean = gap_ns(run, sim_int(run, "load_pct")) },
		.patience.timeout_ns = sim_ns(run, "timeout_ms"),
		.patience.retries = (uint32_t)sim_int(run, "retries"),
		.draw = sim_draw_dist,
		.draw_arg = (void *)trial->variant,
	} };
	if (!SIM_BUILD(trial->world, cpus, scripts, clients))
		return false;
	uint64_t end_s = (uint64_t)sim_int(run, "duration_s");
	if (sim_int(run, "burst_pct") == 0)
		return true;
	clients->gap.mean = gap_ns(run, sim_int(run, "burst_pct"));
	for (uint64_t at_s = 8; at_s < end_s && at_s < 10 * (SIM_CLIENTS_MAX - 2); at_s += 10) {
		clients->first_ns = at_s * SIM_NS_PER_S;
		clients->until_ns = (at_s + 2) * SIM_NS_PER_S;
		if (sim_world_client(trial->world, clients) < 0)
			return false;
	}
	return true;
}

static void read(struct sim_trial *trial, void *found)
{
	const struct sim_result *r = &trial->result;
	double windows = (double)sim_int(trial->run, "duration_s") * 1000 /
			 (double)sim_int(trial->run, "window_ms");
	uint64_t goodput = 0;
	for (size_t i = 0; i < r->window_count; i++)
		goodput += r->windows[i].goodput;
	const double values[FIGURES] = {
		[GOODPUT] = (double)goodput / (double)r->window_count,
		[LATE] = (double)r->late_bins / 10,
		[SUSPECT] = 100 * (double)r->suspect_windows / windows,
		[REGULAR] = 100 * (double)r->regular_windows / windows,
		[RESOURCE] = 100 * (double)r->resource_windows / windows,
	};
	struct sums *sums = found;
	sim_stats_add_each(sums->figures, values, FIGURES);
	sums->cancels += r->decisions_total;
}

static int run_setup(
	struct sim_run *run, struct sim_table *table, struct sim_series *series, uint64_t *cancels)
{
	static const struct sim_world_lane lane = { NULL, build, read };
	struct sim_dist service = { .mean = sim_ns(run, "service_ms"),
		.shape = sim_int(run, "service") == FIXED ? SIM_FIXED : SIM_EXPONENTIAL };
	struct sums sums = { 0 };
	if (sim_trials(run, &lane, &service, &sums) != 0)
		return -1;
	sim_key_row(run, table, shown);
	sim_put(table, SIM_INT(sums.cancels));
	sim_put_figures(table, sums.figures, FIGURES);
	sim_plot_point(
		series, (double)sim_int(run, "load_pct"), sim_stats_mean(&sums.figures[REGULAR]));
	*cancels += sums.cancels;
	return 0;
}

int sim_no_culprit_run(struct sim_run *run)
{
	struct sim_table *table =
		sim_table(run, "overloads", "Overload without a culprit", columns);
	struct sim_plot *plot =
		sim_report_plot(run->report, "Windows announced as overload without a culprit",
			"load [% of capacity]", "% of windows", SIM_AXIS_LINEAR);
	struct sim_series *series = NULL;
	uint64_t cancels = 0;
	for (size_t i = 0; sim_vary(run, swept, i); i++) {
		if (i % sim_count(run, "load_pct") == 0) {
			char label[48];
			snprintf(label, sizeof label, "%s, slots %s", sim_choice(run, "service"),
				sim_choice(run, "slots"));
			series = sim_plot_series(plot, label, SIM_LINES_POINTS);
		}
		if (run_setup(run, table, series, &cancels) != 0)
			return -1;
	}
	sim_fact(run->report, "cancels", SIM_INT(cancels));
	return 0;
}
