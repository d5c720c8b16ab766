/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucket.h - a token bucket with continuous refill, exact in integers.
 *
 * Purpose: a retry budget (one token a retry), or the rate limit inside other objects. Refill is
 * rate x elapsed, never rounded: the level is kept in units of 1/per_ns of a token.
 * Thread safety: none; one caller, or a lock (see cancel/admission_shared.h).
 * Cost: O(1), one division and one multiplication a call; 40 bytes.
 * Source: the classic token bucket; lane 2 of the simulator uses it as the retry budget.
 */
#ifndef CANCEL_ADMISSION_BUCKET_H
#define CANCEL_ADMISSION_BUCKET_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cancel_bucket_options { /* zero = default, in brackets */
	size_t struct_size;
	uint64_t rate;	   /* [0: never refills] tokens each per_ns */
	uint64_t burst;	   /* [rate] the cap, in tokens */
	uint64_t per_ns;   /* [1 s]; burst x per_ns must stay below 2^63 */
	uint64_t start_ns; /* [0] the instant refill counts from */
	bool start_empty;  /* [false: starts full] */
};

struct cancel_bucket {
	uint64_t rate, per_ns;
	uint64_t level, cap; /* in 1/per_ns of a token */
	uint64_t last_ns;    /* refilled up to here */
};

/* Returns 0, or CANCEL_EINVAL (no struct_size, or a burst that overflows). */
CANCEL_MUST_CHECK int cancel_bucket_init(
	struct cancel_bucket *bucket, const struct cancel_bucket_options *options);
/* Takes `tokens` if they are all there. A clock that steps back refills nothing. */
bool cancel_bucket_admit(struct cancel_bucket *bucket, uint64_t now_ns, uint64_t tokens);
/* Puts `tokens` back, up to the cap: a deposit, or the refund of a take. */
void cancel_bucket_give(struct cancel_bucket *bucket, uint64_t now_ns, uint64_t tokens);
/* Whole tokens that could be taken now. */
uint64_t cancel_bucket_level(struct cancel_bucket *bucket, uint64_t now_ns);
/* How long until `tokens` could be taken: the hint "retry after". 0 now, UINT64_MAX never. */
uint64_t cancel_bucket_wait_ns(struct cancel_bucket *bucket, uint64_t now_ns, uint64_t tokens);
/* A new rate from now on; tokens gathered so far stay. */
void cancel_bucket_set_rate(struct cancel_bucket *bucket, uint64_t now_ns, uint64_t rate);

#ifdef __cplusplus
}
#endif
#endif
