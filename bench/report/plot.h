/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot.h - goodput and late share over time, one line per policy, drawn by gnuplot.
 */
#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/report/measure.h"

#define PLOT_ERROR_MAX	256
#define PLOT_SERIES_MAX 64

struct plot_series {
	const char *name;
	const struct trace *bins;
	bool disturbed; /* its name says so */
};

struct plot {
	const char *name; /* of the files */
	const char *title;
	const char *goodput; /* what counts as goodput; units are its own */
	const char *shade;   /* what the grey spans are, NULL: there are none */
	double bin_s;
	struct plot_series series[PLOT_SERIES_MAX];
	uint32_t series_count;
	struct spans spans;
};

/* Makes the folder; ends with status 2 and one line if nothing can be written there. */
void plot_check(const char *folder);
/* Writes NAME.csv, NAME.gp, NAME.svg and NAME.png into the folder. 0, or -1 with one line in error.
 */
int plot_write(const struct plot *plot, const char *folder, char error[PLOT_ERROR_MAX])
	__attribute__((warn_unused_result));

#endif
