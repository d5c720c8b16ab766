/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disturbance.h - did the machine give others the time a run needed? Judged from the readings of
 * each second (machine.h) and the lag of the generator. Pure but for the lines it prints.
 */
#ifndef BENCH_DISTURBANCE_H
#define BENCH_DISTURBANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/machine/machine.h"

/* docs/bench.md, "Disturbance", says how these were found. */
#define DISTURBANCE_TAKEN_CPUS	0.1  /* of a second: others had them while threads of ours waited */
#define DISTURBANCE_LAG_SHARE	0.5  /* of what a request may take: the generator was so late */
#define DISTURBANCE_SECONDS	0.05 /* a run may have so many disturbed ones, of all its seconds */
#define DISTURBANCE_EXTRA_RUNS	2    /* of a run that was disturbed */
#define DISTURBANCE_EXIT_STATUS 3

#define DISTURBANCE_WHY_MAX  192
#define DISTURBANCE_REPS_MAX 100

/* Of one run. Amounts are means over its seconds, in milliseconds of CPU time a second, so that
 * 1000 is one CPU; NAN where the kernel does not say. */
struct disturbance {
	bool disturbed;
	char why[DISTURBANCE_WHY_MAX]; /* of a disturbed one */
	uint32_t seconds, disturbed_seconds;
	double own_ms, others_ms; /* used by the bench and its server; by anybody else */
	double run_queue_ms;	  /* threads of the bench and its server waited for a CPU */
	double taken_ms;	  /* disturbance_taken */
	double lag_ms;		  /* of the generator, in the worst second */
};

/* The CPUs that others had while threads of ours wanted them. Threads that wait for each other's
 * CPU are no loss, and neither are CPUs that nobody of ours waited for. */
double disturbance_taken(const struct machine_second *second);

/* `lag_ms` has one entry a second; `lag_limit_ms` is what a generator may lag. */
void disturbance_judge(const struct machine_second *seconds, const double *lag_ms, uint32_t count,
	double lag_limit_ms, struct disturbance *disturbance);
/* Marks it as disturbed for a reason of the caller's; the first reason stays. */
void disturbance_mark(struct disturbance *disturbance, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* One run, judged. 0, or what the caller of disturbance_retry is to have. A later call replaces
 * what an earlier one measured. */
typedef int (*disturbance_run)(void *arg, struct disturbance *disturbance);

struct disturbance_retry {
	const char *title; /* of the run, in the lines about it */
	uint32_t runs;	   /* at most */
	bool quiet;	   /* no lines */
	disturbance_run run;
	void *arg;
};
/* Runs until a run was not disturbed. 0 and the judgement of the last run, or what it returned. */
int disturbance_retry(const struct disturbance_retry *retry, struct disturbance *last)
	__attribute__((warn_unused_result));

/* What becomes of each repetition of a row. */
enum repetition_state {
	REPETITION_GOOD,
	REPETITION_DISTURBED,
	REPETITION_MISSING, /* it was not made */
};
struct repetition_choice {
	uint32_t used[DISTURBANCE_REPS_MAX], used_count; /* from 0 */
	uint32_t left_out[DISTURBANCE_REPS_MAX], left_out_count;
	bool disturbed; /* no repetition was good: those there are are used */
};
void disturbance_choose(
	const enum repetition_state *states, uint32_t reps, struct repetition_choice *choice);

/* Writes the line that says why `title` is given up; returns DISTURBANCE_EXIT_STATUS. */
int disturbance_refuse(
	const char *title, const struct disturbance *disturbance, char *error, size_t size);

#endif
