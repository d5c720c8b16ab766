/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a metastable failure: stable or vulnerable before, a trigger, what it leaves behind,
 * a cure, and a second trigger that shows what was cured. An application calls a database of three
 * servers; clients time out and retry. After Bronson et al., Metastable Failures in Distributed
 * Systems, HotOS 2021.
 */
#include <stdio.h>

#include "sim/lanes/lanes.h"
#include "sim/setups/trial.h"

const struct sim_key sim_lifecycle_keys[] = {
	{ "load", SIM_KEY_INTS, "140,200,280", 1, 100000, NULL,
		"requests a second at the database, for the first table" },
	{ "cure_load", SIM_KEY_INT, "280", 1, 100000, NULL, "and for the cures" },
	{ "trigger", SIM_KEY_CHOICES, "all", 0, 0,
		"outage|spike|slow-node|cache-wipe|checkpoints|failover|culprit",
		"what sets it off" },
	{ "cure", SIM_KEY_CHOICES, "all", 0, 0,
		"none|load-drop|shed|stop-retries|restart|restart-into-less|retries-off",
		"what is done about it; the last one stays" },
	{ "servers", SIM_KEY_INT, "3", 2, SIM_SERVERS_MAX, NULL, "of the database" },
	{ "server_qps", SIM_KEY_INT, "100", 1, 100000, NULL, "one of them can do" },
	{ "queue", SIM_KEY_INT, "500", 1, 1000000, NULL, "calls that may wait at one" },
	{ "timeout_ms", SIM_KEY_INT, "1000", 1, 1000000, NULL, "a client's patience" },
	{ "retries", SIM_KEY_INT, "1", 0, 20, NULL, "at most" },
	{ "trigger_s", SIM_KEY_INT, "30", 1, 10000, NULL, "the trigger" },
	{ "cure_after_s", SIM_KEY_INT, "60", 1, 10000, NULL, "the cure, after the trigger" },
	{ "cure_s", SIM_KEY_INT, "90", 1, 10000, NULL, "and its length" },
	{ "second_after_s", SIM_KEY_INT, "50", 1, 10000, NULL,
		"the same trigger once more, after the cure" },
	{ "tail_s", SIM_KEY_INT, "90", 10, 10000, NULL, "the run ends so long after it" },
	{ 0 },
};

enum trigger { OUTAGE, SPIKE, SLOW_NODE, CACHE_WIPE, CHECKPOINTS, FAILOVER, CULPRIT };

enum cure { NONE, LOAD_DROP, SHED, STOP_RETRIES, RESTART, RESTART_INTO_LESS, RETRIES_OFF };

enum state { STABLE, VULNERABLE, METASTABLE, DEGRADED };
static const char *const state_names[] = { "stable", "vulnerable", "metastable", "degraded" };

#define APP	     0
#define DATABASE     1
#define CLIENTS	     0
#define CACHE_KEYS   2000 /* with the trigger cache-wipe: half of the calls hit */
#define HERD	     600  /* clients that log in anew at a failover */
#define JUDGED_S     20	  /* a state is judged over the last so many seconds of a phase */
#define SERVED_SHARE 0.95 /* of the load answered: the system works */
#define LOST_SHARE   0.50

struct plan { /* instants, in seconds */
	uint64_t trigger, cure, cured, second, end;
	double load;
	enum trigger kind;
};

static struct plan plan_of(struct sim_run *run, double load)
{
	struct plan plan = { .load = load, .kind = (enum trigger)sim_int(run, "trigger") };
	plan.trigger = (uint64_t)sim_int(run, "trigger_s");
	plan.cure = plan.trigger + (uint64_t)sim_int(run, "cure_after_s");
	plan.cured = plan.cure + (uint64_t)sim_int(run, "cure_s");
	plan.second = plan.cured + (uint64_t)sim_int(run, "second_after_s");
	plan.end = plan.second + (uint64_t)sim_int(run, "tail_s");
	return plan;
}

static double capacity(const struct sim_run *run)
{
	return (double)sim_int(run, "servers") * (double)sim_int(run, "server_qps");
}

/* ---- The system ---- */

