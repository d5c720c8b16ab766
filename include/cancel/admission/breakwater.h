/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakwater.h - Breakwater: credits that clients must hold to send.
 *
 * Purpose: keep queuing delay at a target by the number of requests clients may have in flight.
 * Each round trip: delay d >= target: pool x= max(1 - 0.02 (d - target) / target, 0.5), else
 * pool += 0.001 x clients. A request that queued 2 x target is dropped, as a last resort. The pool
 * is dealt out with replies: a client gets what it wants and a little more while credits are
 * unissued, and loses one a reply while too many are out.
 * Thread safety: none; the server's object and each client's belong to one caller each.
 * Cost: O(1). The pool is kept in millionths of a credit.
 * Source: Cho et al., Overload Control for us-scale RPCs with Breakwater, OSDI 2020, 3 and 4.
 */
#ifndef CANCEL_ADMISSION_BREAKWATER_H
#define CANCEL_ADMISSION_BREAKWATER_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cancel_breakwater_options { /* zero = default, in brackets */
	size_t struct_size;
	uint64_t target_ns;	/* [80 us] */
	uint64_t drop_ns;	/* [2 x target] */
	uint64_t rtt_ns;	/* [10 us] */
	uint32_t add_ppm;	/* [1000] of the clients, each round trip */
	uint32_t cut_ppm;	/* [20000] for each target the delay is over */
	uint32_t min_credits;	/* [1] the paper: one a core */
	uint32_t client_max;	/* [64] credits a client may hold */
	uint32_t start_credits; /* [min_credits] */
	uint64_t start_ns;	/* [0] */
};

struct cancel_breakwater {
	uint64_t target_ns, drop_ns, rtt_ns;
	uint32_t add_ppm, cut_ppm, min_credits, client_max;
	uint32_t clients;
	uint64_t pool_micro; /* credits that should be out */
	uint64_t issued;     /* credits that are */
	uint64_t next_update_ns;
};

/* What the server remembers of a client. */
struct cancel_breakwater_client {
	uint32_t credits;
};

/* Returns 0, or CANCEL_EINVAL (no struct_size, cut_ppm over 100 %). */
CANCEL_MUST_CHECK int cancel_breakwater_init(
	struct cancel_breakwater *server, const struct cancel_breakwater_options *options);
/* A client comes; it holds nothing yet. A client goes; what it held is free. */
void cancel_breakwater_join(
	struct cancel_breakwater *server, struct cancel_breakwater_client *client);
void cancel_breakwater_leave(
	struct cancel_breakwater *server, struct cancel_breakwater_client *client);
/* The queuing delay now. Steers the pool once a round trip. */
void cancel_breakwater_observe(
	struct cancel_breakwater *server, uint64_t now_ns, uint64_t delay_ns);
/* A request of `client` was taken up after `delay_ns` of queuing. False: drop it. */
bool cancel_breakwater_admit(
	const struct cancel_breakwater *server, uint64_t now_ns, uint64_t delay_ns);
/* A reply goes to `client`, which has `demand` requests in flight or waiting to be sent. Returns
 * how many it may have in flight from now on. */
uint32_t cancel_breakwater_grant(
	struct cancel_breakwater *server, struct cancel_breakwater_client *client, uint32_t demand);

#ifdef __cplusplus
}
#endif
#endif
