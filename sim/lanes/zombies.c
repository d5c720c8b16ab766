/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane zombies: once retries sustain the storm there is no culprit left to cancel, but there is
 * work for clients that have left. What does dropping it do to lanes 1 and 3?
 */

#include <stdio.h>

#include "sim/lanes/lanes.h"
#include "sim/setups/storm.h"
#include "sim/setups/storm_policy.h"
#include "sim/setups/trial.h"

#define SERVICE_NS 3333333

enum { STORM, OVERLOAD };
enum { SERVE, DROP, STOP, DEADLINE };

const struct sim_key sim_zombies_keys[] = {
	{ "scenario", SIM_KEY_CHOICES, "all", 0, 0, "storm|overload",
		"lane 1's outage with one retry; lane 3's twice the capacity without" },
	{ "zombies", SIM_KEY_CHOICES, "all", 0, 0, "serve|drop|stop|deadline",
		"serve them; drop queued ones when the client leaves; stop running ones too; drop "
		"what cannot be answered in time any more" },
	{ "policy", SIM_KEY_CHOICES, "none,cancel,budget,dagor", 0, 0, SIM_DEFENCES,
		"who else defends the server" },
	{ "load", SIM_KEY_INTS, "140,280", 1, 1000000, NULL, "originals a second of the storm" },
	{ "overload_qps", SIM_KEY_INT, "600", 1, 1000000, NULL, "of the overload" },
	{ "outage_ms", SIM_KEY_INT, "10000", 1, 1000000, NULL,
		"the storm's trigger, from 30 s: nobody can cancel it" },
	{ "retries", SIM_KEY_INT, "1", 0, 100, NULL, "in the storm" },
	{ "slo_ms", SIM_KEY_INT, "50", 1, 1000000, NULL, "a client's objective" },
	{ "storm_s", SIM_KEY_INT, "200", 31, 100000, NULL, "length of the storm's run" },
	{ "overload_s", SIM_KEY_INT, "300", 2, 100000, NULL, "length of the overload's run" },
	SIM_KEYS_DEFENCE,
	{ 0 },
};

static const char columns[] =
	"scenario|load_qps|policy|zombies|heals|heal_second|goodput_qps:1 second half|"
	"success_pct:2|served_for_nobody attempts|dropped attempts|cancels by the core|"
	"no_culprit_windows";

static struct sim_storm describe(
	const struct sim_run *run, int64_t scenario, uint64_t load, int64_t zombies)
{
	bool overload = scenario == OVERLOAD;
	struct sim_storm storm = {
		.load_qps = load,
		.retries = overload ? 0 : (uint32_t)sim_int(run, "retries"),
		.hold_ns = overload ? 0 : sim_ns(run, "outage_ms"),
		.culprit_exempt = true,
		.duration_ns =
			(uint64_t)sim_int(run, overload ? "overload_s" : "storm_s") * SIM_NS_PER_S,
		.slo_ns = sim_ns(run, "slo_ms"),
	};
	storm.world.zombies = zombies == SERVE	? SIM_ZOMBIES_SERVE
			      : zombies == STOP ? SIM_ZOMBIES_CANCEL
						: SIM_ZOMBIES_DROP_QUEUED;
	storm.world.zombie_lead_ns = zombies == DEADLINE ? SERVICE_NS : 0;
	return storm;
}

static void put_row(struct sim_run *run, struct sim_table *table, int64_t scenario,
	const struct sim_storm *storm, const char *policy, int64_t zombies,
	const struct sim_storm_outcome *o)
{
	uint64_t half_s = storm->duration_ns / SIM_NS_PER_S - storm->duration_ns / SIM_NS_PER_S / 2;
	SIM_ROW(table, SIM_TEXT(sim_name(run, "scenario", scenario)), SIM_INT(storm->load_qps),
		SIM_TEXT(policy), SIM_TEXT(sim_name(run, "zombies", zombies)),
		scenario == OVERLOAD ? SIM_NONE : SIM_BOOL(o->heals),
		o->heals ? SIM_INT(o->heal_s) : SIM_NONE,
		SIM_REAL((double)o->second_half_goodput / (double)half_s),
		SIM_REAL(100.0 * (double)o->goodput / (double)o->offered), SIM_INT(o->zombies),
		SIM_INT(o->stopped), SIM_INT(o->cancels), SIM_INT(o->regular_windows));
}

/* `series` NULL: this run is not drawn. */
static int run_one(struct sim_run *run, struct sim_table *table, struct sim_series *series,
	int64_t scenario, uint64_t load, const char *policy, int64_t zombies)
{
	struct sim_storm storm = describe(run, scenario, load, zombies);
	struct sim_storm_outcome outcome;
	struct sim_result result;
	char subject[48];
	snprintf(subject, sizeof subject, "a run at %llu QPS", (unsigned long long)load);
	struct sim_world *world = sim_run_storm(run, &storm, policy, subject, &result, &outcome);
	if (!world)
		return -1;
	put_row(run, table, scenario, &storm, policy, zombies, &outcome);
	for (size_t i = 0; series && i < result.window_count; i++)
		sim_plot_point(series, (double)i, (double)result.windows[i].goodput);
	sim_world_free(world);
	return 0;
}

static int run_scenario(struct sim_run *run, struct sim_table *table, int64_t scenario)
{
	size_t loads = scenario == OVERLOAD ? 1 : sim_count(run, "load");
	size_t policies = sim_count(run, "policy"), kinds = sim_count(run, "zombies");
	size_t total = loads * policies * kinds;
	char title[64];
	snprintf(title, sizeof title, "Goodput, %s, policy %s", sim_name(run, "scenario", scenario),
		sim_name(run, "policy", sim_item(run, "policy", 0)));
	struct sim_plot *plot =
		sim_report_plot(run->report, title, "second", "requests a second", SIM_AXIS_LINEAR);
	for (size_t i = 0; i < total; i++) {
		uint64_t load = (uint64_t)(scenario == OVERLOAD
						   ? sim_int(run, "overload_qps")
						   : sim_item(run, "load", i / (policies * kinds)));
		const char *policy =
			sim_name(run, "policy", sim_item(run, "policy", i / kinds % policies));
		struct sim_series *series = NULL;
		if (i / kinds % policies == 0) {
			char label[48];
			snprintf(label, sizeof label, "%s, %llu QPS",
				sim_name(run, "zombies", sim_item(run, "zombies", i % kinds)),
				(unsigned long long)load);
			series = sim_plot_series(plot, label, SIM_LINES);
		}
		if (run_one(run, table, series, scenario, load, policy,
			    sim_item(run, "zombies", i % kinds)) != 0)
			return -1;
		sim_progress(run, i + 1, total);
	}
	return 0;
}

int sim_zombies_run(struct sim_run *run)
{
	struct sim_table *table = sim_table(run, "zombies", "Work whose client has left", columns);
	for (size_t i = 0; i < sim_count(run, "scenario"); i++)
		if (run_scenario(run, table, sim_item(run, "scenario", i)) != 0)
			return -1;
	sim_note(run->report, "The trigger is an outage nobody can cancel: what is left to cancel "
			      "afterwards is abandoned work.");
	return 0;
}