static struct sim_patience patience_of(const struct sim_run *run)
{
	return (struct sim_patience){ .timeout_ns = sim_ns(run, "timeout_ms"),
		.retries = (uint32_t)sim_int(run, "retries"),
		.retry_on_reject = true };
}

static struct sim_services *build(struct sim_run *run, const struct plan *plan, uint64_t seed)
{
	bool cached = plan->kind == CACHE_WIPE;
	struct sim_services_options options = sim_services_of(run, plan->end * SIM_NS_PER_S, seed);
	struct sim_service_options app = {
		.workers = 1000,
		.work = { .shape = SIM_FIXED, .mean = 100 * SIM_NS_PER_US },
		.calls = { { .callee = DATABASE, .count = 1, .cached = cached } },
		.call_lists = 1,
	};
	struct sim_service_options database = {
		.servers = (uint32_t)sim_int(run, "servers"),
		.work = { .shape = SIM_FIXED,
			.mean = SIM_NS_PER_S / (uint64_t)sim_int(run, "server_qps") },
		.queue_limit = (uint64_t)sim_int(run, "queue"),
	};
	struct sim_traffic_options clients = {
		.loop = SIM_LOOP_POISSON,
		.rate_qps = plan->load,
		.patience = patience_of(run),
	};
	if (cached) { /* twice the load, half of it hits: an entry lives as long as two requests for
			 it */
		clients.rate_qps = 2.0 * plan->load;
		app.cache = (struct sim_cache_options){ .keys = CACHE_KEYS,
			.ttl_ns = (uint64_t)(1e9 * CACHE_KEYS / clients.rate_qps),
			.starts_warm = true };
	}
	struct sim_services *services = sim_services_new(&options);
	sim_services_add(services, &app);
	sim_services_add(services, &database);
	sim_services_traffic(services, &clients);
	return services;
}

/* The clients of a server that died log in anew, all at once. */
static void add_herd(struct sim_run *run, struct sim_services *services, uint64_t at_ns)
{
	struct sim_traffic_options herd = {
		.loop = SIM_LOOP_FIXED,
		.start_ns = at_ns,
		.stop_ns = at_ns + 1,
		.burst_every_ns = SIM_NS_PER_S,
		.burst = HERD,
		.patience = patience_of(run),
	};
	sim_services_traffic(services, &herd);
}

#define CHANGES_MAX 3

/* What happens from the instant of a trigger or a cure on. */
struct course {
	size_t count;
	struct sim_change changes[CHANGES_MAX];
};

#define S SIM_NS_PER_S
static const struct course trigger_courses[] = {
	[OUTAGE] = { 1, { { SIM_CHANGE_OUTAGE, DATABASE, -1, 0, 10 * S, 0.0 } } },
	[SPIKE] = { 1, { { SIM_CHANGE_LOAD, CLIENTS, -1, 0, 5 * S, 3.0 } } },
	[SLOW_NODE] = { 1, { { SIM_CHANGE_SLOW, DATABASE, 0, 0, 10 * S, 10.0 } } },
	[CACHE_WIPE] = { 1, { { SIM_CHANGE_WIPE, APP, -1, 0, 0, 0.0 } } },
	[CHECKPOINTS] = { 3, /* pauses, 5 s apart */
		{ { SIM_CHANGE_OUTAGE, DATABASE, -1, 0, 3 * S / 2, 0.0 },
			{ SIM_CHANGE_OUTAGE, DATABASE, -1, 5 * S, 13 * S / 2, 0.0 },
			{ SIM_CHANGE_OUTAGE, DATABASE, -1, 10 * S, 23 * S / 2, 0.0 } } },
	[FAILOVER] = { 1, { { SIM_CHANGE_DOWN, DATABASE, 0, 0, 10 * S, 0.0 } } },
	/* One task holds what all need; what runs already finishes. */
	[CULPRIT] = { 1, { { SIM_CHANGE_OUTAGE, DATABASE, -1, 0, 2 * S, 0.0 } } },
};

