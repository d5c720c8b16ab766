/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what a run notes of decisions, kills and timeouts, and which of them get a line. */
#include "bench/experiment/record.h"

#include <stdio.h>
#include <string.h>

#define NS_PER_S  1e9
#define LINES_MAX 5 /* about cancels of one kind of task */

static uint64_t since_start(const struct record *record, uint64_t at_ns)
{
	return at_ns > record->start_ns ? at_ns - record->start_ns : 0;
}

static struct task_record *task_of(const struct record *record, uint64_t key)
{
	for (uint32_t i = record->data->task_count; i > 0; i--)
		if (record->data->tasks[i - 1].key == key)
			return &record->data->tasks[i - 1];
	return NULL;
}

/* Callers hold record->lock. NULL: only counted. */
static struct cancel_record *add_cancel(
	struct record *record, uint64_t serial, uint64_t key, uint64_t wasted_ns)
{
	struct samples *data = record->data;
	const struct task_record *task = task_of(record, key);
	uint32_t room = task ? RUN_CANCELS_MAX : RUN_CANCELS_MAX / 2;
	if (data->cancel_count >= room) {
		data->cancels_unrecorded++;
		data->unrecorded_wasted_ns += wasted_ns;
		return NULL;
	}
	struct cancel_record *cancel = &data->cancels[data->cancel_count++];
	*cancel = (struct cancel_record){ .serial = serial,
		.key = key,
		.label = task ? task->label : LABEL_VICTIM,
		.wasted_ns = wasted_ns };
	snprintf(cancel->name, sizeof cancel->name, "%s", task ? task->name : "a request");
	return cancel;
}

static struct cancel_record *cancel_of(struct record *record, uint64_t serial)
{
	for (uint32_t i = 0; serial && i < record->data->cancel_count; i++)
		if (record->data->cancels[i].serial == serial)
			return &record->data->cancels[i];
	return NULL;
}

static void copy_times(
	struct record *record, struct cancel_record *cancel, const struct target_decision *decision)
{
	cancel->suspected_ns = since_start(record, decision->suspected_ns);
	cancel->decided_ns = since_start(record, decision->decided_ns);
	cancel->delivered_ns = since_start(record, decision->delivered_ns);
	cancel->acknowledged_ns = since_start(record, decision->acknowledged_ns);
	cancel->released_ns = since_start(record, decision->released_ns);
	cancel->wasted_ns = decision->wasted_ns;
	struct task_record *task = task_of(record, cancel->key);
	if (task && decision->rerun_ns)
		task->rerun_start_ns = since_start(record, decision->rerun_ns);
}

/* The first few of each kind get a line; the rest shows in the table. Callers hold record->lock. */
static void announce(struct record *record, const struct task_record *task, uint64_t at_ns,
	const char *what, const char *why)
{
	uint32_t *lines = &record->lines[task ? task->label : LABEL_VICTIM];
	char text[RUN_WHY_MAX + 32];
	if (++*lines > LINES_MAX)
		return;
	snprintf(text, sizeof text, "%s%s", why,
		*lines == LINES_MAX ? " (more are only counted)" : "");
	progress_event(record->progress, (double)at_ns / NS_PER_S, what,
		task ? task->name : "a request", text);
}

void record_decision(void *arg, const struct target_decision *decision)
{
	struct record *record = arg;
	if (decision->decided_ns < record->start_ns)
		return; /* while the target was warmed */
	pthread_mutex_lock(&record->lock);
	struct cancel_record *cancel = cancel_of(record, decision->serial);
	bool fresh = !decision->serial || (!cancel && decision->serial > record->announced);
	if (fresh && decision->acted)
		cancel = add_cancel(record, decision->serial, decision->key, decision->wasted_ns);
	if (!decision->serial)
		atomic_store_explicit(
			&record->last_kill_ns, decision->decided_ns, memory_order_relaxed);
	if (cancel)
		copy_times(record, cancel, decision);
	if (fresh && decision->why[0]) {
		const struct task_record *task = task_of(record, decision->key);
		record->data->decisions += decision->serial != 0;
		if (decision->serial)
			record->announced = decision->serial;
		if (cancel)
			snprintf(cancel->why, sizeof cancel->why, "%s", decision->why);
		announce(record, task, since_start(record, decision->decided_ns),
			decision->acted ? "cancelled" : "would cancel", decision->why);
	}
	pthread_mutex_unlock(&record->lock);
}

void record_settle(struct record *record)
{
	for (uint32_t i = 0; i < record->data->cancel_count; i++) {
		struct cancel_record *cancel = &record->data->cancels[i];
		const struct task_record *task = task_of(record, cancel->key);
		if (cancel->serial == 0 && task && task->end_ns)
			cancel->released_ns = task->end_ns;
	}
}

bool record_was_cancelled(const struct record *record, const char *name)
{
	for (uint32_t i = 0; i < record->data->cancel_count; i++)
		if (strcmp(record->data->cancels[i].name, name) == 0)
			return true;
	return false;
}
