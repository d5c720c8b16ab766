/* SPDX-License-Identifier: Apache-2.0 */
/* The dry run: the same decisions as `cancel`, reported and not carried out. */
#include "bench/policies/policy.h"

const struct bench_policy policy_monitor = {
	.name = "monitor",
	.what = { "libcancel in monitor mode: decides, reports, does not act" },
	.control = TARGET_MONITOR,
	.takes_variant = true,
};
