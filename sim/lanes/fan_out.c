/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subsequent overload: what shedding is worth when a task needs several answers from an overloaded
 * service. The system is setups/fanout.c's.
 */

#include "sim/base/stats.h"
#include "sim/lanes/lanes.h"
#include "sim/setups/fanout.h"

const struct sim_key sim_fan_out_keys[] = {
	{ "part", SIM_KEY_CHOICES, "all", 0, 0, "depth|start|two|mixed|reject",
		"M^1 to M^4; where shedding starts; two overloaded services; a mixed load; the "
		"price of a reject" },
	{ "policy", SIM_KEY_CHOICES, "all", 0, 0,
		"random|codel|seda|dagor-r|dagor-q|dagor-q-upstream", "who sheds at M" },
	{ "feed", SIM_KEY_INT, "1500", 1, 100000, NULL,
		"first requests at M a second, whatever the number of calls" },
	{ "start_feeds", SIM_KEY_INTS, "450..900:30", 1, 100000, NULL,
		"feeds of M^1 tried for the start of shedding" },
	{ "start_pct", SIM_KEY_REAL, "2", 0.0, 100.0, NULL,
		"shedding has started when this share of requests is refused" },
	{ "reject_cost_us", SIM_KEY_INTS, "0,5000,20000,50000", 0, 10000000, NULL,
		"worker time a reject takes at M" },
	SIM_KEYS_FANOUT,
	{ 0 },
};

enum part { DEPTH, START, TWO, MIXED, REJECT };
enum policy { RANDOM, CODEL, SEDA, DAGOR_R, DAGOR_Q, DAGOR_Q_UPSTREAM, POLICIES };

static const enum sim_gate_kind kinds[POLICIES] = { SIM_SHED_RANDOM, SIM_SHED_CODEL, SIM_SHED_SEDA,
	SIM_SHED_DAGOR_R, SIM_SHED_DAGOR_Q, SIM_SHED_DAGOR_Q };

struct lane {
	struct sim_run *run;
	size_t done, total; /* simulated runs */
	double saturation, feed;
};

static struct sim_fanout fanout_of(enum policy policy)
{
	return (struct sim_fanout){
		.gate = kinds[policy],
		.collaborative = policy == DAGOR_Q_UPSTREAM,
	};
}

/* Figures over seeds: first the success of each front's tasks. */
enum { WASTED = SIM_FANOUT_FRONTS, ATTEMPTS, SHED, FIGURES };

/* Runs every seed; `last` is what the last one found. */
static int over_seeds(struct lane *lane, struct sim_fanout fanout, struct sim_stats *figures,
	struct sim_fanout_result *last)
{
	for (uint32_t i = 0; i < lane->run->seeds; i++) {
		double values[FIGURES] = { 0 };
		fanout.seed = lane->run->seed + i;
		int status = sim_fanout_run(lane->run, &fanout, last);
		sim_progress(lane->run, ++lane->done, lane->total);
		if (status < 0)
			return -1;
		for (uint32_t front = 0; front < SIM_FANOUT_FRONTS; front++)
			if (last->fronts[front].tasks > 0)
				values[front] = 100.0 * (double)last->fronts[front].succeeded /
						(double)last->fronts[front].tasks;
		values[WASTED] = 100.0 * last->wasted_share;
		values[ATTEMPTS] = (double)(last->m.arrivals + last->m.refused_upstream) /
				   (double)last->m.first_arrivals;
		values[SHED] = 100.0 * last->shed_share;
		sim_stats_add_each(figures, values, FIGURES);
	}
	return 0;
}

static double optimal_pct(const struct lane *lane)
{
	return lane->feed > lane->saturation ? 100.0 * lane->saturation / lane->feed : 100.0;
}

/* ---- M^1 … M^4 and the two overloaded services ---- */

static const char depth_columns[] =
	"workload|policy|success_pct:1 of tasks|ci95:1 +-|optimal_pct:1 f_sat/f|"
	"of_optimal_pct|random_pct:1 p^k|wasted_pct:1 of M's work|attempts_per_request:2";

