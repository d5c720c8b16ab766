/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram.h - a log-linear histogram of durations: 32 sub-buckets an octave.
 *
 * Bucket i < 32 holds the value i; above, an octave [2^k, 2^(k+1)) is cut into 32 equal parts. A
 * bucket is at most 1/32 of its lower bound wide, so its middle is within 1.6 % of every value in
 * it (the aim is 3 %). The last bucket takes everything from 2^40 ns (18 minutes) up. Counts are
 * the caller's plain array of CANCEL_HISTOGRAM_MAX; nothing here is shared or atomic.
 */
#ifndef CANCEL_BASE_HISTOGRAM_H
#define CANCEL_BASE_HISTOGRAM_H

#include <cancel/policy.h>

#define HISTOGRAM_SUB_BITS 5u
#define HISTOGRAM_SUB	   (1u << HISTOGRAM_SUB_BITS)

/* The bucket of a duration. A shift, a count of leading zeros and a compare. */
static inline uint32_t histogram_index(uint64_t value_ns)
{
	uint32_t octave, index;
	if (value_ns < HISTOGRAM_SUB)
		return (uint32_t)value_ns;
	octave = 63u - (uint32_t)__builtin_clzll(value_ns) - HISTOGRAM_SUB_BITS;
	index = (octave << HISTOGRAM_SUB_BITS) + (uint32_t)(value_ns >> octave);
	return index < CANCEL_HISTOGRAM_MAX ? index : CANCEL_HISTOGRAM_MAX - 1;
}

/* The smallest value of a bucket, and the value that stands for all of it. */
uint64_t histogram_lower_ns(uint32_t index);
uint64_t histogram_middle_ns(uint32_t index);

uint64_t histogram_total(const uint64_t counts[CANCEL_HISTOGRAM_MAX]);
/* The value below which `share_ppm` of the counts lie (nearest rank); 0 of an empty histogram. */
uint64_t histogram_quantile_ns(const uint64_t counts[CANCEL_HISTOGRAM_MAX], uint32_t share_ppm);

#endif
