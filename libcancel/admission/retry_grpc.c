/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC's retry throttle: one count, taken by failures and refilled by successes. now_ns is not
 * used; it is there so that all budgets are called alike.
 */
#include <cancel/admission/retry_grpc.h>

#include "libcancel/base/struct_size.h"

#define MAX_TOKENS_DEFAULT  10u
#define MAX_TOKENS_MAX	    1000u
#define RATIO_MILLI_DEFAULT 100u
#define TOKEN_MILLI	    1000u

int cancel_retry_grpc_init(
	struct cancel_retry_grpc *budget, const struct cancel_retry_grpc_options *options)
{
	struct cancel_retry_grpc_options o;
	if (!struct_size_read(&o, sizeof o, options) || o.max_tokens > MAX_TOKENS_MAX)
		return CANCEL_EINVAL;
	if (!o.max_tokens)
		o.max_tokens = MAX_TOKENS_DEFAULT;
	if (!o.ratio_milli)
		o.ratio_milli = RATIO_MILLI_DEFAULT;
	*budget = (struct cancel_retry_grpc){
		.max_milli = o.max_tokens * TOKEN_MILLI,
		.ratio_milli = o.ratio_milli,
		.tokens_milli = o.max_tokens * TOKEN_MILLI,
	};
	return 0;
}

void cancel_retry_grpc_observe(struct cancel_retry_grpc *budget, uint64_t now_ns, bool success)
{
	const uint32_t tokens = budget->tokens_milli, room = budget->max_milli - tokens;
	(void)now_ns;
	if (success)
		budget->tokens_milli += budget->ratio_milli < room ? budget->ratio_milli : room;
	else
		budget->tokens_milli -= tokens < TOKEN_MILLI ? tokens : TOKEN_MILLI;
}

bool cancel_retry_grpc_admit(const struct cancel_retry_grpc *budget, uint64_t now_ns)
{
	(void)now_ns;
	return budget->tokens_milli > budget->max_milli / 2;
}
