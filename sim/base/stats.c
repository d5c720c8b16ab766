/* SPDX-License-Identifier: Apache-2.0 */
/* Means, intervals, percentiles. */
#include "sim/base/stats.h"

#include <stdlib.h>

#include "sim/base/math.h"
#include "common/quantile.h"

/* Two-sided 95 % quantiles of Student's t by degrees of freedom (any statistics table). */
static const double t95[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
	2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069,
	2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042 };

void sim_stats_add(struct sim_stats *stats, double value)
{
	stats->count++;
	double off = value - stats->mean;
	stats->mean += off / (double)stats->count;
	stats->spread += off * (value - stats->mean);
}

void sim_stats_add_each(struct sim_stats *stats, const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sim_stats_add(&stats[i], values[i]);
}

double sim_stats_mean(const struct sim_stats *stats)
{
	return stats->mean;
}

double sim_stats_ci95(const struct sim_stats *stats)
{
	if (stats->count < 2)
		return 0.0;
	double n = (double)stats->count, variance = stats->spread / (n - 1.0);
	size_t freedom = stats->count - 1, known = sizeof(t95) / sizeof(t95[0]);
	double t = freedom <= known ? t95[freedom - 1] : 1.96 + 2.5 / (double)freedom;
	return variance > 0.0 ? t * sim_sqrt(variance / n) : 0.0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

uint64_t sim_percentile(uint64_t *values, size_t count, double p)
{
	if (count == 0)
		return 0;
	qsort(values, count, sizeof(*values), by_value);
	return values[quantile_index(count, p / 100.0)];
}
