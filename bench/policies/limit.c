/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The static concurrency limit: more than L questions inside, and the next is refused at once, so
 * that the admitted ones keep their latency. By Little's law L admitted questions that each take at
 * most the SLO pass L/SLO a second, hence the candidates: what the SLO allows at saturation, and
 * fractions of it. The bench tries them under the culprit and keeps the one with the most goodput.
 */
#include <stdio.h>

#include "bench/policies/policy.h"

static uint32_t candidates(const struct policy_basis *basis, double *values)
{
	/* What is served in half the clients' timeout; the other half is for what is being served,
	 * and for a server that is slower than when it was measured. */
	values[0] = basis->saturation_qps * basis->timeout_ms / 2e3;
	if (basis->timeout_ms > 0)
		return 1;
	double full = basis->saturation_qps * basis->slo_ms / 1e3;
	double least = 8;
	values[0] = full / 2 > least ? full / 2 : least;
	values[1] = full / 8 > least ? full / 8 : least;
	values[2] = full / 32 > least ? full / 32 : least;
	return 3;
}

static void apply(double value, struct target_options *options)
{
	options->concurrency_limit = value < 1 ? 1 : (uint32_t)value;
}

static void describe(double value, char *text, size_t bytes)
{
	snprintf(text, bytes, "%.0f at once", value);
}

const struct bench_policy policy_limit = {
	.name = "limit",
	.what = { "static concurrency limit, the best of three values",
		"a queue as short as can be answered in half the clients' timeout" },
	.control = TARGET_MONITOR,
	.candidates = candidates,
	.apply = apply,
	.describe = describe,
};
