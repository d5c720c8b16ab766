/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a closed loop hides: one server, one pause, measured by clients that keep to a schedule, by
 * clients that wait for their answers, and by the latter counted from the schedule they meant to
 * keep. After Gil Tene's "coordinated omission".
 */
#include "sim/lanes/lanes.h"
#include "sim/setups/trial.h"

const struct sim_key sim_omission_keys[] = {
	{ "rate", SIM_KEY_INT, "100", 1, 100000, NULL, "requests a second, meant or thought" },
	{ "users", SIM_KEY_INTS, "1,10,100", 1, 100000, NULL, "of the closed loops" },
	{ "workers", SIM_KEY_INT, "4", 1, 10000, NULL, "of the server" },
	{ "work_ms", SIM_KEY_INT, "5", 1, 100000, NULL, "of a request (exponential)" },
	{ "pause_start_s", SIM_KEY_INT, "30", 0, 100000, NULL, "nothing starts from here" },
	{ "pause_ms", SIM_KEY_INT, "10000", 0, 1000000, NULL, "and for so long" },
	{ "duration_s", SIM_KEY_INT, "120", 1, 10000, NULL, "the run ends here" },
	{ 0 },
};

static const char columns[] =
	"clients|users|answered|during_pause requests sent|p50_ms:1|p99_ms:1|p99_9_ms:1|"
	"p99_ci95:1 +-";

enum { ANSWERED, DURING, P50, P99, P999, FIGURES };

struct view { /* one way to count */
	struct sim_stats figures[FIGURES];
};

static void add_view(
	struct view *view, const struct sim_histogram *latency, uint64_t answered, uint64_t during)
{
	const double values[FIGURES] = { (double)answered, (double)during,
		(double)sim_histogram_percentile(latency, 50.0) / 1e6,
		(double)sim_histogram_percentile(latency, 99.0) / 1e6,
		(double)sim_histogram_percentile(latency, 99.9) / 1e6 };
	sim_stats_add_each(view->figures, values, FIGURES);
}

static int simulate(struct sim_run *run, enum sim_loop loop, uint32_t users, uint64_t seed,
	struct view *sent, struct view *scheduled)
{
	uint64_t pause_ns = sim_ns(run, "pause_start_s");
	uint64_t pause_end_ns = pause_ns + sim_ns(run, "pause_ms");
	double rate = (double)sim_int(run, "rate");
	struct sim_services_options options = sim_services_of(run, sim_ns(run, "duration_s"), seed);
	struct sim_service_options server = {
		.workers = (uint32_t)sim_int(run, "workers"),
		.work = { .shape = SIM_EXPONENTIAL, .mean = sim_ns(run, "work_ms") },
	};
	struct sim_traffic_options clients = {
		.loop = loop,
		.rate_qps = rate,
		.users = users,
		.think = { .shape = SIM_EXPONENTIAL, .mean = (uint64_t)(1e9 / rate * users) },
	};
	struct sim_change pause = { .kind = SIM_CHANGE_OUTAGE,
		.server = -1,
		.from_ns = pause_ns,
		.until_ns = pause_end_ns };
	struct sim_services *services = sim_services_new(&options);
	struct sim_traffic_result result;
	uint64_t during = 0;
	sim_services_add(services, &server);
	sim_services_traffic(services, &clients);
	sim_services_change(services, &pause);
	if (sim_play_services(run, services, NULL) < 0)
		return -1;
	sim_services_traffic_result(services, 0, &result);
	for (size_t second = pause_ns / SIM_NS_PER_S;
		second < pause_end_ns / SIM_NS_PER_S && second < result.window_count; second++)
		during += result.windows[second].attempts;
	add_view(sent, result.from_send, result.succeeded, during);
	add_view(scheduled, result.latency, result.succeeded, during);
	sim_services_free(services);
	return 0;
}

static void put_view(
	struct sim_table *table, const char *clients, int64_t users, const struct view *view)
{
	SIM_ROW(table, SIM_TEXT(clients), users > 0 ? SIM_INT(users) : SIM_NONE);
	sim_put_figures(table, view->figures, FIGURES);
	sim_put(table, SIM_REAL(sim_stats_ci95(&view->figures[P99])));
}

int sim_omission_run(struct sim_run *run)
{
	struct sim_table *table =
		sim_table(run, "omission", "The same pause, as different clients tell it", columns);
	struct sim_plot *plot = sim_report_plot(run->report, run->lane->what,
		"users of the closed loop", "99th percentile, ms", SIM_AXIS_LOG_X);
	struct sim_series *hidden = sim_plot_series(plot, "paced, from sending", SIM_LINES_POINTS);
	struct sim_series *honest =
		sim_plot_series(plot, "paced, from the schedule", SIM_LINES_POINTS);
	size_t count = sim_count(run, "users"), total = 2 * count + 1, done = 0;
	struct view open = { 0 }, unused = { 0 };
	for (uint32_t seed = 0; seed < run->seeds; seed++)
		if (simulate(run, SIM_LOOP_POISSON, 0, run->seed + seed, &unused, &open) < 0)
			return -1;
	put_view(table, "open loop", 0, &open);
	sim_progress(run, ++done, total);
	for (size_t i = 0; i < count; i++) {
		uint32_t users = (uint32_t)sim_item(run, "users", i);
		struct view sent = { 0 }, scheduled = { 0 }, thinking = { 0 };
		for (uint32_t seed = 0; seed < run->seeds; seed++) {
			uint64_t at = run->seed + seed;
			if (simulate(run, SIM_LOOP_PACED, users, at, &sent, &scheduled) < 0 ||
				simulate(run, SIM_LOOP_CLOSED, users, at, &thinking, &unused) < 0)
				return -1;
		}
		put_view(table, "paced, from sending", users, &sent);
		put_view(table, "paced, from the schedule", users, &scheduled);
		put_view(table, "thinking, from sending", users, &thinking);
		sim_plot_point(hidden, users, sim_stats_mean(&sent.figures[P99]));
		sim_plot_point(honest, users, sim_stats_mean(&scheduled.figures[P99]));
		done += 2;
		sim_progress(run, done, total);
	}
	sim_note(run->report,
		"paced: each user means to send every users/rate seconds, but waits "
		"for its answer first; thinking: it pauses that long after each answer.");
	return 0;
}
