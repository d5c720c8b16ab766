/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what the cases have in common that run on a server process. Capacity is pinned: a statement
 * keeps its worker for a fixed time.
 */
#include "bench/cases/retry_plan.h"

#include <math.h>

#include "bench/policies/policy.h"

#define SLACK		1.5
#define HOLD_S		3.0
#define RHO		0.75
#define TIMEOUT_OF_HOLD 0.2
#define TIMEOUT_MAX_S	1.0
#define BEFORE_S	3.5 /* libcancel decides nothing in its first two seconds */
#define LEAD_S		0.5 /* the long transaction is there before the backup asks */
#define AFTER_CURE_S	1.5
#define ROWS		256  /* reads for each request */
#define CPU_ROWS	1024 /* so that a timeout's worth of requests is hundreds, not thousands */
#define SERVICE_MS	20
#define WORKERS		8
#define POOL_MB		16
#define COPIED_POOLS	2 /* what a backup copies beside the hot table */

uint64_t retry_ns(double seconds)
{
	return (uint64_t)(seconds * BENCH_NS_PER_S);
}

double retry_cure_s(double rho, double stall_s, double timeout_s)
{
	double backlog_s = fmax(rho * stall_s - timeout_s, timeout_s / 2);
	return SLACK * backlog_s / ((1 - rho) * (1 - DEFENCE_BUDGET_PCT / 100.0));
}

void retry_plan_culprit(const struct bench_options *options, struct retry_plan *plan)
{
	double hold_s = options->stall_s > 0 ? options->stall_s : HOLD_S;
	double timeout_s = fmin(TIMEOUT_MAX_S, TIMEOUT_OF_HOLD * hold_s);
	if (options->timeout_ms > 0)
		timeout_s = options->timeout_ms / 1e3;
	*plan = (struct retry_plan){ .rho = RHO,
		.onset_ns = retry_ns(BEFORE_S),
		.hold_ns = retry_ns(hold_s),
		.timeout_ns = retry_ns(timeout_s),
		.length_ns = retry_ns(
			BEFORE_S + hold_s + retry_cure_s(RHO, hold_s, timeout_s) + AFTER_CURE_S),
		.retries = 1,
		.priorities = 1,
		.workers = WORKERS,
		.service_ms = options->cpu ? 0 : SERVICE_MS,
		.rows = options->cpu ? CPU_ROWS : ROWS,
		.pool_mb = POOL_MB,
		.window_ms = (uint32_t)(timeout_s * 1e3 / 12),
		.threshold_ms = (uint32_t)(timeout_s * 1e3 / 10),
		.slo_ms = (uint32_t)(timeout_s * 1e3 / 6) };
}

/* The backup harms, because it waits for the culprit; the culprit alone does not. */
void retry_plan_backup(
	const struct bench_options *options, enum script_id culprit, struct retry_plan *plan)
{
	retry_plan_culprit(options, plan);
	plan->trigger = culprit;
	plan->lead_ns = retry_ns(LEAD_S);
	plan->archive_pools = COPIED_POOLS;
	plan->background[0] = (struct background){ SCRIPT_BACKUP, plan->onset_ns };
}
