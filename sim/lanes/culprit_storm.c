/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane culprit-storm: lane 1 with a task that holds a lock in place of the outage. When is it
 * stopped soon enough, and by what?
 */

#include <stdio.h>

#include "sim/lanes/lanes.h"
#include "sim/setups/storm.h"
#include "sim/setups/storm_policy.h"
#include "sim/setups/trial.h"

const struct sim_key sim_culprit_storm_keys[] = {
	{ "load", SIM_KEY_INTS, "280", 1, 1000000, NULL, "originals a second" },
	{ "hold_s", SIM_KEY_REALS, "10", 0.001, 100000, NULL,
		"the culprit holds its lock, if left" },
	{ "release_ms", SIM_KEY_INTS, "0", 0, 100000000, NULL, "the same in ms; 0: hold_s" },
	{ "policy", SIM_KEY_CHOICES, "all", 0, 0, SIM_DEFENCES, "who defends the server" },
	{ "culprit_retries", SIM_KEY_INTS, "0,1", 0, 1000, NULL,
		"new tasks the culprit's client sends, one after each cancel" },
	{ "culprit_backoff_ms", SIM_KEY_INT, "0", 0, 1000000, NULL, "before each" },
	{ "quarantine_ms", SIM_KEY_INT, "0", 0, 1000000000, NULL,
		"the host keeps a cancelled signature out for so long" },
	{ "retries", SIM_KEY_INT, "1", 0, 100, NULL, "retries of a victim" },
	{ "retry_on_reject", SIM_KEY_FLAG, "no", 0, 0, NULL, "victims retry a reject" },
	{ "slo_ms", SIM_KEY_INT, "50", 1, 1000000, NULL, "a victim's objective" },
	{ "report_every_s", SIM_KEY_INT, "10", 0, 1000000, NULL,
		"harmless long statements, one every …; 0: none" },
	{ "report_s", SIM_KEY_REAL, "2", 0.001, 100000, NULL, "each takes" },
	{ "users", SIM_KEY_INT, "0", 0, 1000, NULL,
		"closed-loop users beside the open load, a second of thought each" },
	{ "duration_s", SIM_KEY_INT, "200", 31, 100000, NULL, "arrivals end here" },
	{ "map", SIM_KEY_CHOICE, "auto", 0, 0, "auto|yes|no",
		"the map of load and time to release; auto: when no load and no policy is given" },
	SIM_KEYS_DEFENCE,
	{ 0 },
};

struct sum { /* of one combination */
	struct sim_storm storm;
	struct sim_storm_outcome outcome;
	const char *policy;
};

static const char columns[] =
	"load_qps|hold_s:3|policy|culprit_retries|heals|heal_second|"
	"decided_ms:1 from the lock|time_to_release_ms:1 from the lock|holds|kept_out|"
	"release_sum_ms:1|survivable_ms:1 closed form|closed_form_heals of the sum|"
	"late_s:1|success_pct:2|cancels|wrong_cancels|victims_stopped|reports_stopped|end";

static struct sim_storm read_storm(const struct sim_run *run)
{
	return (struct sim_storm){
		.load_qps = (uint64_t)sim_int(run, "load"),
		.retries = (uint32_t)sim_int(run, "retries"),
		.hold_ns = sim_ns(run, sim_given(run, "release_ms") ? "release_ms" : "hold_s"),
		.duration_ns = sim_ns(run, "duration_s"),
		.culprit_retries = (uint32_t)sim_int(run, "culprit_retries"),
		.culprit_backoff_ns = sim_ns(run, "culprit_backoff_ms"),
		.slo_ns = sim_ns(run, "slo_ms"),
		.retry_on_reject = sim_flag(run, "retry_on_reject"),
		.users = (uint32_t)sim_int(run, "users"),
		.report_gap_ns = sim_ns(run, "report_every_s"),
		.report_ns = sim_ns(run, "report_s"),
	};
}

static void put_row(struct sim_table *table, const struct sum *sum)
{
	const struct sim_storm_outcome *o = &sum->outcome;
	uint64_t survivable_ns = sim_storm_survivable_ns(&sum->storm);
	bool formed = sum->storm.retries == 1; /* what the closed form is for */
	SIM_ROW(table, SIM_INT(sum->storm.load_qps), SIM_REAL((double)sum->storm.hold_ns / 1e9),
		SIM_TEXT(sum->policy), SIM_INT(sum->storm.culprit_retries), SIM_BOOL(o->heals),
		o->heals ? SIM_INT(o->heal_s) : SIM_NONE,
		o->decided_ns ? SIM_REAL((double)o->decided_ns / 1e6) : SIM_NONE,
		SIM_REAL((double)o->release_ns / 1e6), SIM_INT(o->holds), SIM_INT(o->barred),
		SIM_REAL((double)o->release_sum_ns / 1e6),
		formed ? SIM_REAL((double)survivable_ns / 1e6) : SIM_NONE,
		formed ? SIM_BOOL(o->release_sum_ns <= survivable_ns) : SIM_NONE,
		SIM_REAL((double)o->late_bins / 10),
		SIM_REAL(100.0 * (double)o->goodput / (double)o->offered), SIM_INT(o->cancels),
		SIM_INT(o->wrong_cancels), SIM_INT(o->stopped), SIM_INT(o->reports_stopped),
		SIM_TEXT(o->heals	? "heals"
			 : o->undecided ? "undecided"
					: "metastable"));
}

