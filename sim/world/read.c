/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.c - the READ step: hits cost time, misses stall on a device and evict.
 *
 * Owns the phases of a read and what the ledger says of a pool: pages held, pages taken from
 * others, stalls charged to whoever evicted the page.
 */
#include "sim/world/parts.h"

#define HITS_MAX 256 /* pages read at one go: bounds what one event does */

enum phase {
	PHASE_SCAN,
	PHASE_WANT_DEVICE,
	PHASE_DEVICE,
};

static uint64_t page_key(uint32_t table, uint64_t page)
{
	return (uint64_t)table << 40 | page;
}

static uint64_t next_page(struct sim_world *w, struct world_task *t, const struct sim_step *step)
{
	uint64_t span = step->span ? step->span : 1;
	if (step->mode == SIM_READ_SEQUENTIAL)
		return step->first + t->pages_done % span;
	return step->first + sim_rng_below(&w->clients[t->client].rng, span);
}

static struct world_task *owner_of(struct sim_world *w, uint64_t id)
{
	uint32_t i = world_task_find(w, id);
	return i == NONE ? NULL : &w->tasks[i];
}

/* The pages that one trip to the device brings. */
static uint32_t fetched(const struct sim_world *w, const struct world_task *t,
	const struct sim_step *step, uint64_t pages)
{
	uint32_t ahead = w->resources[step->resource].options.read_ahead;
	if (step->mode != SIM_READ_SEQUENTIAL || ahead < 2)
		return 1;
	uint64_t left = pages - t->pages_done;
	return left < ahead ? (uint32_t)left : ahead;
}

static void insert(struct sim_world *w, uint32_t task, const struct sim_step *step, uint64_t key)
{
	struct world_pool *pool = &w->resources[step->resource].pool;
	if (world_pool_touch(pool, key))
		return;
	struct world_task *t = &w->tasks[task];
	uint64_t victim_owner;
	bool evicts = world_pool_insert(pool, key, t->id, &victim_owner);
	struct cancel_ledger_entry *mine = &world_entry(w, t, step->resource, 0)->ledger;
	mine->held_since_ns = mine->held ? mine->held_since_ns : world_stamp(w);
	mine->held++;
	if (!evicts)
		return;
	struct world_task *other = owner_of(w, victim_owner);
	if (other) {
		struct cancel_ledger_entry *theirs =
			&world_entry(w, other, step->resource, 0)->ledger;
		theirs->held--;
		theirs->held_since_ns = theirs->held ? theirs->held_since_ns : 0;
	}
	if (victim_owner != t->id)
		world_entry(w, t, step->resource, 0)->ledger.evicted++;
}

/* The stall is charged to the evictor of the page that was missed. */
static void end_stall(
	struct sim_world *w, uint32_t task, const struct sim_step *step, uint64_t evictor)
{
	struct world_task *t = &w->tasks[task];
	struct world_entry *entry = world_entry(w, t, step->resource, 0);
	uint64_t stall_ns = world_since(w, entry->ledger.waiting_since_ns);
	entry->ledger.waiting_since_ns = 0;
	entry->ledger.wait_ns += stall_ns;
	entry->waits++;
	entry->acquires++;
	if (evictor == 0 || evictor == t->id)
		return;
	struct world_task *other = owner_of(w, evictor);
	if (other)
		world_entry(w, other, step->resource, 0)->ledger.stall_caused_ns += stall_ns;
	else
		w->resources[step->resource].ledger.orphan_stall_ns += stall_ns;
}

static void device_done(
	struct sim_world *w, uint32_t task, const struct sim_step *step, uint64_t pages)
{
	struct world_task *t = &w->tasks[task];
	const struct world_resource *r = &w->resources[step->resource];
	uint64_t evictor = world_pool_evictor(&r->pool, page_key(step->instance, t->page));
	uint32_t count = fetched(w, t, step, pages);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t page = step->mode == SIM_READ_SEQUENTIAL ? next_page(w, t, step) : t->page;
		insert(w, task, step, page_key(step->instance, page));
		t->pages_done++;
	}
	if (r->options.io_resource)
		world_give(w, task, (uint8_t)(r->options.io_resource - 1), 0, 1);
	end_stall(w, task, step, evictor);
	t->read_phase = PHASE_SCAN;
}

/* Reads pages while they are resident. Returns the time that took. */
static uint64_t scan(
	struct sim_world *w, struct world_task *t, const struct sim_step *step, uint64_t pages)
{
	struct world_resource *r = &w->resources[step->resource];
	uint64_t hits = 0;
	while (t->pages_done < pages && hits < HITS_MAX) {
		if (t->page == UINT64_MAX)
			t->page = next_page(w, t, step);
		if (!world_pool_touch(&r->pool, page_key(step->instance, t->page)))
			break;
		t->page = UINT64_MAX;
		t->pages_done++;
		hits++;
	}
	return hits * r->options.hit_ns;
}

static bool miss(struct sim_world *w, uint32_t task, const struct sim_step *step, uint64_t pages)
{
	struct world_task *t = &w->tasks[task];
	const struct sim_resource_options *pool = &w->resources[step->resource].options;
	if (t->read_phase == PHASE_SCAN) {
		world_entry(w, t, step->resource, 0)->ledger.waiting_since_ns = world_stamp(w);
		t->read_phase = PHASE_WANT_DEVICE;
		if (pool->io_resource &&
			!world_take(w, task, (uint8_t)(pool->io_resource - 1), 0, 1))
			return false;
	}
	t->read_phase = PHASE_DEVICE;
	uint32_t count = fetched(w, t, step, pages);
	world_work_for(w, t, pool->miss_ns + (count - 1) * pool->next_page_ns);
	return false;
}

bool world_read_go(struct sim_world *w, uint32_t task)
{
	struct world_task *t = &w->tasks[task];
	const struct sim_step *step = world_step(w, t);
	uint64_t pages = world_arg(w, t, step->amount_arg, step->amount);
	if (t->read_phase == PHASE_WANT_DEVICE)
		return miss(w, task, step, pages);
	if (t->read_phase == PHASE_DEVICE) {
		device_done(w, task, step, pages);
		t->page = UINT64_MAX;
	}
	uint64_t cost_ns = scan(w, t, step, pages);
	if (cost_ns) {
		world_work_for(w, t, cost_ns);
		return false;
	}
	return t->pages_done == pages ? true : miss(w, task, step, pages);
}
