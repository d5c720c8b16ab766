/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry_envoy.h - Envoy's retry budget: a limit on retries in flight.
 *
 * Purpose: keep concurrent retries below a share of the work in flight, with a floor so that a
 * quiet client can still retry. The caller reports when requests become pending or active and when
 * they leave; a retry that was admitted is reported again when it ends.
 * Thread safety: none. Cost: O(1).
 * Source: Envoy circuit breakers, retry_budget (20 % of active + pending, at least 3).
 */
#ifndef CANCEL_ADMISSION_RETRY_ENVOY_H
#define CANCEL_ADMISSION_RETRY_ENVOY_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cancel_retry_envoy_options { /* zero = default, in brackets */
	size_t struct_size;
	uint32_t share_ppm;   /* [200000] */
	uint32_t min_retries; /* [3] */
};

struct cancel_retry_envoy {
	uint32_t share_ppm, min_retries;
	uint64_t in_flight; /* active and pending requests, retries included */
	uint64_t retries;   /* in flight */
};

/* Returns 0, or CANCEL_EINVAL (no struct_size, share over 100 %). */
CANCEL_MUST_CHECK int cancel_retry_envoy_init(
	struct cancel_retry_envoy *budget, const struct cancel_retry_envoy_options *options);
/* `change` requests more (or fewer, negative) are active or pending. */
void cancel_retry_envoy_observe(struct cancel_retry_envoy *budget, uint64_t now_ns, int change);
/* May one retry start? If so it counts as in flight until cancel_retry_envoy_end. */
bool cancel_retry_envoy_admit(struct cancel_retry_envoy *budget, uint64_t now_ns);
/* A retry that was admitted has ended. */
void cancel_retry_envoy_end(struct cancel_retry_envoy *budget, uint64_t now_ns);

#ifdef __cplusplus
}
#endif
#endif