static void put_facts(struct sim_run *run, const struct sum *sum)
{
	const struct sim_storm_outcome *o = &sum->outcome;
	struct sim_report *report = run->report;
	sim_fact(report, "heals", SIM_BOOL(o->heals));
	sim_fact(report, "heal_second", o->heals ? SIM_INT(o->heal_s) : SIM_NONE);
	sim_fact(report, "time_to_release_ms", SIM_DECIMALS((double)o->release_ns / 1e6, 3));
	sim_fact(report, "release_sum_ms", SIM_DECIMALS((double)o->release_sum_ns / 1e6, 3));
	sim_fact(report, "survivable_ms",
		sum->storm.retries == 1
			? SIM_DECIMALS((double)sim_storm_survivable_ns(&sum->storm) / 1e6, 3)
			: SIM_NONE);
	sim_fact(report, "cancels", SIM_INT(o->cancels));
	sim_fact(report, "wrong_cancels", SIM_INT(o->wrong_cancels));
}

static void put_windows(struct sim_table *table, struct sim_series *line, const struct sum *sum,
	const struct sim_result *result)
{
	for (size_t i = 0; i < result->window_count; i++) {
		const struct sim_world_window *w = &result->windows[i];
		SIM_ROW(table, SIM_INT(i), SIM_INT(w->offered), SIM_INT(w->rejected),
			SIM_INT(w->goodput), SIM_INT(w->in_server), SIM_TEXT(sum->policy));
		sim_plot_point(line, (double)i, (double)w->goodput);
	}
}

struct tables {
	struct sim_table *runs, *windows, *loops; /* loops NULL: no users */
	struct sim_plot *goodput;
};

static void put_loop(struct sim_table *table, const char *loop, const struct sum *sum,
	const struct sim_client_totals *t)
{
	uint64_t done = t->succeeded + t->failed;
	SIM_ROW(table, SIM_INT(sum->storm.load_qps), SIM_REAL((double)sum->storm.hold_ns / 1e9),
		SIM_TEXT(sum->policy), SIM_TEXT(loop), SIM_INT(t->originals),
		SIM_REAL(done ? 100.0 * (double)(t->late + t->failed) / (double)done : 0),
		SIM_REAL((double)sim_latency_ns(t, 990000) / 1e6),
		SIM_REAL((double)t->latency_max_ns / 1e6));
}

static int run_one(
	struct sim_run *run, const struct tables *tables, struct sum *sum, bool show_windows)
{
	struct sim_result result;
	char subject[64];
	snprintf(subject, sizeof subject, "%s at %llu QPS", sum->policy,
		(unsigned long long)sum->storm.load_qps);
	struct sim_world *world =
		sim_run_storm(run, &sum->storm, sum->policy, subject, &result, &sum->outcome);
	if (!world)
		return -1;
	put_row(tables->runs, sum);
	if (tables->loops) {
		put_loop(tables->loops, "open", sum, sim_world_totals(world, 0));
		put_loop(tables->loops, "closed", sum, sim_world_totals(world, 3));
	}
	if (show_windows)
		put_windows(tables->windows,
			sim_plot_series(tables->goodput, sum->policy, SIM_LINES), sum, &result);
	sim_world_free(world);
	return 0;
}

static struct tables new_tables(struct sim_run *run)
{
	static const char window_columns[] = "second|offered|rejected|goodput|in_server|policy";
	static const char loop_columns[] =
		"load_qps|hold_s:3|policy|loop|requests|late_or_failed_pct:2|"
		"p99_ms:1 of successes|max_ms:1";
	struct tables tables = {
		.runs = sim_report_table(run->report, "runs", "A culprit takes the lock at 30 s",
			SIM_TABLE_ALL, columns),
		.windows = sim_report_table(run->report, "windows",
			"A row a second, first load and hold", SIM_TABLE_DATA_ONLY, window_columns),
		.goodput = sim_report_plot(
			run->report, "Goodput", "second", "requests a second", SIM_AXIS_LINEAR),
	};
	if (sim_int(run, "users"))
		tables.loops = sim_table(
			run, "loops", "What an open and a closed loop see of it", loop_columns);
	return tables;
}

static int run_all(struct sim_run *run)
{
	const char *const keys[] = { "load", sim_given(run, "release_ms") ? "release_ms" : "hold_s",
		"policy", "culprit_retries", NULL };
	struct tables tables = new_tables(run);
	size_t policies = sim_count(run, "policy"), shown = sim_combinations(run, &keys[2]);
	for (size_t i = 0; sim_vary(run, keys, i); i++) {
		const char *name = sim_choice(run, "policy");
		bool stops = sim_defends(name, "cancel") || sim_defends(name, "timeout");
		bool first = sim_first(run, "culprit_retries");
		if (!first && !stops && policies > 1)
			continue; /* nobody cancels it, so nothing is retried */
		struct sum sum = { .storm = read_storm(run), .policy = name };
		if (run_one(run, &tables, &sum, i < shown && first) != 0)
			return -1;
		if (sim_combinations(run, keys) == 1)
			put_facts(run, &sum);
	}
	return 0;
}

int sim_culprit_storm_run(struct sim_run *run)
{
	bool automatic = !sim_given(run, "load") && !sim_given(run, "policy");
	int64_t map = sim_int(run, "map");
	if (run_all(run) != 0)
		return -1;
	if (map == 1 || (map == 0 && automatic))
		sim_storm_map(run);
	sim_note(run->report,
		"Lane 1's server and clients; every time counts from the taking of the "
		"lock. Harmless reports run beside it.");
	return 0;
}
