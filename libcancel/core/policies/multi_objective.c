/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default, of Atropos (SOSP 2025): among the candidates that no other dominates, the largest
 * sum of gains weighted by contention. With weights that do not depend on the candidates a
 * dominated one never has the largest sum, so here the dominance step decides nothing by itself; it
 * explains, and it matters to `published`, which normalises over those that are left.
 */
#include "libcancel/core/choose.h"

static uint64_t weighted_gain(const struct cancel_choice *choice, const struct cancel_candidate *c)
{
	return c->dominated ? 0 : choose_score(choice, c);
}

int policy_multi_objective(const struct cancel_choice *choice)
{
	return choose_largest(choice, weighted_gain);
}
