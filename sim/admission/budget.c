/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A retry budget of libcancel's at the clients of a traffic. One serves all of them, as in one
 * process that sends for them.
 */
#include "sim/admission/budget.h"

int sim_budget_init(struct sim_budget *budget, const struct sim_budget_options *options)
{
	struct cancel_bucket_options bucket = options->bucket;
	struct cancel_retry_finagle_options finagle = { .struct_size = sizeof(finagle),
		.share_ppm = options->share_ppm,
		.no_reserve = options->no_reserve };
	struct cancel_retry_envoy_options envoy = { .struct_size = sizeof(envoy),
		.share_ppm = options->share_ppm };
	const void *const by_kind[SIM_BUDGET_KINDS] = { [SIM_BUDGET_BUCKET] = &bucket,
		[SIM_BUDGET_FINAGLE] = &finagle,
		[SIM_BUDGET_ENVOY] = &envoy };
	bucket.struct_size = sizeof(bucket);
	budget->budget.kind = 0;
	if (options->kind == SIM_BUDGET_NONE)
		return 0;
	return retry_budget_init(
		&budget->budget, (enum retry_kind)options->kind, by_kind[options->kind]);
}

/* Drawn by the one budget that throws dice. */
static uint32_t dice(const struct sim_budget *budget, struct sim_rng *rng)
{
	return budget->budget.kind == RETRY_SRE ? (uint32_t)(sim_rng_next(rng) >> 32) : 0;
}

bool sim_budget_first(struct sim_budget *budget, uint64_t now_ns, struct sim_rng *rng)
{
	return retry_budget_first(&budget->budget, now_ns, dice(budget, rng));
}

bool sim_budget_retry(struct sim_budget *budget, uint64_t now_ns,
	struct cancel_retry_aws_call *call, bool timed_out, struct sim_rng *rng)
{
	return !budget->budget.kind ||
	       retry_budget_again(&budget->budget, now_ns, call, timed_out, dice(budget, rng));
}

void sim_budget_sent(struct sim_budget *budget, uint64_t now_ns)
{
	retry_budget_sent(&budget->budget, now_ns);
}

void sim_budget_ended(struct sim_budget *budget, uint64_t now_ns,
	const struct cancel_retry_aws_call *call, bool was_retry, bool success)
{
	/* A timeout says nothing was accepted either. */
	retry_budget_ended(&budget->budget, now_ns, call, was_retry, success, success);
}

bool sim_budget_allows(void *budget, uint64_t now_ns)
{
	return sim_budget_retry(budget, now_ns, NULL, false, NULL);
}
