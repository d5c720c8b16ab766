/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retry budgets at clients, as one shape over libcancel's objects. Decides when each is asked and
 * told; one budget serves all clients of a traffic, as in one process that sends for them.
 */
#include <cancel/admission/bucket.h>
#include <cancel/admission/retry_envoy.h>
#include <cancel/admission/retry_finagle.h>
#include <cancel/admission/retry_grpc.h>
#include <cancel/admission/retry_sre.h>
#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/service/parts.h"

struct budget {
	enum sim_budget_kind kind;
	union {
		struct cancel_bucket bucket;
		struct cancel_retry_finagle finagle;
		struct cancel_retry_grpc grpc;
		struct cancel_retry_envoy envoy;
		struct cancel_retry_aws aws;
		struct cancel_retry_sre sre;
	};
};

const char *sim_budget_kind_name(enum sim_budget_kind kind)
{
	static const char *const names[] = { "none", "bucket", "finagle", "grpc", "envoy", "aws",
		"sre" };
	return names[kind];
}

static int init_bucket(struct budget *budget, const struct sim_traffic_options *options)
{
	struct cancel_bucket_options bucket = {
		.struct_size = sizeof(bucket),
		.rate = (uint64_t)(options->budget_rate * 1000.0),
		.per_ns = 1000 * SIM_NS_PER_S,
		.burst = options->budget_burst > 0 ? options->budget_burst
						   : (uint64_t)options->budget_rate,
	};
	if (bucket.burst == 0)
		bucket.burst = 1;
	return cancel_bucket_init(&budget->bucket, &bucket);
}

static int init_kind(struct budget *budget, const struct sim_traffic_options *options)
{
	uint32_t share_ppm = (uint32_t)(options->budget_rate * 1e6);
	struct cancel_retry_finagle_options finagle = { .struct_size = sizeof(finagle),
		.share_ppm = share_ppm };
	struct cancel_retry_grpc_options grpc = { .struct_size = sizeof(grpc) };
	struct cancel_retry_envoy_options envoy = { .struct_size = sizeof(envoy),
		.share_ppm = share_ppm };
	struct cancel_retry_aws_options aws = { .struct_size = sizeof(aws) };
	struct cancel_retry_sre_options sre = { .struct_size = sizeof(sre) };
	switch (budget->kind) {
	case SIM_BUDGET_BUCKET:
		return init_bucket(budget, options);
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

struct budget *budget_new(const struct sim_traffic_options *options)
{
	struct budget *budget = sim_alloc(1, sizeof(*budget));
	budget->kind = options->budget;
	if (init_kind(budget, options) < 0) {
		free(budget);
		return NULL;
	}
	return budget;
}

void budget_free(struct budget *budget)
{
	free(budget);
}

static uint32_t coin32(struct sim_rng *rng)
{
	return (uint32_t)(sim_rng_next(rng) >> 32);
}

bool budget_first(struct budget *budget, uint64_t now_ns, struct sim_rng *rng)
{
	if (budget->kind == SIM_BUDGET_FINAGLE)
		cancel_retry_finagle_observe(&budget->finagle, now_ns);
	if (budget->kind == SIM_BUDGET_SRE)
		return cancel_retry_sre_admit(&budget->sre, now_ns, coin32(rng));
	return true;
}

bool budget_retry(struct budget *budget, uint64_t now_ns, struct task *task, bool timed_out,
	struct sim_rng *rng)
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
		return cancel_retry_aws_admit(&budget->aws, now_ns, &task->aws, timed_out);
	case SIM_BUDGET_SRE:
		return cancel_retry_sre_admit(&budget->sre, now_ns, coin32(rng));
	default:
		return true;
	}
}

void budget_sent(struct budget *budget, uint64_t now_ns)
{
	if (budget->kind == SIM_BUDGET_ENVOY)
		cancel_retry_envoy_observe(&budget->envoy, now_ns, 1);
}

void budget_ended(struct budget *budget, uint64_t now_ns, const struct task *task, bool success,
	bool rejected)
{
	switch (budget->kind) {
	case SIM_BUDGET_GRPC:
		cancel_retry_grpc_observe(&budget->grpc, now_ns, success);
		return;
	case SIM_BUDGET_ENVOY:
		cancel_retry_envoy_observe(&budget->envoy, now_ns, -1);
		if (task->attempt > 0)
			cancel_retry_envoy_end(&budget->envoy, now_ns);
		return;
	case SIM_BUDGET_AWS:
		if (success)
			cancel_retry_aws_observe(&budget->aws, now_ns, &task->aws);
		return;
	case SIM_BUDGET_SRE:
		/* A timeout says nothing was accepted either. */
		cancel_retry_sre_observe(&budget->sre, now_ns, success && !rejected);
		return;
	default:
		return;
	}
}
