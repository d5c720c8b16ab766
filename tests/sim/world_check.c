/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_check.c - what must be true of a world after every event.
 *
 * Recounts everything from the tasks and compares it with the running counts. Reads only.
 */
#include "world_check.h"

#include "sim/world/parts.h"

static bool counts_agree(const struct world_instance *at, const struct world_instance *seen)
{
	for (int mode = 0; mode < CANCEL_LOCK_MODES_MAX; mode++)
		if (at->holders[mode] != seen->holders[mode])
			return false;
	return at->slots_used == seen->slots_used && at->waiting == seen->waiting;
}

static bool exclusive(const struct world_resource *r, const struct world_instance *at)
{
	for (int mode = 0; mode < CANCEL_LOCK_MODES_MAX; mode++) {
		if (at->holders[mode] == 0)
			continue;
		for (int other = 0; other < CANCEL_LOCK_MODES_MAX; other++) {
			bool conflict = r->ledger.conflicts[mode] >> other & 1;
			uint32_t beside = at->holders[other] - (mode == other);
			if (conflict && beside > 0)
				return false;
		}
	}
	return true;
}

/* What the live tasks say of one instance. */
static void recount(
	const struct sim_world *w, uint8_t resource, uint32_t instance, struct world_instance *seen)
{
	*seen = (struct world_instance){ 0 };
	for (size_t i = 0; i < w->task_slab.count; i++) {
		const struct world_task *t = &w->tasks[i];
		if (t->state == TASK_FREE)
			continue;
		for (uint32_t j = t->entries; j != NONE; j = w->entries[j].next) {
			const struct cancel_ledger_entry *e = &w->entries[j].ledger;
			if (e->resource != resource || e->instance != instance)
				continue;
			if (w->resources[resource].options.type == CANCEL_QUEUE)
				seen->slots_used += e->held;
			for (int mode = 0; mode < CANCEL_LOCK_MODES_MAX; mode++)
				seen->holders[mode] += e->held_modes >> mode & 1;
			seen->waiting += e->waiting_since_ns != 0;
		}
	}
}

static const char *check_instances(const struct sim_world *w)
{
	for (uint8_t i = 0; i < w->resource_count; i++) {
		const struct world_resource *r = &w->resources[i];
		if (r->options.type == CANCEL_MEMORY)
			continue;
		for (uint32_t j = 0; j < r->options.instances; j++) {
			const struct world_instance *at = &w->instances[r->first_instance + j];
			struct world_instance seen;
			recount(w, i, j, &seen);
			if (!counts_agree(at, &seen))
				return "an instance's counts differ from its tasks'";
			if (r->options.type == CANCEL_LOCK && !exclusive(r, at))
				return "incompatible modes are held together";
			if (r->options.type == CANCEL_QUEUE && at->slots_used > r->options.capacity)
				return "more slots are used than there are";
			if ((at->head == NONE) != (at->waiting == 0))
				return "a queue's length and its list differ";
		}
	}
	return NULL;
}

static const char *check_pools(const struct sim_world *w)
{
	for (uint8_t i = 0; i < w->resource_count; i++) {
		const struct world_resource *r = &w->resources[i];
		if (r->options.type != CANCEL_MEMORY)
			continue;
		if (r->pool.resident.count > r->pool.resident.capacity)
			return "more pages are resident than the pool has";
		for (size_t j = 0; j < w->task_slab.count; j++) {
			const struct world_task *t = &w->tasks[j];
			if (t->state == TASK_FREE)
				continue;
			const struct world_entry *entry = NULL;
			for (uint32_t k = t->entries; k != NONE; k = w->entries[k].next)
				if (w->entries[k].ledger.resource == i)
					entry = &w->entries[k];
			if ((entry ? entry->ledger.held : 0) != world_pool_owned(&r->pool, t->id))
				return "a task's pages differ from the pool's";
		}
	}
	return NULL;
}

static const char *check_tasks(const struct sim_world *w)
{
	uint64_t live = 0, on_nodes = 0;
	for (size_t i = 0; i < w->task_slab.count; i++) {
		const struct world_task *t = &w->tasks[i];
		if (t->state == TASK_FREE)
			continue;
		live++;
		if (t->state == TASK_READY)
			return "a task is ready, and nothing runs it";
		if ((t->state == TASK_WAITING) != (t->waits_in != NONE))
			return "a task waits in no queue, or is queued without waiting";
	}
	for (int i = 0; i < SIM_NODES_MAX; i++)
		on_nodes += w->nodes[i].live_count;
	return live == w->live_tasks && live == on_nodes ? NULL : "live tasks are miscounted";
}

/* Every original is settled once or still under way; every task has ended once or lives. */
static const char *check_requests(const struct sim_world *w)
{
	uint64_t open[SIM_CLIENTS_MAX] = { 0 }, live[SIM_CLIENTS_MAX] = { 0 };
	for (size_t i = 0; i < w->request_slab.count; i++)
		if (w->requests[i].references > 0 && !w->requests[i].settled)
			open[w->requests[i].client]++;
	for (size_t i = 0; i < w->task_slab.count; i++)
		if (w->tasks[i].state != TASK_FREE && !w->tasks[i].rejecting)
			live[w->tasks[i].client]++;
	for (uint32_t i = 0; i < w->client_count; i++) {
		const struct sim_client_totals *t = &w->clients[i].totals;
		uint64_t ended = t->completed + t->cancelled + t->stopped;
		if (t->tasks != ended + live[i])
			return "tasks are made and end in different numbers";
		if (!w->clients[i].options.service &&
			t->originals != t->succeeded + t->failed + open[i])
			return "requests are lost or counted twice";
	}
	return NULL;
}

const char *world_check(const struct sim_world *w)
{
	const char *broken = check_tasks(w);
	broken = broken ? broken : check_instances(w);
	broken = broken ? broken : check_pools(w);
	return broken ? broken : check_requests(w);
}
