/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.h - the figures of the report, by policy, over repetitions: what tables, CSV and JSON print.
 */
#ifndef BENCH_SUMMARY_H
#define BENCH_SUMMARY_H

#include "bench/report/measure.h"
#include "bench/base/options.h"
#include "bench/cases/case.h"

#define SUMMARY_ROWS_MAX 64

struct summary;

struct summary_row {
	char policy[OPTIONS_POLICY_BYTES];
	const char *what; /* the policy, on this target; static */
	char setting[64]; /* what it was tuned to, "" if nothing */
	uint32_t load_pct;
	double rho, rate_qps, slo_ms;
	double share_pct; /* of the requests that are dumps; --saturate only */
	struct range figures[FIGURE_COUNT];
	struct range success_pct_by_priority[TARGET_PRIORITIES];
	bool disturbed; /* every repetition was, or what they rest on */
	struct repetition_choice choice;
};

/* The row of one policy: `own` and `reference` have one entry per repetition. Those in which one of
 * the two was disturbed are left out, unless there are no others. `reference` NULL: there is none,
 * since clients time out. */
void summary_fill(struct summary_row *row, const struct measures *own,
	const struct measures *reference, uint32_t reps);
/* Which figures the report has. */
enum figure_when summary_when(const struct summary *summary);
/* The one number a figure is reported as. */
double summary_value(const struct summary_row *row, enum figure figure);

/* Everything a report prints. */
struct summary {
	const char *case_name, *what;
	const struct bench_options *options;
	const struct case_plan *plan; /* of clients that time out; NULL: they wait */
	bool wire;		      /* a case that the engine has too, on a server */
	const char *io;
	double saturation_qps; /* 0: not measured, the rate was given */
	double rho, slo_ms, rate_qps;
	uint32_t seconds;
	struct summary_row rows[SUMMARY_ROWS_MAX];
	uint32_t row_count;
};
/* Is any row? */
bool summary_is_disturbed(const struct summary *summary);

#endif
