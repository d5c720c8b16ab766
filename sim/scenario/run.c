/* SPDX-License-Identifier: Apache-2.0 */
/* Running a described scenario over its sweep and seeds, and its tables and plots. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/base/stats.h"
#include "sim/scenario/parts.h"

static const char client_columns[] =
	"goodput_qps:1|goodput_ci95:1~ +-|success_pct:1|attempts_qps:1|"
	"p50_ms:1 from schedule|p99_ms:1 from schedule|p99_send_ms:1 from sending|"
	"p99_ci95:1 +-";

static const char service_columns[] =
	"arrivals_qps:1|rejected_pct:1 of arrivals|busy_pct:1 of workers|"
	"queuing_ms:2 mean|wasted_pct:1 of work|hit_pct:1 of the cache";

struct sweep_state {
	const struct sim_scenario *scenario;
	size_t at[SIM_SWEEPS_MAX];
	size_t points, done;
};

enum { GOODPUT, SUCCESS, ATTEMPTS, P50, P99, P99_SEND, CLIENT_STATS };

enum { ARRIVALS, REJECTED, BUSY, QUEUING, WASTED, HIT, SERVICE_STATS };

struct client_stats {
	struct sim_stats of[CLIENT_STATS];
};

struct service_stats {
	struct sim_stats of[SERVICE_STATS];
};

static size_t names_of(
	const struct sim_scenario *scenario, enum section_kind kind, const char **names)
{
	size_t count = 0;
	for (size_t i = 0; i < scenario->section_count; i++)
		if (scenario->sections[i].kind == kind)
			names[count++] = scenario->sections[i].name;
	return count;
}

/* Sweep keys, who, figures. */
static struct sim_table *make_table(struct sim_run *run, const struct sim_scenario *scenario,
	const char *name, const char *title, const char *who, enum sim_table_use use,
	const char *figures)
{
	struct sim_table *table = sim_report_table(run->report, name, title, use, "");
	for (size_t i = 0; i < scenario->sweep_count; i++)
		sim_columns(table, "%s", scenario->sweeps[i].key);
	sim_columns(table, "%s", who);
	sim_columns(table, "%s", figures);
	return table;
}

static void begin_row(struct sim_table *table, const struct sweep_state *state, const char *who)
{
	sim_row(table);
	for (size_t i = 0; i < state->scenario->sweep_count; i++)
		sim_put(table, SIM_TEXT(state->scenario->sweeps[i].values[state->at[i]]));
	sim_put(table, SIM_TEXT(who));
}

/* ---- One run ---- */

static double share(double part, double all)
{
	return all > 0.0 ? 100.0 * part / all : 0.0;
}

static void add_client(
	struct client_stats *stats, const struct sim_traffic_result *r, double measured_s)
{
	const double values[CLIENT_STATS] = {
		[GOODPUT] = (double)r->succeeded / measured_s,
		[SUCCESS] = share((double)r->succeeded, (double)r->originals),
		[ATTEMPTS] = (double)r->attempts / measured_s,
		[P50] = (double)sim_histogram_percentile(r->latency, 50.0) / 1e6,
		[P99] = (double)sim_histogram_percentile(r->latency, 99.0) / 1e6,
		[P99_SEND] = (double)sim_histogram_percentile(r->from_send, 99.0) / 1e6,
	};
	sim_stats_add_each(stats->of, values, CLIENT_STATS);
}

static void add_service(struct service_stats *stats, const struct sim_service_result *r,
	double measured_s, double warm_up_s, double bin_s, double workers)
{
	size_t first_bin = (size_t)(warm_up_s / bin_s);
	double busy_ns = 0.0, queuing_ns = 0.0, started = 0.0;
	for (size_t i = first_bin; i < r->probe_count; i++) {
		busy_ns += (double)r->probes[i].busy_ns;
		queuing_ns += (double)r->probes[i].queuing_sum_ns;
		started += (double)r->probes[i].started;
	}
	double probed_ns = (double)(r->probe_count - first_bin) * bin_s * 1e9;
	const double values[SERVICE_STATS] = {
		[ARRIVALS] = (double)r->arrivals / measured_s,
		[REJECTED] = share((double)(r->rejected + r->shed_at_head), (double)r->arrivals),
		[BUSY] = share(busy_ns, probed_ns * workers),
		[QUEUING] = started > 0.0 ? queuing_ns / started / 1e6 : 0.0,
		[WASTED] = share((double)r->wasted, (double)r->served),
		[HIT] = share((double)r->cache_hit, (double)r->cache_asked),
	};
	sim_stats_add_each(stats->of, values, SERVICE_STATS);
}

