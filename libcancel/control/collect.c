/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.c - owns the ledger, which it reads from what the tracked threads write.
 *
 * Each task is in a ledger once, live or among the ended: totals.c says how.
 */
#include "libcancel/control/collect.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "libcancel/track/count.h"
#include "libcancel/track/read.h"
#include "libcancel/track/resource.h"

#define PREFETCH_AHEAD 2u
#define YIELDS_MAX     2 /* a turn has 100 us */

static void *map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static size_t tasks_bytes(uint32_t limit)
{
	return limit * sizeof(struct cancel_ledger_task);
}

static size_t entries_bytes(uint32_t limit)
{
	return (size_t)limit * CANCEL_ENTRIES_MAX * sizeof(struct cancel_ledger_entry);
}

int collector_init(struct collector *c, uint32_t task_limit)
{
	*c = (struct collector){ .task_limit = task_limit };
	c->tasks = map(tasks_bytes(task_limit));
	c->entries = map(entries_bytes(task_limit));
	if (!c->tasks || !c->entries) {
		collector_free(c);
		return CANCEL_ENOMEM;
	}
	c->ledger = (struct cancel_ledger){
		.resources = c->resources,
		.tasks = c->tasks,
		.entries = c->entries,
		.events = c->events,
		.latency = c->latency,
	};
	return 0;
}

void collector_free(struct collector *c)
{
	if (c->tasks)
		munmap(c->tasks, tasks_bytes(c->task_limit));
	if (c->entries)
		munmap(c->entries, entries_bytes(c->task_limit));
	c->tasks = NULL;
	c->entries = NULL;
}

static void prefetch(uint32_t index)
{
	const char *at = (const char *)slot_at(index);
	if (!at)
		return;
	for (size_t line = 0; line < 8; line++)
		__builtin_prefetch(at + line * CACHE_LINE_BYTES);
}

/* A slot that is torn at every attempt belongs to a thread the machine put aside in the few
 * nanoseconds its layout takes to change. Give it the processor. */
static enum read_answer read_patiently(struct collector *c, uint32_t index,
	struct cancel_ledger_task *t, struct cancel_ledger_entry *entries, struct ended_use *folded)
{
	const struct cancel_ledger *l = &c->ledger;
	for (int yields = 0;; yields++) {
		enum read_answer answer =
			slot_read(slot_at(index), l->now_ns, l->resource_count, t, entries, folded);
		if (answer != READ_TORN || yields == YIELDS_MAX)
			return answer;
		sched_yield();
	}
}

/* Entries that are no longer exact count as ended. */
static void read_slots(struct collector *c)
{
	struct cancel_ledger *l = &c->ledger;
	struct ended_use folded[CANCEL_RESOURCES_MAX] = { 0 };
	uint32_t high = load_acquire(&slot_high);
	if (high > c->task_limit)
		high = c->task_limit;
	l->task_count = 0;
	l->entry_count = 0;
	for (uint32_t i = 0; i < high; i++) {
		struct cancel_ledger_task *t = &c->tasks[l->task_count];
		struct cancel_ledger_entry *entries = &c->entries[l->entry_count];
		if (i + PREFETCH_AHEAD < high)
			prefetch(i + PREFETCH_AHEAD);
		enum read_answer answer = read_patiently(c, i, t, entries, folded);
		if (answer == READ_TORN)
			count(CANCEL_COUNT_torn_reads);
		totals_passed(i + 1);
		if (answer != READ_LIVE)
			continue;
		t->first_entry = l->entry_count;
		l->entry_count += t->entry_count;
		l->task_count++;
	}
	for (uint32_t r = 0; r < l->resource_count; r++)
		ended_use_add(&c->totals.use[r], &folded[r]);
}

void collect_resource(
	uint32_t index, const struct ended_use *ended, struct cancel_ledger_resource *r)
{
	const struct resource *from = resource_at(index);
	*r = (struct cancel_ledger_resource){
		.type = (enum cancel_resource_type)resource_type(resource_id(index)),
		.capacity = from->capacity,
		.ended_wait_ns = ended->wait_ns,
		.ended_hold_ns = ended->hold_ns,
		.ended_evicted = ended->evicted,
		.orphan_stall_ns = ended->orphan_stall_ns,
		.waits = ended->waits,
		.acquires = ended->acquires,
	};
	memcpy(r->conflicts, from->conflicts, sizeof r->conflicts);
}

void collect(struct collector *c, uint64_t now_ns)
{
	struct cancel_ledger *l = &c->ledger;
	l->now_ns = now_ns;
	l->event_count = events_take(c->events);
	l->resource_count = resource_count();
	l->dropped_events = load_relaxed(&count_global[CANCEL_COUNT_events_dropped]);
	totals_begin(&c->totals, l->resource_count);
	read_slots(c);
	totals_end(&c->totals, l->resource_count, c->latency);
	l->completed = c->totals.completed;
	l->late = c->totals.late;
	l->ended_active_ns = c->totals.ended_active_ns;
	for (uint32_t r = 0; r < l->resource_count; r++)
		collect_resource(r, &c->totals.use[r], &c->resources[r]);
}
