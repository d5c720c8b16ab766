/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry_grpc.h - gRPC's retry throttling (proposal A6).
 *
 * Purpose: stop retrying a server that mostly fails. A count starts at max_tokens; every failed
 * call takes one, every success gives back a little; retries are allowed only while it is above
 * half of the maximum. One object for each server.
 * Thread safety: none. Cost: O(1). The count is kept in thousandths, the proposal's precision.
 * Source: gRFC A6, client retries, "Throttling Retry Attempts and Hedged RPCs" (10, 0.1).
 */
#ifndef CANCEL_ADMISSION_RETRY_GRPC_H
#define CANCEL_ADMISSION_RETRY_GRPC_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cancel_retry_grpc_options { /* zero = default, in brackets */
	size_t struct_size;
	uint32_t max_tokens;  /* [10], at most 1000 */
	uint32_t ratio_milli; /* [100] given back a success, in thousandths */
};

struct cancel_retry_grpc {
	uint32_t max_milli, ratio_milli;
	uint32_t tokens_milli;
};

/* Returns 0, or CANCEL_EINVAL (no struct_size, max_tokens over 1000). */
CANCEL_MUST_CHECK int cancel_retry_grpc_init(
	struct cancel_retry_grpc *budget, const struct cancel_retry_grpc_options *options);
/* An attempt, first or retry, ended. Failure: a retryable status or a pushback not to retry. */
void cancel_retry_grpc_observe(struct cancel_retry_grpc *budget, uint64_t now_ns, bool success);
/* May a retry be sent? Asked after the failure was observed. */
bool cancel_retry_grpc_admit(const struct cancel_retry_grpc *budget, uint64_t now_ns);

#ifdef __cplusplus
}
#endif
#endif