static double option(const struct sim_run *run, const char *section, const char *key)
{
	char name[128];
	snprintf(name, sizeof(name), "%s.%s", section, key);
	return (double)sim_int(run, name);
}

static void put_windows(struct sim_table *table, const struct sweep_state *state, const char *who,
	const struct sim_traffic_result *result)
{
	for (size_t second = 0; second < result->window_count; second++) {
		const struct sim_traffic_window *row = &result->windows[second];
		begin_row(table, state, who);
		sim_put(table, SIM_INT(second));
		sim_put(table, SIM_INT(row->attempts));
		sim_put(table, SIM_INT(row->rejected));
		sim_put(table, SIM_INT(row->goodput));
		sim_put(table, SIM_INT(row->timed_out));
	}
}

static void plot_windows(
	struct sim_plot *plot, const char *who, const struct sim_traffic_result *result)
{
	char label[96];
	snprintf(label, sizeof(label), "offered, %s", who);
	struct sim_series *offered = sim_plot_series(plot, label, SIM_STEPS);
	snprintf(label, sizeof(label), "goodput, %s", who);
	struct sim_series *goodput = sim_plot_series(plot, label, SIM_STEPS);
	for (size_t second = 0; second < result->window_count; second++) {
		sim_plot_point(offered, (double)second, result->windows[second].attempts);
		sim_plot_point(goodput, (double)second, result->windows[second].goodput);
	}
}

/* ---- A point of the sweep: all seeds ---- */

struct tables {
	struct sim_table *clients, *services, *windows;
	struct sim_plot *over_time, *over_sweep;
	/* Of over_sweep: its clients, for each value of the second key. */
	struct sim_series **series;
};

/* Where a point lies along the first swept key: its value, or its place where values are words. */
static double x_of(const struct sweep_state *state)
{
	const struct sweep *sweep = &state->scenario->sweeps[0];
	for (size_t i = 0; i < sweep->count; i++) {
		char *end;
		strtod(sweep->values[i], &end);
		if (*end)
			return (double)state->at[0];
	}
	return strtod(sweep->values[state->at[0]], NULL);
}

static void plot_sweep(
	struct sim_run *run, const struct sim_scenario *scenario, struct tables *tables)
{
	const char *names[SIM_SECTIONS_MAX];
	const struct sweep *second = &scenario->sweeps[1];
	size_t count = names_of(scenario, SECTION_CLIENTS, names);
	size_t rows = scenario->sweep_count > 1 ? second->count : 1;
	tables->over_sweep = sim_report_plot(run->report, run->lane->what, scenario->sweeps[0].key,
		"goodput, requests a second", 0);
	tables->series = sim_alloc(rows * count, sizeof(struct sim_series *));
	for (size_t i = 0; i < rows * count; i++) {
		char label[2 * SIM_SCENARIO_TEXT_MAX];
		const char *who = names[i % count];
		if (scenario->sweep_count > 1)
			snprintf(label, sizeof(label), "%s, %s %s", who, second->key,
				second->values[i / count]);
		else
			snprintf(label, sizeof(label), "%s", who);
		tables->series[i] = sim_plot_series(tables->over_sweep, label, SIM_LINES_POINTS);
	}
}

