/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storm.h - lane 1's server and clients in a world, with a culprit in place of the outage.
 *
 * One server slot, constant service, clients with a timeout and retries. Each request crosses a
 * table lock before it is served; the culprit takes that lock exclusively at `lock_at_ns` and keeps
 * it for `hold_ns`. While it does, the request at the head holds the slot and nothing starts: what
 * an outage does, except that somebody can be asked to stop.
 */
#ifndef SIM_SETUPS_STORM_H
#define SIM_SETUPS_STORM_H

#include "sim/world/world.h"

struct sim_storm { /* zero = default */
	uint64_t load_qps;
	uint64_t service_ns;	     /* [3,333,333] */
	uint64_t timeout_ns;	     /* [1 s] */
	uint32_t retries;	     /* of a victim */
	uint64_t lock_at_ns;	     /* [30 s] */
	uint64_t hold_ns;	     /* 0: no culprit */
	uint64_t duration_ns;	     /* [200 s] */
	uint32_t culprit_retries;    /* new tasks its client sends after a cancel */
	uint64_t culprit_backoff_ns; /* before each; 0: at once */
	bool culprit_exempt;	     /* it may not be cancelled: a plain outage */
	uint64_t slo_ns;	     /* [50 ms] of a victim */
	bool retry_on_reject;
	/* Long statements that hold nothing and do nobody harm: one every gap; 0: none. */
	uint64_t report_gap_ns, report_ns;
	uint32_t users; /* closed-loop ones beside the open load, a second of thought each */
	struct sim_policy policy;
	struct sim_world_options world; /* the rest of it: pipeline, latencies, zombies, check */
};

struct sim_storm_outcome {
	bool heals;
	bool undecided;		 /* not healed, but still draining at the end */
	int64_t heal_s;		 /* first healthy second, -1: never */
	uint64_t release_ns;	 /* of the first hold, from its taking; to the end when never */
	uint64_t release_sum_ns; /* of all holds of the culprit and its retries */
	uint32_t holds;
	uint64_t goodput, offered, failed;
	uint64_t barred;		 /* the culprit's tasks that were kept out */
	uint64_t cancels, wrong_cancels; /* wrong: the target was not the culprit's */
	uint64_t decided_ns;		 /* from the taking of the lock; 0: no verdict */
	uint64_t wasted_ns;
	uint64_t late_bins; /* of 100 ms */
	uint64_t stopped;   /* victims ended by a statement timeout or as zombies */
	uint64_t reports, reports_stopped;
	uint64_t zombies;	  /* victims' attempts served for nobody */
	uint64_t regular_windows; /* overload, and no culprit in it */
	uint64_t second_half_goodput;
};

/* A world ready to run; victims are client 0, the culprit client 1, reports client 2,
 * closed-loop users client 3. NULL with
 * *why. */
struct sim_world *sim_storm_new(const struct sim_storm *storm, const char **why);
/* After sim_world_run. */
void sim_storm_read(const struct sim_storm *storm, const struct sim_world *world,
	struct sim_storm_outcome *outcome);
/* Largest outage that heals whenever it starts, one retry: T(1 + (1-rho)^2/rho) - service, in
 * nanoseconds (overload-control model of Bronson et al., HotOS 2021, worked out for one server). */
uint64_t sim_storm_survivable_ns(const struct sim_storm *storm);

#endif
