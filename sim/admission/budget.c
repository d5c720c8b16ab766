/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kind of retry budget behind one set of calls. One budget serves all clients of a traffic, as
 * in one process that sends for them.
 */
#include "sim/admission/budget.h"

int sim_budget_init(struct sim_budget *budget, const struct sim_budget_options *options)
{
	struct cancel_bucket_options bucket = options->bucket;
	struct cancel_retry_finagle_options finagle = { .struct_size = sizeof(finagle),
		.share_ppm = options->share_ppm,
		.no_reserve = options->no_reserve };
	struct cancel_retry_grpc_options grpc = { .struct_size = sizeof(grpc) };
	struct cancel_retry_envoy_options envoy = { .struct_size = sizeof(envoy),
		.share_ppm = options->share_ppm };
	struct cancel_retry_aws_options aws = { .struct_size = sizeof(aws) };
	struct cancel_retry_sre_options sre = { .struct_size = sizeof(sre) };
	bucket.struct_size = sizeof(bucket);
	budget->kind = options->kind;
	switch (budget->kind) {
	case SIM_BUDGET_BUCKET:
		return cancel_bucket_init(&budget->bucket, &bucket);
	case SIM_BUDGET_FINAGLE:
		return cancel_retry_finagle_init(&budget->finagle, &finagle);
	case SIM_BUDGET_GRPC:
		return cancel_retry_grpc_init(&budget->grpc, &grpc);
	case SIM_BUDGET_ENVOY:
		return cancel_retry_envoy_init(&budget->envoy, &envoy);
	case SIM_BUDGET_AWS:
		return cancel_retry_aws_init(&budget->aws, &aws);
	case SIM_BUDGET_SRE:
		return cancel_retry_sre_init(&budget->sre, &sre);
	default:
		return 0;
	}
}

static uint32_t coin32(struct sim_rng *rng)
{
	return (uint32_t)(sim_rng_next(rng) >> 32);
}

bool sim_budget_first(struct sim_budget *budget, uint64_t now_ns, struct sim_rng *rng)
{
	if (budget->kind == SIM_BUDGET_FINAGLE)
		cancel_retry_finagle_observe(&budget->finagle, now_ns);
	if (budget->kind == SIM_BUDGET_SRE)
		return cancel_retry_sre_admit(&budget->sre, now_ns, coin32(rng));
	return true;
}

bool sim_budget_retry(struct sim_budget *budget, uint64_t now_ns,
	struct cancel_retry_aws_call *call, bool timed_out, struct sim_rng *rng)
{
	switch (budget->kind) {
	case SIM_BUDGET_BUCKET:
		return cancel_bucket_admit(&budget->bucket, now_ns, 1);
	case SIM_BUDGET_FINAGLE:
		return cancel_retry_finagle_admit(&budget->finagle, now_ns);
	case SIM_BUDGET_GRPC:
		return cancel_retry_grpc_admit(&budget->grpc, now_ns);
	case SIM_BUDGET_ENVOY:
		return cancel_retry_envoy_admit(&budget->envoy, now_ns);
	case SIM_BUDGET_AWS:
		return cancel_retry_aws_admit(&budget->aws, now_ns, call, timed_out);
	case SIM_BUDGET_SRE:
		return cancel_retry_sre_admit(&budget->sre, now_ns, coin32(rng));
	default:
		return true;
	}
}

void sim_budget_sent(struct sim_budget *budget, uint64_t now_ns)
{
	if (budget->kind == SIM_BUDGET_ENVOY)
		cancel_retry_envoy_observe(&budget->envoy, now_ns, 1);
}

void sim_budget_ended(struct sim_budget *budget, uint64_t now_ns,
	const struct cancel_retry_aws_call *call, bool was_retry, bool success, bool rejected)
{
	switch (budget->kind) {
	case SIM_BUDGET_GRPC:
		cancel_retry_grpc_observe(&budget->grpc, now_ns, success);
		return;
	case SIM_BUDGET_ENVOY:
		cancel_retry_envoy_observe(&budget->envoy, now_ns, -1);
		if (was_retry)
			cancel_retry_envoy_end(&budget->envoy, now_ns);
		return;
	case SIM_BUDGET_AWS:
		if (success)
			cancel_retry_aws_observe(&budget->aws, now_ns, call);
		return;
	case SIM_BUDGET_SRE:
		/* A timeout says nothing was accepted either. */
		cancel_retry_sre_observe(&budget->sre, now_ns, success && !rejected);
		return;
	default:
		return;
	}
}

bool sim_budget_allows(void *budget, uint64_t now_ns)
{
	return sim_budget_retry(budget, now_ns, NULL, false, NULL);
}