static int run_seed(struct sim_run *run, struct sweep_state *state, struct tables *tables,
	uint32_t seed, struct client_stats *clients, struct service_stats *services)
{
	const struct sim_scenario *scenario = state->scenario;
	const char *names[SIM_SECTIONS_MAX], *why;
	char error[SIM_ERROR_MAX];
	struct sim_services *model = scenario_build(scenario, run, run->seed + seed, error);
	if (!model)
		return sim_fail(run, "%.200s", error);
	if (sim_services_run(model, &why) < 0) {
		sim_services_free(model);
		return sim_fail(run, "%s: %s", scenario->path, why);
	}
	if (sim_services_bound(model))
		sim_note(run->report, "seed %llu: stopped at its bound on the %s",
			(unsigned long long)(run->seed + seed), sim_services_bound(model));
	double warm_up_s = option(run, "run", "warm_up_s");
	double measured_s =
		option(run, "run", "duration_s") - warm_up_s - option(run, "run", "drain_s");
	size_t count = names_of(scenario, SECTION_CLIENTS, names);
	for (uint32_t i = 0; i < count; i++) {
		struct sim_traffic_result result;
		sim_services_traffic_result(model, i, &result);
		add_client(&clients[i], &result, measured_s);
		if (seed == 0)
			put_windows(tables->windows, state, names[i], &result);
		if (seed == 0 && tables->over_time)
			plot_windows(tables->over_time, names[i], &result);
	}
	double bin_s =
		(double)scenario_bin_ns((uint64_t)option(run, "run", "duration_s") * SIM_NS_PER_S) /
		1e9;
	count = names_of(scenario, SECTION_SERVICE, names);
	for (uint32_t i = 0; i < count; i++) {
		struct sim_service_result result;
		double workers =
			option(run, names[i], "servers") * option(run, names[i], "workers");
		sim_services_result(model, i, &result);
		add_service(&services[i], &result, measured_s, warm_up_s, bin_s, workers);
	}
	sim_services_free(model);
	return 0;
}

static int run_point(struct sim_run *run, struct sweep_state *state, struct tables *tables)
{
	struct client_stats clients[SIM_SCENARIO_CLIENTS] = { 0 };
	struct service_stats services[SIM_SCENARIO_SERVICES] = { 0 };
	const char *names[SIM_SECTIONS_MAX];
	for (uint32_t seed = 0; seed < run->seeds; seed++) {
		if (run_seed(run, state, tables, seed, clients, services) < 0)
			return -1;
		sim_progress(run, ++state->done, state->points * run->seeds);
	}
	size_t count = names_of(state->scenario, SECTION_CLIENTS, names);
	for (size_t i = 0; i < count; i++) {
		begin_row(tables->clients, state, names[i]);
		sim_put_figures(tables->clients, clients[i].of, CLIENT_STATS);
		sim_put(tables->clients, SIM_REAL(sim_stats_ci95(&clients[i].of[P99])));
		if (tables->series)
			sim_plot_point(tables->series[state->at[1] * count + i], x_of(state),
				sim_stats_mean(&clients[i].of[GOODPUT]));
	}
	count = names_of(state->scenario, SECTION_SERVICE, names);
	for (size_t i = 0; i < count; i++) {
		begin_row(tables->services, state, names[i]);
		sim_put_figures(tables->services, services[i].of, SERVICE_STATS);
	}
	return 0;
}

static void make_tables(
	struct sim_run *run, const struct sim_scenario *scenario, struct tables *tables)
{
	static const char window_columns[] = "second|offered|rejected|goodput|timed_out";
	tables->clients = make_table(run, scenario, "clients", "What clients got", "clients",
		SIM_TABLE_ALL, client_columns);
	tables->services = make_table(run, scenario, "services", "What services did", "service",
		SIM_TABLE_ALL, service_columns);
	tables->windows = make_table(run, scenario, "windows", "A row a second, first seed",
		"clients", SIM_TABLE_DATA_ONLY, window_columns);
	if (scenario->sweep_count > 0)
		plot_sweep(run, scenario, tables);
	else
		tables->over_time = sim_report_plot(
			run->report, run->lane->what, "second", "requests a second", 0);
}

/* Sets the sweep's keys for the point; false past the last one. */
static bool next_point(struct sweep_state *state)
{
	for (size_t i = state->scenario->sweep_count; i > 0; i--) {
		if (++state->at[i - 1] < state->scenario->sweeps[i - 1].count)
			return true;
		state->at[i - 1] = 0;
	}
	return false;
}

int scenario_run(struct sim_run *run)
{
	const struct sim_scenario *scenario = run->context;
	struct sweep_state state = { .scenario = scenario, .points = 1 };
	struct tables tables = { 0 };
	char error[SIM_ERROR_MAX];
	int status = 0;
	make_tables(run, scenario, &tables);
	for (size_t i = 0; i < scenario->sweep_count; i++)
		state.points *= scenario->sweeps[i].count;
	do {
		for (size_t i = 0; i < scenario->sweep_count && status == 0; i++)
			if (sim_options_set(&run->options, scenario->sweeps[i].key,
				    scenario->sweeps[i].values[state.at[i]], error) < 0)
				status = sim_fail(run, "%.200s", error);
		if (status == 0)
			status = run_point(run, &state, &tables);
	} while (status == 0 && next_point(&state));
	free(tables.series);
	return status;
}
