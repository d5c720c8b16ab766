/* SPDX-License-Identifier: Apache-2.0 */
/* A log-linear histogram. */
#include "sim/base/histogram.h"

#define SUB  SIM_HISTOGRAM_SUB_BITS
#define FINE (1u << SUB) /* values below are exact */

static unsigned bucket_of(uint64_t value)
{
	if (value < FINE)
		return (unsigned)value;
	unsigned shift = 63u - (unsigned)__builtin_clzll(value) - SUB;
	return (shift + 1) * FINE + (unsigned)(value >> shift) - FINE;
}

static uint64_t bucket_top(unsigned bucket)
{
	if (bucket < FINE)
		return bucket;
	unsigned shift = bucket / FINE - 1;
	return ((uint64_t)(bucket % FINE + FINE) << shift) + ((1ull << shift) - 1);
}

void sim_histogram_add(struct sim_histogram *histogram, uint64_t value)
{
	histogram->counts[bucket_of(value)]++;
	histogram->total++;
}

uint64_t sim_histogram_percentile(const struct sim_histogram *histogram, double p)
{
	double exact = p / 100.0 * (double)histogram->total;
	uint64_t rank = (uint64_t)exact, seen = 0;
	rank += (double)rank < exact;
	for (unsigned bucket = 0; bucket < SIM_HISTOGRAM_BUCKETS; bucket++) {
		seen += histogram->counts[bucket];
		if (seen >= rank && seen > 0)
			return bucket_top(bucket);
	}
	return 0;
}
