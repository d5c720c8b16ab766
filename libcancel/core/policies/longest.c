/* SPDX-License-Identifier: Apache-2.0 */
/* The oldest, whatever it holds. */
#include "libcancel/core/choose.h"

static uint64_t age_ns(const struct cancel_choice *choice, const struct cancel_candidate *c)
{
	(void)choice;
	return c->age_ns;
}

int policy_longest(const struct cancel_choice *choice)
{
	return choose_largest(choice, age_ns);
}
