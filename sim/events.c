/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A four-way heap of events: half the depth of a binary one, and a node's children share a cache
 * line pair. Knows nothing of what an event means.
 */
#include "sim/events.h"

#include <stdlib.h>

#include "sim/memory.h"

#define WAYS 4

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns;
	return a->order < b->order;
}

void sim_events_init(struct sim_events *events)
{
	*events = (struct sim_events){ 0 };
}

void sim_events_free(struct sim_events *events)
{
	free(events->heap);
	sim_events_init(events);
}

void sim_events_add(struct sim_events *events, uint64_t at_ns, enum sim_rank rank, uint32_t kind,
	uint32_t who, uint64_t arg)
{
	struct sim_event added = {
		.at_ns = at_ns,
		.order = (uint64_t)rank << 60 | events->next_sequence++,
		.kind = kind,
		.who = who,
		.arg = arg,
	};
	events->heap =
		sim_grow(events->heap, &events->capacity, events->count + 1, sizeof(*events->heap));
	size_t at = events->count++;
	while (at > 0) {
		size_t parent = (at - 1) / WAYS;
		if (!before(&added, &events->heap[parent]))
			break;
		events->heap[at] = events->heap[parent];
		at = parent;
	}
	events->heap[at] = added;
}

static size_t first_child(const struct sim_events *events, size_t at)
{
	size_t best = at * WAYS + 1;
	size_t end = best + WAYS < events->count ? best + WAYS : events->count;
	for (size_t child = best + 1; child < end; child++)
		if (before(&events->heap[child], &events->heap[best]))
			best = child;
	return best;
}

bool sim_events_take(struct sim_events *events, struct sim_event *next)
{
	if (events->count == 0)
		return false;
	*next = events->heap[0];
	struct sim_event last = events->heap[--events->count];
	size_t at = 0;
	while (at * WAYS + 1 < events->count) {
		size_t child = first_child(events, at);
		if (!before(&events->heap[child], &last))
			break;
		events->heap[at] = events->heap[child];
		at = child;
	}
	if (events->count > 0)
		events->heap[at] = last;
	return true;
}

const struct sim_event *sim_events_peek(const struct sim_events *events)
{
	return events->count > 0 ? &events->heap[0] : NULL;
}
