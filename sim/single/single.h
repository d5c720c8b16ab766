/* SPDX-License-Identifier: Apache-2.0 */
/*
 * single.h - one server, one queue, clients that time out and retry: the model of lanes 1 to 3 and
 * of the exercises (docs/simulator.md has every rule).
 *
 * Two engines run it: `sim_sweep` (sweep.c) walks attempts in order of arrival and needs no
 * feedback from the future; `sim_causal` (causal.c) is event-driven and lets a policy see what
 * happens when it happens. Where both apply they give the same windows.
 */
#ifndef SIM_SINGLE_H
#define SIM_SINGLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/clock.h"
#include "sim/base/policy.h"

struct sim_single {
	uint64_t interval_ns; /* between originals: 1e9 / load, integer division */
	uint64_t service_ns, timeout_ns;
	uint64_t outage_start_ns, outage_ns; /* no start inside [start, start + outage) */
	uint64_t duration_ns;		     /* arrivals end here; the queue drains */
	uint32_t retries;		     /* at most, for each original */
};

struct sim_window { /* one second */
	uint32_t offered, rejected, goodput;
	uint32_t completed; /* attempts served, in time or not */
};

struct sim_windows {
	struct sim_window *rows;
	size_t count; /* whole seconds of the duration, a started one included */
	uint64_t attempts;
	uint64_t memory_bytes; /* what the engine held beside these rows, at most */
	const char *bound;     /* NULL, or the bound that ended the run early */
};

/* Rows for the whole duration, all zero. */
void sim_windows_init(struct sim_windows *windows, const struct sim_single *single);
void sim_windows_free(struct sim_windows *windows);
/* Attempts in the system at the end of each second, `count` values; free with free(). */
uint64_t *sim_windows_backlog(const struct sim_windows *windows);
/* The first second, from the one the outage starts in, after which every window's goodput is the
 * load; -1 when there is none. */
int64_t sim_heal_second(const struct sim_windows *windows, const struct sim_single *single);

/* May a retry be sent at `now_ns`? Called in the order of time. */
typedef bool (*sim_budget_fn)(void *state, uint64_t now_ns);

/* The fast engine. `budget` NULL: every retry may be sent. Stops after `attempts_limit`. Memory
 * holds the windows and the retries that wait for their timeout, whatever the backlog. */
void sim_sweep(const struct sim_single *single, sim_budget_fn budget, void *state,
	uint64_t attempts_limit, struct sim_windows *windows);

/* What became of an attempt that was served. */
typedef void (*sim_served_fn)(
	void *state, const struct sim_attempt *attempt, uint64_t done_ns, bool in_time);

struct sim_causal_options {
	const struct sim_policy *policy; /* NULL: admit all, allow all */
	bool retry_on_reject; /* a reject costs a retry too, sent reject_backoff_ns later */
	uint64_t reject_backoff_ns;
	uint64_t reject_cost_ns; /* server time a reject takes, ahead of everything */
	sim_served_fn served;	 /* may be NULL */
	void *served_state;
	uint64_t events_limit; /* arrivals and completions; 0: SIM_EVENTS_DEFAULT */
};

#define SIM_TIME_MAX  (1ull << 62) /* nanoseconds, 146 years: no run goes past it */
#define SIM_QUEUE_MAX 67108864ull  /* bound on attempts queued at once (1 GiB) */

struct sim_causal_cost {
	uint64_t queued_max;   /* most attempts in the queue at once … */
	uint64_t memory_bytes; /* … and what the queue took then */
	uint64_t events;
};

/* The causal engine. `cost` may be NULL. */
void sim_causal(const struct sim_single *single, const struct sim_causal_options *options,
	struct sim_windows *windows, struct sim_causal_cost *cost);

#endif
