/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Case stall: lane 1 of the simulator on a real server. The load is below capacity, the server
 * stands still for a while, clients time out and retry. Capacity is pinned: a statement keeps its
 * worker for a fixed time, so saturation is workers / time and the CPUs are mostly idle.
 */
#include "bench/cases/case.h"

#include <math.h>
#include <string.h>

#define WRITE_SERVICE_MS 10
#define COPIED_MB_S	 65 /* by a checkpoint; a guess: the run says how long it took */
#define LOG_OF_COPIED	 8  /* so that none comes before */
#define LOCK_BEFORE_S	 3  /* libcancel decides nothing in its first two seconds */

/* Writers, one at a time, and a log that takes about the stall to copy. */
static void use_checkpoint(struct retry_plan *plan)
{
	double stall_s = (double)plan->hold_ns / BENCH_NS_PER_S;
	plan->trigger = SCRIPT_CHECKPOINT;
	plan->writes = true;
	plan->service_ms = plan->service_ms ? WRITE_SERVICE_MS : 0;
	plan->archive_pools = (uint32_t)ceil(stall_s * COPIED_MB_S / plan->pool_mb);
	plan->log_mb = LOG_OF_COPIED * plan->archive_pools * plan->pool_mb;
}

static void plan(const struct bench_options *options, struct retry_plan *plan)
{
	struct retry_shape shape = { .rho = 0.93,
		.before_s = 1.5,
		.hold_s = 0.8,
		.patience = 0.5, /* so that clients have left when it is over */
		.workers = 4,
		.service_ms = 40,
		.pool_mb = 4,
		.rows = 1,
		.cpu_rows = 400,
		.window_part = 8,
		.threshold_part = 10,
		.slo_part = 4 };
	bool lock = options->trigger && strcmp(options->trigger, "lock") == 0;
	if (lock)
		shape.before_s = LOCK_BEFORE_S;
	retry_plan_shape(options, &shape, plan);
	plan->trigger = lock ? SCRIPT_LOCK : SCRIPT_PAUSE;
	if (options->trigger && strcmp(options->trigger, "checkpoint") == 0)
		use_checkpoint(plan);
}

const struct bench_case case_stall = {
	.name = "stall",
	.server_what = "live: load 0.93, the server stands still, clients time out and retry once",
	.server_policies = "none,budget,gate,budget-large,none-47",
	.retry_plan = plan,
};
