/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream.h - the caller's side of the DAGOR gate: refuse before sending.
 *
 * Purpose: a caller that knows the level of a service does not send it what it would refuse, so a
 * refusal costs the overloaded service nothing. One object for each service called. It learns the
 * level from replies, keeps the newest, and forgets it once it is older than ttl_ns (age on
 * arrival included): then one request finds out afresh. It counts what it refused, so that the
 * next request can tell the gate (cancel_dagor_missed), which would otherwise take what it sees
 * for all there is and open wide.
 * Thread safety: none: one caller, or a lock of its own. Cost: O(1).
 * Source: Zhou et al., SoCC 2018, 4.2.4; the expiry and the count are ours.
 */
#ifndef CANCEL_ADMISSION_UPSTREAM_H
#define CANCEL_ADMISSION_UPSTREAM_H

#include <cancel/admission/dagor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cancel_upstream_options { /* zero = default, in brackets */
	size_t struct_size;
	uint64_t ttl_ns; /* [2 s: two windows] */
};

struct cancel_upstream {
	uint64_t ttl_ns;
	bool known;
	struct cancel_dagor_level level; /* as it arrived */
	uint64_t learned_ns;
	uint64_t shed; /* refused since it was last reported */
};

/* Returns 0, or CANCEL_EINVAL (no struct_size). */
CANCEL_MUST_CHECK int cancel_upstream_init(
	struct cancel_upstream *upstream, const struct cancel_upstream_options *options);
/* May a request of this compound level be sent? Unknown or expired levels let it pass. */
bool cancel_upstream_admit(struct cancel_upstream *upstream, uint64_t now_ns, uint32_t priority);
/* A reply carried `level`. Older serials are ignored while the stored one is fresh. */
void cancel_upstream_observe(
	struct cancel_upstream *upstream, uint64_t now_ns, struct cancel_dagor_level level);
/* How many were refused since the last call, to ride on the next request. */
uint64_t cancel_upstream_take_shed(struct cancel_upstream *upstream);

#ifdef __cplusplus
}
#endif
#endif
