/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subsequent overload: what shedding is worth when a task needs several answers from an overloaded
 * service.
 *
 * Front services A1 … A4 call M once to four times, in parallel (M^k); A2N calls M and N once each.
 * M and N: three servers each, saturated near 750 requests a second. Calibration: DAGOR's evaluation
 * (SoCC 2018, 5.1-5.2) says three servers, saturation near 750 QPS, a response-time gate (250 ms)
 * that sheds from 630 QPS on and a queuing-time gate (20 ms) that does not; it does not say what M
 * does. Work a little under 250 ms on enough workers gives all three: queuing starts near 750, and
 * the response threshold is passed before.
 */

#include "sim/lanes/lanes.h"
#include "sim/setups/trial.h"

#define FRONTS	   5 /* M^1 … M^4, and M and N */
#define BOTH	   4 /* index of the front that calls M and N */
#define RAMP_STEPS 20
#define USERS	   100000

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
	{ "saturation_qps", SIM_KEY_INT, "750", 1, 100000, NULL,
		"what M is calibrated to; random sheds to it" },
	{ "servers", SIM_KEY_INT, "3", 1, SIM_SERVERS_MAX, NULL, "servers of M" },
	{ "workers", SIM_KEY_INT, "69", 1, 10000, NULL, "workers of one server" },
	{ "work_us", SIM_KEY_INT, "247500", 1, 10000000, NULL, "mean work of a request" },
	{ "work_least_us", SIM_KEY_INT, "235000", 0, 10000000, NULL,
		"least work; the rest is exponential" },
	{ "timeout_ms", SIM_KEY_INT, "500", 1, 1000000, NULL, "a task's time limit" },
	{ "resends", SIM_KEY_INT, "3", 0, 20, NULL, "a rejected request is sent again" },
	{ "ramp_s", SIM_KEY_INT, "30", 0, 10000, NULL, "load rises from half for so long" },
	{ "settle_s", SIM_KEY_INT, "20", 0, 10000, NULL, "then nothing is measured" },
	{ "seda_target_ms", SIM_KEY_INT, "350", 1, 100000, NULL,
		"99th percentile SEDA steers to (its usual 100 ms is less than M's work)" },
	{ "rule", SIM_KEY_CHOICE, "accumulating", 0, 0, "accumulating|memoryless|fraction",
		"DAGOR's expected count" },
	{ "measure_s", SIM_KEY_INT, "40", 1, 10000, NULL, "then everything is" },
	{ 0 },
};

enum part { DEPTH, START, TWO, MIXED, REJECT };
enum policy { RANDOM, CODEL, SEDA, DAGOR_R, DAGOR_Q, DAGOR_Q_UPSTREAM, POLICIES };

static const enum sim_gate_kind kinds[POLICIES] = { SIM_SHED_RANDOM, SIM_SHED_CODEL, SIM_SHED_SEDA,
	SIM_SHED_DAGOR_R, SIM_SHED_DAGOR_Q, SIM_SHED_DAGOR_Q };

struct fanout {
	enum sim_gate_kind gate;
	bool collaborative;
	double feed_qps[FRONTS]; /* first requests at M a second, from each front */
	uint64_t reject_cost_ns;
	uint64_t seed;
};

/* What a run is asked, after its warm-up: first the success of each front's tasks, in percent. */
enum {
	WASTED = FRONTS, /* of the work M did, for tasks that failed, in percent */
	ATTEMPTS,	 /* at M, for each first request */
	SHED, /* of the attempts, callers' refusals included, in percent: M does not know of the
		 first requests that were refused for good */
	QUEUING_MS,
	RESPONSE_MS,
	REJECTED, /* by M */
	UPSTREAM, /* refused by its callers */
	FIGURES,
};

static struct sim_service_options victim(struct sim_run *run, const struct fanout *fanout)
{
	uint64_t mean_us = (uint64_t)sim_int(run, "work_us");
	uint64_t least_us = (uint64_t)sim_int(run, "work_least_us");
	uint32_t servers = (uint32_t)sim_int(run, "servers");
	return (struct sim_service_options){
		.servers = servers,
		.workers = (uint32_t)sim_int(run, "workers"),
		.work = {
			.shape = least_us < mean_us ? SIM_SHIFTED : SIM_FIXED,
			.mean = mean_us * SIM_NS_PER_US,
			.low = least_us * SIM_NS_PER_US,
		},
		.net_ns = 250 * SIM_NS_PER_US,
		.resends = (uint32_t)sim_int(run, "resends"),
		.reject_cost_ns = fanout->reject_cost_ns,
		.balance = SIM_BALANCE_RANDOM,
		.gate = {
			.kind = fanout->gate,
			.rate_qps = (double)sim_int(run, "saturation_qps") / servers,
			.business_levels = 1,
			.collaborative = fanout->collaborative,
			.rule = (enum cancel_dagor_rule)sim_int(run, "rule"),
			.target_ns = fanout->gate == SIM_SHED_SEDA ? sim_ns(run, "seda_target_ms") : 0,
		},
	};
}

