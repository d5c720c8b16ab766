/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seda.h - SEDA's adaptive admission: a rate steered by tail response time.
 *
 * Purpose: admit at a rate that keeps the 99th percentile of response times at a target. After 100
 * responses (or a second, if fewer came) the percentile is smoothed, cur = 0.7 cur + 0.3 p99, and
 * compared, err = (cur - target) / target: err > 0 divides the rate by 1.1; err < -0.5 adds
 * -(err + 0.1) x 4 a second; between, the rate stays. Requests pass a token bucket of that rate.
 * Thread safety: none. Cost: O(1); the response that closes a window scans its 100 samples a few
 * times. Rates are kept in thousandths of a request a second, errors in millionths.
 * Source: Welsh and Culler, Adaptive Overload Control for Busy Internet Servers, USITS 2003, with
 * the constants used in Breakwater's comparison (OSDI 2020).
 */
#ifndef CANCEL_ADMISSION_SEDA_H
#define CANCEL_ADMISSION_SEDA_H

#include <cancel/admission/bucket.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CANCEL_SEDA_RESPONSES_MAX 128u

struct cancel_seda_options { /* zero = default, in brackets */
	size_t struct_size;
	uint64_t target_ns;	   /* [100 ms] */
	uint32_t window_responses; /* [100], at most 128 */
	uint64_t window_ns;	   /* [1 s] */
	uint32_t percentile_ppm;   /* [990000] */
	uint32_t keep_ppm;	   /* [700000] of cur */
	uint32_t divide_milli;	   /* [1100] decrease */
	uint32_t add_per_s;	   /* [4] weight of the increase */
	uint32_t min_per_s;	   /* [2] */
	uint32_t max_per_s;	   /* [10000], at most 1000000 */
	uint32_t start_per_s;	   /* [max_per_s] */
	uint32_t burst;		   /* [4] */
	uint64_t start_ns;	   /* [0] */
};

struct cancel_seda {
	uint64_t target_ns, window_ns;
	uint32_t window_responses, percentile_ppm, keep_ppm, divide_milli, add_per_s;
	uint64_t min_milli, max_milli;

	uint64_t rate_milli; /* admitted requests each 1000 s */
	uint64_t current_ns; /* the smoothed percentile; the first window sets it */
	int64_t error_ppm;   /* of the last window */
	struct cancel_bucket bucket;
	uint64_t window_start_ns;
	uint32_t responses;
	uint64_t samples_ns[CANCEL_SEDA_RESPONSES_MAX];
};

/* Returns 0, or CANCEL_EINVAL (no struct_size, a share over 100 %, min over max, too many). */
CANCEL_MUST_CHECK int cancel_seda_init(
	struct cancel_seda *seda, const struct cancel_seda_options *options);
/* May one request enter? */
bool cancel_seda_admit(struct cancel_seda *seda, uint64_t now_ns);
/* A response left `response_ns` after its request arrived. */
void cancel_seda_observe(struct cancel_seda *seda, uint64_t now_ns, uint64_t response_ns);

#ifdef __cplusplus
}
#endif
#endif
