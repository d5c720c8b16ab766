/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adaptive throttling: two sums over the last two minutes and a comparison with the caller's random
 * number.
 */
#include <cancel/admission/retry_sre.h>

#include "libcancel/admission/slices.h"
#include "libcancel/base/struct_size.h"

#define K_MILLI_DEFAULT	 2000u
#define WHILE_NS_DEFAULT UINT64_C(120000000000)

int cancel_retry_sre_init(
	struct cancel_retry_sre *throttle, const struct cancel_retry_sre_options *options)
{
	struct cancel_retry_sre_options o;
	if (!struct_size_read(&o, sizeof o, options))
		return CANCEL_EINVAL;
	throttle->k_milli = o.k_milli ? o.k_milli : K_MILLI_DEFAULT;
	const uint64_t while_ns = o.while_ns ? o.while_ns : WHILE_NS_DEFAULT;
	slices_init(&throttle->requests, while_ns);
	slices_init(&throttle->accepts, while_ns);
	return 0;
}

/* The probability of refusal in 2^-32. */
static uint64_t refusal_odds(const struct cancel_retry_sre *throttle)
{
	const uint64_t requests = (uint64_t)throttle->requests.total;
	const uint64_t asked_milli = requests * 1000;
	const uint64_t kept_milli = (uint64_t)throttle->accepts.total * throttle->k_milli;
	uint64_t over = asked_milli > kept_milli ? asked_milli - kept_milli : 0;
	uint64_t of = (requests + 1) * 1000;
	while (over >> 31) { /* keeps the shift below in 64 bits */
		over >>= 1;
		of >>= 1;
	}
	return (over << 32) / of;
}

bool cancel_retry_sre_admit(struct cancel_retry_sre *throttle, uint64_t now_ns, uint32_t random)
{
	slices_advance(&throttle->requests, now_ns);
	slices_advance(&throttle->accepts, now_ns);
	const bool send = random >= refusal_odds(throttle);
	slices_add(&throttle->requests, 1);
	return send;
}

void cancel_retry_sre_observe(struct cancel_retry_sre *throttle, uint64_t now_ns, bool accepted)
{
	slices_advance(&throttle->accepts, now_ns);
	if (accepted)
		slices_add(&throttle->accepts, 1);
}
