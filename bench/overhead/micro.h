/* SPDX-License-Identifier: Apache-2.0 */
/*
 * micro.h - what one call costs, and one turn of the controller.
 *
 * Medians over short runs on one thread, each with the library started for it alone; a host that
 * has started it gets CANCEL_ESTATE. Takes about three seconds. Progress is the caller's business.
 */
#ifndef BENCH_MICRO_H
#define BENCH_MICRO_H

struct micro_result {
	double stamp_ns;	/* one precise time stamp: the floor of what "precise" can cost */
	double pair_coarse_ns;	/* getResourceAt + freeResourceAt, four entries in use */
	double pair_precise_ns; /* the same with a precise stamp at each call */
	double task_ns;		/* createCancel + freeCancel, an SLO-bearing task without entries */
	double task_used_ns;	/* the same with a lock and a slot taken and given back */
	double requested_ns;	/* cancelRequested */
	double controller_1000_us;   /* collect + step: 1,000 tasks, 16 entries each, all held */
	double controller_waits_us;  /* the same, each task waiting for one of the 16 */
	double controller_100000_us; /* 100,000 tasks, 2 entries each */
};

/* 0, or a negative error of the library. */
int micro_run(struct micro_result *result);

#endif
