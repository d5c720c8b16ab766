/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Envoy's retry budget: two counts of work in flight. now_ns is not used; it is there so that all
 * budgets are called alike.
 */
#include <cancel/admission/retry_envoy.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define SHARE_PPM_DEFAULT   200000u
#define MIN_RETRIES_DEFAULT 3u

int cancel_retry_envoy_init(
	struct cancel_retry_envoy *budget, const struct cancel_retry_envoy_options *options)
{
	struct cancel_retry_envoy_options o;
	if (!struct_size_read(&o, sizeof o, options) || o.share_ppm > CANCEL_PPM)
		return CANCEL_EINVAL;
	*budget = (struct cancel_retry_envoy){
		.share_ppm = o.share_ppm ? o.share_ppm : SHARE_PPM_DEFAULT,
		.min_retries = o.min_retries ? o.min_retries : MIN_RETRIES_DEFAULT,
	};
	return 0;
}

void cancel_retry_envoy_observe(struct cancel_retry_envoy *budget, uint64_t now_ns, int change)
{
	const uint64_t step = change < 0 ? (uint64_t)(-(int64_t)change) : (uint64_t)change;
	(void)now_ns;
	budget->in_flight = change < 0 ? fixed_minus(budget->in_flight, step)
				       : fixed_plus(budget->in_flight, step);
}

bool cancel_retry_envoy_admit(struct cancel_retry_envoy *budget, uint64_t now_ns)
{
	const uint64_t share = fixed_part(budget->in_flight, budget->share_ppm);
	const uint64_t limit = share > budget->min_retries ? share : budget->min_retries;
	(void)now_ns;
	if (budget->retries >= limit)
		return false;
	budget->retries++;
	return true;
}

void cancel_retry_envoy_end(struct cancel_retry_envoy *budget, uint64_t now_ns)
{
	(void)now_ns;
	budget->retries = fixed_minus(budget->retries, 1);
}
