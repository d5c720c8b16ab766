/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe.c - the public snapshots. Reads what others own, changes nothing.
 */
#include <cancel/observe.h>

#include <stdio.h>
#include <string.h>

#include "libcancel/control/collect.h"
#include "libcancel/control/controller.h"
#include "libcancel/track/count.h"
#include "libcancel/track/library_state.h"
#include "libcancel/track/read.h"
#include "libcancel/track/resource.h"
#include "libcancel/track/state_word.h"

static bool read_task(struct slot *s, uint64_t now_ns, struct cancel_task_info *info)
{
	struct ended_use folded[CANCEL_RESOURCES_MAX] = { 0 };
	struct cancel_ledger_task t;
	if (slot_read(s, now_ns, resource_count(), &t, info->entries, folded) != READ_LIVE)
		return false;
	info->task.id = t.id;
	info->sequence = t.sequence;
	info->key = t.key;
	info->signature = t.signature;
	info->state = (enum cancel_task_state)t.state;
	info->class_index = t.class_index;
	info->flags = t.flags;
	if (load_relaxed(&s->cold->ignores) == t.id)
		info->flags |= CANCEL_IGNORES;
	info->bound = load_relaxed(&s->state_word) & STATE_WORD_BOUND;
	info->slo_ns = t.slo_ns;
	info->episode_ns =
		t.episode_start_ns && now_ns > t.episode_start_ns ? now_ns - t.episode_start_ns : 0;
	info->active_ns = t.active_ns;
	info->progress_done = t.progress_done;
	info->progress_expected = t.progress_expected;
	info->entry_count = t.entry_count;
	snprintf(info->class_name, sizeof info->class_name, "%s",
		library_state.classes[t.class_index % CANCEL_CLASSES_MAX].name);
	return true;
}

size_t cancel_snapshot_tasks(struct cancel_task_info *tasks, size_t capacity)
{
	size_t n = 0;
	uint64_t now_ns = cancel_now_ns();
	uint32_t high = load_acquire(&slot_high);
	for (uint32_t i = 0; i < high && n < capacity; i++)
		if (read_task(slot_at(i), now_ns, &tasks[n]))
			n++;
	return n;
}

int cancel_read_task(struct cancel_task task, struct cancel_task_info *info)
{
	struct slot *s = slot_at(id_index(task.id));
	if (!s || !state_word_is(load_acquire(&s->state_word), task.id))
		return CANCEL_ENOTASK;
	if (!read_task(s, cancel_now_ns(), info) || info->task.id != task.id)
		return CANCEL_ENOTASK;
	return 0;
}

/* ---- Resources ------------------------------------------------------------------------------- */

static void add_use(const struct cancel_ledger_entry *e, struct cancel_resource_info *r)
{
	r->waiters += e->waiting_since_ns != 0;
	if (!e->held)
		return;
	r->holders++;
	r->held += r->ledger.type == CANCEL_LOCK ? 1 : e->held;
}

static void add_live(struct cancel_resource_info *resources, uint32_t n)
{
	struct cancel_ledger_entry entries[CANCEL_ENTRIES_MAX];
	struct ended_use folded[CANCEL_RESOURCES_MAX] = { 0 };
	struct cancel_ledger_task t;
	uint64_t now_ns = cancel_now_ns();
	uint32_t high = load_acquire(&slot_high);
	for (uint32_t i = 0; i < high; i++) {
		if (slot_read(slot_at(i), now_ns, n, &t, entries, folded) != READ_LIVE)
			continue;
		for (uint32_t e = 0; e < t.entry_count; e++)
			add_use(&entries[e], &resources[entries[e].resource]);
	}
}

static void describe(uint32_t index, const struct ended_use *ended, struct cancel_resource_info *r)
{
	*r = (struct cancel_resource_info){ 0 };
	memcpy(r->name, resource_at(index)->name, sizeof r->name);
	collect_resource(index, ended, &r->ledger);
}

size_t cancel_snapshot_resources(struct cancel_resource_info *resources, size_t capacity)
{
	struct totals totals;
	resources_lock();
	uint32_t n = resource_count();
	if (capacity < n)
		n = (uint32_t)capacity;
	totals_sum(&totals, n);
	for (uint32_t i = 0; i < n; i++)
		describe(i, &totals.use[i], &resources[i]);
	resources_unlock();
	add_live(resources, n);
	controller_contention(resources, n);
	return n;
}

/* ---- Status and counters --------------------------------------------------------------------- */

void cancel_read_status(struct cancel_status *status)
{
	controller_status(status);
	uint32_t state = load_acquire(&library_state.phase);
	status->running = state == LIBRARY_ON || state == LIBRARY_FED;
	status->turned_off = state == LIBRARY_TURNED_OFF;
	status->acting = status->acting && status->running;
	status->now_ns = cancel_now_ns();
	status->class_count = load_relaxed(&library_state.class_count);
	for (uint32_t i = 0; i < status->class_count; i++)
		status->slo_ns[i] = load_relaxed(&library_state.classes[i].slo_ns);
}

void cancel_read_counters(struct cancel_counters *to)
{
	uint64_t totals[CANCEL_COUNTER_COUNT];
	count_read(totals);
#define X(name, what) to->name = totals[CANCEL_COUNT_##name];
	CANCEL_COUNTERS(X)
#undef X
	controller_held_back(to->held_back);
}

static const struct {
	const char *name, *text;
} counter_names[CANCEL_COUNTER_COUNT] = {
#define X(name, what) { #name, what },
	CANCEL_COUNTERS(X)
#undef X
};

const char *cancel_counter_name(enum cancel_counter counter)
{
	return (unsigned)counter < CANCEL_COUNTER_COUNT ? counter_names[counter].name : "";
}

const char *cancel_counter_text(enum cancel_counter counter)
{
	return (unsigned)counter < CANCEL_COUNTER_COUNT ? counter_names[counter].text : "";
}
