/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose.h - dominance and scores of candidates; the policies by name are in policy.h.
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

#endif
