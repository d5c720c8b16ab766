/* SPDX-License-Identifier: Apache-2.0 */
/* libcancel in act mode; a variant names another of its policies and estimators (cancel:greedy). */
#include "bench/policies/policy.h"

const struct bench_policy policy_cancel = {
	.name = "cancel",
	.what = { "libcancel: cancel the culprit; cancel:POLICY[/ESTIMATOR] for a variant",
		"libcancel cancels the culprit" },
	.control = TARGET_ACT,
	.takes_variant = true,
};
