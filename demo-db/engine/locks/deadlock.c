/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deadlock.c - who can still make progress?
 *
 * A waiter for a lock needs all that bar it: the holders of conflicting modes, and, because service
 * is first come first served, the waiter in front of it. A waiter for a worker slot needs any one
 * of those that hold slots. Everybody who waits for nothing can go on (a session that is idle in
 * its transaction too: its client may commit). From there, progress is spread until nothing
 * changes; who is left is deadlocked. That finds a cycle through two locks as well as N workers
 * asleep on a lock whose holder waits for a worker.
 *
 * The victim is the youngest lock waiter of one cycle. A waiter for a slot is never it: it would
 * need a slot to hear about it.
 *
 * The space's mutex and the workers' are both held, so the picture is of one instant. It runs only
 * when a wait is older than check_ns.
 */
#include "demo-db/engine/locks/deadlock.h"

#include <stdio.h>
#include <stdlib.h>

enum node_kind { NODE_FREE, NODE_LOCK, NODE_SLOT };

struct deadlock_node {
	struct lock_owner *owner;
	enum node_kind kind;
	bool goes_on;
	bool holds_slot;
	uint32_t visited; /* step of the walk, 0 = not */
};

void deadlock_destroy(struct deadlock_search *search)
{
	free(search->nodes);
	search->nodes = NULL;
	search->capacity = 0;
}

/* ---- The graph ------------------------------------------------------------------------------- */

static uint32_t count_owners(const struct lock_space *space)
{
	uint32_t count = 0;
	for (struct lock_owner *owner = space->owners; owner; owner = owner->next_owner)
		count++;
	return count;
}

static bool make_room(struct deadlock_search *search, uint32_t count)
{
	if (count <= search->capacity)
		return true;
	struct deadlock_node *nodes = realloc(search->nodes, 2 * count * sizeof(*nodes));
	if (!nodes)
		return false;
	search->nodes = nodes;
	search->capacity = 2 * count;
	return true;
}

static void mark_slots(struct deadlock_node *nodes, const struct job_list *list)
{
	for (struct job *job = list->first; job; job = job->next)
		if (job->owner)
			nodes[job->owner->node].holds_slot = true;
}

static void mark_slot_waiters(struct deadlock_node *nodes, const struct workers *workers)
{
	for (uint32_t i = JOB_RESUME; i < JOB_CLASSES;
		i++) /* the front class gets its slot: the last is
		      * held by nobody who waits for a lock */
		for (struct job *job = workers->queues[i].first; job; job = job->next)
			if (job->owner)
				nodes[job->owner->node].kind = NODE_SLOT;
}

static uint32_t build(
	struct deadlock_search *search, struct lock_space *space, const struct workers *workers)
{
	uint32_t count = count_owners(space);
	if (!make_room(search, count))
		return 0;
	uint32_t at = 0;
	for (struct lock_owner *owner = space->owners; owner; owner = owner->next_owner) {
		owner->node = at;
		search->nodes[at++] = (struct deadlock_node){ .owner = owner,
			.kind = owner->wait.lock ? NODE_LOCK : NODE_FREE };
	}
	mark_slot_waiters(search->nodes, workers);
	mark_slots(search->nodes, &workers->running);
	mark_slots(search->nodes, &workers->ready);
	for (uint32_t i = 0; i < count; i++)
		search->nodes[i].goes_on = search->nodes[i].kind == NODE_FREE;
	return count;
}

/* ---- Progress -------------------------------------------------------------------------------- */

/* The next owner that bars a lock's waiter and cannot go on; NULL: none, so the waiter can. */
static struct lock_owner *barring(const struct deadlock_node *nodes, const struct lock_owner *owner)
{
	const struct lock *lock = owner->wait.lock;
	for (struct lock_grant *grant = lock->grants; grant; grant = grant->next)
		if (grant->owner != owner && !nodes[grant->owner->node].goes_on &&
			lock_bars(lock, grant->modes, owner->wait.mode))
			return grant->owner;
	struct lock_owner *ahead = owner->wait.previous;
	return ahead && !nodes[ahead->node].goes_on ? ahead : NULL;
}

