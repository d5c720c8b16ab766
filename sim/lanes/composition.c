/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exercise: gate, budget, both, none, on lane 3's overload and on lane 1's outage, with one retry;
 * each with and without a retry of rejects. Policies compose.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim/lanes/lanes.h"
#include "sim/setups/gated_server.h"
#include "sim/setups/single_keys.h"

const struct sim_key sim_composition_keys[] = {
	{ "scenario", SIM_KEY_CHOICES, "all", 0, 0, "overload|outage",
		"lane 3's sustained overload, lane 1's outage" },
	{ "gate", SIM_KEY_CHOICES, "all", 0, 0, "none|coarse|fine", "gates to combine" },
	{ "budget", SIM_KEY_INTS, "0,15", 0, 1000000, NULL, "retries a second; 0: no budget" },
	SIM_KEYS_GATE,
	{ "overload_qps", SIM_KEY_INT, "600", 1, 1000000, NULL, "load of the overload" },
	{ "overload_s", SIM_KEY_INT, "300", 2, 100000, NULL, "and its length" },
	{ "outage_qps", SIM_KEY_INT, "280", 1, 1000000, NULL, "load of the outage scenario" },
	{ "outage_s", SIM_KEY_INT, "800", 2, 100000, NULL, "and its length" },
	SIM_KEYS_SERVER,
	SIM_KEY_RETRIES("1"),
	SIM_KEYS_OUTAGE,
	{ 0 },
};

static const char columns[] =
	"scenario|gate|rule|budget_per_s|retry_on_reject|goodput_qps:1 second half|"
	"p0_success_pct:1 second half|whole_goodput_qps:1|heal_second";

enum { OVERLOAD, OUTAGE };

static struct sim_gated_server combine(const struct sim_run *run)
{
	bool outage = sim_int(run, "scenario") == OUTAGE;
	uint64_t load = (uint64_t)sim_int(run, outage ? "outage_qps" : "overload_qps");
	struct sim_gated_server setup = sim_gated_server_read(run, load);
	setup.single.duration_ns = sim_ns(run, outage ? "outage_s" : "overload_s");
	if (!outage)
		setup.single.outage_ns = 0;
	setup.gate = (enum sim_gate_levels)sim_int(run, "gate");
	setup.rule = (enum cancel_dagor_rule)sim_int(run, "rule");
	setup.budget_per_s = (uint64_t)sim_int(run, "budget");
	return setup;
}

/* Goodput over time, of the first rule asked for and without retries of rejects: enough to see. */
static void plot_one(struct sim_run *run, struct sim_plot *const *plots,
	const struct sim_gated_server *setup, const struct sim_windows *windows)
{
	char label[64];
	if (setup->retry_on_reject || !sim_first(run, "rule"))
		return;
	snprintf(label, sizeof(label), "gate %s, budget %llu", sim_choice(run, "gate"),
		(unsigned long long)setup->budget_per_s);
	struct sim_series *series =
		sim_plot_series(plots[sim_int(run, "scenario")], label, SIM_LINES);
	for (size_t second = 0; second < windows->count; second++)
		sim_plot_point(series, (double)second, windows->rows[second].goodput);
}

static int run_one(struct sim_run *run, struct sim_table *table, struct sim_plot *const *plots,
	const struct sim_gated_server *setup)
{
	struct sim_gated_server_result result;
	int64_t second = -1;
	if (sim_gated_server_run(setup, &result) < 0)
		return sim_fail(run, "these settings make no gate: %u levels", setup->levels);
	SIM_ROW(table, SIM_TEXT(sim_choice(run, "scenario")), SIM_TEXT(sim_choice(run, "gate")),
		SIM_TEXT(setup->gate != SIM_GATE_NONE ? sim_choice(run, "rule") : ""),
		SIM_INT(setup->budget_per_s), SIM_BOOL(setup->retry_on_reject),
		SIM_REAL(result.second_half.goodput_qps),
		SIM_REAL(result.second_half.success_pct[0]), SIM_REAL(result.whole.goodput_qps));
	if (sim_int(run, "scenario") == OVERLOAD)
		sim_put(table, SIM_NONE);
	else if (sim_single_end(&result.windows, &setup->single, &second) == SIM_HEALED)
		sim_put(table, SIM_INT(second));
	else
		sim_put(table, SIM_TEXT("never"));
	sim_note_bound(run, result.windows.bound, "a run");
	plot_one(run, plots, setup, &result.windows);
	sim_gated_server_free(&result);
	return 0;
}

int sim_composition_run(struct sim_run *run)
{
	static const char *const swept[] = { "scenario", "gate", "rule", "budget", NULL };
	struct sim_table *table = sim_table(
		run, "composition", "Gate, budget, both: sustained overload and outage", columns);
	struct sim_plot *plots[2] = { NULL };
	for (size_t i = 0; i < sim_count(run, "scenario"); i++) {
		bool outage = sim_item(run, "scenario", i) == OUTAGE;
		plots[outage ? OUTAGE : OVERLOAD] = sim_report_plot(run->report,
			outage ? "Lane 1's outage, one retry" : "Twice the capacity, one retry",
			"second", "goodput, requests a second", SIM_AXIS_LINEAR);
	}
	for (size_t i = 0; sim_vary(run, swept, i); i++) {
		struct sim_gated_server setup = combine(run);
		bool gate = setup.gate != SIM_GATE_NONE;
		if (!gate && !sim_first(run, "rule"))
			continue; /* no gate has no rule, and rejects need a gate */
		if (run_one(run, table, plots, &setup) != 0)
			return -1;
		setup.retry_on_reject = true;
		if (gate && run_one(run, table, plots, &setup) != 0)
			return -1;
	}
	sim_note(run->report,
		"In this model a reject costs its client nothing unless "
		"retry_on_reject is on; then it uses up a retry, and the budget pays.");
	return 0;
}
