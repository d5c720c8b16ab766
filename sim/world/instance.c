/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance.c - the instances of locks and slot queues, each strictly first come, first served.
 *
 * Owns the instances, the tasks' ledger entries for them and who waits where. A grant puts the waiter
 * on the ready list; it never runs it.
 */
#include <assert.h>

#include "sim/world/parts.h"

struct world_entry *world_entry_find(
	struct sim_world *w, const struct world_task *t, uint8_t resource, uint32_t instance)
{
	for (uint32_t i = t->entries; i != NONE; i = w->entries[i].next) {
		struct cancel_ledger_entry *e = &w->entries[i].ledger;
		if (e->resource == resource && e->instance == instance)
			return &w->entries[i];
	}
	return NULL;
}

struct world_entry *world_entry(
	struct sim_world *w, struct world_task *t, uint8_t resource, uint32_t instance)
{
	struct world_entry *found = world_entry_find(w, t, resource, instance);
	if (found)
		return found;
	uint32_t i;
	w->entries = sim_slab_take(&w->entry_slab, w->entries, sizeof *w->entries, &i);
	w->entries[i] = (struct world_entry){
		.ledger = { .resource = resource, .instance = instance },
		.next = t->entries,
	};
	t->entries = i;
	return &w->entries[i];
}

static struct world_instance *instance_of(struct sim_world *w, uint8_t resource, uint32_t instance)
{
	const struct world_resource *r = &w->resources[resource];
	assert(instance < r->options.instances);
	return &w->instances[r->first_instance + instance];
}

static bool grantable(
	const struct world_resource *r, const struct world_instance *at, uint64_t amount)
{
	if (r->options.type == CANCEL_QUEUE)
		return at->slots_used + amount <= r->options.capacity;
	uint8_t conflicts = r->ledger.conflicts[amount - 1];
	for (unsigned mode = 0; mode < CANCEL_LOCK_MODES_MAX; mode++)
		if (at->holders[mode] && (conflicts >> mode & 1))
			return false;
	return true;
}

/* Slot time runs from here on at the new number of slots. */
static void settle_hold(const struct sim_world *w, struct cancel_ledger_entry *e, bool queue)
{
	if (e->held)
		e->hold_ns += world_since(w, e->held_since_ns) * (queue ? e->held : 1);
}

static void grant(struct sim_world *w, const struct world_resource *r, struct world_instance *at,
	struct world_entry *entry, uint64_t amount)
{
	struct cancel_ledger_entry *e = &entry->ledger;
	bool queue = r->options.type == CANCEL_QUEUE;
	settle_hold(w, e, queue);
	entry->acquires++;
	if (queue) {
		at->slots_used += amount;
		e->held += amount;
		e->held_since_ns = world_stamp(w);
	} else {
		at->holders[amount - 1]++;
		e->held_since_ns = e->held ? e->held_since_ns : world_stamp(w);
		e->held++;
		e->held_modes |= (uint8_t)(1u << (amount - 1));
	}
}

static uint64_t wanted_amount(const struct sim_world *w, const struct world_task *t,
	uint8_t *resource, uint32_t *instance)
{
	const struct sim_step *step = world_step(w, t);
	if (step->kind == SIM_STEP_READ) { /* a slot of the pool's device */
		*resource = (uint8_t)(w->resources[step->resource].options.io_resource - 1);
		*instance = 0;
		return 1;
	}
	*resource = step->resource;
	*instance = (uint32_t)world_arg(w, t, step->instance_arg, step->instance);
	return step->kind == SIM_STEP_LOCK ? step->mode
					   : world_arg(w, t, step->amount_arg, step->amount);
}

static void unqueue(struct sim_world *w, struct world_instance *at, struct world_task *t)
{
	if (t->previous == NONE)
		at->head = t->next;
	else
		w->tasks[t->previous].next = t->next;
	if (t->next == NONE)
		at->tail = t->previous;
	else
		w->tasks[t->next].previous = t->previous;
	t->waits_in = t->next = t->previous = NONE;
	at->waiting--;
}

