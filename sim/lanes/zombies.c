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

static struct sim_storm describe(const struct sim_run *run)
{
	bool overload = sim_int(run, "scenario") == OVERLOAD;
	int64_t zombies = sim_int(run, "zombies");
	struct sim_storm storm = {
		.load_qps = (uint64_t)sim_int(run, overload ? "overload_qps" : "load"),
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

static void put_row(struct sim_run *run, struct sim_table *table, const struct sim_storm *storm,
	const struct sim_storm_outcome *o)
{
	uint64_t half_s = storm->duration_ns / SIM_NS_PER_S - storm->duration_ns / SIM_NS_PER_S / 2;
	SIM_ROW(table, SIM_TEXT(sim_choice(run, "scenario")), SIM_INT(storm->load_qps),
		SIM_TEXT(sim_choice(run, "policy")), SIM_TEXT(sim_choice(run, "zombies")),
		sim_int(run, "scenario") == OVERLOAD ? SIM_NONE : SIM_BOOL(o->heals),
		o->heals ? SIM_INT(o->heal_s) : SIM_NONE,
		SIM_REAL((double)o->second_half_goodput / (double)half_s),
		SIM_REAL(100.0 * (double)o->goodput / (double)o->offered), SIM_INT(o->zombies),
		SIM_INT(o->stopped), SIM_INT(o->cancels), SIM_INT(o->regular_windows));
}

static int run_one(struct sim_run *run, struct sim_table *table, struct sim_plot *plot)
{
	struct sim_storm storm = describe(run);
	const char *policy = sim_choice(run, "policy");
	struct sim_storm_outcome outcome;
	struct sim_result result;
	struct sim_series *series = NULL;
	char text[48];
	if (sim_first(run, "policy")) { /* the others are not drawn */
		snprintf(text, sizeof text, "%s, %llu QPS", sim_choice(run, "zombies"),
			(unsigned long long)storm.load_qps);
		series = sim_plot_series(plot, text, SIM_LINES);
	}
	snprintf(text, sizeof text, "a run at %llu QPS", (unsigned long long)storm.load_qps);
	struct sim_world *world = sim_run_storm(run, &storm, policy, text, &result, &outcome);
	if (!world)
		return -1;
	put_row(run, table, &storm, &outcome);
	for (size_t i = 0; series && i < result.window_count; i++)
		sim_plot_point(series, (double)i, (double)result.windows[i].goodput);
	sim_world_free(world);
	return 0;
}

int sim_zombies_run(struct sim_run *run)
{
	struct sim_table *table = sim_table(run, "zombies", "Work whose client has left", columns);
	static const char *const swept[] = { "scenario", "load", "policy", "zombies", NULL };
	struct sim_plot *plot = NULL;
	for (size_t i = 0, drawn = SIZE_MAX; sim_vary(run, swept, i); i++) {
		size_t scenario = i / (sim_combinations(run, &swept[1]));
		if (scenario != drawn) {
			char title[64];
			snprintf(title, sizeof title, "Goodput, %s, policy %s",
				sim_choice(run, "scenario"), sim_choice(run, "policy"));
			plot = sim_report_plot(
				run->report, title, "second", "requests a second", SIM_AXIS_LINEAR);
			drawn = scenario;
		}
		/* The overload has a load of its own. */
		if (sim_int(run, "scenario") == OVERLOAD && !sim_first(run, "load"))
			continue;
		if (run_one(run, table, plot) != 0)
			return -1;
	}
	sim_note(run->report, "The trigger is an outage nobody can cancel: what is left to cancel "
			      "afterwards is abandoned work.");
	return 0;
}
