/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Case culprit-storm: case stall with a culprit in place of the outage, a transaction that locks
 * the table and goes on working. Is it cancelled before the retries pile up, and does the server
 * then stay out of the metastable state?
 */
#include "bench/cases/case.h"

#define SLO_MS 100 /* two and a half services: what a client that is not in trouble sees */

static void plan(const struct bench_options *options, struct case_plan *plan)
{
	static const struct case_shape shape = { .rho = 0.93,
		.before_s = 3, /* libcancel decides nothing in its first two seconds */
		.hold_s = 1.2,
		.patience = 2.0 / 3,
		.workers = 4,
		.service_ms = 40,
		.pool_mb = 4,
		.rows = 1,
		.window_part = 16,
		.threshold_part = 10 };
	case_shape_plan(options, &shape, plan);
	case_trigger(options, &case_lock_actor, plan);
	plan->slo_ns = SLO_MS * (uint64_t)CASE_NS_PER_MS;
}

const struct bench_case case_culprit_storm = {
	.name = "culprit-storm",
	.what = { [SERVER_TARGET] = "live: the same with a transaction that holds a table lock as "
				    "the trigger" },
	.policies = { [SERVER_TARGET] =
			      "none,budget,gate,cancel,cancel+budget,cancel+gate+budget" },
	.plan = plan,
};
