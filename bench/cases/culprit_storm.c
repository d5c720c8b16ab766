/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Case culprit-storm: case stall with a culprit in place of the outage, a transaction that locks
 * the table and goes on working. Is it cancelled before the retries pile up, and does the server
 * then stay out of the metastable state?
 */
#include "bench/cases/case.h"

#include <math.h>

#define HOLD_S		1.2
#define RHO		0.93
#define TIMEOUT_OF_HOLD (2.0 / 3)
#define TIMEOUT_MAX_S	1.0
#define BEFORE_S	3.0 /* libcancel decides nothing in its first two seconds */
#define AFTER_CURE_S	1.5
#define SERVICE_MS	40
#define WORKERS		4
#define SLO_MS		100 /* two and a half services: what a client that is not in trouble sees */

static void plan(const struct bench_options *options, struct retry_plan *plan)
{
	double hold_s = options->stall_s > 0 ? options->stall_s : HOLD_S;
	double timeout_s = fmin(TIMEOUT_MAX_S, TIMEOUT_OF_HOLD * hold_s);
	if (options->timeout_ms > 0)
		timeout_s = options->timeout_ms / 1e3;
	double length_s = BEFORE_S + hold_s + retry_cure_s(RHO, hold_s, timeout_s) + AFTER_CURE_S;
	*plan = (struct retry_plan){ .rho = RHO,
		.trigger = SCRIPT_LOCK,
		.onset_ns = (uint64_t)(BEFORE_S * BENCH_NS_PER_S),
		.hold_ns = (uint64_t)(hold_s * BENCH_NS_PER_S),
		.timeout_ns = (uint64_t)(timeout_s * BENCH_NS_PER_S),
		.length_ns = (uint64_t)(length_s * BENCH_NS_PER_S),
		.retries = 1,
		.priorities = 1,
		.workers = WORKERS,
		.service_ms = SERVICE_MS,
		.rows = 1,
		.pool_mb = 4,
		.window_ms = (uint32_t)(timeout_s * 1e3 / 16),
		.threshold_ms = (uint32_t)(timeout_s * 1e3 / 10),
		.slo_ms = SLO_MS };
}

const struct bench_case case_culprit_storm = {
	.name = "culprit-storm",
	.server_what = "live: the same with a transaction that holds a table lock as the trigger",
	.server_policies = "none,budget,gate,cancel,cancel+budget,cancel+gate+budget",
	.retry_plan = plan,
};
