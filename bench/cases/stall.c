/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Case stall: lane 1 of the simulator on a real server. The load is below capacity, the server
 * stands still for a while, clients time out and retry. Capacity is pinned: a statement keeps its
 * worker for a fixed time, so saturation is workers / time and the CPUs are mostly idle.
 */
#include "bench/cases/case.h"

#include <math.h>
#include <string.h>

#define STALL_S		 0.8
#define RHO		 0.93
#define TIMEOUT_OF_STALL 0.5 /* so that clients have left when it is over */
#define TIMEOUT_MAX_S	 1.0
#define LOCK_BEFORE_S	 3.0 /* libcancel decides nothing in its first two seconds */
#define BEFORE_S	 1.5
#define AFTER_CURE_S	 1.5
#define SERVICE_MS	 40
#define WORKERS		 4
#define CPU_ROWS	 400
#define POOL_MB		 4
#define WRITE_SERVICE_MS 10
#define COPIED_MB_S	 65 /* by a checkpoint; a guess: the run says how long it took */
#define LOG_OF_COPIED	 8  /* so that none comes before */

/* Writers, one at a time, and a log that takes about the stall to copy. */
static void use_checkpoint(struct retry_plan *plan, double stall_s)
{
	plan->trigger = SCRIPT_CHECKPOINT;
	plan->writes = true;
	plan->service_ms = plan->service_ms ? WRITE_SERVICE_MS : 0;
	plan->archive_pools = (uint32_t)ceil(stall_s * COPIED_MB_S / POOL_MB);
	plan->log_mb = LOG_OF_COPIED * plan->archive_pools * POOL_MB;
}

static void plan(const struct bench_options *options, struct retry_plan *plan)
{
	double stall_s = options->stall_s > 0 ? options->stall_s : STALL_S;
	double timeout_s = fmin(TIMEOUT_MAX_S, TIMEOUT_OF_STALL * stall_s);
	bool lock = options->trigger && strcmp(options->trigger, "lock") == 0;
	if (options->timeout_ms > 0)
		timeout_s = options->timeout_ms / 1e3;
	double before_s = lock ? LOCK_BEFORE_S : BEFORE_S;
	double length_s = before_s + stall_s + retry_cure_s(RHO, stall_s, timeout_s) + AFTER_CURE_S;
	*plan = (struct retry_plan){ .rho = RHO,
		.trigger = lock ? SCRIPT_LOCK : SCRIPT_PAUSE,
		.onset_ns = (uint64_t)(before_s * BENCH_NS_PER_S),
		.hold_ns = (uint64_t)(stall_s * BENCH_NS_PER_S),
		.timeout_ns = (uint64_t)(timeout_s * BENCH_NS_PER_S),
		.length_ns = (uint64_t)(length_s * BENCH_NS_PER_S),
		.retries = 1,
		.priorities = 1,
		.workers = WORKERS,
		.service_ms = options->cpu ? 0 : SERVICE_MS,
		.rows = options->cpu ? CPU_ROWS : 1,
		.pool_mb = POOL_MB,
		.window_ms = (uint32_t)(timeout_s * 1e3 / 8),
		.threshold_ms = (uint32_t)(timeout_s * 1e3 / 10),
		.slo_ms = (uint32_t)(timeout_s * 1e3 / 4) };
	if (options->trigger && strcmp(options->trigger, "checkpoint") == 0)
		use_checkpoint(plan, stall_s);
}

const struct bench_case case_stall = {
	.name = "stall",
	.server_what = "live: load 0.93, the server stands still, clients time out and retry once",
	.server_policies = "none,budget,gate,budget-large,none-47",
	.retry_plan = plan,
};
