/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and plots of single-server runs. */
#include "sim/setups/single_tables.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/base/memory.h"

#define SAMPLE_ROWS 12 /* evenly spaced, when none of the wanted seconds exist */

void sim_single_run(struct sim_run *run, struct sim_guard *guard, struct sim_single_result *result)
{
	result->end = sim_single_play(run, &result->single, guard, sim_int(run, "engine") != 0,
		&result->windows, &result->heal_second);
}

void sim_single_windows(struct sim_run *run, const struct sim_single_result *results, size_t count,
	const char *value_name)
{
	struct sim_table *table = sim_report_table(run->report, "windows", "A row a second",
		SIM_TABLE_DATA_ONLY, "second|offered|rejected|goodput|backlog");
	sim_columns(table, "%s", value_name);
	for (size_t i = 0; i < count; i++) {
		const struct sim_windows *windows = &results[i].windows;
		for (size_t second = 0; second < windows->count; second++) {
			const struct sim_window *row = &windows->rows[second];
			SIM_ROW(table, SIM_INT(second), SIM_INT(row->offered),
				SIM_INT(row->rejected), SIM_INT(row->goodput),
				SIM_INT(results[i].backlog[second]), SIM_INT(results[i].value));
		}
	}
}

static struct sim_table *sample_table(
	struct sim_run *run, const struct sim_single_result *results, size_t count)
{
	struct sim_table *table = sim_report_table(run->report, "sample",
		"Offered, answered in time, and queued at the end of the second",
		SIM_TABLE_TEXT_ONLY, "t(s)");
	for (size_t i = 0; i < count; i++) {
		const char *label = results[i].label;
		sim_columns(table, "offered %s|goodput %s|backlog %s", label, label, label);
	}
	return table;
}

static void sample_row(struct sim_table *table, const struct sim_single_result *results,
	size_t count, size_t second)
{
	SIM_ROW(table, SIM_INT(second));
	for (size_t i = 0; i < count; i++) {
		sim_put(table, SIM_INT(results[i].windows.rows[second].offered));
		sim_put(table, SIM_INT(results[i].windows.rows[second].goodput));
		sim_put(table, SIM_INT(results[i].backlog[second]));
	}
}

static void put_sample(struct sim_run *run, const struct sim_single_result *results, size_t count)
{
	struct sim_table *table = sample_table(run, results, count);
	size_t seconds = results[0].windows.count, shown = 0;
	for (size_t i = 0; i < sim_count(run, "rows_s"); i++) {
		size_t second = (size_t)sim_item(run, "rows_s", i);
		if (second < seconds) {
			sample_row(table, results, count, second);
			shown++;
		}
	}
	size_t gap = seconds / SAMPLE_ROWS + (seconds % SAMPLE_ROWS != 0);
	for (size_t second = 0; shown == 0 && second < seconds; second += gap)
		sample_row(table, results, count, second);
}

static uint64_t backlog_after_outage(const struct sim_single_result *result)
{
	const struct sim_single *s = &result->single;
	uint64_t end = (s->outage_start_ns + s->outage_ns) / SIM_NS_PER_S;
	return end > 0 && end <= result->windows.count ? result->backlog[end - 1] : 0;
}

static void single_facts(struct sim_run *run, const struct sim_single_result *result)
{
	sim_fact(run->report, "heals", SIM_BOOL(result->end == SIM_HEALED));
	sim_fact(run->report, "heal_second",
		result->heal_second >= 0 ? SIM_INT(result->heal_second) : SIM_NONE);
	sim_fact(run->report, "end", SIM_TEXT(sim_end_name(result->end)));
}

static void put_ends(struct sim_run *run, const struct sim_single_result *results, size_t count,
	const char *value_name)
{
	struct sim_table *table = sim_table(run, "ends", "How each run ended", value_name);
	sim_columns(table, "end|heal_second|backlog_after_outage|attempts");
	for (size_t i = 0; i < count; i++) {
		SIM_ROW(table, SIM_INT(results[i].value), SIM_TEXT(sim_end_name(results[i].end)),
			results[i].heal_second >= 0 ? SIM_INT(results[i].heal_second)
						    : SIM_TEXT("never"),
			SIM_INT(backlog_after_outage(&results[i])),
			SIM_INT(results[i].windows.attempts));
		sim_note_bound(run, results[i].windows.bound, "%s:", results[i].label);
	}
	if (count == 1)
		single_facts(run, &results[0]);
}

void sim_single_plots(struct sim_run *run, const struct sim_single_result *results, size_t count)
{
	char label[96];
	struct sim_plot *rates = sim_report_plot(
		run->report, run->lane->what, "second", "requests a second", SIM_AXIS_LINEAR);
	struct sim_plot *queues = sim_report_plot(
		run->report, "Backlog at the end of each second", "second", "attempts", 0);
	for (size_t i = 0; i < count; i++) {
		const struct sim_windows *windows = &results[i].windows;
		snprintf(label, sizeof(label), "offered, %s", results[i].label);
		struct sim_series *offered = sim_plot_series(rates, label, SIM_STEPS);
		snprintf(label, sizeof(label), "goodput, %s", results[i].label);
		struct sim_series *goodput = sim_plot_series(rates, label, SIM_STEPS);
		struct sim_series *queue = sim_plot_series(queues, results[i].label, SIM_LINES);
		for (size_t second = 0; second < windows->count; second++) {
			sim_plot_point(offered, (double)second, windows->rows[second].offered);
			sim_plot_point(goodput, (double)second, windows->rows[second].goodput);
			sim_plot_point(queue, (double)second, (double)results[i].backlog[second]);
		}
	}
}

int sim_single_runs(struct sim_run *run, const char *swept, const char *value_name,
	int (*one)(struct sim_run *run, struct sim_single_result *result))
{
	const char *const keys[] = { swept, NULL };
	size_t count = sim_count(run, swept);
	struct sim_single_result *results = sim_alloc(count, sizeof(*results));
	int status = 0;
	for (size_t i = 0; status == 0 && sim_vary(run, keys, i); i++) {
		results[i].value = sim_int(run, swept);
		status = one(run, &results[i]);
		results[i].backlog = sim_windows_backlog(&results[i].windows);
	}
	if (status == 0) {
		sim_single_windows(run, results, count, value_name);
		put_sample(run, results, count);
		put_ends(run, results, count, value_name);
		sim_single_plots(run, results, count);
	}
	for (size_t i = 0; i < count; i++) {
		sim_windows_free(&results[i].windows);
		free(results[i].backlog);
	}
	free(results);
	return status;
}