static int depth_row(struct lane *lane, struct sim_table *table, enum policy policy, uint32_t front,
	struct sim_series *series)
{
	static const char *const workloads[] = { "M^1", "M^2", "M^3", "M^4", "M+N" };
	struct sim_run *run = lane->run;
	struct sim_fanout fanout = fanout_of(policy);
	struct sim_fanout_result result;
	struct sim_stats figures[FIGURES] = { 0 }, *success = &figures[front];
	uint32_t k = front == SIM_FANOUT_BOTH ? 2 : front + 1;
	fanout.feed_qps[front] = lane->feed;
	if (over_seeds(lane, fanout, figures, &result) < 0)
		return -1;
	double random = 1.0, optimal = optimal_pct(lane);
	for (uint32_t i = 0; i < k; i++)
		random *= optimal / 100.0;
	SIM_ROW(table, SIM_TEXT(workloads[front]), SIM_TEXT(sim_name(run, "policy", policy)),
		SIM_REAL(sim_stats_mean(success)), SIM_REAL(sim_stats_ci95(success)),
		SIM_REAL(optimal), SIM_REAL(100.0 * sim_stats_mean(success) / optimal),
		SIM_REAL(100.0 * random), SIM_REAL(sim_stats_mean(&figures[WASTED])),
		SIM_REAL(sim_stats_mean(&figures[ATTEMPTS])));
	if (series)
		sim_plot_point(series, k, sim_stats_mean(success));
	return 0;
}

static int part_depth(struct lane *lane)
{
	struct sim_run *run = lane->run;
	struct sim_table *table =
		sim_table(run, "depth", "Tasks that call M one to four times", depth_columns);
	struct sim_plot *plot = sim_report_plot(run->report,
		"Success of tasks that call the overloaded service k times",
		"calls a task makes, k", "tasks that succeed, %", SIM_AXIS_LINEAR);
	struct sim_series *optimum = sim_plot_series(plot, "f_sat/f", SIM_LINES);
	for (uint32_t k = 1; k <= 4; k++)
		sim_plot_point(optimum, k, optimal_pct(lane));
	for (size_t i = 0; i < sim_count(run, "policy"); i++) {
		enum policy policy = (enum policy)sim_item(run, "policy", i);
		struct sim_series *series =
			sim_plot_series(plot, sim_name(run, "policy", policy), SIM_LINES_POINTS);
		for (uint32_t front = 0; front < 4; front++)
			if (depth_row(lane, table, policy, front, series) < 0)
				return -1;
	}
	return 0;
}

static int part_two(struct lane *lane)
{
	struct sim_run *run = lane->run;
	struct sim_table *table = sim_table(
		run, "two", "Tasks that call two overloaded services once each", depth_columns);
	for (size_t i = 0; i < sim_count(run, "policy"); i++)
		if (depth_row(lane, table, (enum policy)sim_item(run, "policy", i), SIM_FANOUT_BOTH,
			    NULL) < 0)
			return -1;
	return 0;
}

/* ---- Where shedding starts ---- */

static const enum policy starters[] = { DAGOR_R, DAGOR_Q };
#define STARTERS (sizeof(starters) / sizeof(starters[0]))

static int part_start(struct lane *lane)
{
	static const char columns[] = "feed_qps|dagor_r_shed_pct:2 250 ms response|"
				      "dagor_q_shed_pct:2 20 ms queuing|queuing_ms:2 dagor-q|"
				      "response_ms:1 dagor-q";
	struct sim_run *run = lane->run;
	struct sim_table *table =
		sim_table(run, "start", "Share of M^1's requests refused, by feed", columns);
	struct sim_plot *plot = sim_report_plot(run->report, "Where shedding starts",
		"first requests at M a second", "refused, %", SIM_AXIS_LINEAR);
	struct sim_series *series[STARTERS];
	int64_t started[STARTERS] = { 0 };
	for (size_t j = 0; j < STARTERS; j++)
		series[j] = sim_plot_series(
			plot, sim_name(run, "policy", starters[j]), SIM_LINES_POINTS);
	for (size_t i = 0; i < sim_count(run, "start_feeds"); i++) {
		int64_t feed = sim_item(run, "start_feeds", i);
		struct sim_fanout_result result = { 0 };
		SIM_ROW(table, SIM_INT(feed));
		for (size_t j = 0; j < STARTERS; j++) {
			struct sim_stats figures[FIGURES] = { 0 };
			struct sim_fanout fanout = fanout_of(starters[j]);
			fanout.feed_qps[0] = (double)feed;
			if (over_seeds(lane, fanout, figures, &result) < 0)
				return -1;
			double shed = sim_stats_mean(&figures[SHED]);
			sim_put(table, SIM_REAL(shed));
			sim_plot_point(series[j], (double)feed, shed);
			if (shed >= sim_real(run, "start_pct") && started[j] == 0)
				started[j] = feed;
		}
		sim_put(table, SIM_REAL(result.mean_queuing_ms));
		sim_put(table, SIM_REAL(result.mean_response_ms));
	}
	sim_fact(run->report, "dagor_r.sheds_from_qps", SIM_INT(started[0]));
	sim_fact(run->report, "dagor_q.sheds_from_qps", SIM_INT(started[1]));
	sim_note(run->report,
		"Shedding starts: the first feed with %.1f %% refused. The paper: "
		"630 by response time, 750 by queuing time.",
		sim_real(run, "start_pct"));
	return 0;
}

/* ---- A mixed load ---- */

