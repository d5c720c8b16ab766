/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A four-way heap of events (half the depth of a binary one), and a line for each rank at the
 * present instant.
 */
#include "sim/base/events.h"

#include <stdlib.h>

#include "sim/base/memory.h"

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
	for (size_t i = 0; i < SIM_STREAMS; i++)
		free(events->streams[i].line.events);
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

/* The line of events so far ahead; NULL: none, and not worth one. */
static struct sim_line *stream_for(struct sim_events *events, uint64_t at_ns, enum sim_rank rank)
{
	uint64_t delay_ns = at_ns - events->now_ns;
	struct sim_stream *empty = NULL;
	for (size_t i = 0; i < SIM_STREAMS; i++) {
		struct sim_stream *stream = &events->streams[i];
		if (stream->delay_ns == delay_ns && stream->rank == rank)
			return &stream->line;
		if (stream->line.count == 0)
			empty = stream;
	}
	bool again = events->last_delay_ns[rank] == delay_ns;
	events->last_delay_ns[rank] = delay_ns;
	if (!again || !empty)
		return NULL;
	empty->delay_ns = delay_ns;
	empty->rank = rank;
	return &empty->line;
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
	struct sim_line *line =
		at_ns == events->now_ns ? &events->lines[rank] : stream_for(events, at_ns, rank);
	if (line)
		line_add(line, &added);
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

static const struct sim_event *first_of(const struct sim_line *line)
{
	return &line->events[line->head];
}

/* The line whose first event is next; NULL: the heap's is, or there is none. */
static struct sim_line *next_line(struct sim_events *events)
{
	const struct sim_event *best = events->count > 0 ? &events->heap[0] : NULL;
	struct sim_line *found = NULL;
	for (size_t rank = 0; rank < SIM_RANKS; rank++) {
		struct sim_line *line = &events->lines[rank];
		if (line->count == 0)
			continue;
		if (!best || before(first_of(line), best)) {
			best = first_of(line);
			found = line;
		}
		break; /* lines of higher ranks come later */
	}
	for (size_t i = 0; i < SIM_STREAMS; i++) {
		struct sim_line *line = &events->streams[i].line;
		if (line->count > 0 && (!best || before(first_of(line), best))) {
			best = first_of(line);
			found = line;
		}
	}
	return found;
}

bool sim_events_take(struct sim_events *events, struct sim_event *next)
{
	struct sim_line *line = next_line(events);
	if (line) {
		*next = *first_of(line);
		line->head = (line->head + 1) & (line->capacity - 1);
		line->count--;
		events->now_ns = next->at_ns;
		return true;
	}
	if (events->count == 0)
		return false;
	heap_take(events, next);
	events->now_ns = next->at_ns;
	return true;
}

const struct sim_event *sim_events_peek(struct sim_events *events)
{
	const struct sim_line *line = next_line(events);
	if (line)
		return first_of(line);
	return events->count > 0 ? &events->heap[0] : NULL;
}

static void delay_line(struct sim_line *line, uint64_t delay_ns)
{
	for (size_t i = 0; i < line->count; i++)
		line->events[(line->head + i) & (line->capacity - 1)].at_ns += delay_ns;
}

void sim_events_delay(struct sim_events *events, uint64_t delay_ns)
{
	for (size_t i = 0; i < events->count; i++)
		events->heap[i].at_ns += delay_ns;
	for (size_t i = 0; i < SIM_RANKS; i++)
		delay_line(&events->lines[i], delay_ns);
	for (size_t i = 0; i < SIM_STREAMS; i++)
		delay_line(&events->streams[i].line, delay_ns);
}
