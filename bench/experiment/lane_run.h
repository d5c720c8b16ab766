/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane_run.h - one run of a live lane: a server of its own, the clients, the trigger.
 */
#ifndef BENCH_LANE_RUN_H
#define BENCH_LANE_RUN_H

#include "bench/experiment/lane_session.h"
#include "bench/report/lane_measure.h"

/* 0, or -1 with one line in error. */
int lane_run(const struct lane_setup *setup, struct lane_measures *measures,
	char error[SERVER_ERROR_MAX]) __attribute__((warn_unused_result));
struct lane_capacity {
	double qps;	     /* answers a second of a closed loop with the plan's requests */
	double query_cpu_us; /* the server's, for each */
	struct disturbance disturbance;
};
int lane_saturate(const struct lane_setup *setup, struct lane_capacity *capacity,
	char error[SERVER_ERROR_MAX]) __attribute__((warn_unused_result));

#endif
