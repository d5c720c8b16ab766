/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry_aws.h - the retry quota of the AWS SDKs' standard mode.
 *
 * Purpose: a client-side quota that lets isolated failures be retried and runs dry when failures
 * are the rule. A retry costs 5 of 500 tokens, one after a timeout 10; a success returns what its
 * last retry cost, a success at the first try gives 1. At most 3 attempts a call, with full-jitter
 * exponential backoff.
 * Thread safety: none. Cost: O(1).
 * Source: AWS SDKs and Tools reference, retry behaviour, standard mode.
 */
#ifndef CANCEL_ADMISSION_RETRY_AWS_H
#define CANCEL_ADMISSION_RETRY_AWS_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cancel_retry_aws_options { /* zero = default, in brackets */
	size_t struct_size;
	uint32_t capacity;     /* [500] */
	uint32_t retry_cost;   /* [5] */
	uint32_t timeout_cost; /* [10] */
	uint32_t max_attempts; /* [3] the first included */
	uint64_t base_ns;      /* [1 s] backoff before the first retry, at most */
	uint64_t max_ns;       /* [20 s] */
};

struct cancel_retry_aws {
	uint32_t capacity, retry_cost, timeout_cost, max_attempts;
	uint64_t base_ns, max_ns;
	uint32_t tokens;
};

/* One call and its attempts; starts as zero. */
struct cancel_retry_aws_call {
	uint32_t retries; /* admitted so far */
	uint32_t held;	  /* what the last one cost */
};

/* Returns 0, or CANCEL_EINVAL (no struct_size). */
CANCEL_MUST_CHECK int cancel_retry_aws_init(
	struct cancel_retry_aws *quota, const struct cancel_retry_aws_options *options);
/* The last attempt of `call` failed (by a timeout, if `timed_out`). May it be tried again? */
bool cancel_retry_aws_admit(struct cancel_retry_aws *quota, uint64_t now_ns,
	struct cancel_retry_aws_call *call, bool timed_out);
/* An attempt of `call` succeeded. */
void cancel_retry_aws_observe(
	struct cancel_retry_aws *quota, uint64_t now_ns, const struct cancel_retry_aws_call *call);
/* How long to wait before the retry just admitted: uniform in [0, min(base 2^(n-1), max)), by a
 * `random` uniform in [0, 2^32). */
uint64_t cancel_retry_aws_backoff_ns(const struct cancel_retry_aws *quota,
	const struct cancel_retry_aws_call *call, uint32_t random);

#ifdef __cplusplus
}
#endif
#endif
