/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stability.h - is what all else is compared with worth it? The saturation and the reference are taken
 * again when they are not credible, and given up when they remain so.
 */
#ifndef BENCH_STABILITY_H
#define BENCH_STABILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/machine/disturbance.h"
#include "bench/load/samples.h"
#include "bench/target/target.h"

#define STEADY_SAMPLES 5
#define STEADY_ROUNDS  4   /* of samples, before the probe gives up */
#define STEADY_FACTOR  1.5 /* by which the middle three of five may differ */

/* One sample of the throughput, in answers per second, and what the machine did meanwhile. */
typedef double (*stability_sample)(void *arg, struct machine_second *second);

struct stability_probe {
	stability_sample take;
	void *arg;
	int samples;	 /* of a round: STEADY_SAMPLES, or one that is long enough */
	uint32_t rounds; /* at most */
	bool quiet;
};
/* The median of the samples, whose middle three agree when there are five, taken on a machine that others left alone;
 * else they are taken again. `disturbance` judges the last round, which is what *qps is from. */
int stability_saturation(const struct stability_probe *probe, double *qps,
	struct disturbance *disturbance) __attribute__((warn_unused_result));

#define STEADY_REFERENCES   3	 /* runs at most */
#define STEADY_BURST_FACTOR 10	 /* p99 of the worst second over that of the median second */
#define STEADY_LOST_MAX	    0.01 /* of the requests */
#define STEADY_P99_MAX_MS   100	 /* of the median second; above, the machine is overloaded */

struct stability_rules {
	double slo_ratio, floor_ms; /* the SLO, of the median second's p99; at least */
	bool is_alike;		    /* the load is the same in each second */
};

struct steadiness {
	double lost;		    /* share of the requests that were not answered */
	double median_ms, worst_ms; /* p99 by second */
	uint32_t worst_second;
	double slo_ms; /* bounded by what the median second may be */
	struct disturbance disturbance;
};

/* A reference is not credible when the machine gave others what it needed; when a second is an
 * order of magnitude above the median one, and above the floor, below which it could not move the
 * SLO (with three seconds or more, all alike); when requests were lost; or when the median second
 * itself is slow. */
struct steadiness stability_judge(const struct samples *data, const struct stability_rules *rules);
/* Of any run: what the machine gave to others, and a lag that matters beside this SLO. */
void stability_disturbance(
	const struct samples *data, double slo_ms, struct disturbance *disturbance);

#endif
