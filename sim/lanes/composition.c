/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exercise: gate, budget, both, none, on lane 3's overload and on lane 1's outage, with one retry;
 * each with and without a retry of rejects. Policies compose.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/memory.h"
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

struct combination {
	int scenario;
	struct sim_gated_server setup;
};

static struct combination combine(struct sim_run *run, int scenario, enum sim_gate_levels gate,
	enum cancel_dagor_rule rule, uint64_t budget)
{
	bool outage = scenario == OUTAGE;
	uint64_t load = (uint64_t)sim_int(run, outage ? "outage_qps" : "overload_qps");
	struct combination made = { .scenario = scenario,
		.setup = sim_gated_server_read(run, load) };
	made.setup.single.duration_ns =
		(uint64_t)sim_int(run, outage ? "outage_s" : "overload_s") * SIM_NS_PER_S;
	if (!outage)
		made.setup.single.outage_ns = 0;
	made.setup.gate = gate;
	made.setup.rule = rule;
	made.setup.budget_per_s = budget;
	return made;
}

/* Goodput over time, of the first rule asked for and without retries of rejects: enough to see. */
static void plot_one(struct sim_run *run, struct sim_plot *const *plots,
	const struct combination *chosen, const struct sim_windows *windows)
{
	const struct sim_gated_server *setup = &chosen->setup;
	char label[64];
	if (setup->retry_on_reject ||
		setup->rule != (enum cancel_dagor_rule)sim_item(run, "rule", 0))
		return;
	snprintf(label, sizeof(label), "gate %s, budget %llu", sim_name(run, "gate", setup->gate),
		(unsigned long long)setup->budget_per_s);
	struct sim_series *series = sim_plot_series(plots[chosen->scenario], label, SIM_LINES);
	for (size_t second = 0; second < windows->count; second++)
		sim_plot_point(series, (double)second, windows->rows[second].goodput);
}

static int run_one(struct sim_run *run, struct sim_table *table, struct sim_plot *const *plots,
	const struct combination *chosen)
{
	const struct sim_gated_server *setup = &chosen->setup;
	struct sim_gated_server_result result;
	int64_t second = -1;
	if (sim_gated_server_run(setup, &result) < 0)
		return sim_fail(run, "these settings make no gate: %u levels", setup->levels);
	SIM_ROW(table, SIM_TEXT(sim_name(run, "scenario", chosen->scenario)),
		SIM_TEXT(sim_name(run, "gate", setup->gate)),
		SIM_TEXT(setup->gate != SIM_GATE_NONE ? sim_name(run, "rule", setup->rule) : ""),
		SIM_INT(setup->budget_per_s), SIM_BOOL(setup->retry_on_reject),
		SIM_REAL(result.second_half.goodput_qps),
		SIM_REAL(result.second_half.success_pct[0]), SIM_REAL(result.whole.goodput_qps));
	if (chosen->scenario == OVERLOAD)
		sim_put(table, SIM_NONE);
	else if (sim_single_end(&result.windows, &setup->single, &second) == SIM_HEALED)
		sim_put(table, SIM_INT(second));
	else
		sim_put(table, SIM_TEXT("never"));
	sim_note_bound(run, result.windows.bound, "a run");
	plot_one(run, plots, chosen, &result.windows);
	sim_gated_server_free(&result);
	return 0;
}

/* Every combination that differs: no gate has no rule, and rejects need a gate. */
static size_t plan(struct sim_run *run, struct combination *all)
{
	size_t count = 0;
	for (size_t s = 0; s < sim_count(run, "scenario"); s++)
		for (size_t g = 0; g < sim_count(run, "gate"); g++)
			for (size_t r = 0; r < sim_count(run, "rule"); r++)
				for (size_t b = 0; b < sim_count(run, "budget"); b++) {
					enum sim_gate_levels gate =
						(enum sim_gate_levels)sim_item(run, "gate", g);
					if (gate == SIM_GATE_NONE && r > 0)
						continue;
					all[count] = combine(run, (int)sim_item(run, "scenario", s),
						gate,
						(enum cancel_dagor_rule)sim_item(run, "rule", r),
						(uint64_t)sim_item(run, "budget", b));
					count++;
					if (gate == SIM_GATE_NONE)
						continue;
					all[count] = all[count - 1];
					all[count++].setup.retry_on_reject = true;
				}
	return count;
}

int sim_composition_run(struct sim_run *run)
{
	size_t most = 2 * sim_count(run, "scenario") * sim_count(run, "gate") *
		      sim_count(run, "rule") * sim_count(run, "budget");
	struct combination *all = sim_alloc(most, sizeof(*all));
	struct sim_table *table = sim_table(
		run, "composition", "Gate, budget, both: sustained overload and outage", columns);
	struct sim_plot *plots[2] = { NULL };
	size_t count = plan(run, all);
	for (size_t i = 0; i < sim_count(run, "scenario"); i++) {
		bool outage = sim_item(run, "scenario", i) == OUTAGE;
		plots[outage ? OUTAGE : OVERLOAD] = sim_report_plot(run->report,
			outage ? "Lane 1's outage, one retry" : "Twice the capacity, one retry",
			"second", "goodput, requests a second", SIM_AXIS_LINEAR);
	}
	int status = 0;
	for (size_t i = 0; status == 0 && i < count; i++) {
		status = run_one(run, table, plots, &all[i]);
		sim_progress(run, i + 1, count);
	}
	sim_note(run->report,
		"In this model a reject costs its client nothing unless "
		"retry_on_reject is on; then it uses up a retry, and the budget pays.");
	free(all);
	return status;
}
