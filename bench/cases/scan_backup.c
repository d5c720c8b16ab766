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
#define PAGE_ROWS      100
#define PAGE_MS	       100

static const struct actor scan = {
	.name = "long scan",
	.label = LABEL_CULPRIT,
	.start_ns = SCAN_START_NS,
	.every_ns = CASE_BACKUP_EVERY_NS,
	.begin = "BEGIN",
	.end = "COMMIT",
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

/* Page by page, and the client thinks about each: for as long as its time is. */
static const struct actor scan_pages = {
	.name = "scan",
	.label = LABEL_CULPRIT,
	.begin = "BEGIN",
	.end = "COMMIT",
	.rows_out = true,
	.page_rows = PAGE_ROWS,
	.think_ms = PAGE_MS,
	.statements = { "SELECT id, name, stock FROM items WHERE id BETWEEN ?1 AND ?2" },
};

static void plan(const struct bench_options *options, struct case_plan *plan)
{
	if (options->target == SERVER_TARGET) {
		case_shape_plan(options, &case_culprit_shape, plan);
		case_trigger_backup(options, &scan_pages, plan);
		struct actor *shorts = case_add(plan, &short_scan);
		shorts->forever = true; /* one at a time, also after a cancel */
		shorts->every_ns = 0;
		shorts->think_ms = SHORT_EVERY_NS / CASE_NS_PER_MS;
		return;
	}
	case_add(plan, &short_scan);
	case_add(plan, options->rerun ? &scan_autocommit : &scan);
	case_add(plan, &case_backup_actor);
}

const struct bench_case case_scan_backup = {
	.name = "scan-backup",
	.what = { "short scans, one long one, and a backup that waits for it with all behind",
		"short scans, one long one, and a backup that waits for it with all behind" },
	.policies = { CASE_ENGINE_POLICIES, CASE_SERVER_POLICIES },
	.seconds = 14,
	.rerun_seconds = 30,
	.has_culprit = true,
	.control = "no-backup",
	.plan = plan,
};
