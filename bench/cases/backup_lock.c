/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backup behind a long update. A long update in an explicit transaction holds its table locks
 * and its share of the global lock, which harms nobody: the control run without the backup shows
 * how little. Then a backup asks for the global lock exclusively, and every later statement queues
 * behind it. The waiting backup is not the cure: cancelling it frees nobody for long. The long
 * update is.
 *
 * --batch: one write over several tables in a transaction, against many small writes of about 2 ms
 * each that pass one after the other through the same write gate: one long hold harms more than
 * hundreds of short ones. Source of both: Atropos (SOSP 2025), its synchronisation cases and
 * section on motivation.
 */
#include "bench/cases/case.h"

#include "common/random.h"

#define UPDATE_START_NS 3000000000u
#define PAGE_ROWS	100
#define PAGE_MS		100
#define UPDATE_ROW_US	1000

/* The client reads the changed rows back slowly, 1 ms a row, so the update is long and yet light:
 * it takes neither CPU nor frames of the pool from anybody. Alone it lasts over ten seconds. */
#define UPDATE_ROWS(table) "UPDATE " table " SET amount = amount + 1 WHERE id <= 3000 RETURNING id"

static const struct actor update = {
	.name = "update",
	.label = LABEL_CULPRIT,
	.start_ns = UPDATE_START_NS,
	.every_ns = CASE_BACKUP_EVERY_NS,
	.begin = "BEGIN",
	.end = "COMMIT",
	.rows_out = true,
	.row_pause_us = UPDATE_ROW_US,
	.statements = { UPDATE_ROWS("archive_1"), UPDATE_ROWS("archive_2"),
		UPDATE_ROWS("archive_3"), UPDATE_ROWS("archive_4") },
};

/* One autocommit statement: what a cancel may run again. */
static const struct actor update_autocommit = {
	.name = "update",
	.label = LABEL_CULPRIT,
	.start_ns = UPDATE_START_NS,
	.statements = { CASE_RANDOM_UPDATE("archive_1", "1", "160000") },
};

/* About 2 ms inside the write gate, and one row written. */
static void ask_small_write(const void *arg, uint64_t draw, struct target_request *request)
{
	const struct case_plan *plan = arg;
	request->sql =
		"UPDATE accounts SET balance = balance + 0 WHERE id = ?1 AND "
		"(SELECT sum(price) FROM items WHERE id BETWEEN ?2 AND ?2 + 26000) IS NOT NULL";
	request->arg_count = 2;
	request->args[0] = (int64_t)random_below(random_mix(&draw), plan->data.accounts) + 1;
	request->args[1] = (int64_t)random_below(random_mix(&draw), plan->data.items) + 1;
}

/* Page by page, and the client thinks about each: for as long as its time is. */
static const struct actor update_pages = {
	.name = "update",
	.label = LABEL_CULPRIT,
	.begin = "BEGIN",
	.end = "COMMIT",
	.page_rows = PAGE_ROWS,
	.think_ms = PAGE_MS,
	.statements = { "UPDATE archive_1 SET amount = amount + 1 WHERE id BETWEEN ?1 AND ?2 "
			"RETURNING id" },
};

static void plan(const struct bench_options *options, struct case_plan *plan)
{
	if (options->target == SERVER_TARGET) {
		case_shape_plan(options, &case_culprit_shape, plan);
		case_trigger_backup(options, &update_pages, plan);
		return;
	}
	case_add(plan, options->rerun ? &update_autocommit : &update);
	if (!options->batch) {
		case_add(plan, &case_backup_actor);
		return;
	}
	plan->ask = ask_small_write;
	plan->what = "one write over several tables against many of about 2 ms";
}

const struct bench_case case_backup_lock = {
	.name = "backup-lock",
	.what = { "a long update holds locks, a backup asks for the global one, all queue behind "
		  "it",
		"a long update, and a backup that waits for it with all behind" },
	.policies = { CASE_ENGINE_POLICIES, CASE_SERVER_POLICIES },
	.seconds = 14,
	.rerun_seconds = 30,
	.has_culprit = true,
	.control = "no-backup",
	.plan = plan,
};
