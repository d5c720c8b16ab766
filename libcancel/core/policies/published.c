/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As the authors' code: each gain divided by the sum over the candidates that are not dominated. It
 * reverses the paper's own example, and a bystander can change the choice; kept for comparison.
 */
#include "libcancel/core/choose.h"

#include "libcancel/base/fixed.h"

int policy_published(const struct cancel_choice *choice)
{
	uint64_t sums[CANCEL_RESOURCES_MAX] = { 0 }, best_value = 0;
	int best = -1;
	for (uint32_t i = 0; i < choice->candidate_count; i++) {
		for (uint32_t r = 0; r < choice->resource_count; r++) {
			if (!choice->candidates[i].dominated)
				sums[r] = fixed_plus(sums[r], choice->candidates[i].gain_micro[r]);
		}
	}
	for (uint32_t i = 0; i < choice->candidate_count; i++) {
		const struct cancel_candidate *c = &choice->candidates[i];
		uint64_t value = 0;
		if (c->dominated)
			continue;
		for (uint32_t r = 0; r < choice->resource_count; r++) {
			if (sums[r])
				value += fixed_scale(
					c->gain_micro[r], choice->contention_ppm[r], sums[r]);
		}
		if (best < 0 || choose_precedes(value, c, best_value, &choice->candidates[best])) {
			best = (int)i;
			best_value = value;
		}
	}
	return best;
}
