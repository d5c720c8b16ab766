/* SPDX-License-Identifier: Apache-2.0 */
/* decisions.c - cancel_decisions: what was cancelled, why that one, and what came of it. */
#include "demo-db/server/session/services.h"
#include "demo-db/views/view.h"

#include <stdlib.h>
#include <cancel/observe.h>

/* Milliseconds from the onset; NULL: not yet, or never. */
static void put_since(struct view_rows *rows, uint64_t onset_ns, uint64_t at_ns)
{
	if (at_ns && at_ns >= onset_ns)
		view_ms(rows, at_ns - onset_ns);
	else
		view_null(rows);
}

static void put_target(struct view_rows *rows, const struct cancel_decision *d)
{
	char name[CANCEL_NAME_MAX];
	view_integer(rows, (int64_t)d->target.task);
	view_integer(rows, (int64_t)d->target.key);
	view_text(rows, priority_name((enum priority)d->target.class_index));
	cancel_resource_name((int)d->top_resource, name);
	view_text(rows, name);
	view_real(rows, (double)d->target.score_micro / 1e6);
	if (d->runner_up.task) {
		view_integer(rows, (int64_t)d->runner_up.task);
		view_real(rows, (double)d->runner_up.score_micro / 1e6);
	} else {
		view_null(rows);
		view_null(rows);
	}
}

static void put_record(
	struct view_rows *rows, const struct cancel_decision_record *record, uint64_t now_ns)
{
	const struct cancel_decision *d = &record->decision;
	const struct cancel_times *times = &record->outcome.times;
	view_integer(rows, (int64_t)record->serial);
	view_real(rows, (double)(now_ns > d->decided_ns ? now_ns - d->decided_ns : 0) / 1e9);
	view_bool(rows, d->acted);
	view_text(rows, record->text);
	put_target(rows, d);
	view_integer(rows, d->candidate_count);
	view_integer(rows, d->eligible_count);
	view_text(rows, d->policy);
	put_since(rows, d->onset_ns, d->decided_ns);
	put_since(rows, d->onset_ns, times->delivered_ns);
	put_since(rows, d->onset_ns, times->acknowledged_ns);
	put_since(rows, d->onset_ns, times->released_ns);
	put_since(rows, d->onset_ns, times->recovered_ns);
	view_ms(rows, record->outcome.wasted_ns);
	view_integer(rows, record->outcome.reruns);
	view_bool(rows, record->outcome.dropped);
	view_bool(rows, record->outcome.final);
	view_text(rows, record->stack);
}

static void fill_decisions(struct services *services, struct view_rows *rows)
{
	struct cancel_decision_record *records = calloc(CANCEL_RECORDS_KEPT, sizeof *records);
	uint64_t now_ns = cancel_now_ns();
	(void)services;
	rows->failed |= !records;
	size_t count = records ? cancel_recent_decisions(records, CANCEL_RECORDS_KEPT) : 0;
	for (size_t i = 0; i < count; i++)
		put_record(rows, &records[i], now_ns);
	free(records);
}

const struct view view_decisions = { .name = "cancel_decisions",
	.columns =
		"serial BIGINT, ago_s FLOAT8, acted BOOL, reason TEXT, task BIGINT, process "
		"BIGINT, "
		"class TEXT, resource TEXT, score FLOAT8, runner_up BIGINT, runner_up_score "
		"FLOAT8, "
		"candidates BIGINT, eligible BIGINT, policy TEXT, decided_ms FLOAT8, delivered_ms "
		"FLOAT8, acknowledged_ms FLOAT8, released_ms FLOAT8, recovered_ms FLOAT8, "
		"wasted_ms "
		"FLOAT8, reruns BIGINT, dropped BOOL, final BOOL, stack TEXT",
	.fill = fill_decisions };
