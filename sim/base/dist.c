/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributions by inversion: one uniform draw a value, so streams stay aligned when parameters
 * change.
 */
#include "sim/base/dist.h"

#include <stdlib.h>

#include "sim/base/math.h"
#include "sim/base/memory.h"

static uint64_t at_least_one(double value)
{
	int64_t rounded = sim_round(value);
	return rounded < 1 ? 1 : (uint64_t)rounded;
}

/* Inverse of F(x) = (1 − (low/x)^α) / (1 − (low/high)^α). */
static double pareto(const struct sim_dist *dist, double u)
{
	double ratio = sim_pow((double)dist->low / (double)dist->high, dist->alpha);
	return (double)dist->low / sim_pow(1.0 - u * (1.0 - ratio), 1.0 / dist->alpha);
}

uint64_t sim_dist_draw(const struct sim_dist *dist, struct sim_rng *rng)
{
	double u = sim_rng_unit(rng);
	switch (dist->shape) {
	case SIM_EXPONENTIAL:
		return at_least_one(-(double)dist->mean * sim_ln(1.0 - u));
	case SIM_PARETO:
		return at_least_one(pareto(dist, u));
	case SIM_SHIFTED:
		return at_least_one(
			(double)dist->low - (double)(dist->mean - dist->low) * sim_ln(1.0 - u));
	case SIM_FIXED:
		break;
	}
	return dist->mean > 0 ? dist->mean : 1;
}

double sim_dist_mean(const struct sim_dist *dist)
{
	if (dist->shape != SIM_PARETO)
		return (double)dist->mean;
	double low = (double)dist->low, high = (double)dist->high, alpha = dist->alpha;
	double ratio = sim_pow(low / high, alpha);
	return alpha / (alpha - 1.0) * (low - high * ratio) / (1.0 - ratio);
}

void sim_zipf_init(struct sim_zipf *zipf, size_t count, double exponent)
{
	double sum = 0.0;
	zipf->cumulative = sim_alloc(count, sizeof(*zipf->cumulative));
	zipf->count = count;
	for (size_t rank = 0; rank < count; rank++) {
		sum += sim_pow((double)(rank + 1), -exponent);
		zipf->cumulative[rank] = sum;
	}
}

void sim_zipf_free(struct sim_zipf *zipf)
{
	free(zipf->cumulative);
	*zipf = (struct sim_zipf){ 0 };
}

size_t sim_zipf_draw(const struct sim_zipf *zipf, struct sim_rng *rng)
{
	double target = sim_rng_unit(rng) * zipf->cumulative[zipf->count - 1];
	size_t low = 0, high = zipf->count - 1;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (zipf->cumulative[middle] > target)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

double sim_daily_rate(uint64_t at_ns, uint64_t day_ns, double mean_rate, double peak_ratio)
{
	double phase = (double)(at_ns % day_ns) / (double)day_ns - 0.25;
	double swing = sim_sin(2.0 * 3.14159265358979311600 * phase);
	return mean_rate * (1.0 + (peak_ratio - 1.0) * swing);
}
