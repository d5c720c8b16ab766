/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - virtual time of one run, and the bounds no run may pass.
 *
 * Time is nanoseconds since the start of the run and never goes back. A run ends by itself or at a
 * bound (virtual time or number of events); `sim_clock_bound` says which one, so that a report can.
 */
#ifndef SIM_BASE_CLOCK_H
#define SIM_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_NS_PER_S  1000000000ull
#define SIM_NS_PER_MS 1000000ull
#define SIM_NS_PER_US 1000ull

#define SIM_EVENTS_DEFAULT 4000000000ull /* bound on events of a run that names none */

struct sim_clock {
	uint64_t now_ns;
	uint64_t limit_ns;
	uint64_t events, events_limit;
	const char *bound; /* NULL until one was hit */
};

/* limit_ns: the last instant an event may have; events_limit 0: SIM_EVENTS_DEFAULT. */
void sim_clock_init(struct sim_clock *clock, uint64_t limit_ns, uint64_t events_limit);
/* Moves to `at_ns` and counts an event. False: a bound was hit, time stays, the run must end. */
bool sim_clock_advance(struct sim_clock *clock, uint64_t at_ns);
/* "virtual time" or "number of events" once hit, else NULL. */
const char *sim_clock_bound(const struct sim_clock *clock);

#endif
