/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_suite.h - all runs of one `cancel-bench run --target server`.
 */
#ifndef BENCH_SERVER_SUITE_H
#define BENCH_SERVER_SUITE_H

#include "bench/experiment/suite.h"

/* Ends with status 2 and one line when the options do not fit the case. */
void server_suite_check(const struct bench_options *options, const struct bench_case *bench_case);
/* As suite_run, and on a server. */
int server_suite_run(const struct bench_options *options, const struct bench_case *bench_case,
	struct suite_result *result, char error[TARGET_ERROR_MAX])
	__attribute__((warn_unused_result));

#endif
