/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule: a reader sees a task as it was at some instant, or not at all; and every task is in a
 * ledger once, live or among the ended.
 *
 * Each word of an entry is consistent alone (span.h). What changes the meaning of several words
 * (a new key in an old entry, a closed episode, the next task of the slot) happens behind an odd
 * layout or another generation, with release stores, and the reader looks again (read.c). So a
 * snapshot never shows one task's entries under another's key: here a task uses instances that are
 * its own key, in order, with more of them than it has entries, so that entries are reused all the
 * time.
 *
 * Every task evicts one unit, as its first act. A ledger's total is ended plus live; it lies
 * between what had ended before the collector began and what had begun when it was done, up to one
 * task a thread (totals.c says which).
 */
#include "threads.h"

#include <stdlib.h>

#include "libcancel/control/collect.h"

#define WORKERS	  4
#define INSTANCES 40
#define LEDGERS	  11

static struct cancel_resource table, pool;
static _Atomic uint64_t begun, ended;

static void *churn(void *arg)
{
	struct cancel_task_options o = { .struct_size = sizeof o, .slo_ns = 1000000000 };
	struct cancel_task other = { .id = 1 };
	uint64_t key = 1 + (uint64_t)(uintptr_t)arg * 1000000000;
	while (!load_relaxed(&race_over)) {
		o.key = key++;
		add_relaxed(&begun, 1);
		struct cancel_task task = createCancel(&o);
		race_expect(task.id != 0);
		evictResource(pool, other, 1);
		for (uint32_t i = 0; i < INSTANCES; i++) {
			uint32_t instance = (uint32_t)o.key * INSTANCES + i;
			slowByResourceAt(table, instance, CANCEL_SHARED);
			getResourceAt(table, instance, CANCEL_SHARED);
			freeResourceAt(table, instance, CANCEL_SHARED);
		}
		freeCancel(task);
		add_relaxed(&ended, 1);
	}
	return NULL;
}

/* `took_ns`: how long ago the snapshot began; what happened since may already be in it. */
static void check_task(const struct cancel_task_info *t, uint64_t took_ns)
{
	for (uint32_t i = 0; i < t->entry_count; i++) {
		const struct cancel_ledger_entry *e = &t->entries[i];
		if (e->resource == cancel_resource_index(pool)) {
			race_expect(e->evicted <= 1);
			continue;
		}
		race_expect(e->instance - (uint32_t)t->key * INSTANCES < INSTANCES);
		race_expect(e->held_modes <= 1 && e->held <= 1);
		race_expect(e->hold_ns + e->wait_ns <= t->active_ns + took_ns);
	}
}

static void *look(void *ignored)
{
	static struct cancel_task_info info[64];
	struct cancel_resource_info resources[2];
	(void)ignored;
	while (!load_relaxed(&race_over)) {
		uint64_t before_ns = cancel_now_ns();
		size_t n = cancel_snapshot_tasks(info, 64);
		uint64_t took_ns = cancel_now_ns() - before_ns;
		for (size_t i = 0; i < n; i++)
			check_task(&info[i], took_ns);
		race_expect(cancel_snapshot_resources(resources, 2) == 2);
	}
	return NULL;
}

static uint64_t evicted_in(const struct cancel_ledger *l, uint32_t r)
{
	uint64_t sum = l->resources[r].ended_evicted;
	for (uint32_t i = 0; i < l->entry_count; i++)
		if (l->entries[i].resource == r)
			sum += l->entries[i].evicted;
	return sum;
}

static void check_ledger(struct collector *c)
{
	uint64_t at_least = load_acquire(&ended);
	collect(c, clock_precise_ns());
	uint64_t at_most = load_acquire(&begun);
	uint64_t sum = evicted_in(&c->ledger, (uint32_t)cancel_resource_index(pool));
	race_expect(sum + WORKERS >= at_least);
	race_expect(sum <= at_most + WORKERS);
}

static void a_reader_sees_each_task_whole_and_once(void **state)
{
	struct collector *c = calloc(1, sizeof *c);
	struct race race;
	(void)state;
	/* The library's own collector stays out of the way of this one. */
	start_with((struct cancel_config){ .window_ms = 60000, .always_precise = true });
	table = createResource("table", CANCEL_LOCK, NULL);
	pool = createResource("pool", CANCEL_MEMORY, NULL);
	assert_int_equal(collector_init(c, 4096), 0);
	race_begin(&race);
	for (uintptr_t i = 0; i < WORKERS; i++)
		race_add(&race, churn, (void *)i);
	race_add(&race, look, NULL);
	uint64_t stop_ns = cancel_now_ns() + RACE_MS * 1000000ull;
	for (int i = 0; i < LEDGERS || cancel_now_ns() < stop_ns; i++)
		check_ledger(c);
	race_join(&race);
	collect(c, clock_precise_ns());
	assert_int_equal(evicted_in(&c->ledger, (uint32_t)cancel_resource_index(pool)),
		load_relaxed(&ended));
	assert_int_equal(c->ledger.completed, load_relaxed(&ended));
	collector_free(c);
	free(c);
	assert_int_equal(stopCancel(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_sees_each_task_whole_and_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
