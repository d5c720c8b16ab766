/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Case dump-storm: reads of a hot set that fills most of the page pool, and a transaction that
 * reads cold tables many times the pool. Requests become slow because their pages are gone, clients
 * time out and retry, and what they retry competes with what refills the pool. Not pinned: capacity
 * is what CPUs and disk give.
 */
#include "bench/cases/case.h"

#include <math.h>

#define DUMP_S		3.0
#define RHO		0.75
#define TIMEOUT_OF_DUMP 0.2
#define TIMEOUT_MAX_S	1.0
#define BEFORE_S	3.0 /* libcancel decides nothing in its first two seconds */
#define AFTER_S		8.0
#define ROWS		256  /* reads for each request */
#define CPU_ROWS	1024 /* so that a timeout's worth of requests is hundreds, not thousands */
#define SERVICE_MS	20
#define WORKERS		8
#define POOL_MB		16
#define ARCHIVE_POOLS	16

static void plan(const struct bench_options *options, struct retry_plan *plan)
{
	double dump_s = options->stall_s > 0 ? options->stall_s : DUMP_S;
	double timeout_s = fmin(TIMEOUT_MAX_S, TIMEOUT_OF_DUMP * dump_s);
	if (options->timeout_ms > 0)
		timeout_s = options->timeout_ms / 1e3;
	*plan = (struct retry_plan){ .rho = RHO,
		.trigger = SCRIPT_DUMP,
		.onset_ns = (uint64_t)(BEFORE_S * BENCH_NS_PER_S),
		.hold_ns = (uint64_t)(dump_s * BENCH_NS_PER_S),
		.timeout_ns = (uint64_t)(timeout_s * BENCH_NS_PER_S),
		.length_ns = (uint64_t)((BEFORE_S + dump_s + AFTER_S) * BENCH_NS_PER_S),
		.retries = 1,
		.priorities = 1,
		.workers = WORKERS,
		.service_ms = options->cpu ? 0 : SERVICE_MS,
		.rows = options->cpu ? CPU_ROWS : ROWS,
		.pool_mb = POOL_MB,
		.archive_pools = ARCHIVE_POOLS,
		.window_ms = (uint32_t)(timeout_s * 1e3 / 12),
		.threshold_ms = (uint32_t)(timeout_s * 1e3 / 10),
		.slo_ms = (uint32_t)(timeout_s * 1e3 / 6) };
}

const struct bench_case case_dump_storm = {
	.name = "dump-storm",
	.server_what = "live: a dump empties the page pool while clients retry",
	.server_policies = "none,budget,cancel,cancel+budget,cancel+gate",
	.retry_plan = plan,
};
