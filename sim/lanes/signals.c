/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What says "overloaded": response time, CPU, queuing time, minimum sojourn, each per tier, on
 * loads whose truth is known by construction. A tier is overloaded when it is asked for more than
 * it can do.
 */
#include <stdio.h>

#include "sim/lanes/lanes.h"
#include "sim/setups/trial.h"

const struct sim_key sim_signals_keys[] = {
	{ "scenario", SIM_KEY_CHOICES, "all", 0, 0,
		"healthy|batch|burst|standing|leaf|leaf-sync|overload",
		"the load; which tier is overloaded is known" },
	{ "window_ms", SIM_KEY_INTS, "100,1000,2000", 10, 100000, NULL,
		"a signal is averaged over so long" },
	{ "response_ms", SIM_KEY_INT, "250", 1, 1000000, NULL, "response time that alarms" },
	{ "cpu_pct", SIM_KEY_INT, "90", 1, 100, NULL, "busy workers that alarm" },
	{ "queuing_ms", SIM_KEY_INT, "20", 1, 1000000, NULL, "average queuing time that alarms" },
	{ "sojourn_ms", SIM_KEY_INT, "5", 1, 1000000, NULL,
		"minimum queuing time of the window that alarms" },
	{ "warm_up_s", SIM_KEY_INT, "10", 0, 10000, NULL, "not looked at" },
	{ "duration_s", SIM_KEY_INT, "70", 2, 10000, NULL, "the run ends here" },
	{ 0 },
};

enum scenario { HEALTHY, BATCH, BURST, STANDING, LEAF_ASYNC, LEAF_SYNC, OVERLOAD };

enum signal { RESPONSE, CPU, QUEUING, SOJOURN, SIGNALS };
static const char *const signal_names[] = { "response time", "CPU", "queuing time",
	"minimum sojourn" };

#define TIERS	  3 /* A calls B calls C */
#define CORES	  8
#define BIN_NS	  (10 * SIM_NS_PER_MS)
#define WORK_NS	  (10 * SIM_NS_PER_MS) /* of each tier: 800 requests a second */
#define SOUND_QPS 480.0		       /* 60 % of that */
#define LEAF	  (TIERS - 1)

/* Which tier cannot keep up, by construction. */
static bool truly_overloaded(enum scenario scenario, uint32_t tier)
{
	switch (scenario) {
	case STANDING:
	case LEAF_ASYNC:
	case LEAF_SYNC:
		return tier == LEAF;
	case OVERLOAD:
		return tier == 0;
	default:
		return false;
	}
}

static void add_tiers(struct sim_services *services, enum scenario scenario)
{
	for (uint32_t tier = 0; tier < TIERS; tier++) {
		bool leaf = tier == LEAF;
		struct sim_service_options options = {
			.workers = CORES,
			.work = { .shape = SIM_EXPONENTIAL, .mean = WORK_NS },
			.calls = { { .callee = tier + 1, .count = 1 } },
			.call_lists = leaf ? 0 : 1,
			.holds_worker = scenario == LEAF_SYNC,
			/* A tier that cannot keep up rejects at last: queues are bounded. */
			.queue_limit = 1000,
		};
		/* Threads that wait for the leaf are cheap: a synchronous tier has many. */
		if (scenario == LEAF_SYNC && !leaf)
			options.workers = 8 * CORES;
		if ((scenario == LEAF_ASYNC || scenario == LEAF_SYNC) && leaf)
			options.work.mean = 2 * WORK_NS; /* 400 a second, asked 480 */
		if (scenario == OVERLOAD && tier > 0)
			options.work.mean = WORK_NS / 2; /* what A lets through is no burden */
		sim_services_add(services, &options);
	}
}

static void add_load(struct sim_services *services, enum scenario scenario)
{
	struct sim_traffic_options sound = { .loop = SIM_LOOP_POISSON, .rate_qps = SOUND_QPS };
	/* Batch at the leaf: as many users as cores, no thinking. Busy to the last core. */
	struct sim_traffic_options batch = { .service = LEAF,
		.loop = SIM_LOOP_CLOSED,
		.users = CORES,
		.think = { .shape = SIM_FIXED, .mean = 1 } };
	struct sim_traffic_options burst = {
		.loop = SIM_LOOP_FIXED, .burst_every_ns = 5 * SIM_NS_PER_S, .burst = 150
	};
	switch (scenario) {
	case STANDING: /* five users a core: a queue of 32 that never empties */
		batch.users = 5 * CORES;
		sim_services_traffic(services, &batch);
		return;
	case BATCH:
		sound.rate_qps = SOUND_QPS / 4.0;
		sim_services_traffic(services, &batch);
		break;
	case BURST:
		sound.rate_qps = SOUND_QPS / 2.0;
		sim_services_traffic(services, &burst);
		break;
	case OVERLOAD:
		sound.rate_qps = 2.0 * SOUND_QPS;
		break;
	default:
		break;
	}
	sim_services_traffic(services, &sound);
}