static int part_mixed(struct lane *lane)
{
	static const char columns[] =
		"policy|m1_pct:1|m2_pct:1|m3_pct:1|m4_pct:1|ci95:1 +-, widest|"
		"fairness:2 lowest/highest";
	struct sim_run *run = lane->run;
	struct sim_table *table = sim_table(run, "mixed",
		"A mixed load: success by kind of task, a quarter of the requests each", columns);
	for (size_t i = 0; i < sim_count(run, "policy"); i++) {
		enum policy policy = (enum policy)sim_item(run, "policy", i);
		struct sim_stats success[FIGURES] = { 0 };
		struct sim_fanout fanout = fanout_of(policy);
		struct sim_fanout_result result;
		for (uint32_t front = 0; front < 4; front++)
			fanout.feed_qps[front] = lane->feed / 4.0;
		if (over_seeds(lane, fanout, success, &result) < 0)
			return -1;
		double low = 100.0, high = 0.0, widest = 0.0;
		SIM_ROW(table, SIM_TEXT(sim_name(run, "policy", policy)));
		for (uint32_t front = 0; front < 4; front++) {
			double mean = sim_stats_mean(&success[front]);
			sim_put(table, SIM_REAL(mean));
			low = mean < low ? mean : low;
			high = mean > high ? mean : high;
			double width = sim_stats_ci95(&success[front]);
			widest = width > widest ? width : widest;
		}
		sim_put(table, SIM_REAL(widest));
		sim_put(table, SIM_REAL(high > 0.0 ? low / high : 0.0));
	}
	return 0;
}

/* ---- What a reject costs ---- */

static int part_reject(struct lane *lane)
{
	static const char columns[] = "policy|reject_cost_us|m2_success_pct:1|ci95:1 +-|"
				      "rejected_by_m by M itself|refused_upstream by its callers";
	static const enum policy compared[] = { DAGOR_Q, DAGOR_Q_UPSTREAM };
	struct sim_run *run = lane->run;
	struct sim_table *table = sim_table(run, "reject",
		"What a reject costs M, and callers that refuse before sending (M^2)", columns);
	for (size_t i = 0; i < sizeof(compared) / sizeof(compared[0]); i++) {
		for (size_t j = 0; j < sim_count(run, "reject_cost_us"); j++) {
			int64_t cost_us = sim_item(run, "reject_cost_us", j);
			struct sim_fanout_result result = { 0 };
			struct sim_stats figures[FIGURES] = { 0 }, *success = &figures[1];
			struct sim_fanout fanout = fanout_of(compared[i]);
			fanout.feed_qps[1] = lane->feed;
			fanout.reject_cost_ns = (uint64_t)cost_us * SIM_NS_PER_US;
			if (over_seeds(lane, fanout, figures, &result) < 0)
				return -1;
			SIM_ROW(table, SIM_TEXT(sim_name(run, "policy", compared[i])),
				SIM_INT(cost_us), SIM_REAL(sim_stats_mean(success)),
				SIM_REAL(sim_stats_ci95(success)), SIM_INT(result.m.rejected),
				SIM_INT(result.m.refused_upstream));
		}
	}
	return 0;
}

static size_t runs_of(const struct sim_run *run, enum part part)
{
	size_t policies = sim_count(run, "policy") * run->seeds;
	switch (part) {
	case DEPTH:
		return 4 * policies;
	case START:
		return STARTERS * sim_count(run, "start_feeds") * run->seeds;
	case REJECT:
		return 2 * sim_count(run, "reject_cost_us") * run->seeds;
	default:
		return policies;
	}
}

int sim_fan_out_run(struct sim_run *run)
{
	static int (*const parts[])(
		struct lane *) = { part_depth, part_start, part_two, part_mixed, part_reject };
	struct lane lane = {
		.run = run,
		.saturation = (double)sim_int(run, "saturation_qps"),
		.feed = (double)sim_int(run, "feed"),
	};
	for (size_t i = 0; i < sim_count(run, "part"); i++)
		lane.total += runs_of(run, (enum part)sim_item(run, "part", i));
	for (size_t i = 0; i < sim_count(run, "part"); i++)
		if (parts[sim_item(run, "part", i)](&lane) < 0)
			return -1;
	sim_note(run->report,
		"M: %s servers x %s workers; work at least %s us, then exponential, %s us on "
		"average: calibrated, so that queuing starts near %s QPS.",
		sim_text(run, "servers"), sim_text(run, "workers"), sim_text(run, "work_least_us"),
		sim_text(run, "work_us"), sim_text(run, "saturation_qps"));
	sim_note(run->report, "The feed counts first requests at M: M^k brings feed/k tasks a "
			      "second. Calls are parallel; random sheds to the saturation.");
	return 0;
}
