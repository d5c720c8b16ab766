/* SPDX-License-Identifier: Apache-2.0 */
/* No control: the culprit runs until it ends. The library watches, so that every row pays for it
 * alike. */
#include "bench/policies/policy.h"

const struct bench_policy policy_none = {
	.name = "none",
	.what = { "no control: the culprit runs to its end",
		"timeouts and retries, and nobody who intervenes" },
	.control = TARGET_MONITOR,
};
