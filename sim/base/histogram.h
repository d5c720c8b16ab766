/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram.h - counts of times in log-linear buckets: 128 to an octave, so a percentile is at most
 * 0.8 % high whatever the number of values. 57 KiB.
 */
#ifndef SIM_BASE_HISTOGRAM_H
#define SIM_BASE_HISTOGRAM_H

#include <stdint.h>

#define SIM_HISTOGRAM_SUB_BITS 7
#define SIM_HISTOGRAM_BUCKETS  ((64 - SIM_HISTOGRAM_SUB_BITS + 1) << SIM_HISTOGRAM_SUB_BITS)

struct sim_histogram {
	uint64_t counts[SIM_HISTOGRAM_BUCKETS];
	uint64_t total;
};

void sim_histogram_add(struct sim_histogram *histogram, uint64_t value);
/* The highest value of the bucket the p-th percentile (0 … 100, nearest rank) falls into; 0 when
 * empty. */
uint64_t sim_histogram_percentile(const struct sim_histogram *histogram, double p);

#endif
