/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.h - when each request of a run is due, decided before the run starts.
 */
#ifndef BENCH_SCHEDULE_H
#define BENCH_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHEDULE_ARRIVALS_MAX 40000000u /* 640 MB; a larger run is refused, not swapped */

/* From at_ns on, the rate is load_pct per cent of the base rate. */
struct schedule_step {
	uint64_t at_ns;
	uint32_t load_pct;
};

struct schedule_options {
	size_t struct_size;
	uint64_t seed;
	double rate_qps;
	uint64_t length_ns;
	bool poisson; /* exponential gaps; else fixed ones */
	const struct schedule_step *steps;
	uint32_t step_count; /* 0: 100 % throughout */
};

struct arrival {
	uint64_t due_ns; /* since the run's start */
	uint64_t draw;	 /* decides what is asked, so that every policy gets the same questions */
};

struct schedule {
	struct arrival *arrivals; /* by due_ns */
	size_t count;
	uint64_t length_ns;
	double rate_qps;
};

/* 0, or -1 with a reason in `error` (too many arrivals, no memory). Free with schedule_free. */
int schedule_make(const struct schedule_options *options, struct schedule *schedule,
	const char **error) __attribute__((warn_unused_result));
void schedule_free(struct schedule *schedule);

#endif
