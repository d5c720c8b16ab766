/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - a run's lines on standard error: one a second, and one for each thing cancelled.
 */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

#include <stdbool.h>

#include "bench/load/live.h"
#include "bench/target/target.h"

struct progress {
	const char *title;
	bool quiet;
	struct live_view last;
	struct target_gauges last_gauges;
	uint64_t last_ns;
};

void progress_start(struct progress *progress, const char *title, bool quiet, uint64_t now_ns);
/* The line of the second that ended at now_ns; at_s since the run's start. */
void progress_line(struct progress *progress, double at_s, uint64_t now_ns,
	const struct live_view *live, const struct target_gauges *gauges);
void progress_cancel(const struct progress *progress, double at_s, const char *what,
	const char *name, const char *why);

#endif
