/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose.h - scores and dominance of candidates, and what the policies share.
 */
#ifndef CANCEL_CORE_CHOOSE_H
#define CANCEL_CORE_CHOOSE_H

#include <cancel/policy.h>

/* Sum over r of C_r x gain, the gain as estimated. */
uint64_t choose_score(const struct cancel_choice *choice, const struct cancel_candidate *candidate);
/* Indices of the best by score, best first, the older of equals; returns how many. */
uint32_t choose_best(const struct cancel_choice *choice, uint32_t best[CANCEL_CANDIDATES_MAX]);
/* Marks who is dominated among the best CANCEL_CANDIDATES_MAX by score (set before). A candidate is
 * dominated by one that gains no less on every resource that counts and more on one. */
void choose_mark_dominated(struct cancel_candidate *candidates, const struct cancel_choice *choice);

/* ---- For policies ---------------------------------------------------------------------------- */

/* Sum over r of C_r x micro[r]. */
uint64_t choose_weighted(const struct cancel_choice *choice, const uint64_t *micro);
/* Whether a comes before b: the larger value, and of equals the older task. */
bool choose_precedes(uint64_t a_value, const struct cancel_candidate *a, uint64_t b_value,
	const struct cancel_candidate *b);
typedef uint64_t (*choose_value_fn)(
	const struct cancel_choice *choice, const struct cancel_candidate *candidate);
/* The candidate with the largest value; the older of equals; -1 of none. */
int choose_largest(const struct cancel_choice *choice, choose_value_fn value);

#define X(symbol, name, what) int policy_##symbol(const struct cancel_choice *choice);
CANCEL_POLICIES(X)
#undef X

#endif
