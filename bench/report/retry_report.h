/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry_report.h - the rows of a case on a server as table, JSON or CSV.
 */
#ifndef BENCH_RETRY_REPORT_H
#define BENCH_RETRY_REPORT_H

#include <stdio.h>

#include "bench/cases/case.h"
#include "bench/policies/policy.h"
#include "bench/report/retry_measure.h"
#include "bench/report/measure.h"

struct retry_row {
	const struct bench_policy *policy;
	double rho, rate_qps;
	struct range figures[RETRY_FIGURE_COUNT];
	struct range success_pct_by_priority[CLIENTS_PRIORITIES];
	bool disturbed; /* every repetition was, or the saturation */
	struct repetition_choice choice;
};

struct retry_summary {
	const struct bench_case *bench_case;
	const struct retry_plan *plan;
	const struct bench_options *options;
	double saturation_qps, rate_qps;
	struct retry_row rows[OPTIONS_POLICIES_MAX];
	uint32_t row_count;
};

/* Is any row? */
bool retry_summary_is_disturbed(const struct retry_summary *summary);
/* The row of one policy from its repetitions; disturbed ones are left out while there are others.
 */
void retry_row_fill(struct retry_row *row, const struct retry_measures *measures, uint32_t reps);
/* 0, or -1: out of memory or disk. */
int retry_report(FILE *file, const struct retry_summary *summary, enum report_format format);

#endif