/* ---- Signals from probes ---- */

struct limits {
	double response_ns, cpu_share, queuing_ns, sojourn_ns;
};

static struct sim_probe sum_of(const struct sim_probe *bins, size_t count)
{
	struct sim_probe sum = { .queuing_min_ns = UINT64_MAX };
	for (size_t i = 0; i < count; i++) {
		sum.started += bins[i].started;
		sum.answered += bins[i].answered;
		sum.queuing_sum_ns += bins[i].queuing_sum_ns;
		sum.response_sum_ns += bins[i].response_sum_ns;
		sum.work_ns += bins[i].work_ns;
		if (bins[i].queuing_min_ns < sum.queuing_min_ns)
			sum.queuing_min_ns = bins[i].queuing_min_ns;
	}
	return sum;
}

static bool alarms(enum signal signal, const struct sim_probe *sum, const struct limits *limits,
	double window_ns)
{
	switch (signal) {
	case RESPONSE:
		return sum->answered > 0 &&
		       (double)sum->response_sum_ns / (double)sum->answered > limits->response_ns;
	case CPU:
		return (double)sum->work_ns > limits->cpu_share * window_ns * CORES;
	case QUEUING:
		return sum->started > 0 &&
		       (double)sum->queuing_sum_ns / (double)sum->started > limits->queuing_ns;
	default:
		return sum->started > 0 && (double)sum->queuing_min_ns > limits->sojourn_ns;
	}
}

struct verdicts { /* shares of windows that alarm, over seeds */
	struct sim_stats pct[TIERS][SIGNALS];
};

static void judge(struct sim_run *run, struct sim_services *services, uint64_t window_ms,
	struct verdicts *verdicts)
{
	struct limits limits = {
		.response_ns = (double)sim_int(run, "response_ms") * 1e6,
		.cpu_share = (double)sim_int(run, "cpu_pct") / 100.0,
		.queuing_ns = (double)sim_int(run, "queuing_ms") * 1e6,
		.sojourn_ns = (double)sim_int(run, "sojourn_ms") * 1e6,
	};
	size_t bins = window_ms * SIM_NS_PER_MS / BIN_NS;
	size_t first = (size_t)sim_int(run, "warm_up_s") * SIM_NS_PER_S / BIN_NS;
	for (uint32_t tier = 0; tier < TIERS; tier++) {
		struct sim_service_result result;
		size_t windows = 0, fired[SIGNALS] = { 0 };
		sim_services_result(services, tier, &result);
		for (size_t at = first; at + bins <= result.probe_count; at += bins, windows++) {
			struct sim_probe sum = sum_of(&result.probes[at], bins);
			for (enum signal signal = RESPONSE; signal < SIGNALS; signal++)
				fired[signal] +=
					alarms(signal, &sum, &limits, (double)window_ms * 1e6);
		}
		for (enum signal signal = RESPONSE; windows > 0 && signal < SIGNALS; signal++)
			sim_stats_add(&verdicts->pct[tier][signal],
				100.0 * (double)fired[signal] / (double)windows);
	}
}

static int simulate(
	struct sim_run *run, enum scenario scenario, uint64_t seed, struct verdicts *by_window)
{
	struct sim_services_options options = sim_services_of(run, sim_ns(run, "duration_s"), seed);
	char subject[32];
	options.bin_ns = BIN_NS;
	struct sim_services *services = sim_services_new(&options);
	snprintf(subject, sizeof(subject), "%s:", sim_name(run, "scenario", scenario));
	add_tiers(services, scenario);
	add_load(services, scenario);
	if (sim_play_services(run, services, subject) < 0)
		return -1;
	for (size_t i = 0; i < sim_count(run, "window_ms"); i++)
		judge(run, services, (uint64_t)sim_item(run, "window_ms", i), &by_window[i]);
	sim_services_free(services);
	return 0;
}

/* ---- Tables ---- */

static void put_rows(struct sim_run *run, struct sim_table *table, enum scenario scenario,
	const struct verdicts *by_window)
{
	for (uint32_t tier = 0; tier < TIERS; tier++) {
		bool truth = truly_overloaded(scenario, tier);
		char name[2] = { (char)('A' + tier), '\0' };
		for (enum signal signal = RESPONSE; signal < SIGNALS; signal++) {
			SIM_ROW(table, SIM_TEXT(sim_name(run, "scenario", scenario)),
				SIM_TEXT(name), SIM_BOOL(truth), SIM_TEXT(signal_names[signal]));
			double widest = 0.0;
			for (size_t i = 0; i < sim_count(run, "window_ms"); i++) {
				const struct sim_stats *stats = &by_window[i].pct[tier][signal];
				double width = sim_stats_ci95(stats);
				sim_put(table, SIM_REAL(sim_stats_mean(stats)));
				widest = width > widest ? width : widest;
			}
			sim_put(table, SIM_REAL(widest));
		}
	}
}

