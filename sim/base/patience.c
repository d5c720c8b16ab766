/* SPDX-License-Identifier: Apache-2.0 */
/* The wait before a retry. */
#include "sim/base/patience.h"

uint64_t sim_backoff_ns(const struct sim_patience *patience, uint32_t failed, struct sim_rng *rng)
{
	uint64_t wait_ns = patience->backoff_ns, most_ns = patience->backoff_max_ns;
	most_ns = most_ns ? most_ns : 32 * wait_ns;
	for (uint32_t i = 0; i < failed && wait_ns < most_ns; i++)
		wait_ns *= 2;
	wait_ns = wait_ns < most_ns ? wait_ns : most_ns;
	return patience->backoff_jitter && wait_ns ? sim_rng_below(rng, wait_ns + 1) : wait_ns;
}