#define CURE_ENDS (UINT64_MAX - 1)
#define RUN_ENDS  UINT64_MAX
static const struct course cure_courses[] = {
	[NONE] = { 0 },
	[LOAD_DROP] = { 1, { { SIM_CHANGE_LOAD, CLIENTS, -1, 0, CURE_ENDS, 0.3 } } },
	[SHED] = { 1, { { SIM_CHANGE_SHED, DATABASE, -1, 0, CURE_ENDS, 0.7 } } },
	[STOP_RETRIES] = { 1, { { SIM_CHANGE_RETRIES, CLIENTS, -1, 0, CURE_ENDS, 0.0 } } },
	[RESTART] = { 1, { { SIM_CHANGE_DOWN, DATABASE, -1, 0, S, 0.0 } } },
	[RESTART_INTO_LESS] = { 2, { { SIM_CHANGE_LOAD, CLIENTS, -1, 0, 10 * S, 0.3 },
					   { SIM_CHANGE_DOWN, DATABASE, -1, 0, S, 0.0 } } },
	[RETRIES_OFF] = { 1, { { SIM_CHANGE_RETRIES, CLIENTS, -1, 0, RUN_ENDS, 0.0 } } },
};
#undef S

static void add_course(struct sim_services *services, const struct plan *plan, uint64_t at_s,
	const struct course *course)
{
	for (size_t i = 0; i < course->count; i++) {
		struct sim_change made = course->changes[i];
		made.from_ns += at_s * SIM_NS_PER_S;
		if (made.until_ns == CURE_ENDS)
			made.until_ns = plan->cured * SIM_NS_PER_S;
		else if (made.until_ns == RUN_ENDS)
			made.until_ns = plan->end * SIM_NS_PER_S;
		else
			made.until_ns += at_s * SIM_NS_PER_S;
		sim_services_change(services, &made);
	}
}

static void add_trigger(
	struct sim_run *run, struct sim_services *services, const struct plan *plan, uint64_t at_s)
{
	add_course(services, plan, at_s, &trigger_courses[plan->kind]);
	if (plan->kind == FAILOVER)
		add_herd(run, services, at_s * SIM_NS_PER_S);
}

/* ---- States ---- */

static double share_answered(
	const struct sim_traffic_result *clients, uint64_t until_s, double rate_qps)
{
	uint64_t from_s = until_s > JUDGED_S ? until_s - JUDGED_S : 0, goodput = 0;
	for (uint64_t second = from_s; second < until_s; second++)
		goodput += clients->windows[second].goodput;
	return (double)goodput / ((double)(until_s - from_s) * rate_qps);
}

static enum state state_of(struct sim_run *run, const struct plan *plan,
	const struct sim_stats *share, bool retries_off)
{
	double retries = retries_off ? 0.0 : (double)sim_int(run, "retries");
	double hidden = capacity(run) / (1.0 + retries), mean = sim_stats_mean(share);
	if (mean >= SERVED_SHARE)
		return plan->load > hidden ? VULNERABLE : STABLE;
	return mean <= LOST_SHARE ? METASTABLE : DEGRADED;
}

struct life { /* of the load answered at the end of each phase, over seeds */
	struct sim_stats before, after_trigger, after_cure, after_second;
};

static int live_once(struct sim_run *run, const struct plan *plan, enum cure cure, uint64_t seed,
	struct life *life, struct sim_series *series)
{
	struct sim_services *services = build(run, plan, seed);
	struct sim_traffic_result clients;
	double rate = plan->kind == CACHE_WIPE ? 2.0 * plan->load : plan->load;
	char subject[48];
	snprintf(subject, sizeof(subject), "%s, %s:", sim_name(run, "trigger", plan->kind),
		sim_name(run, "cure", cure));
	add_trigger(run, services, plan, plan->trigger);
	add_trigger(run, services, plan, plan->second);
	add_course(services, plan, plan->cure, &cure_courses[cure]);
	if (sim_play_services(run, services, subject) < 0)
		return -1;
	sim_services_traffic_result(services, CLIENTS, &clients);
	sim_stats_add(&life->before, share_answered(&clients, plan->trigger, rate));
	sim_stats_add(&life->after_trigger, share_answered(&clients, plan->cure, rate));
	sim_stats_add(&life->after_cure, share_answered(&clients, plan->second, rate));
	sim_stats_add(&life->after_second, share_answered(&clients, plan->end, rate));
	for (size_t second = 0; series && second < clients.window_count; second++)
		sim_plot_point(
			series, (double)second, 100.0 * clients.windows[second].goodput / rate);
	sim_services_free(services);
	return 0;
}