static void end_wait(struct sim_world *w, struct world_entry *entry)
{
	struct cancel_ledger_entry *e = &entry->ledger;
	e->wait_ns += world_since(w, e->waiting_since_ns);
	e->waiting_since_ns = 0;
	e->wanted_mode = 0;
	entry->waits++;
}

/* Lets in as many from the head as fit. */
static void pump(struct sim_world *w, struct world_instance *at)
{
	while (at->head != NONE) {
		uint32_t index = at->head;
		struct world_task *t = &w->tasks[index];
		uint8_t resource;
		uint32_t instance;
		uint64_t amount = wanted_amount(w, t, &resource, &instance);
		const struct world_resource *r = &w->resources[resource];
		if (!grantable(r, at, amount))
			return;
		struct world_entry *entry = world_entry_find(w, t, resource, instance);
		unqueue(w, at, t);
		end_wait(w, entry);
		grant(w, r, at, entry, amount);
		t->state = TASK_READY;
		world_ready(w, index);
	}
}

bool world_take(
	struct sim_world *w, uint32_t task, uint8_t resource, uint32_t instance, uint64_t amount)
{
	struct world_task *t = &w->tasks[task];
	const struct world_resource *r = &w->resources[resource];
	struct world_instance *at = instance_of(w, resource, instance);
	struct world_entry *entry = world_entry(w, t, resource, instance);
	if (r->options.type == CANCEL_LOCK && entry->ledger.held)
		w->broken = "a script takes a lock it already holds";
	if (at->head == NONE && grantable(r, at, amount)) {
		grant(w, r, at, entry, amount);
		return true;
	}
	entry->ledger.waiting_since_ns = world_stamp(w);
	if (r->options.type == CANCEL_LOCK)
		entry->ledger.wanted_mode = (uint8_t)amount;
	t->state = TASK_WAITING;
	t->waits_in = (uint32_t)(at - w->instances);
	t->next = NONE;
	t->previous = at->tail;
	if (at->tail == NONE)
		at->head = task;
	else
		w->tasks[at->tail].next = task;
	at->tail = task;
	at->waiting++;
	return false;
}

static void give(struct sim_world *w, struct world_entry *entry, uint64_t amount)
{
	struct cancel_ledger_entry *e = &entry->ledger;
	const struct world_resource *r = &w->resources[e->resource];
	struct world_instance *at = instance_of(w, e->resource, e->instance);
	bool queue = r->options.type == CANCEL_QUEUE;
	settle_hold(w, e, queue);
	if (queue) {
		at->slots_used -= amount;
		e->held -= amount;
	} else {
		at->holders[amount - 1]--;
		e->held--;
		e->held_modes &= (uint8_t) ~(1u << (amount - 1));
	}
	e->held_since_ns = e->held ? world_stamp(w) : 0;
	pump(w, at);
}

void world_give(
	struct sim_world *w, uint32_t task, uint8_t resource, uint32_t instance, uint64_t amount)
{
	struct world_entry *entry = world_entry_find(w, &w->tasks[task], resource, instance);
	if (entry && entry->ledger.held)
		give(w, entry, amount);
}

void world_stop_waiting(struct sim_world *w, uint32_t task)
{
	struct world_task *t = &w->tasks[task];
	struct world_instance *at = &w->instances[t->waits_in];
	uint8_t resource;
	uint32_t instance;
	(void)wanted_amount(w, t, &resource, &instance);
	unqueue(w, at, t);
	end_wait(w, world_entry_find(w, t, resource, instance));
	pump(w, at);
}

void world_give_all(struct sim_world *w, uint32_t task)
{
	for (uint32_t i = w->tasks[task].entries; i != NONE; i = w->entries[i].next) {
		struct cancel_ledger_entry *e = &w->entries[i].ledger;
		if (w->resources[e->resource].options.type == CANCEL_MEMORY)
			continue;
		for (unsigned mode = 1; e->held_modes; mode++)
			if (e->held_modes >> (mode - 1) & 1)
				give(w, &w->entries[i], mode);
		if (e->held)
			give(w, &w->entries[i], e->held);
	}
}
