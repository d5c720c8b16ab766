/* SPDX-License-Identifier: Apache-2.0 */
/* The paper's ablation: the largest gain on the single most contended resource. */
#include "libcancel/core/choose.h"

static uint64_t gain_on_top(const struct cancel_choice *choice, const struct cancel_candidate *c)
{
	uint32_t top = 0;
	for (uint32_t r = 1; r < choice->resource_count; r++) {
		if (choice->contention_ppm[r] > choice->contention_ppm[top])
			top = r;
	}
	return c->gain_micro[top];
}

int policy_greedy(const struct cancel_choice *choice)
{
	return choose_largest(choice, gain_on_top);
}
