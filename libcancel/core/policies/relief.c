/* SPDX-License-Identifier: Apache-2.0 */
/* Of the time lost, how much this one's end would give back within a second. */
#include "libcancel/core/choose.h"

#include "libcancel/base/fixed.h"

#define NS_PER_S 1000000000ull

static uint64_t relieved_share(const struct cancel_choice *choice, const struct cancel_candidate *c)
{
	/* Of unknown remaining time: assume it will go on for the second that counts in full. */
	uint64_t remaining_ns = c->remaining_ns ? fixed_min(c->remaining_ns, NS_PER_S) : NS_PER_S;
	uint64_t sum = 0;
	for (uint32_t r = 0; r < choice->resource_count; r++)
		sum += (uint64_t)choice->contention_ppm[r] * c->blame_ppm[r] / CANCEL_PPM;
	return fixed_scale(sum, remaining_ns, 1000);
}

int policy_relief(const struct cancel_choice *choice)
{
	return choose_largest(choice, relieved_share);
}
