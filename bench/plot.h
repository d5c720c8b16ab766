/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot.h - goodput and late share over time, one line per policy, drawn by gnuplot.
 */
#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H

#include "suite.h"

/* Makes the folder; ends with status 2 and one line if nothing can be written there. */
void plot_check(const char *folder);
/* Writes CASE.csv, CASE.gp, CASE.svg and CASE.png into the folder. 0, or -1 with one line in error.
 */
int plot_write(const struct suite_result *result, const char *folder, char error[TARGET_ERROR_MAX])
	__attribute__((warn_unused_result));

#endif
