/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what the cases have in common whose clients time out. Capacity is pinned, unless --cpu is
 * given: a statement keeps its worker for a fixed time.
 */
#include "bench/cases/case.h"

#include <math.h>

#include "bench/policies/policy.h"

#define SLACK	      1.5
#define TIMEOUT_MAX_S 1.0
#define AFTER_CURE_S  1.5
#define LEAD_S	      0.5 /* the long transaction is there before the backup asks */
#define COPIED_POOLS  2	  /* what a backup copies beside the hot table */

const struct case_shape case_culprit_shape = { .rho = 0.75,
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

uint64_t case_ns(double seconds)
{
	return (uint64_t)(seconds * CASE_NS_PER_S);
}

/* What the slowest cure takes after a stall: with a budget b the backlog, load x stall, drains by
 * headroom - b until waiting is below the timeout. All in parts of the capacity, with some slack.
 */
static double cure_s(double rho, double stall_s, double timeout_s)
{
	double backlog_s = fmax(rho * stall_s - timeout_s, timeout_s / 2);
	return SLACK * backlog_s / ((1 - rho) * (1 - POLICY_BUDGET_PCT / 100.0));
}

static uint32_t part_ms(double timeout_s, uint32_t part)
{
	uint32_t ms = part ? (uint32_t)(timeout_s * 1e3 / part) : 0;
	return ms ? ms : 1;
}

void case_shape_plan(
	const struct bench_options *options, const struct case_shape *shape, struct case_plan *plan)
{
	double hold_s = options->stall_s > 0 ? options->stall_s : shape->hold_s;
	double timeout_s = options->timeout_ms > 0 ? options->timeout_ms / 1e3
						   : fmin(TIMEOUT_MAX_S, shape->patience * hold_s);
	double length_s = shape->before_s + hold_s;
	if (shape->after_s > 0)
		length_s += shape->after_s;
	else
		length_s = length_s + cure_s(shape->rho, hold_s, timeout_s) + AFTER_CURE_S;
	plan->rho = shape->rho;
	plan->ask = case_ask_items;
	plan->onset_ns = case_ns(shape->before_s);
	plan->hold_ns = case_ns(hold_s);
	plan->timeout_ns = case_ns(timeout_s);
	plan->length_ns = case_ns(length_s);
	plan->retries = 1;
	plan->workers = shape->workers;
	plan->service_ms = options->cpu ? 0 : shape->service_ms;
	plan->rows = options->cpu ? shape->cpu_rows : shape->rows;
	plan->pool_mb = shape->pool_mb;
	plan->archive_pools = 0;
	plan->window_ms = part_ms(timeout_s, shape->window_part);
	plan->threshold_ms = part_ms(timeout_s, shape->threshold_part);
	plan->slo_ns = part_ms(timeout_s, shape->slo_part) * (uint64_t)CASE_NS_PER_MS;
}

static struct actor *add_trigger(const struct bench_options *options, const struct actor *actor,
	uint64_t lead_ns, struct case_plan *plan)
{
	struct actor *added = case_add(plan, actor);
	plan->trigger = actor->name;
	added->start_ns = plan->onset_ns - lead_ns;
	if (actor->begin)
		added->hold_ns = plan->hold_ns + lead_ns;
	added->every_ns = 0;
	added->resends = options->resends;
	return added;
}

void case_trigger(
	const struct bench_options *options, const struct actor *actor, struct case_plan *plan)
{
	add_trigger(options, actor, 0, plan);
}

void case_trigger_backup(
	const struct bench_options *options, const struct actor *actor, struct case_plan *plan)
{
	add_trigger(options, actor, case_ns(LEAD_S), plan);
	plan->archive_pools = COPIED_POOLS;
	struct actor *backup = case_add(plan, &case_backup_actor);
	backup->start_ns = plan->onset_ns;
	backup->every_ns = 0;
}
