/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statement timeout, as servers have it: a statement that has not ended so long after its
 * arrival is cancelled, whoever it is. In its best form it is as short as honest statements allow,
 * so the bench tries multiples of the SLO (which itself is ten times the reference's p99) and keeps
 * the one that gives the most goodput. It cannot tell a culprit from a long but harmless report,
 * nor from a victim that waits behind the culprit.
 */
#include <stdio.h>

#include "bench/policies/policy.h"

static uint32_t candidates(const struct policy_basis *basis, double *values)
{
	values[0] = basis->timeout_ms;
	if (basis->timeout_ms > 0)
		return 1; /* nothing is done for a client that has left */
	values[0] = basis->slo_ms * 20;
	values[1] = basis->slo_ms * 4;
	values[2] = basis->slo_ms;
	return 3;
}

static void apply(double value, struct target_options *options)
{
	options->statement_timeout_ms = value < 1 ? 1 : (uint32_t)value;
}

static void describe(double value, char *text, size_t bytes)
{
	snprintf(text, bytes, "%.0f ms", value);
}

const struct bench_policy policy_timeout = {
	.name = "timeout",
	.what = { "statement timeout, the best of 1, 4 and 20 times the SLO",
		"a statement timeout as long as the clients wait: nothing is done for "
		"nobody" },
	.control = TARGET_MONITOR,
	.candidates = candidates,
	.apply = apply,
	.describe = describe,
};
