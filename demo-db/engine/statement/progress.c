/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.c - SQLite's progress handler: the cancellation point, and the place where work is seen.
 *
 * SQLite's own counter of full-scan steps misleads: an UPDATE with a trigger shows 95 % at a third
 * of its time, because it scans first and writes afterwards; an ORDER BY 65 %; CREATE INDEX
 * nothing. So a statement's work is declared by phase (plan.h), the scan is measured by its steps
 * where they are counted, and everything else by the handler's own calls, a thousand operations
 * each. What a phase was declared to need is never exceeded, and what is unknown is reported as
 * unknown.
 *
 * Owns that estimate.
 */
#include "demo-db/engine/statement/progress.h"

#include <cancel/cancel.h>

#define LONG_CALLS 2

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The scan is over once it made no step during a whole call, or the sorter has been opened for
 * output. Until then its share of the work is steps over rows. */
static void note_scan_end(struct progress *progress, uint64_t steps, bool sorting)
{
	bool rested = steps > 0 && steps == progress->steps;
	if (!progress->scan_calls && (sorting || rested))
		progress->scan_calls = progress->calls;
	progress->steps = steps;
}

void progress_estimate(struct progress *progress, uint64_t full_scan_steps, bool sorting,
	uint64_t *done, uint64_t *expected)
{
	const struct plan *plan = progress->plan;
	*done = *expected = 0;
	if (!plan || !plan->scan_rows) {
		*done = progress->expected_rows ? full_scan_steps : 0;
		*expected = progress->expected_rows;
		return;
	}
	uint64_t scan_ops = plan->scan_ops, rows = plan->scan_rows;
	if (progress->expected_rows) {
		scan_ops = scan_ops / rows * progress->expected_rows;
		rows = progress->expected_rows;
	}
	*expected = scan_ops + plan->later_ops;
	if (!plan->counts_steps) {
		*done = least(progress->calls * PROGRESS_OPS, *expected);
		return;
	}
	note_scan_end(progress, full_scan_steps, sorting);
	uint64_t per_row = rows ? scan_ops / rows : 0;
	*done = least(full_scan_steps * per_row, scan_ops);
	if (progress->scan_calls)
		*done = scan_ops + least((progress->calls - progress->scan_calls) * PROGRESS_OPS,
					   plan->later_ops);
}

static int on_progress(void *context)
{
	struct progress *progress = context;
	if (!progress->stmt)
		return 0;
	progress->calls++;
	if (progress->on_long && progress->calls < LONG_CALLS)
		return atomic_load_explicit(progress->stop, memory_order_relaxed);
	if (progress->on_long && progress->calls == LONG_CALLS)
		progress->on_long(progress->long_arg);
	if (atomic_load_explicit(progress->stop, memory_order_relaxed) || cancelRequested())
		return 1;
	uint64_t bytes = progress->memory_limit ? memory_bytes(progress->memory) : 0;
	if (bytes > progress->memory_limit) {
		progress->outgrown = bytes;
		return 1;
	}
	uint64_t done, expected;
	progress_estimate(progress,
		(uint64_t)sqlite3_stmt_status(progress->stmt, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0),
		sqlite3_stmt_status(progress->stmt, SQLITE_STMTSTATUS_SORT, 0) > 0, &done,
		&expected);
	if (expected)
		setProgress(done, expected);
	return 0;
}

void progress_install(struct progress *progress, sqlite3 *db)
{
	*progress = (struct progress){ 0 };
	sqlite3_progress_handler(db, PROGRESS_OPS, on_progress, progress);
}

void progress_begin(struct progress *progress, sqlite3_stmt *stmt, const struct plan *plan,
	uint64_t expected_rows, const _Atomic uint8_t *stop)
{
	*progress = (struct progress){ .stop = stop,
		.stmt = stmt,
		.plan = plan && plan->made && expected_rows ? plan : NULL,
		.expected_rows = expected_rows };
	sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1); /* counts over all runs */
	sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_SORT, 1);
}

void progress_tell_long(struct progress *progress, void (*on_long)(void *arg), void *arg)
{
	progress->on_long = on_long;
	progress->long_arg = arg;
}

void progress_limit_memory(
	struct progress *progress, const struct memory_account *memory, uint64_t limit_bytes)
{
	progress->memory = memory;
	progress->memory_limit = limit_bytes;
}

void progress_end(struct progress *progress)
{
	progress->stmt = NULL;
}
