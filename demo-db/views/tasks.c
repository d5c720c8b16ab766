/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasks.c - cancel_tasks and cancel_holds: who runs, and who holds and waits for what. Reads the
 * library's snapshot, which nothing can hold up.
 */
#include "demo-db/server/session/services.h"
#include "demo-db/server/dialect/signatures.h"
#include "demo-db/views/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <cancel/observe.h>

#define SPARE_TASKS 64 /* that may begin while the snapshot is taken */

struct snapshot {
	struct cancel_task_info *tasks;
	size_t count;
};

static struct snapshot take(struct view_rows *rows)
{
	struct cancel_status status;
	cancel_read_status(&status);
	size_t room = status.live_tasks + SPARE_TASKS;
	struct snapshot s = { .tasks = calloc(room, sizeof *s.tasks) };
	rows->failed |= !s.tasks;
	if (s.tasks)
		s.count = cancel_snapshot_tasks(s.tasks, room);
	return s;
}

static const char *state_name(const struct cancel_task_info *task)
{
	static const char *const names[] = { [CANCEL_RUNNING] = "running",
		[CANCEL_BLOCKED] = "blocked",
		[CANCEL_DELIVERING] = "delivering",
		[CANCEL_DELIVERED] = "cancelled" };
	return task->flags & CANCEL_IGNORES ? "ignores-cancels" : names[task->state];
}

static const struct cancel_ledger_entry *waiting_entry(const struct cancel_task_info *task)
{
	for (uint32_t i = 0; i < task->entry_count; i++)
		if (task->entries[i].waiting_since_ns)
			return &task->entries[i];
	return NULL;
}

static void put_wait(struct view_rows *rows, const struct cancel_task_info *task, uint64_t now_ns)
{
	char name[CANCEL_NAME_MAX];
	const struct cancel_ledger_entry *entry = waiting_entry(task);
	if (!entry) {
		view_null(rows);
		view_null(rows);
		return;
	}
	cancel_resource_name(entry->resource, name);
	view_text(rows, name);
	view_ms(rows, now_ns > entry->waiting_since_ns ? now_ns - entry->waiting_since_ns : 0);
}

static void put_task(struct view_rows *rows, const struct cancel_task_info *task, uint64_t now_ns)
{
	char text[SIGNATURE_TEXT_MAX];
	uint64_t evicted = 0;
	for (uint32_t i = 0; i < task->entry_count; i++)
		evicted += task->entries[i].evicted;
	view_integer(rows, (int64_t)task->task.id);
	view_integer(rows, (int64_t)task->key);
	view_text(rows, task->class_name);
	view_text(rows, state_name(task));
	view_ms_or_null(rows, task->episode_ns);
	view_ms_or_null(rows, task->slo_ns);
	if (task->progress_expected)
		view_real(rows,
			100.0 * (double)task->progress_done / (double)task->progress_expected);
	else
		view_null(rows);
	put_wait(rows, task, now_ns);
	view_integer(rows, (int64_t)evicted);
	view_bool(rows, task->flags & CANCEL_CANCELLABLE);
	view_bool(rows, task->flags & CANCEL_BACKGROUND);
	view_bool(rows, task->flags & CANCEL_RERUNNING);
	view_text(rows, signatures_find(task->signature, text) ? text : NULL);
}

static void fill_tasks(struct services *services, struct view_rows *rows)
{
	struct snapshot s = take(rows);
	uint64_t now_ns = cancel_now_ns();
	(void)services;
	for (size_t i = 0; i < s.count; i++)
		put_task(rows, &s.tasks[i], now_ns);
	free(s.tasks);
}

const struct view view_tasks = { .name = "cancel_tasks",
	.columns =
		"id BIGINT, process BIGINT, class TEXT, state TEXT, age_ms FLOAT8, slo_ms FLOAT8, "
		"progress_pct FLOAT8, waits_for TEXT, waits_ms FLOAT8, evicted_pages BIGINT, "
		"cancellable BOOL, background BOOL, rerunning BOOL, statement TEXT",
	.fill = fill_tasks };

/* ---- Holds ----------------------------------------------------------------------------------- */

static const char *mode_name(struct services *services, int resource, unsigned mode)
{
	static const char *const table[] = { "access share", "row exclusive", "share",
		"access exclusive" };
	if (resource == cancel_resource_index(db_resources(services->engine).table_locks))
		return mode >= 1 && mode <= 4 ? table[mode - 1] : NULL;
	return mode == CANCEL_SHARED ? "shared" : mode == CANCEL_EXCLUSIVE ? "exclusive" : NULL;
}

static unsigned strongest(uint8_t modes)
{
	unsigned mode = 0;
	for (; modes; modes = (uint8_t)(modes >> 1))
		mode++;
	return mode;
}

static void put_hold(struct services *services, struct view_rows *rows,
	const struct cancel_task_info *task, const struct cancel_ledger_entry *entry,
	uint64_t now_ns)
{
	char name[CANCEL_NAME_MAX];
	cancel_resource_name(entry->resource, name);
	bool table = (int)entry->resource ==
		     cancel_resource_index(db_resources(services->engine).table_locks);
	unsigned held = strongest(entry->held_modes);
	view_integer(rows, (int64_t)task->task.id);
	view_integer(rows, (int64_t)task->key);
	view_text(rows, name);
	view_text(rows, table ? db_table_name(services->engine, entry->instance) : NULL);
	view_text(rows, mode_name(services, entry->resource, held));
	view_integer(rows, (int64_t)entry->held);
	view_ms_or_null(rows, entry->held_since_ns && now_ns > entry->held_since_ns
				      ? now_ns - entry->held_since_ns
				      : 0);
	view_text(rows, mode_name(services, entry->resource, entry->wanted_mode));
	view_ms_or_null(rows, entry->waiting_since_ns && now_ns > entry->waiting_since_ns
				      ? now_ns - entry->waiting_since_ns
				      : 0);
	view_integer(rows, (int64_t)entry->evicted);
}

static void fill_holds(struct services *services, struct view_rows *rows)
{
	struct snapshot s = take(rows);
	uint64_t now_ns = cancel_now_ns();
	for (size_t i = 0; i < s.count; i++)
		for (uint32_t e = 0; e < s.tasks[i].entry_count; e++) {
			const struct cancel_ledger_entry *entry = &s.tasks[i].entries[e];
			if (entry->held || entry->waiting_since_ns || entry->evicted)
				put_hold(services, rows, &s.tasks[i], entry, now_ns);
		}
	free(s.tasks);
}

const struct view view_holds = { .name = "cancel_holds",
	.columns =
		"task BIGINT, process BIGINT, resource TEXT, table_name TEXT, mode TEXT, held "
		"BIGINT, held_ms FLOAT8, wanted_mode TEXT, waits_ms FLOAT8, evicted_pages BIGINT",
	.fill = fill_holds };
