/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - a run's lines on standard error: one a second, and one for each thing cancelled.
 */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

#include <stdbool.h>

#include "bench/load/clients.h"
#include "bench/target/target.h"

struct progress {
	const char *title;
	bool quiet;
	bool retries; /* its clients time out: attempts count, and the SLO does not */
	struct clients_counts last;
	struct target_gauges last_gauges;
	uint64_t last_ns;
};

/* The line of the second that ended at now_ns; at_s since the run's start. */
void progress_line(struct progress *progress, double at_s, uint64_t now_ns,
	const struct clients_counts *counts, const struct target_gauges *gauges);
/* Something happened to a task: "cancelled", "begins". */
void progress_event(const struct progress *progress, double at_s, const char *what,
	const char *name, const char *why);

#endif
