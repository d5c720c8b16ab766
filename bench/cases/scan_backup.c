/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long scans and a backup that stretch locks. Short scans come and go; one long scan, whose client
 * is slow to read, keeps its transaction open. A backup asks for the global lock and waits for the
 * long scan, and everything waits behind the backup. Source of the scenario: Atropos (SOSP 2025),
 * motivation 2 (25 to 11 K QPS in MySQL).
 */
#include "bench/cases/case.h"

#define SCAN_START_NS  3000000000u
#define SHORT_EVERY_NS 400000000u
#define SCAN_ROW_US    1000
#define SERVER_SHORT_S 0.5

static const struct actor scan = {
	.name = "long scan",
	.label = LABEL_CULPRIT,
	.start_ns = SCAN_START_NS,
	.every_ns = CASE_BACKUP_EVERY_NS,
	.in_transaction = true,
	.rows_out = true,
	.row_pause_us = SCAN_ROW_US,
	.statements = { "SELECT id, name, stock FROM items WHERE id <= 15000" },
};

/* One autocommit statement whose rows stay inside: what a cancel may run again. */
static const struct actor scan_autocommit = {
	.name = "long scan",
	.label = LABEL_CULPRIT,
	.start_ns = SCAN_START_NS,
	.statements = { CASE_RANDOM_SCAN("archive_1", "1", "160000") },
};

static const struct actor short_scan = {
	.name = "short scan",
	.label = LABEL_BYSTANDER,
	.start_ns = 200000000u,
	.every_ns = SHORT_EVERY_NS,
	.statements = { "SELECT sum(stock), max(price) FROM items WHERE id <= 4000" },
};

static void plan(const struct bench_options *options, uint32_t seconds, struct case_plan *plan)
{
	(void)seconds;
	plan->ask = case_ask_read;
	plan->actors[plan->actor_count++] = short_scan;
	plan->actors[plan->actor_count++] = options->rerun ? scan_autocommit : scan;
	plan->actors[plan->actor_count++] = case_backup_actor;
}

static void plan_server(const struct bench_options *options, struct retry_plan *plan)
{
	retry_plan_backup(options, SCRIPT_SCAN, plan);
	plan->background[1] = (struct background){ SCRIPT_SHORT_SCANS, retry_ns(SERVER_SHORT_S) };
}

const struct bench_case case_scan_backup = {
	.name = "scan-backup",
	.what = "short scans, one long one, and a backup that waits for it with all behind",
	.policies = "none,timeout,longest,limit,cancel",
	.seconds = 14,
	.rerun_seconds = 30,
	.has_culprit = true,
	.control = "no-backup",
	.plan = plan,
	.server_what = "short scans, one long one, and a backup that waits for it with all behind",
	.server_policies = CASE_SERVER_POLICIES,
	.retry_plan = plan_server,
};
