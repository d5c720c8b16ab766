/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the repetition of a run that was disturbed. */
#include "bench/experiment/attempt.h"

static int run_judged(void *arg, struct disturbance *disturbance)
{
	struct attempt *attempt = arg;
	uint64_t timeout_ns = attempt->setup.plan->timeout_ns;
	samples_free(attempt->data);
	attempt->data = NULL;
	if (run_execute(&attempt->setup, &attempt->data, attempt->error) != 0)
		return -1;
	if (attempt->reference) {
		attempt->steadiness = stability_judge(attempt->data, attempt->reference);
		*disturbance = attempt->steadiness.disturbance;
	} else {
		stability_disturbance(attempt->data,
			(double)(timeout_ns ? timeout_ns : attempt->setup.slo_ns) / 1e6,
			disturbance);
	}
	return 0;
}

int attempt_make(struct attempt *attempt)
{
	const struct bench_options *options = attempt->setup.options;
	const struct disturbance_retry retry = { .title = attempt->setup.title,
		.runs = options->allow_disturbed ? 1 : attempt->runs,
		.quiet = options->quiet,
		.run = run_judged,
		.arg = attempt };
	attempt->data = NULL;
	return disturbance_retry(&retry, &attempt->disturbance);
}