/* Load in steps from half to all of it, as a morning brings it: gates follow at their pace. */
static void ramp(struct sim_run *run, struct sim_services *services, uint32_t traffic)
{
	uint64_t ramp_ns = sim_ns(run, "ramp_s");
	for (uint64_t i = 0; ramp_ns > 0 && i < RAMP_STEPS; i++) {
		struct sim_change change = {
			.kind = SIM_CHANGE_LOAD,
			.target = traffic,
			.from_ns = ramp_ns * i / RAMP_STEPS,
			.until_ns = ramp_ns * (i + 1) / RAMP_STEPS,
			.value = 0.5 + 0.5 * (double)i / RAMP_STEPS,
		};
		sim_services_change(services, &change);
	}
}

static void add_front(struct sim_run *run, struct sim_services *services,
	const struct fanout *fanout, uint32_t front, uint64_t stop_ns)
{
	bool both = front == BOTH;
	uint32_t calls = both ? 1 : front + 1;
	struct sim_service_options options = {
		.servers = 3,
		.workers = 1000,
		.work = { .shape = SIM_FIXED, .mean = SIM_NS_PER_MS },
		.net_ns = 250 * SIM_NS_PER_US,
		.calls = { { .callee = 0, .count = calls, .with_next = both },
			{ .callee = 1, .count = 1 } },
		.call_lists = both ? 2 : 1,
	};
	int service = sim_services_add(services, &options);
	struct sim_traffic_options traffic = {
		.service = (uint32_t)service,
		.loop = SIM_LOOP_POISSON,
		.rate_qps = fanout->feed_qps[front] / calls,
		.users = USERS,
		.stop_ns = stop_ns,
		.patience.timeout_ns = sim_ns(run, "timeout_ms"),
	};
	ramp(run, services, (uint32_t)sim_services_traffic(services, &traffic));
}

static double share(double part, double all)
{
	return all > 0.0 ? part / all : 0.0;
}

static void read_values(struct sim_services *services, const struct fanout *fanout, double *values)
{
	double queuing_ns = 0.0, response_ns = 0.0, started = 0.0, answered = 0.0;
	struct sim_service_result m;
	uint32_t traffic = 0;
	for (uint32_t front = 0; front < FRONTS; front++) {
		struct sim_traffic_result got = { 0 };
		if (fanout->feed_qps[front] > 0.0)
			sim_services_traffic_result(services, traffic++, &got);
		values[front] =
			got.originals ? 100.0 * (double)got.succeeded / (double)got.originals : 0.0;
	}
	sim_services_result(services, 0, &m);
	for (size_t i = m.probe_count / 2; i < m.probe_count; i++) {
		queuing_ns += (double)m.probes[i].queuing_sum_ns;
		response_ns += (double)m.probes[i].response_sum_ns;
		started += (double)m.probes[i].started;
		answered += (double)m.probes[i].answered;
	}
	uint64_t refused = m.rejected + m.shed_at_head + m.refused_upstream;
	uint64_t tried = m.arrivals + m.refused_upstream;
	values[WASTED] = 100.0 * share((double)m.wasted, (double)m.served);
	values[ATTEMPTS] = (double)tried / (double)m.first_arrivals;
	values[SHED] = 100.0 * share((double)refused, (double)tried);
	values[QUEUING_MS] = share(queuing_ns, started) / 1e6;
	values[RESPONSE_MS] = share(response_ns, answered) / 1e6;
	values[REJECTED] = (double)m.rejected;
	values[UPSTREAM] = (double)m.refused_upstream;
}

static int simulate(struct sim_run *run, const struct fanout *fanout, double *values)
{
	uint64_t warm_s = (uint64_t)(sim_int(run, "ramp_s") + sim_int(run, "settle_s"));
	uint64_t stop_ns = (warm_s + (uint64_t)sim_int(run, "measure_s")) * SIM_NS_PER_S;
	struct sim_services_options options =
		sim_services_of(run, stop_ns + 2 * sim_ns(run, "timeout_ms"), fanout->seed);
	options.warm_up_ns = warm_s * SIM_NS_PER_S;
	options.bin_ns = SIM_NS_PER_S;
	struct sim_services *services = sim_services_new(&options);
	struct sim_service_options m = victim(run, fanout);
	sim_services_add(services, &m);
	if (fanout->feed_qps[BOTH] > 0.0)
		sim_services_add(services, &m);
	for (uint32_t front = 0; front < FRONTS; front++)
		if (fanout->feed_qps[front] > 0.0)
			add_front(run, services, fanout, front, stop_ns);
	if (sim_play_services(run, services, "a run") < 0)
		return -1;
	read_values(services, fanout, values);
	sim_services_free(services);
	return 0;
}

