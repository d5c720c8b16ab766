/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suite.h - all runs of one `cancel-bench run`: saturation, reference, tuning, each policy,
 * repetitions.
 */
#ifndef BENCH_SUITE_H
#define BENCH_SUITE_H

#include "bench/cases/case.h"
#include "bench/report/summary.h"

/* Goodput and late share over time of one policy's first repetition. */
struct suite_trace {
	char policy[OPTIONS_POLICY_BYTES];
	struct trace bins;
	bool disturbed;
};

struct suite_result {
	struct summary summary;
	struct suite_trace traces[SUMMARY_ROWS_MAX];
	uint32_t trace_count;
	struct case_plan plan;
	struct spans spans; /* of the culprit under `none`, first repetition; of the trigger */
};

/* Ends with status 2 and one line when the options do not fit a case whose clients time out. */
void suite_check(const struct bench_options *options, const struct bench_case *bench_case);
/* 0; -1 with one line in error; or, because the machine gave others what the saturation or the
 * reference needed, DISTURBANCE_EXIT_STATUS with one, and the rows of the loads before. Free the
 * traces with suite_free in both cases. */
int suite_run(const struct bench_options *options, const struct bench_case *bench_case,
	struct suite_result *result, char error[TARGET_ERROR_MAX])
	__attribute__((warn_unused_result));
void suite_free(struct suite_result *result);

/* run dump --saturate: the largest throughput against the share of dumps. As suite_run. */
int saturate_run(const struct bench_options *options, struct suite_result *result,
	char error[TARGET_ERROR_MAX]) __attribute__((warn_unused_result));

#endif