struct tally {
	double wrong[2], windows[2]; /* by truth: false alarms, missed ones */
};

static void count_errors(struct sim_run *run, struct tally tallies[][SIGNALS],
	enum scenario scenario, const struct verdicts *by_window)
{
	for (size_t i = 0; i < sim_count(run, "window_ms"); i++)
		for (uint32_t tier = 0; tier < TIERS; tier++)
			for (enum signal signal = RESPONSE; signal < SIGNALS; signal++) {
				bool truth = truly_overloaded(scenario, tier);
				double fired = sim_stats_mean(&by_window[i].pct[tier][signal]);
				tallies[i][signal].wrong[truth] += truth ? 100.0 - fired : fired;
				tallies[i][signal].windows[truth] += 100.0;
			}
}

static double pct(const struct tally *tally, bool truth)
{
	double windows = tally->windows[truth];
	return windows > 0.0 ? 100.0 * tally->wrong[truth] / windows : 0.0;
}

#define WINDOWS_MAX 8

static void put_summary(struct sim_run *run, struct tally tallies[][SIGNALS])
{
	static const char columns[] = "window_ms|signal|false_alarms_pct:1 of healthy windows|"
				      "missed_pct:1 of overloaded ones";
	struct sim_table *table = sim_table(
		run, "errors", "Windows judged wrongly, over all scenarios and tiers", columns);
	struct sim_plot *plot = sim_report_plot(run->report, run->lane->what, "window, ms",
		"windows judged wrongly, %", SIM_AXIS_LOG_X);
	struct sim_series *series[SIGNALS];
	for (enum signal signal = RESPONSE; signal < SIGNALS; signal++)
		series[signal] = sim_plot_series(plot, signal_names[signal], SIM_LINES_POINTS);
	for (size_t i = 0; i < sim_count(run, "window_ms"); i++)
		for (enum signal signal = RESPONSE; signal < SIGNALS; signal++) {
			const struct tally *tally = &tallies[i][signal];
			SIM_ROW(table, SIM_INT(sim_item(run, "window_ms", i)),
				SIM_TEXT(signal_names[signal]), SIM_REAL(pct(tally, false)),
				SIM_REAL(pct(tally, true)));
			sim_plot_point(series[signal], (double)sim_item(run, "window_ms", i),
				100.0 * (tally->wrong[0] + tally->wrong[1]) /
					(tally->windows[0] + tally->windows[1]));
		}
}

static struct sim_table *alarm_table(struct sim_run *run, size_t windows)
{
	struct sim_table *table = sim_table(run, "signals",
		"Windows that alarm, by scenario, tier (A calls B calls C) and signal",
		"scenario|tier|overloaded truth|signal");
	for (size_t i = 0; i < windows; i++)
		sim_columns(table, "alarm_pct_%lldms:1 of windows",
			(long long)sim_item(run, "window_ms", i));
	sim_columns(table, "ci95:1 +-, widest");
	return table;
}

int sim_signals_run(struct sim_run *run)
{
	static const char *const swept[] = { "scenario", NULL };
	size_t windows = sim_count(run, "window_ms");
	struct tally tallies[WINDOWS_MAX][SIGNALS] = { 0 };
	if (windows > WINDOWS_MAX)
		return sim_fail(run, "window_ms: %zu windows, at most %d", windows, WINDOWS_MAX);
	if (sim_int(run, "warm_up_s") >= sim_int(run, "duration_s"))
		return sim_fail(run, "warm_up_s: %s is not below duration_s %s",
			sim_text(run, "warm_up_s"), sim_text(run, "duration_s"));
	struct sim_table *table = alarm_table(run, windows);
	for (size_t i = 0; sim_vary(run, swept, i); i++) {
		enum scenario scenario = (enum scenario)sim_int(run, "scenario");
		struct verdicts by_window[WINDOWS_MAX] = { 0 };
		for (uint32_t seed = 0; seed < run->seeds; seed++)
			if (simulate(run, scenario, run->seed + seed, by_window) < 0)
				return -1;
		put_rows(run, table, scenario, by_window);
		count_errors(run, tallies, scenario, by_window);
	}
	put_summary(run, tallies);
	sim_note(run->report, "batch: C's cores always busy, hardly anybody waits; burst: 150 at "
			      "once each 5 s on 30 %% load; standing: five users a core at C;");
	sim_note(run->report,
		"leaf: C asked for 120 %% of what it can do; leaf-sync: the same with "
		"callers that hold a thread while they wait: then the queue climbs to A, "
		"and queuing time is local no more.");
	return 0;
}
