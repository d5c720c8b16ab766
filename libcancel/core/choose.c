/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns scores and dominance of candidates, and what the policies share. Each policy is a file of
 * libcancel/core/policies.
 */
#include "libcancel/core/choose.h"

#include "libcancel/base/fixed.h"

uint64_t choose_weighted(const struct cancel_choice *choice, const uint64_t *micro)
{
	uint64_t sum = 0;
	for (uint32_t r = 0; r < choice->resource_count; r++) {
		if (choice->contention_ppm[r])
			sum = fixed_plus(
				sum, fixed_scale(micro[r], choice->contention_ppm[r], CANCEL_PPM));
	}
	return sum;
}

uint64_t choose_score(const struct cancel_choice *choice, const struct cancel_candidate *candidate)
{
	return choose_weighted(choice, candidate->gain_micro);
}

static bool dominates(const struct cancel_choice *choice, const struct cancel_candidate *a,
	const struct cancel_candidate *b)
{
	bool more = false;
	for (uint32_t r = 0; r < choice->resource_count; r++) {
		if (choice->contention_ppm[r] == 0)
			continue;
		if (a->gain_micro[r] < b->gain_micro[r])
			return false;
		more |= a->gain_micro[r] > b->gain_micro[r];
	}
	return more;
}

bool choose_precedes(uint64_t a_value, const struct cancel_candidate *a, uint64_t b_value,
	const struct cancel_candidate *b)
{
	if (a_value != b_value)
		return a_value > b_value;
	return a->sequence < b->sequence;
}

uint32_t choose_best(const struct cancel_choice *choice, uint32_t best[CANCEL_CANDIDATES_MAX])
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < choice->candidate_count; i++) {
		const struct cancel_candidate *c = &choice->candidates[i];
		uint32_t at = count;
		for (; at > 0; at--) {
			const struct cancel_candidate *b = &choice->candidates[best[at - 1]];
			if (!choose_precedes(c->score_micro, c, b->score_micro, b))
				break;
			if (at < CANCEL_CANDIDATES_MAX)
				best[at] = best[at - 1];
		}
		if (at < CANCEL_CANDIDATES_MAX)
			best[at] = i;
		if (count < CANCEL_CANDIDATES_MAX)
			count++;
	}
	return count;
}

void choose_mark_dominated(struct cancel_candidate *candidates, const struct cancel_choice *choice)
{
	uint32_t best[CANCEL_CANDIDATES_MAX];
	uint32_t count = choose_best(choice, best);
	for (uint32_t i = 0; i < choice->candidate_count; i++)
		candidates[i].dominated = false;
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t j = 0; j < count; j++) {
			if (dominates(choice, &candidates[best[j]], &candidates[best[i]]))
				candidates[best[i]].dominated = true;
		}
	}
}

int choose_largest(const struct cancel_choice *choice, choose_value_fn value)
{
	uint64_t best_value = 0;
	int best = -1;
	for (uint32_t i = 0; i < choice->candidate_count; i++) {
		const struct cancel_candidate *c = &choice->candidates[i];
		uint64_t v = value(choice, c);
		if (best < 0 || choose_precedes(v, c, best_value, &choice->candidates[best])) {
			best = (int)i;
			best_value = v;
		}
	}
	return best;
}
