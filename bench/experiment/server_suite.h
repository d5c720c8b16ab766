/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_suite.h - all runs of one `cancel-bench run --target server`.
 */
#ifndef BENCH_SERVER_SUITE_H
#define BENCH_SERVER_SUITE_H

#include <stdio.h>

#include "bench/cases/case.h"
#include "bench/target/server_process.h"

/* Ends with status 2 and one line when the options do not fit the case. */
void server_suite_check(const struct bench_options *options, const struct bench_case *bench_case);
/* 0 and the result written to `file`; -1 with one line in error; or, because the machine gave
 * others what the saturation needed, DISTURBANCE_EXIT_STATUS with one. */
int server_suite_run(const struct bench_options *options, const struct bench_case *bench_case,
	FILE *file, char error[SERVER_ERROR_MAX]) __attribute__((warn_unused_result));
/* After server_suite_run: is any row of its result? */
bool server_suite_is_disturbed(void);
/* After server_suite_run, with --plot: the picture. 0, or -1 with one line in error. */
int server_suite_draw(char error[SERVER_ERROR_MAX]) __attribute__((warn_unused_result));

#endif
