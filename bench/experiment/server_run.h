/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_run.h - one run on a server: a process of its own, the clients, the trigger.
 */
#ifndef BENCH_SERVER_RUN_H
#define BENCH_SERVER_RUN_H

#include "bench/experiment/server_session.h"
#include "bench/report/retry_measure.h"

/* 0, or -1 with one line in error. */
int server_run(const struct server_setup *setup, struct retry_measures *measures,
	char error[SERVER_ERROR_MAX]) __attribute__((warn_unused_result));
struct server_capacity {
	double qps;	     /* answers a second of a closed loop with the plan's requests */
	double query_cpu_us; /* the server's, for each */
	struct disturbance disturbance;
};
int server_saturate(const struct server_setup *setup, struct server_capacity *capacity,
	char error[SERVER_ERROR_MAX]) __attribute__((warn_unused_result));

#endif
