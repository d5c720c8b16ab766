/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fast engine of the single-server model. With one first-come-first-served server and constant
 * service and timeout, an attempt's fate follows from the one before it (Lindley's recursion), and
 * retries come due in the order they were decided: two sorted streams to merge, no heap. It cannot
 * host a policy that looks at the queue; causal.c can.
 */
#include "sim/single/single.h"

#include <stdlib.h>

#include "sim/base/memory.h"

#define ATTEMPT_BITS 8 /* of a pending retry: attempt number below, arrival above */

/* Pending retries, first in first out; a ring of a power of two. */
struct pending {
	uint64_t *ring;
	size_t capacity, head, tail;
};

static void grow(struct pending *pending)
{
	size_t count = pending->tail - pending->head, next = pending->capacity * 2;
	uint64_t *ring = sim_alloc(next, sizeof(*ring));
	for (size_t i = 0; i < count; i++)
		ring[i] = pending->ring[(pending->head + i) & (pending->capacity - 1)];
	free(pending->ring);
	*pending = (struct pending){ .ring = ring, .capacity = next, .tail = count };
}

static inline void push(struct pending *pending, uint64_t packed)
{
	if (pending->tail - pending->head == pending->capacity)
		grow(pending);
	pending->ring[pending->tail++ & (pending->capacity - 1)] = packed;
}

static inline uint64_t first(const struct pending *pending)
{
	return pending->head == pending->tail
		       ? UINT64_MAX
		       : pending->ring[pending->head & (pending->capacity - 1)];
}

/* Where completions are counted: a window that only moves forward. */
struct cursor {
	struct sim_window *row, *end;
	uint64_t until_ns; /* the first instant past `row` */
};

static inline void cursor_move(struct cursor *cursor, uint64_t at_ns)
{
	while (at_ns >= cursor->until_ns && cursor->row < cursor->end) {
		cursor->row++;
		cursor->until_ns += SIM_NS_PER_S;
	}
}

void sim_sweep(const struct sim_single *single, sim_budget_fn budget, void *state,
	uint64_t attempts_limit, struct sim_windows *windows)
{
	const struct sim_single s = *single;
	struct pending pending = { .ring = sim_alloc(1024, sizeof(uint64_t)), .capacity = 1024 };
	struct sim_window dropped = { 0 };
	sim_windows_init(windows, single);
	struct sim_window *end = windows->rows + windows->count;
	struct cursor in = { windows->rows, end, SIM_NS_PER_S }, out = in;
	uint64_t next_original_ns = 0, free_ns = 0, attempts = 0;

	for (; attempts < attempts_limit; attempts++) {
		uint64_t retry = first(&pending), at_ns = retry >> ATTEMPT_BITS, attempt = 0;
		if (next_original_ns <= at_ns) {
			at_ns = next_original_ns;
			next_original_ns += s.interval_ns;
		} else {
			attempt = retry & ((1u << ATTEMPT_BITS) - 1);
			pending.head++;
		}
		if (at_ns >= s.duration_ns || free_ns >= SIM_TIME_MAX)
			break;
		cursor_move(&in, at_ns);
		in.row->offered++;
		uint64_t start_ns = at_ns > free_ns ? at_ns : free_ns;
		if (start_ns - s.outage_start_ns < s.outage_ns)
			start_ns = s.outage_start_ns + s.outage_ns;
		free_ns = start_ns + s.service_ns;
		cursor_move(&out, free_ns);
		struct sim_window *row = out.row < end ? out.row : &dropped;
		row->completed++;
		if (free_ns - at_ns <= s.timeout_ns)
			row->goodput++;
		else if (attempt < s.retries && (!budget || budget(state, at_ns + s.timeout_ns)))
			push(&pending, (at_ns + s.timeout_ns) << ATTEMPT_BITS | (attempt + 1));
	}
	windows->attempts = attempts;
	if (attempts >= attempts_limit)
		windows->bound = "number of events";
	else if (free_ns >= SIM_TIME_MAX)
		windows->bound = "virtual time";
	windows->memory_bytes = pending.capacity * sizeof(*pending.ring);
	free(pending.ring);
}
