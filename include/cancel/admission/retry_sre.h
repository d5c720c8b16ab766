/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry_sre.h - client-side adaptive throttling.
 *
 * Purpose: a client whose requests are being refused stops sending most of them: over the last two
 * minutes it lets through about K times what the server accepted. It judges every request, retries
 * included, and refuses one with probability max(0, (requests - K accepts) / (requests + 1)).
 * Thread safety: none. Cost: O(1). Chance comes from the caller.
 * Source: Beyer et al., Site Reliability Engineering, "Handling Overload" (K = 2, 2 min).
 */
#ifndef CANCEL_ADMISSION_RETRY_SRE_H
#define CANCEL_ADMISSION_RETRY_SRE_H

#include <cancel/admission/slices.h>
#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cancel_retry_sre_options { /* zero = default, in brackets */
	size_t struct_size;
	uint32_t k_milli;  /* [2000] K in thousandths */
	uint64_t while_ns; /* [2 min] */
};

struct cancel_retry_sre {
	uint32_t k_milli;
	struct cancel_slices requests, accepts;
};

/* Returns 0, or CANCEL_EINVAL (no struct_size). */
CANCEL_MUST_CHECK int cancel_retry_sre_init(
	struct cancel_retry_sre *throttle, const struct cancel_retry_sre_options *options);
/* Counts one request and says whether to send it. `random` is uniform in [0, 2^32). */
bool cancel_retry_sre_admit(struct cancel_retry_sre *throttle, uint64_t now_ns, uint32_t random);
/* A request that was sent came back; `accepted` unless the server refused it. */
void cancel_retry_sre_observe(struct cancel_retry_sre *throttle, uint64_t now_ns, bool accepted);

#ifdef __cplusplus
}
#endif
#endif
