/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - the mean over seeds with its 95 % confidence interval (Student's t), and percentiles of
 * a sample. Values are added in the order of the seeds, so sums are repeatable.
 */
#ifndef SIM_BASE_STATS_H
#define SIM_BASE_STATS_H

#include <stddef.h>
#include <stdint.h>

struct sim_stats {
	double mean, spread; /* spread: sum of squared distances from the mean (Welford) */
	size_t count;
};

void sim_stats_add(struct sim_stats *stats, double value);
/* values[i] to stats[i]. */
void sim_stats_add_each(struct sim_stats *stats, const double *values, size_t count);
double sim_stats_mean(const struct sim_stats *stats);
/* Half width of the 95 % interval of the mean; 0 with fewer than two values. */
double sim_stats_ci95(const struct sim_stats *stats);

/* The p-th percentile (0 … 100) by nearest rank; sorts `values` in place. 0 when empty. */
uint64_t sim_percentile(uint64_t *values, size_t count, double p);

#endif
