/* SPDX-License-Identifier: Apache-2.0 */
/* Finagle's retry budget: a balance over the last ten seconds and a reserve below it. */
#include <cancel/admission/retry_finagle.h>

#include "libcancel/admission/slices.h"
#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define SHARE_PPM_DEFAULT 200000u
#define SHARE_PPM_MAX	  1000000000u
#define MIN_PER_S_DEFAULT 10u
#define SECOND_NS	  UINT64_C(1000000000)
#define TTL_NS_DEFAULT	  (10 * SECOND_NS)
#define TTL_NS_MAX	  (60 * SECOND_NS)
#define RETRY_MICRO	  1000000

int cancel_retry_finagle_init(
	struct cancel_retry_finagle *budget, const struct cancel_retry_finagle_options *options)
{
	struct cancel_retry_finagle_options o;
	if (!struct_size_read(&o, sizeof o, options))
		return CANCEL_EINVAL;
	if (!o.share_ppm)
		o.share_ppm = SHARE_PPM_DEFAULT;
	if (!o.min_retries_per_s)
		o.min_retries_per_s = MIN_PER_S_DEFAULT;
	if (!o.ttl_ns)
		o.ttl_ns = TTL_NS_DEFAULT;
	if (o.ttl_ns < SECOND_NS || o.ttl_ns > TTL_NS_MAX || o.share_ppm > SHARE_PPM_MAX)
		return CANCEL_EINVAL;
	const uint64_t reserve_micro = o.min_retries_per_s * (o.ttl_ns / 1000);
	*budget = (struct cancel_retry_finagle){
		.share_ppm = o.share_ppm,
		.reserve_micro = o.no_reserve ? 0 : (int64_t)reserve_micro,
	};
	slices_init(&budget->balance_micro, o.ttl_ns);
	return 0;
}

void cancel_retry_finagle_observe(struct cancel_retry_finagle *budget, uint64_t now_ns)
{
	slices_advance(&budget->balance_micro, now_ns);
	slices_add(&budget->balance_micro, budget->share_ppm);
}

bool cancel_retry_finagle_admit(struct cancel_retry_finagle *budget, uint64_t now_ns)
{
	slices_advance(&budget->balance_micro, now_ns);
	if (budget->reserve_micro + budget->balance_micro.total < RETRY_MICRO)
		return false;
	slices_add(&budget->balance_micro, -RETRY_MICRO);
	return true;
}
