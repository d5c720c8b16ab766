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

/* An outage that is nobody's fault. */
static const struct actor pause = {
	.name = "pause",
	.label = LABEL_CULPRIT,
	.operates = true,
	.begin = "PAUSE",
	.end = "RESUME",
};

/* A long log is copied into the database, and writers wait. */
static const struct actor checkpoint = {
	.name = "checkpoint",
	.label = LABEL_CULPRIT,
	.operates = true,
	.statements = { "CHECKPOINT" },
};

/* Writers, one at a time, and a log that takes about the stall to copy: every page of the cold
 * tables is written anew before the run. */
static void use_checkpoint(struct case_plan *plan)
{
	static const char *const fill[CASE_ARCHIVES] = { "UPDATE archive_1 SET amount = amount + 1",
		"UPDATE archive_2 SET amount = amount + 1",
		"UPDATE archive_3 SET amount = amount + 1",
		"UPDATE archive_4 SET amount = amount + 1" };
	memcpy(plan->prepare, fill, sizeof fill);
	double stall_s = (double)plan->hold_ns / CASE_NS_PER_S;
	plan->ask = case_ask_write;
	plan->service_ms = plan->service_ms ? WRITE_SERVICE_MS : 0;
	plan->archive_pools = (uint32_t)ceil(stall_s * COPIED_MB_S / plan->pool_mb);
	plan->log_mb = LOG_OF_COPIED * plan->archive_pools * plan->pool_mb;
}

static void plan(const struct bench_options *options, struct case_plan *plan)
{
	struct case_shape shape = { .rho = 0.93,
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
	const char *trigger = options->trigger ? options->trigger : "pause";
	bool lock = strcmp(trigger, "lock") == 0, log = strcmp(trigger, "checkpoint") == 0;
	if (lock)
		shape.before_s = LOCK_BEFORE_S;
	case_shape_plan(options, &shape, plan);
	case_trigger(options, lock ? &case_lock_actor : log ? &checkpoint : &pause, plan);
	if (log)
		use_checkpoint(plan);
}

const struct bench_case case_stall = {
	.name = "stall",
	.what = { [SERVER_TARGET] = "live: load 0.93, the server stands still, clients time out "
				    "and retry once" },
	.policies = { [SERVER_TARGET] = "none,budget,gate,budget-large,none-47" },
	.plan = plan,
};