static struct lock_owner *slot_holder(
	const struct deadlock_node *nodes, uint32_t count, bool goes_on)
{
	for (uint32_t i = 0; i < count; i++)
		if (nodes[i].holds_slot && nodes[i].goes_on == goes_on)
			return nodes[i].owner;
	return NULL;
}

/* A slot nobody's statement holds: its thread is between two jobs. */
static bool slot_in_passing(const struct workers *workers)
{
	uint32_t held = 0;
	for (const struct job *job = workers->running.first; job; job = job->next)
		held++;
	for (const struct job *job = workers->ready.first; job; job = job->next)
		held++;
	return workers->used > held;
}

static void spread_progress(struct deadlock_node *nodes, uint32_t count, bool free_slot)
{
	bool changed = true;
	while (changed) {
		changed = false;
		bool slot_comes = free_slot || slot_holder(nodes, count, true) != NULL;
		for (uint32_t i = 0; i < count; i++) {
			if (nodes[i].goes_on)
				continue;
			nodes[i].goes_on = nodes[i].kind == NODE_SLOT
						   ? slot_comes
						   : barring(nodes, nodes[i].owner) == NULL;
			changed = changed || nodes[i].goes_on;
		}
	}
}

/* ---- The victim ------------------------------------------------------------------------------ */

static struct deadlock_node *next_of(
	struct deadlock_node *nodes, uint32_t count, const struct deadlock_node *node)
{
	struct lock_owner *owner = node->kind == NODE_SLOT ? slot_holder(nodes, count, false)
							   : barring(nodes, node->owner);
	return owner ? &nodes[owner->node] : NULL;
}

/* Walks from a deadlocked node until one repeats: the walk from there on is a cycle. */
static struct lock_owner *youngest_of_cycle(
	struct deadlock_node *nodes, uint32_t count, struct deadlock_node *node)
{
	for (uint32_t step = 1; node && !node->visited; step++) {
		node->visited = step;
		node = next_of(nodes, count, node);
	}
	if (!node)
		return NULL;
	struct lock_owner *victim = NULL;
	const struct deadlock_node *start = node;
	do {
		if (node->kind == NODE_LOCK &&
			(!victim || node->owner->age > victim->age ||
				(node->owner->age == victim->age &&
					node->owner->number > victim->number)))
			victim = node->owner;
		node = next_of(nodes, count, node);
	} while (node != start);
	return victim;
}

static void end_victim(
	struct lock_space *space, const struct deadlock_node *nodes, struct lock_owner *victim)
{
	const struct lock *lock = victim->wait.lock;
	const struct lock_owner *by = barring(nodes, victim);
	snprintf(victim->wait_text, sizeof(victim->wait_text),
		"deadlock detected: session %llu waits for %s on %s, barred by session %llu",
		(unsigned long long)victim->number, lock->kind->mode_names[victim->wait.mode - 1],
		lock->name, (unsigned long long)(by ? by->number : 0));
	space->deadlocks++;
	lock_end_wait(victim, DB_EDEADLOCK);
}

static bool search_and_end(
	struct deadlock_search *search, struct lock_space *space, const struct workers *workers)
{
	uint32_t count = build(search, space, workers);
	spread_progress(search->nodes, count, slot_in_passing(workers));
	for (uint32_t i = 0; i < count; i++) {
		if (search->nodes[i].goes_on)
			continue;
		struct lock_owner *victim =
			youngest_of_cycle(search->nodes, count, &search->nodes[i]);
		if (victim)
			end_victim(space, search->nodes, victim);
		return victim != NULL;
	}
	return false;
}

static bool somebody_waits_long(const struct lock_space *space, uint64_t check_ns)
{
	if (!space->waiting)
		return false;
	uint64_t now_ns = cancel_now_ns();
	for (struct lock_owner *owner = space->owners; owner; owner = owner->next_owner)
		if (owner->wait.lock && now_ns - owner->wait.since_ns >= check_ns)
			return true;
	return false;
}

bool deadlock_resolve(
	struct deadlock_search *search, struct lock_space *space, struct workers *workers)
{
	bool found = false;
	pthread_mutex_lock(&space->mutex);
	if (somebody_waits_long(space, search->check_ns)) {
		pthread_mutex_lock(&workers->mutex);
		found = search_and_end(search, space, workers);
		pthread_mutex_unlock(&workers->mutex);
	}
	pthread_mutex_unlock(&space->mutex);
	return found;
}
