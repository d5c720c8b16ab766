/* SPDX-License-Identifier: Apache-2.0 */
/* single_tables.h - what runs of the single-server model look like in a report. */
#ifndef SIM_SETUPS_SINGLE_TABLES_H
#define SIM_SETUPS_SINGLE_TABLES_H

#include "sim/setups/single_keys.h"

struct sim_single_result {
	struct sim_single single;
	struct sim_windows windows;
	uint64_t *backlog; /* of windows, at the end of each */
	char label[48];	   /* "280 QPS", "budget 15" */
	int64_t value;	   /* the number of the label, last CSV column */
	enum sim_end end;
	int64_t heal_second; /* -1: not healed */
};

/* Runs result->single on the engine the keys name and judges it; `guard` is NULL or keeps the
 * budget. */
void sim_single_run(struct sim_run *run, struct sim_guard *guard, struct sim_single_result *result);

/* CSV and JSON, a run after the other: second, offered, rejected, goodput, backlog, `value_name`. */
void sim_single_windows(struct sim_run *run, const struct sim_single_result *results, size_t count,
	const char *value_name);
/* Goodput and backlog over time. */
void sim_single_plots(struct sim_run *run, const struct sim_single_result *results, size_t count);

/* One run for each value of the list key `swept`: `one` gets a result with its value and fills in the
 * rest, or fails. Then all tables and plots: the above, the seconds of `rows_s` side by side, and how
 * each run ended. */
int sim_single_runs(struct sim_run *run, const char *swept, const char *value_name,
	int (*one)(struct sim_run *run, struct sim_single_result *result));

#define SIM_KEY_ROWS(fallback)                                                                     \
	{                                                                                          \
		"rows_s", SIM_KEY_INTS, fallback, 0, 1000000, NULL,                                \
			"seconds shown in the text table (those past the end are left out)"        \
	}

#endif
