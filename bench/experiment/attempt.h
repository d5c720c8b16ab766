/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attempt.h - one run of an experiment, made again while it is disturbed.
 */
#ifndef BENCH_ATTEMPT_H
#define BENCH_ATTEMPT_H

#include "bench/experiment/run.h"
#include "bench/experiment/stability.h"

struct attempt {
	struct run_setup setup;
	const struct stability_rules
		*reference; /* judged as one by these; NULL: as any other run */
	uint32_t runs;	    /* at most; one if disturbed ones are allowed */
	char *error;	    /* of TARGET_ERROR_MAX */
	/* results, of the last run */
	struct samples *data;	      /* free it */
	struct steadiness steadiness; /* of a reference */
	struct disturbance disturbance;
};

/* 0, or -1 with one line in error. */
int attempt_make(struct attempt *attempt) __attribute__((warn_unused_result));

#endif
