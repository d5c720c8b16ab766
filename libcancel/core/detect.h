/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detect.h - is the server overloaded? Late episodes with a throughput that does not grow.
 */
#ifndef CANCEL_CORE_DETECT_H
#define CANCEL_CORE_DETECT_H

#include "libcancel/core/settings.h"
#include "libcancel/core/window.h"

#define DETECT_SAMPLES 512u /* of 25 ms or more: eleven seconds need 440 */

struct detect_sample { /* the cumulative counters at one instant */
	uint64_t at_ns, completed;
	uint32_t in_flight;
};

struct detect {
	struct detect_sample samples[DETECT_SAMPLES]; /* a ring */
	uint32_t sample_count, next_sample;
	uint64_t completed; /* since start, as summed over windows */
	uint64_t started_ns;
	uint32_t raw_history; /* bit 0 = this window met the suspicion rule, bit 1 = the one before
				 … */
	uint32_t clean_windows;	 /* in a row, while suspicious */
	uint64_t clean_since_ns; /* start of that row */
	uint64_t late_since_ns;	 /* start of the running row of late windows, 0 = none */
	uint64_t late_task;	 /* the one whose lateness began it; 0: a completed one's */
	uint64_t other_since_ns; /* when another than that was late, 0 = not yet */
	/* What the step found. */
	bool suspicious;
	bool confirmed; /* this window and one of the two before met the rule */
	bool warm;	/* long enough since start to judge */
	bool ended;	/* a suspicion ended with this window */
	uint32_t late_share_ppm, late_tasks;
	uint64_t onset_ns, suspected_ns;     /* of the running suspicion */
	uint64_t onset_task, other_onset_ns; /* as above, when it began */
	uint64_t recovered_ns;		     /* when the ended one really was over */
};

/* `stuck`: somebody waits for more than three times its SLO on something held. */
void detect_step(struct detect *detect, const struct window *window,
	const struct settings *settings, bool stuck);

/* The onset of the running suspicion for the victims of this task: a culprit that misses its own
 * SLO before it harms anybody does not begin it. */
uint64_t detect_onset_ns(const struct detect *detect, uint64_t task);

/* Is noticeably less work in flight than a window ago? For right after a release: the suspicion
 * itself looks further back. */
bool detect_drains(const struct detect *detect);

#endif
