/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane_command.h - `cancel-bench run LANE`: its options, and the order of its runs.
 */
#ifndef BENCH_LANE_COMMAND_H
#define BENCH_LANE_COMMAND_H

#include <argp.h>

#include "bench/report/lane_report.h"
#include "bench/target/server_process.h"

/* Options of lanes; its input is a struct lane_options. */
extern const struct argp lane_argp;

struct lane_arguments {
	const struct lane *lane;
	const struct bench_options *options;
	const struct lane_options *lane_options;
	const char *policies; /* NULL: the lane's own */
};

/* Ends with status 2 and one line when something is nonsense; before anything was written. */
void lane_check(const struct lane_arguments *arguments);
/* 0 and the result written to `file`; -1 with one line in error; or, because the machine gave
 * others what the saturation needed, DISTURBANCE_EXIT_STATUS with one. */
int lane_command(const struct lane_arguments *arguments, FILE *file, char error[SERVER_ERROR_MAX])
	__attribute__((warn_unused_result));
/* After lane_command: is any row of its result? */
bool lane_is_disturbed(void);
/* After lane_command, with --plot: the picture. 0, or -1 with one line in error. */
int lane_draw(char error[SERVER_ERROR_MAX]) __attribute__((warn_unused_result));

#endif