static int live(struct sim_run *run, const struct plan *plan, enum cure cure, struct life *life,
	struct sim_series *series)
{
	*life = (struct life){ 0 };
	for (uint32_t i = 0; i < run->seeds; i++)
		if (live_once(run, plan, cure, run->seed + i, life, i == 0 ? series : NULL) < 0)
			return -1;
	return 0;
}

/* ---- Tables ---- */

static void put_state(struct sim_run *run, struct sim_table *table, const struct plan *plan,
	const struct sim_stats *share, bool retries_off)
{
	sim_put(table, SIM_TEXT(state_names[state_of(run, plan, share, retries_off)]));
}

static void put_share(struct sim_table *table, const struct sim_stats *share)
{
	sim_put(table, SIM_REAL(100.0 * sim_stats_mean(share)));
	sim_put(table, SIM_REAL(100.0 * sim_stats_ci95(share)));
}

static int by_load(struct sim_run *run)
{
	static const char *const swept[] = { "load", "trigger", NULL };
	static const char columns[] =
		"load_qps|hidden_qps|distance_qps hidden - load|trigger|before|"
		"long_after|answered_pct:1 long after|ci95:1 +-";
	struct sim_table *table =
		sim_table(run, "states", "What a trigger leaves behind, by load", columns);
	double hidden = capacity(run) / (1.0 + (double)sim_int(run, "retries"));
	for (size_t i = 0; sim_vary(run, swept, i); i++) {
		double load = (double)sim_int(run, "load");
		struct plan plan = plan_of(run, load);
		struct life life;
		if (live(run, &plan, NONE, &life, NULL) < 0)
			return -1;
		SIM_ROW(table, SIM_REAL(load), SIM_REAL(hidden), SIM_REAL(hidden - load),
			SIM_TEXT(sim_choice(run, "trigger")));
		put_state(run, table, &plan, &life.before, false);
		/* There was no cure: just later. */
		put_state(run, table, &plan, &life.after_cure, false);
		put_share(table, &life.after_cure);
	}
	return 0;
}

static int by_cure(struct sim_run *run)
{
	static const char *const swept[] = { "trigger", "cure", NULL };
	static const char columns[] = "trigger|cure|after_trigger|after_cure|after_second_trigger|"
				      "answered_pct:1 after the cure|ci95:1 +-|"
				      "answered_again_pct:1 after the second|ci95_again:1 +-";
	struct sim_table *table =
		sim_table(run, "cures", "Cures, and the same trigger once more", columns);
	struct sim_plot *plot =
		sim_report_plot(run->report, "One life by cure: trigger, cure, second trigger",
			"second", "of the load answered, %", SIM_AXIS_LINEAR);
	double load = (double)sim_int(run, "cure_load");
	for (size_t i = 0; sim_vary(run, swept, i); i++) {
		struct plan plan = plan_of(run, load);
		enum cure cure = (enum cure)sim_int(run, "cure");
		struct sim_series *series = NULL;
		struct life life;
		bool off = cure == RETRIES_OFF;
		if (i < sim_count(run, "cure"))
			series = sim_plot_series(plot, sim_choice(run, "cure"), SIM_LINES);
		if (live(run, &plan, cure, &life, series) < 0)
			return -1;
		sim_key_row(run, table, swept);
		put_state(run, table, &plan, &life.after_trigger, false);
		put_state(run, table, &plan, &life.after_cure, off);
		put_state(run, table, &plan, &life.after_second, off);
		put_share(table, &life.after_cure);
		put_share(table, &life.after_second);
	}
	return 0;
}

int sim_lifecycle_run(struct sim_run *run)
{
	if (by_load(run) < 0 || by_cure(run) < 0)
		return -1;
	sim_note(run->report,
		"stable: the load is below the hidden capacity, capacity/(1+retries); "
		"vulnerable: above it, though all is answered;");
	sim_note(run->report,
		"metastable: the trigger is over and at most half of the load is "
		"answered; degraded: in between. Judged over the last %d s.",
		JUDGED_S);
	sim_note(run->report,
		"Every cure but retries-off ends before the second trigger: it leaves "
		"the loop, and so the vulnerability, as it was.");
	return 0;
}
