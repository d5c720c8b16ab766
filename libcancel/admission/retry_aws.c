/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The AWS retry quota: tokens, and per call what its last retry cost. Chance comes from the caller.
 * now_ns is not used; it is there so that all budgets are called alike.
 */
#include <cancel/admission/retry_aws.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define CAPACITY_DEFAULT     500u
#define RETRY_COST_DEFAULT   5u
#define TIMEOUT_COST_DEFAULT 10u
#define MAX_ATTEMPTS_DEFAULT 3u
#define BASE_NS_DEFAULT	     UINT64_C(1000000000)
#define MAX_NS_DEFAULT	     UINT64_C(20000000000)
#define FIRST_TRY_GIFT	     1u

int cancel_retry_aws_init(
	struct cancel_retry_aws *quota, const struct cancel_retry_aws_options *options)
{
	struct cancel_retry_aws_options o;
	if (!struct_size_read(&o, sizeof o, options))
		return CANCEL_EINVAL;
	*quota = (struct cancel_retry_aws){
		.capacity = o.capacity ? o.capacity : CAPACITY_DEFAULT,
		.retry_cost = o.retry_cost ? o.retry_cost : RETRY_COST_DEFAULT,
		.timeout_cost = o.timeout_cost ? o.timeout_cost : TIMEOUT_COST_DEFAULT,
		.max_attempts = o.max_attempts ? o.max_attempts : MAX_ATTEMPTS_DEFAULT,
		.base_ns = o.base_ns ? o.base_ns : BASE_NS_DEFAULT,
		.max_ns = o.max_ns ? o.max_ns : MAX_NS_DEFAULT,
	};
	quota->tokens = quota->capacity;
	return 0;
}

bool cancel_retry_aws_admit(struct cancel_retry_aws *quota, uint64_t now_ns,
	struct cancel_retry_aws_call *call, bool timed_out)
{
	const uint32_t cost = timed_out ? quota->timeout_cost : quota->retry_cost;
	(void)now_ns;
	if (call->retries + 1 >= quota->max_attempts || quota->tokens < cost)
		return false;
	quota->tokens -= cost;
	call->retries++;
	call->held = cost;
	return true;
}

void cancel_retry_aws_observe(
	struct cancel_retry_aws *quota, uint64_t now_ns, const struct cancel_retry_aws_call *call)
{
	const uint32_t room = quota->capacity - quota->tokens;
	const uint32_t gift = call->held ? call->held : FIRST_TRY_GIFT;
	(void)now_ns;
	quota->tokens += gift < room ? gift : room;
}

uint64_t cancel_retry_aws_backoff_ns(const struct cancel_retry_aws *quota,
	const struct cancel_retry_aws_call *call, uint32_t random)
{
	uint64_t limit_ns = quota->base_ns;
	for (uint32_t i = 1; i < call->retries && limit_ns < quota->max_ns; i++)
		limit_ns = fixed_plus(limit_ns, limit_ns);
	if (limit_ns > quota->max_ns)
		limit_ns = quota->max_ns;
	/* limit x random / 2^32, in halves so that it cannot overflow */
	return (limit_ns >> 32) * random + ((limit_ns & UINT32_MAX) * random >> 32);
}
