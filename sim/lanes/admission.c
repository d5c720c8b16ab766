/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane 3: twice the capacity for 300 s, and a DAGOR gate on the literal contract (bare levels)
 * beside one with 128 user levels a level.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/lanes/lanes.h"
#include "sim/setups/gated_server.h"
#include "sim/setups/single_tables.h"

const struct sim_key sim_admission_keys[] = {
	{ "gate", SIM_KEY_CHOICES, "all", 0, 0, "none|coarse|fine",
		"no gate, bare levels (the literal contract), 128 user levels each" },
	SIM_KEYS_GATE,
	SIM_KEY_LOAD("600"),
	SIM_KEYS_SERVER,
	SIM_KEY_RETRIES("0"),
	SIM_KEY_DURATION("300"),
	{ "budget", SIM_KEY_INT, "0", 0, 1000000, NULL, "retries a second; 0: no budget" },
	{ "retry_on_reject", SIM_KEY_FLAG, "no", 0, 0, NULL, "a reject is retried too" },
	{ 0 },
};

struct row {
	struct sim_gated_server setup;
	struct sim_gated_server_result result;
};

static size_t plan(struct sim_run *run, struct row *rows)
{
	static const char *const swept[] = { "gate", "rule", NULL };
	size_t count = 0;
	for (size_t i = 0; sim_vary(run, swept, i); i++) {
		struct sim_gated_server setup =
			sim_gated_server_read(run, (uint64_t)sim_int(run, "load"));
		setup.gate = (enum sim_gate_levels)sim_int(run, "gate");
		setup.rule = (enum cancel_dagor_rule)sim_int(run, "rule");
		setup.budget_per_s = (uint64_t)sim_int(run, "budget");
		setup.retry_on_reject = sim_flag(run, "retry_on_reject");
		if (setup.gate != SIM_GATE_NONE || sim_first(run, "rule"))
			rows[count++].setup = setup;
	}
	return count;
}

static void put_scope(struct sim_run *run, struct sim_table *table, const struct row *row,
	const char *name, const struct sim_gated_server_scope *scope)
{
	bool gated = row->setup.gate != SIM_GATE_NONE;
	SIM_ROW(table, SIM_TEXT(name), SIM_TEXT(sim_name(run, "gate", row->setup.gate)),
		SIM_TEXT(gated ? sim_name(run, "rule", row->setup.rule) : ""),
		SIM_REAL(scope->goodput_qps), SIM_REAL((double)scope->p99_ns / 1e6),
		SIM_INT(scope->rejected), gated ? SIM_INT(row->result.cursor) : SIM_NONE);
	for (uint32_t level = 0; level < row->setup.levels; level++)
		sim_put(table, SIM_REAL(scope->success_pct[level]));
}

static void put_table(struct sim_run *run, const struct row *rows, size_t count, uint32_t levels)
{
	struct sim_table *table =
		sim_table(run, "gates", "Goodput and success by level (p0 the highest)",
			"scope|gate|rule|goodput_qps:1|p99_ms:1|rejected|cursor");
	for (uint32_t level = 0; level < levels; level++)
		sim_columns(table, "p%u_success_pct:1", level);
	for (size_t i = 0; i < count; i++)
		put_scope(run, table, &rows[i], "second half", &rows[i].result.second_half);
	for (size_t i = 0; i < count; i++)
		put_scope(run, table, &rows[i], "whole run", &rows[i].result.whole);
}

/* The figures a check reads: the second half, the worst of the rules that ran. */
static void put_facts(struct sim_run *run, const struct row *rows, size_t count)
{
	for (enum sim_gate_levels gate = SIM_GATE_NONE; gate <= SIM_GATE_FINE; gate++) {
		const struct sim_gated_server_scope *worst = NULL;
		char name[64];
		for (size_t i = 0; i < count; i++) {
			const struct sim_gated_server_scope *scope = &rows[i].result.second_half;
			if (rows[i].setup.gate == gate &&
				(!worst || scope->goodput_qps < worst->goodput_qps))
				worst = scope;
		}
		if (!worst)
			continue;
		snprintf(name, sizeof(name), "%s.goodput_qps", sim_name(run, "gate", gate));
		sim_fact(run->report, name, SIM_DECIMALS(worst->goodput_qps, 1));
		snprintf(name, sizeof(name), "%s.p0_success_pct", sim_name(run, "gate", gate));
		sim_fact(run->report, name, SIM_DECIMALS(worst->success_pct[0], 1));
	}
	sim_note(run->report, "Lines by gate: the second half, the worst of the rules that ran.");
	sim_note(run->report, "accumulating: N_exp is carried from window to window; memoryless: "
			      "each window starts "
			      "from what was admitted (the paper's text);");
	sim_note(run->report, "fraction: a share of the requests is carried. N counts all requests "
			      "of the window, "
			      "rejected ones included.");
}

static void put_windows(struct sim_run *run, struct row *rows, size_t count)
{
	struct sim_single_result *results = sim_alloc(count, sizeof(*results));
	for (size_t i = 0; i < count; i++) {
		results[i].single = rows[i].setup.single;
		results[i].windows = rows[i].result.windows;
		results[i].backlog = sim_windows_backlog(&results[i].windows);
		results[i].value = (int64_t)i;
		snprintf(results[i].label, sizeof(results[i].label), "%s %s",
			sim_name(run, "gate", rows[i].setup.gate),
			rows[i].setup.gate ? sim_name(run, "rule", rows[i].setup.rule) : "");
		sim_note_bound(run, rows[i].result.windows.bound, "%s:", results[i].label);
	}
	sim_single_windows(run, results, count, "run");
	sim_single_plots(run, results, count);
	for (size_t i = 0; i < count; i++)
		free(results[i].backlog);
	free(results);
}

int sim_admission_run(struct sim_run *run)
{
	struct row *rows =
		sim_alloc(sim_count(run, "gate") * sim_count(run, "rule"), sizeof(*rows));
	size_t count = plan(run, rows);
	int status = 0;
	for (size_t i = 0; status == 0 && i < count; i++) {
		if (sim_gated_server_run(&rows[i].setup, &rows[i].result) < 0)
			status = sim_fail(run, "these settings make no gate: %u levels",
				rows[i].setup.levels);
		sim_progress(run, i + 1, count);
	}
	if (status == 0) {
		put_table(run, rows, count, rows[0].setup.levels);
		put_windows(run, rows, count);
		put_facts(run, rows, count);
	}
	for (size_t i = 0; i < count; i++)
		sim_gated_server_free(&rows[i].result);
	free(rows);
	return status;
}
