/* SPDX-License-Identifier: Apache-2.0 */
/* Each retry budget by its kind. */
#include "libcancel/admission/retry.h"

int retry_budget_init(struct retry_budget *budget, enum retry_kind kind, const void *options)
{
	budget->kind = kind;
	switch (kind) {
	case RETRY_BUCKET:
		return cancel_bucket_init(&budget->bucket, options);
	case RETRY_FINAGLE:
		return cancel_retry_finagle_init(&budget->finagle, options);
	case RETRY_GRPC:
		return cancel_retry_grpc_init(&budget->grpc, options);
	case RETRY_ENVOY:
		return cancel_retry_envoy_init(&budget->envoy, options);
	case RETRY_AWS:
		return cancel_retry_aws_init(&budget->aws, options);
	case RETRY_SRE:
		return cancel_retry_sre_init(&budget->sre, options);
	}
	return CANCEL_EINVAL;
}

bool retry_budget_first(struct retry_budget *budget, uint64_t now_ns, uint32_t random)
{
	if (budget->kind == RETRY_SRE)
		return cancel_retry_sre_admit(&budget->sre, now_ns, random);
	if (budget->kind == RETRY_FINAGLE)
		cancel_retry_finagle_observe(&budget->finagle, now_ns);
	return true;
}

bool retry_budget_again(struct retry_budget *budget, uint64_t now_ns,
	struct cancel_retry_aws_call *call, bool timed_out, uint32_t random)
{
	switch (budget->kind) {
	case RETRY_BUCKET:
		return cancel_bucket_admit(&budget->bucket, now_ns, 1);
	case RETRY_FINAGLE:
		return cancel_retry_finagle_admit(&budget->finagle, now_ns);
	case RETRY_GRPC:
		return cancel_retry_grpc_admit(&budget->grpc, now_ns);
	case RETRY_ENVOY:
		return cancel_retry_envoy_admit(&budget->envoy, now_ns);
	case RETRY_AWS:
		return cancel_retry_aws_admit(&budget->aws, now_ns, call, timed_out);
	case RETRY_SRE:
		return cancel_retry_sre_admit(&budget->sre, now_ns, random);
	}
	return false;
}

void retry_budget_sent(struct retry_budget *budget, uint64_t now_ns)
{
	if (budget->kind == RETRY_ENVOY)
		cancel_retry_envoy_observe(&budget->envoy, now_ns, 1);
}

void retry_budget_ended(struct retry_budget *budget, uint64_t now_ns,
	const struct cancel_retry_aws_call *call, bool was_retry, bool success, bool accepted)
{
	if (budget->kind == RETRY_GRPC) {
		cancel_retry_grpc_observe(&budget->grpc, now_ns, success);
	} else if (budget->kind == RETRY_SRE) {
		cancel_retry_sre_observe(&budget->sre, now_ns, accepted);
	} else if (budget->kind == RETRY_AWS && success) {
		cancel_retry_aws_observe(&budget->aws, now_ns, call);
	} else if (budget->kind == RETRY_ENVOY) {
		cancel_retry_envoy_observe(&budget->envoy, now_ns, -1);
		if (was_retry)
			cancel_retry_envoy_end(&budget->envoy, now_ns);
	}
}
