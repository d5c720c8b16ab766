/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dist.h - distributions drawn from an rng, the same values on every machine.
 *
 * One tagged struct serves for service times, gaps and sizes; a value is a whole number in the unit
 * of its mean (nanoseconds, pages), at least 1. Zipf draws ranks and the daily profile is a rate
 * over time, so they stand alone.
 */
#ifndef SIM_BASE_DIST_H
#define SIM_BASE_DIST_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/rng.h"

enum sim_shape {
	SIM_FIXED,
	SIM_EXPONENTIAL,
	SIM_PARETO,  /* bounded */
	SIM_SHIFTED, /* at least `low`, then exponential up to `mean` on average */
};

struct sim_dist {
	enum sim_shape shape;
	uint64_t mean;	    /* FIXED, EXPONENTIAL, SHIFTED */
	uint64_t low, high; /* PARETO: bounds, low < high; SHIFTED: low < mean */
	double alpha;	    /* PARETO: tail index > 0, not 1 for sim_dist_mean */
};

uint64_t sim_dist_draw(const struct sim_dist *dist, struct sim_rng *rng);
double sim_dist_mean(const struct sim_dist *dist);

/* Ranks 0 … count-1 with weight 1/(rank+1)^exponent. */
struct sim_zipf {
	double *cumulative;
	size_t count;
};
void sim_zipf_init(struct sim_zipf *zipf, size_t count, double exponent);
void sim_zipf_free(struct sim_zipf *zipf);
size_t sim_zipf_draw(const struct sim_zipf *zipf, struct sim_rng *rng); /* O(log count) */

/* A day of `day_ns`: the rate swings sinusoidally around `mean_rate` so that its peak is
 * `peak_ratio` (1 … 2) times the mean; lowest at the day's start. The rate at an instant, per
 * second. */
double sim_daily_rate(uint64_t at_ns, uint64_t day_ns, double mean_rate, double peak_ratio);

#endif
