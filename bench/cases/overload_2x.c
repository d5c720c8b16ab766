/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Case overload-2x: twice what the server can do, for good, in four business priorities. What is
 * still answered in time, and for whom? Capacity is pinned as in case stall, but four times as
 * much: the gate needs requests in each of its windows.
 */
#include "bench/cases/case.h"
#include "bench/load/clients.h"

#define RHO	     2.0
#define TIMEOUT_S    1.0
#define LENGTH_S     24.0
#define CLOSE_S	     8.0 /* 5 % a window: what the gate needs to close half way */
#define SERVICE_MS   20
#define WORKERS	     8
#define WINDOW_MS    100
#define THRESHOLD_MS 20

static void plan(const struct bench_options *options, struct retry_plan *plan)
{
	double timeout_s = options->timeout_ms > 0 ? options->timeout_ms / 1e3 : TIMEOUT_S;
	double close_s = options->seconds ? options->seconds / 3.0 : CLOSE_S;
	*plan = (struct retry_plan){ .rho = RHO,
		.trigger = SCRIPT_NONE,
		.onset_ns = (uint64_t)(close_s * BENCH_NS_PER_S),
		.timeout_ns = (uint64_t)(timeout_s * BENCH_NS_PER_S),
		.length_ns = (uint64_t)(LENGTH_S * BENCH_NS_PER_S),
		.retries = 1,
		.priorities = CLIENTS_PRIORITIES,
		.workers = WORKERS,
		.service_ms = SERVICE_MS,
		.rows = 1,
		.pool_mb = 4,
		.window_ms = WINDOW_MS,
		.threshold_ms = THRESHOLD_MS,
		.slo_ms = (uint32_t)(timeout_s * 1e3 / 4),
		.reject_cost = true };
}

const struct bench_case case_overload_2x = {
	.name = "overload-2x",
	.server_what = "live: twice what the server can do, four priorities",
	.server_policies = "none,queue,gate,gate+retry,gate+retry-after",
	.retry_plan = plan,
};
