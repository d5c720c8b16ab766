/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - the agenda of a causal run: what happens next.
 *
 * Ordered by instant; at one instant by rank (trigger, completion, wake, timeout, arrival, tick),
 * then by sequence. With these ties the event engine gives the windows of the sweep
 * (docs/simulator.md). An event cannot be taken back: put a generation in `arg` and ignore the
 * stale one.
 */
#ifndef SIM_BASE_EVENTS_H
#define SIM_BASE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_rank {
	SIM_RANK_TRIGGER, /* what a run is about to suffer: it begins before all else */
	SIM_RANK_COMPLETION,
	SIM_RANK_WAKE,
	SIM_RANK_TIMEOUT,
	SIM_RANK_ARRIVAL,
	SIM_RANK_TICK, /* windows, samplers, controllers: they see all that happened at the instant
			*/
};

struct sim_event {
	uint64_t at_ns;
	uint64_t order; /* rank in the top 4 bits, sequence below */
	uint32_t kind;	/* the owner's meaning */
	uint32_t who;
	uint64_t arg;
};

#define SIM_RANKS   (SIM_RANK_TICK + 1)
#define SIM_STREAMS 6

/* Events that come due in the order they are added wait in lines, not in the heap: those of the
 * present instant (in a run without network delays, every other one), and those a constant time
 * ahead, as timeouts and network delays are. */
struct sim_line {
	struct sim_event *events;
	size_t head, count, capacity; /* a ring; capacity a power of two */
};

struct sim_stream { /* of one rank and one delay */
	struct sim_line line;
	uint64_t delay_ns;
	enum sim_rank rank;
};

struct sim_events {
	struct sim_event *heap;
	size_t count, capacity; /* of the heap */
	uint64_t next_sequence;
	uint64_t now_ns; /* of the last event taken */
	struct sim_line lines[SIM_RANKS];
	struct sim_stream streams[SIM_STREAMS];
	uint64_t last_delay_ns[SIM_RANKS]; /* the same twice in a row makes a stream */
};

void sim_events_init(struct sim_events *events);
void sim_events_free(struct sim_events *events);
/* Adds one; its sequence is the next in order of adding. O(log n). */
void sim_events_add(struct sim_events *events, uint64_t at_ns, enum sim_rank rank, uint32_t kind,
	uint32_t who, uint64_t arg);
/* The next one, removed. False: there is none. O(log n). */
bool sim_events_take(struct sim_events *events, struct sim_event *next);
/* Puts off all that is to come: the machine stood still. O(n). */
void sim_events_delay(struct sim_events *events, uint64_t delay_ns);
/* The next one, left in place; NULL: none. */
const struct sim_event *sim_events_peek(struct sim_events *events);

#endif
