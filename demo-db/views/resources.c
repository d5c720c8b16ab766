/* SPDX-License-Identifier: Apache-2.0 */
/* resources.c - cancel_resources and cancel_held_back: what is contended, and why nobody was
 * cancelled for it. */
#include "demo-db/server/dialect/signatures.h"
#include "demo-db/server/session/services.h"
#include "demo-db/views/view.h"

#include <stdlib.h>
#include <cancel/observe.h>

static const char *type_name(enum cancel_resource_type type)
{
	return type == CANCEL_LOCK ? "lock" : type == CANCEL_MEMORY ? "memory" : "queue";
}

static void put_resource(struct view_rows *rows, const struct cancel_resource_info *info)
{
	view_text(rows, info->name);
	view_text(rows, type_name(info->ledger.type));
	if (info->ledger.capacity)
		view_integer(rows, (int64_t)info->ledger.capacity);
	else
		view_null(rows);
	view_integer(rows, (int64_t)info->held);
	view_integer(rows, info->holders);
	view_integer(rows, info->waiters);
	view_real(rows, (double)info->contention_ppm / 1e4);
	view_integer(rows, (int64_t)info->raw_metric);
	view_bool(rows, info->calm);
	view_integer(rows, (int64_t)info->ledger.acquires);
	view_integer(rows, (int64_t)info->ledger.waits);
	view_ms(rows, info->ledger.ended_wait_ns);
	view_ms(rows, info->ledger.ended_hold_ns);
	view_integer(rows, (int64_t)info->ledger.ended_evicted);
}

static void fill_resources(struct services *services, struct view_rows *rows)
{
	struct cancel_resource_info *infos = calloc(CANCEL_RESOURCES_MAX, sizeof *infos);
	(void)services;
	rows->failed |= !infos;
	size_t count = infos ? cancel_snapshot_resources(infos, CANCEL_RESOURCES_MAX) : 0;
	for (size_t i = 0; i < count; i++)
		put_resource(rows, &infos[i]);
	free(infos);
}

const struct view view_resources = { .name = "cancel_resources",
	.columns = "name TEXT, type TEXT, capacity BIGINT, held BIGINT, holders BIGINT, waiters "
		   "BIGINT, contention_pct FLOAT8, raw_metric BIGINT, calm BOOL, acquires BIGINT, "
		   "waits BIGINT, wait_ms FLOAT8, hold_ms FLOAT8, evicted BIGINT",
	.fill = fill_resources };

/* ---- Quarantine ------------------------------------------------------------------------------ */

static void fill_quarantine(struct services *services, struct view_rows *rows)
{
	struct cancel_quarantine list[CANCEL_QUARANTINE_MAX];
	char text[SIGNATURE_TEXT_MAX];
	size_t count = cancel_snapshot_quarantine(list, CANCEL_QUARANTINE_MAX);
	uint64_t now_ns = cancel_now_ns();
	(void)services;
	for (size_t i = 0; i < count; i++) {
		view_text(rows, signatures_find(list[i].signature, text) ? text : NULL);
		view_ms(rows, list[i].until_ns > now_ns ? list[i].until_ns - now_ns : 0);
		view_integer(rows, (int64_t)list[i].serial);
		view_bool(rows, list[i].acted);
	}
}

const struct view view_quarantine = { .name = "cancel_quarantine",
	.columns = "statement TEXT, left_ms FLOAT8, serial BIGINT, kept_out BOOL",
	.fill = fill_quarantine };

/* ---- Held back ------------------------------------------------------------------------------- */

static void fill_held_back(struct services *services, struct view_rows *rows)
{
	struct cancel_counters counters;
	(void)services;
	cancel_read_counters(&counters);
	for (int cause = CANCEL_CAUSE_NONE + 1; cause < CANCEL_CAUSE_COUNT; cause++) {
		view_text(rows, cancel_cause_name((enum cancel_cause)cause));
		view_integer(rows, (int64_t)counters.held_back[cause]);
	}
}

const struct view view_held_back = {
	.name = "cancel_held_back", .columns = "cause TEXT, verdicts BIGINT", .fill = fill_held_back
};
