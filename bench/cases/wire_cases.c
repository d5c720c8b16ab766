/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cases dump, backup-lock and scan-backup over the wire: the same culprits and the same company
 * on a server process, with clients that time out and retry, so that what admission control does
 * about them can be seen beside what a cancel does. Capacity is pinned as in the other lanes.
 */
#include "bench/cases/lane.h"

#include <math.h>

#define POLICIES "none,timeout,longest,limit,budget,gate,cancel,cancel+budget,cancel+gate"

#define HOLD_S		3.0
#define RHO		0.75
#define TIMEOUT_OF_HOLD 0.2
#define TIMEOUT_MAX_S	1.0
#define BEFORE_S	3.5 /* libcancel decides nothing in its first two seconds */
#define LEAD_S		0.5 /* the long transaction is there before the backup asks */
#define AFTER_CURE_S	1.5
#define COMPANY_S	0.5
#define ROWS		256  /* reads for each request */
#define CPU_ROWS	1024 /* so that a timeout's worth of requests is hundreds, not thousands */
#define SERVICE_MS	20
#define WORKERS		8
#define POOL_MB		16
#define DUMP_POOLS	16
#define COPIED_POOLS	2 /* what a backup copies beside the hot table */

static uint64_t ns_of(double seconds)
{
	return (uint64_t)(seconds * LANE_NS_PER_S);
}

static void plan_case(const struct lane_options *options, struct lane_plan *plan)
{
	double hold_s = options->stall_s > 0 ? options->stall_s : HOLD_S;
	double timeout_s = fmin(TIMEOUT_MAX_S, TIMEOUT_OF_HOLD * hold_s);
	if (options->timeout_ms > 0)
		timeout_s = options->timeout_ms / 1e3;
	*plan = (struct lane_plan){ .rho = RHO,
		.onset_ns = ns_of(BEFORE_S),
		.hold_ns = ns_of(hold_s),
		.timeout_ns = ns_of(timeout_s),
		.length_ns = ns_of(
			BEFORE_S + hold_s + lane_cure_s(RHO, hold_s, timeout_s) + AFTER_CURE_S),
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

static void plan_dump(const struct bench_options *options, const struct lane_options *lane_options,
	struct lane_plan *plan)
{
	(void)options;
	plan_case(lane_options, plan);
	plan->trigger = LANE_ROWS;
	plan->rho = RHO * (WORKERS - 1) / WORKERS; /* the report keeps one of them */
	plan->archive_pools = DUMP_POOLS;
	plan->company[0] = (struct lane_company){ LANE_REPORT, ns_of(COMPANY_S) };
}

/* The backup harms, because it waits for the culprit; the culprit alone does not. */
static void plan_backup(
	const struct lane_options *lane_options, enum lane_script culprit, struct lane_plan *plan)
{
	plan_case(lane_options, plan);
	plan->trigger = culprit;
	plan->lead_ns = ns_of(LEAD_S);
	plan->archive_pools = COPIED_POOLS;
	plan->company[0] = (struct lane_company){ LANE_BACKUP, plan->onset_ns };
}

static void plan_backup_lock(const struct bench_options *options,
	const struct lane_options *lane_options, struct lane_plan *plan)
{
	(void)options;
	plan_backup(lane_options, LANE_UPDATE, plan);
}

static void plan_scan_backup(const struct bench_options *options,
	const struct lane_options *lane_options, struct lane_plan *plan)
{
	(void)options;
	plan_backup(lane_options, LANE_SCAN, plan);
	plan->company[1] = (struct lane_company){ LANE_SHORT_SCANS, ns_of(COMPANY_S) };
}

const struct lane lane_dump = {
	.name = "dump",
	.what = "reads, a slow report, and a dump of cold tables that empties the page pool",
	.of_case = true,
	.policies = POLICIES,
	.plan = plan_dump,
};

const struct lane lane_backup_lock = {
	.name = "backup-lock",
	.what = "a long update, and a backup that waits for it with all behind",
	.of_case = true,
	.policies = POLICIES,
	.plan = plan_backup_lock,
};

const struct lane lane_scan_backup = {
	.name = "scan-backup",
	.what = "short scans, one long one, and a backup that waits for it with all behind",
	.of_case = true,
	.policies = POLICIES,
	.plan = plan_scan_backup,
};
