/* SPDX-License-Identifier: Apache-2.0 */
/* The paper's other ablation: usage so far in place of usage to come. */
#include "libcancel/core/choose.h"

static uint64_t weighted_usage(const struct cancel_choice *choice, const struct cancel_candidate *c)
{
	return choose_weighted(choice, c->used_micro);
}

int policy_current_usage(const struct cancel_choice *choice)
{
	return choose_largest(choice, weighted_usage);
}
