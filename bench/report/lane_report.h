/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane_report.h - the rows of a lane as table, JSON or CSV.
 */
#ifndef BENCH_LANE_REPORT_H
#define BENCH_LANE_REPORT_H

#include <stdio.h>

#include "bench/cases/lane.h"
#include "bench/policies/lane_policy.h"
#include "bench/report/lane_measure.h"
#include "bench/report/measure.h"

struct lane_row {
	const struct lane_policy *policy;
	double rho, rate_qps;
	struct range figures[LANE_FIGURE_COUNT];
	struct range success_pct_by_priority[CROWD_PRIORITIES];
	bool disturbed; /* every repetition was, or the saturation */
	struct repetition_choice choice;
};

struct lane_summary {
	const struct lane *lane;
	const struct lane_plan *plan;
	const struct bench_options *options;
	double saturation_qps, rate_qps;
	struct lane_row rows[OPTIONS_POLICIES_MAX];
	uint32_t row_count;
};

/* Is any row? */
bool lane_summary_is_disturbed(const struct lane_summary *summary);
/* The row of one policy from its repetitions; disturbed ones are left out while there are others.
 */
void lane_row_fill(struct lane_row *row, const struct lane_measures *measures, uint32_t reps);
/* 0, or -1: out of memory or disk. */
int lane_report(FILE *file, const struct lane_summary *summary, enum report_format format);

#endif
