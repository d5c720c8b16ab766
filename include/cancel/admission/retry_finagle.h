/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry_finagle.h - Finagle's (and linkerd's) retry budget.
 *
 * Purpose: allow retries as a share of the requests of the last while, plus a small reserve, so
 * that retries cannot multiply the load. Each request deposits a share; each retry takes one;
 * deposits and takings are forgotten after ttl. The reserve is what may be retried without any
 * requests: min_retries_per_s x ttl at once.
 * Whether a share heals a collapsed server is arithmetic: only below headroom / load.
 * Thread safety: none. Cost: O(1). Counts are kept in millionths of a retry.
 * Source: Finagle RetryBudget (20 %, 10 a second, ttl 10 s); linkerd has the same defaults.
 */
#ifndef CANCEL_ADMISSION_RETRY_FINAGLE_H
#define CANCEL_ADMISSION_RETRY_FINAGLE_H

#include <cancel/admission/slices.h>
#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cancel_retry_finagle_options { /* zero = default, in brackets */
	size_t struct_size;
	uint32_t share_ppm;	    /* [200000] of requests */
	uint32_t min_retries_per_s; /* [10] */
	uint64_t ttl_ns;	    /* [10 s], 1 to 60 s as in Finagle */
	bool no_reserve;	    /* a min_retries_per_s of zero */
};

struct cancel_retry_finagle {
	uint32_t share_ppm;
	int64_t reserve_micro;
	struct cancel_slices balance_micro;
};

/* Returns 0, or CANCEL_EINVAL (no struct_size, ttl out of range, share over 100 000 %). */
CANCEL_MUST_CHECK int cancel_retry_finagle_init(
	struct cancel_retry_finagle *budget, const struct cancel_retry_finagle_options *options);
/* One request, not a retry, is sent. */
void cancel_retry_finagle_observe(struct cancel_retry_finagle *budget, uint64_t now_ns);
/* May one retry be sent? */
bool cancel_retry_finagle_admit(struct cancel_retry_finagle *budget, uint64_t now_ns);

#ifdef __cplusplus
}
#endif
#endif