struct lane {
	struct sim_run *run;
	double saturation, feed;
};

static const char *const by_policy[] = { "policy", NULL };

static struct fanout fanout_of(enum policy policy)
{
	return (struct fanout){
		.gate = kinds[policy],
		.collaborative = policy == DAGOR_Q_UPSTREAM,
	};
}

/* Runs every seed; `last` is what the last one found. */
static int over_seeds(
	struct lane *lane, struct fanout fanout, struct sim_stats *figures, double *last)
{
	for (uint32_t i = 0; i < lane->run->seeds; i++) {
		fanout.seed = lane->run->seed + i;
		if (simulate(lane->run, &fanout, last) < 0)
			return -1;
		sim_stats_add_each(figures, last, FIGURES);
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

static int depth_row(
	struct lane *lane, struct sim_table *table, uint32_t front, struct sim_series *series)
{
	static const char *const workloads[] = { "M^1", "M^2", "M^3", "M^4", "M+N" };
	struct sim_run *run = lane->run;
	struct fanout fanout = fanout_of((enum policy)sim_int(run, "policy"));
	double last[FIGURES] = { 0 };
	struct sim_stats figures[FIGURES] = { 0 }, *success = &figures[front];
	uint32_t k = front == BOTH ? 2 : front + 1;
	fanout.feed_qps[front] = lane->feed;
	if (over_seeds(lane, fanout, figures, last) < 0)
		return -1;
	double random = 1.0, optimal = optimal_pct(lane);
	for (uint32_t i = 0; i < k; i++)
		random *= optimal / 100.0;
	SIM_ROW(table, SIM_TEXT(workloads[front]), SIM_TEXT(sim_choice(run, "policy")),
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
	for (size_t i = 0; sim_vary(run, by_policy, i); i++) {
		struct sim_series *series =
			sim_plot_series(plot, sim_choice(run, "policy"), SIM_LINES_POINTS);
		for (uint32_t front = 0; front < 4; front++)
			if (depth_row(lane, table, front, series) < 0)
				return -1;
	}
	return 0;
}

static int part_two(struct lane *lane)
{
	struct sim_run *run = lane->run;
	struct sim_table *table = sim_table(
		run, "two", "Tasks that call two overloaded services once each", depth_columns);
	for (size_t i = 0; sim_vary(run, by_policy, i); i++)
		if (depth_row(lane, table, BOTH, NULL) < 0)
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
		double last[FIGURES] = { 0 };
		SIM_ROW(table, SIM_INT(feed));
		for (size_t j = 0; j < STARTERS; j++) {
			struct sim_stats figures[FIGURES] = { 0 };
			struct fanout fanout = fanout_of(starters[j]);
			fanout.feed_qps[0] = (double)feed;
			if (over_seeds(lane, fanout, figures, last) < 0)
				return -1;
			double shed = sim_stats_mean(&figures[SHED]);
			sim_put(table, SIM_REAL(shed));
			sim_plot_point(series[j], (double)feed, shed);
			if (shed >= sim_real(run, "start_pct") && started[j] == 0)
				started[j] = feed;
		}
		sim_put(table, SIM_REAL(last[QUEUING_MS]));
		sim_put(table, SIM_REAL(last[RESPONSE_MS]));
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
	for (size_t i = 0; sim_vary(run, by_policy, i); i++) {
		struct sim_stats success[FIGURES] = { 0 };
		struct fanout fanout = fanout_of((enum policy)sim_int(run, "policy"));
		double last[FIGURES] = { 0 };
		for (uint32_t front = 0; front < 4; front++)
			fanout.feed_qps[front] = lane->feed / 4.0;
		if (over_seeds(lane, fanout, success, last) < 0)
			return -1;
		double low = 100.0, high = 0.0, widest = 0.0;
		SIM_ROW(table, SIM_TEXT(sim_choice(run, "policy")));
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
			double last[FIGURES] = { 0 };
			struct sim_stats figures[FIGURES] = { 0 }, *success = &figures[1];
			struct fanout fanout = fanout_of(compared[i]);
			fanout.feed_qps[1] = lane->feed;
			fanout.reject_cost_ns = (uint64_t)cost_us * SIM_NS_PER_US;
			if (over_seeds(lane, fanout, figures, last) < 0)
				return -1;
			SIM_ROW(table, SIM_TEXT(sim_name(run, "policy", compared[i])),
				SIM_INT(cost_us), SIM_REAL(sim_stats_mean(success)),
				SIM_REAL(sim_stats_ci95(success)), SIM_INT(last[REJECTED]),
				SIM_INT(last[UPSTREAM]));
		}
	}
	return 0;
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
