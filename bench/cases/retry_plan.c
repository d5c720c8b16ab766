/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what the cases have in common that run on a server process. Capacity is pinned: a statement
 * keeps its worker for a fixed time.
 */
#include "bench/cases/retry_plan.h"

#include <math.h>

#include "bench/policies/policy.h"

#define SLACK	      1.5
#define TIMEOUT_MAX_S 1.0
#define AFTER_CURE_S  1.5
#define LEAD_S	      0.5 /* the long transaction is there before the backup asks */
#define COPIED_POOLS  2	  /* what a backup copies beside the hot table */

uint64_t retry_ns(double seconds)
{
	return (uint64_t)(seconds * BENCH_NS_PER_S);
}

/* What the slowest cure takes after a stall: with a budget b the backlog, load x stall, drains by
 * headroom - b until waiting is below the timeout. All in parts of the capacity, with some slack.
 */
static double cure_s(double rho, double stall_s, double timeout_s)
{
	double backlog_s = fmax(rho * stall_s - timeout_s, timeout_s / 2);
	return SLACK * backlog_s / ((1 - rho) * (1 - DEFENCE_BUDGET_PCT / 100.0));
}

static uint32_t part_ms(double timeout_s, uint32_t part)
{
	return part ? (uint32_t)(timeout_s * 1e3 / part) : 0;
}

void retry_plan_shape(const struct bench_options *options, const struct retry_shape *shape,
	struct retry_plan *plan)
{
	double hold_s = options->stall_s > 0 ? options->stall_s : shape->hold_s;
	double timeout_s = options->timeout_ms > 0 ? options->timeout_ms / 1e3
						   : fmin(TIMEOUT_MAX_S, shape->patience * hold_s);
	double length_s = shape->before_s + hold_s;
	if (shape->after_s > 0)
		length_s += shape->after_s;
	else
		length_s = length_s + cure_s(shape->rho, hold_s, timeout_s) + AFTER_CURE_S;
	*plan = (struct retry_plan){ .rho = shape->rho,
		.onset_ns = retry_ns(shape->before_s),
		.hold_ns = retry_ns(hold_s),
		.timeout_ns = retry_ns(timeout_s),
		.length_ns = retry_ns(length_s),
		.retries = 1,
		.priorities = 1,
		.workers = shape->workers,
		.service_ms = options->cpu ? 0 : shape->service_ms,
		.rows = options->cpu ? shape->cpu_rows : shape->rows,
		.pool_mb = shape->pool_mb,
		.window_ms = part_ms(timeout_s, shape->window_part),
		.threshold_ms = part_ms(timeout_s, shape->threshold_part),
		.slo_ms = part_ms(timeout_s, shape->slo_part) };
}

void retry_plan_culprit(const struct bench_options *options, struct retry_plan *plan)
{
	static const struct retry_shape shape = { .rho = 0.75,
		.before_s = 3.5, /* libcancel decides nothing in its first two seconds */
		.hold_s = 3,
		.patience = 0.2,
		.workers = 8,
		.service_ms = 20,
		.pool_mb = 16,
		.rows = 256,
		.cpu_rows = 1024, /* so that a timeout's worth of requests is hundreds */
		.window_part = 12,
		.threshold_part = 10,
		.slo_part = 6 };
	retry_plan_shape(options, &shape, plan);
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
