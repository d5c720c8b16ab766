/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_options.h - the options of `cancel-bench run`.
 */
#ifndef BENCH_RUN_OPTIONS_H
#define BENCH_RUN_OPTIONS_H

#include "bench/base/options.h"
#include "bench/cases/case.h"

struct run_arguments {
	struct bench_options options;
	const struct bench_case *bench_case;
	bool target_given;
	const char *policies; /* NULL: the case's own */
};

/* Ends with status 2 and one line when something is nonsense; before anything was written. */
void run_options_parse(int argc, char **argv, struct run_arguments *arguments);

#endif
