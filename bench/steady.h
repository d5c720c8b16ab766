/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady.h - is what all else is compared with worth it? The saturation and the reference are taken
 * again when the machine was disturbed while they were measured.
 */
#ifndef BENCH_STEADY_H
#define BENCH_STEADY_H

#include <stdbool.h>
#include <stdint.h>

#include "rundata.h"
#include "target.h"

#define STEADY_SAMPLES	    5
#define STEADY_ROUNDS	    4	/* of samples, before the probe gives up */
#define STEADY_FACTOR	    1.5 /* by which the middle three of five may differ */
#define STEADY_REFERENCES   3	/* runs at most */
#define STEADY_BURST_FACTOR 10	/* p99 of the worst second over that of the median second */

/* One sample of the throughput, in answers per second. */
typedef double (*steady_sample)(void *arg);

/* The median of five samples whose middle three agree: one outlier is what the median is for.
 * Disagreeing ones are taken again. 0, or -1 with one line in error. */
int steady_probe(steady_sample take, void *arg, bool quiet, double *qps,
	char error[TARGET_ERROR_MAX]) __attribute__((warn_unused_result));

#define STEADY_LOST_MAX	  0.01 /* of the requests */
#define STEADY_P99_MAX_MS 100  /* of the median second; above, the machine is overloaded */

struct steadiness {
	double lost;		    /* share of the requests that were not answered */
	double median_ms, worst_ms; /* p99 by second */
	uint32_t worst_second;
	bool disturbed;
};

/* Disturbed is a second an order of magnitude above the median one, and above `floor_ms`, below
 * which it could not move the SLO (with three seconds or more); and a run in which the machine had
 * no time for the load: requests were lost, or the median second itself is slow. */
struct steadiness steady_judge(const struct run_data *data, double floor_ms);

/* One run of the reference: 0 and *data, or -1. */
typedef int (*steady_run)(void *arg, struct run_data **data);

/* The first undisturbed of up to three runs, otherwise that which lost least, then that with the
 * lowest worst second; each disturbance is said on stderr. 0 and *data, or what the run returned.
 */
int steady_reference(steady_run run, void *arg, double floor_ms, struct run_data **data)
	__attribute__((warn_unused_result));

#endif
