/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A four-way heap of events (half the depth of a binary one), and a line for each rank at the
 * present instant. Knows nothing of what an event means.
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
	for (size_t rank = 0; rank < SIM_RANKS; rank++)
		free(events->lines[rank].events);
	free(events->heap);
	sim_events_init(events);
}

static void line_grow(struct sim_line *line)
{
	size_t next = line->capacity > 0 ? line->capacity * 2 : 64;
	struct sim_event *moved = sim_alloc(next, sizeof(*moved));
	for (size_t i = 0; i < line->count; i++)
		moved[i] = line->events[(line->head + i) & (line->capacity - 1)];
	free(line->events);
	*line = (struct sim_line){ .events = moved, .count = line->count, .capacity = next };
}

static void line_add(struct sim_line *line, const struct sim_event *event)
{
	if (line->count == line->capacity)
		line_grow(line);
	line->events[(line->head + line->count++) & (line->capacity - 1)] = *event;
}

static void heap_add(struct sim_events *events, const struct sim_event *added)
{
	events->heap =
		sim_grow(events->heap, &events->capacity, events->count + 1, sizeof(*events->heap));
	size_t at = events->count++;
	while (at > 0) {
		size_t parent = (at - 1) / WAYS;
		if (!before(added, &events->heap[parent]))
			break;
		events->heap[at] = events->heap[parent];
		at = parent;
	}
	events->heap[at] = *added;
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
	if (at_ns == events->now_ns)
		line_add(&events->lines[rank], &added);
	else
		heap_add(events, &added);
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

static void heap_take(struct sim_events *events, struct sim_event *next)
{
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
}

/* The line whose first event is next; NULL: the heap's is, or there is none. */
static struct sim_line *next_line(const struct sim_events *events)
{
	for (size_t rank = 0; rank < SIM_RANKS; rank++) {
		const struct sim_line *line = &events->lines[rank];
		if (line->count == 0)
			continue;
		bool heap_first =
			events->count > 0 && before(&events->heap[0], &line->events[line->head]);
		return heap_first ? NULL : (struct sim_line *)(uintptr_t)line;
	}
	return NULL;
}

bool sim_events_take(struct sim_events *events, struct sim_event *next)
{
	struct sim_line *line = next_line(events);
	if (line) {
		*next = line->events[line->head];
		line->head = (line->head + 1) & (line->capacity - 1);
		line->count--;
		return true;
	}
	if (events->count == 0)
		return false;
	heap_take(events, next);
	events->now_ns = next->at_ns;
	return true;
}

const struct sim_event *sim_events_peek(const struct sim_events *events)
{
	const struct sim_line *line = next_line(events);
	if (line)
		return &line->events[line->head];
	return events->count > 0 ? &events->heap[0] : NULL;
}
