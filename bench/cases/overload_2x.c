/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Case overload-2x: twice what the server can do, for good, in four business priorities. What is
 * still answered in time, and for whom? Capacity is pinned as in case stall, but four times as
 * much: the gate needs requests in each of its windows.
 */
#include "bench/cases/case.h"

#define RHO	     2.0
#define TIMEOUT_S    1.0
#define LENGTH_S     24.0
#define CLOSE_S	     8.0 /* 5 % a window: what the gate needs to close half way */
#define SERVICE_MS   20
#define WORKERS	     8
#define WINDOW_MS    100
#define THRESHOLD_MS 20

static void plan(const struct bench_options *options, struct case_plan *plan)
{
	double timeout_s = options->timeout_ms > 0 ? options->timeout_ms / 1e3 : TIMEOUT_S;
	double close_s = options->seconds ? options->seconds / 3.0 : CLOSE_S;
	plan->rho = RHO;
	plan->ask = case_ask_items;
	plan->onset_ns = case_ns(close_s);
	plan->timeout_ns = case_ns(timeout_s);
	plan->length_ns = case_ns(LENGTH_S);
	plan->retries = 1;
	plan->priorities = TARGET_PRIORITIES;
	plan->workers = WORKERS;
	plan->service_ms = SERVICE_MS;
	plan->rows = 1;
	plan->pool_mb = 4;
	plan->archive_pools = 0;
	plan->window_ms = WINDOW_MS;
	plan->threshold_ms = THRESHOLD_MS;
	plan->slo_ns = case_ns(timeout_s / 4);
	plan->reject_cost = true;
}

const struct bench_case case_overload_2x = {
	.name = "overload-2x",
	.what = { [SERVER_TARGET] = "live: twice what the server can do, four priorities" },
	.policies = { [SERVER_TARGET] = "none,queue,gate,gate+retry,gate+retry-after" },
	.plan = plan,
};
