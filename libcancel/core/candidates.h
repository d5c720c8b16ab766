/* SPDX-License-Identifier: Apache-2.0 */
/*
 * candidates.h - who of the blamed may be cancelled, what that would give back, and what holds the
 * others back.
 */
#ifndef CANCEL_CORE_CANDIDATES_H
#define CANCEL_CORE_CANDIDATES_H

#include "libcancel/core/usage.h"

/* With the default thresholds at most five resources count and at most fifty tasks have 2 % of the
 * blame of each. Where lower thresholds admit more, the list is thinned out so that the policy's
 * choice stays what it would be of all. */
#define CANDIDATE_LIMIT 256u

struct candidates {
	struct cancel_candidate list[CANDIDATE_LIMIT]; /* eligible, in no order */
	uint32_t slots[CANDIDATE_LIMIT];
	/* Resources (bits) for which each is a candidate. */
	uint64_t significant_mask[CANDIDATE_LIMIT];
	uint32_t count;
	struct cancel_contender held[CANCEL_CANDIDATES_MAX]; /* held back, best score first */
	uint32_t held_count;
	uint32_t seen_count, eligible_count; /* all, whether kept or not */
	uint32_t by_cause[CANCEL_CAUSE_COUNT];
	/* C_r, 0 where it does not count; and the same, 0 also where r has left the score. */
	uint32_t weight_ppm[CANCEL_RESOURCES_MAX];
	uint32_t contention_ppm[CANCEL_RESOURCES_MAX];
	/* Delay of three windows, but for instances where nobody may be a candidate. */
	uint64_t open_us[CANCEL_RESOURCES_MAX];
	bool awaited;			 /* some of these: an earlier cancel may show there yet */
	uint64_t contended_mask;	 /* resources (bits) that count … */
	uint64_t barred_mask;		 /* … and of those the ones with such instances */
	struct cancel_contender blocker; /* the strongest of them, by blame; task 0: none */
	struct cancel_contender brief;	 /* who carries most of those that hold too short */
	uint32_t top_resource;		 /* the most contended of the score */
	/* Share of each resource's delay that its candidates have together, kept or not. */
	uint64_t explained_ppm[CANCEL_RESOURCES_MAX];
	uint64_t min_blame_us; /* less blame than this is too little for any resource */
};

void candidates_gather(
	struct candidates *candidates, const struct inputs *inputs, uint64_t contended_mask);
/* The choice a policy is asked to make. */
struct cancel_choice candidates_choice(
	const struct candidates *candidates, const struct inputs *inputs);
/* The resources (bits) the choice is about. */
uint64_t candidates_scored(const struct candidates *candidates);
/* The candidate in short, on resource r. */
struct cancel_contender candidates_contender(const struct cancel_candidate *candidate, uint32_t r);

#endif
