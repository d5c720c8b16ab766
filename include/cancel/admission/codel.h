/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codel.h - CoDel: shed from a queue that stands, not from one that bursts.
 *
 * Signal: the minimum queuing delay of an interval. A burst drains and its minimum falls to zero;
 * a standing queue keeps it up. Two forms, both asked once for each request as it leaves the queue:
 *   cancel_codel         for servers: after an interval (100 ms) whose minimum exceeded the target
 *                        (5 ms), requests that queued longer than 10 ms are shed
 *   cancel_codel_packet  for packets: once the delay has stayed above the target for an interval,
 *                        drop one, and the next after interval / sqrt(drops so far)
 * CoDel sheds at random with respect to tasks: under fan-out it loses what it half did (DAGOR 3.1).
 * Thread safety: none. Cost: O(1) (an integer square root at each drop of the packet form).
 * Source: Nichols and Jacobson, Controlling Queue Delay, 2012; packet form: RFC 8289, 5; server
 * form: Maurer, Fail at Scale, ACM Queue 2015.
 */
#ifndef CANCEL_ADMISSION_CODEL_H
#define CANCEL_ADMISSION_CODEL_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cancel_codel_options { /* zero = default, in brackets */
	size_t struct_size;
	uint64_t interval_ns; /* [100 ms], at most 4.29 s for the packet form */
	uint64_t target_ns;   /* [5 ms] */
	uint64_t shed_ns;     /* [2 x target] server form: what queued longer is shed */
};

struct cancel_codel {
	uint64_t interval_ns, target_ns, shed_ns;
	uint64_t interval_end_ns;
	uint64_t min_delay_ns; /* of the running interval; UINT64_MAX: none left the queue yet */
	bool overloaded;       /* the last interval's minimum exceeded the target */
};

/* Returns 0, or CANCEL_EINVAL (no struct_size). */
CANCEL_MUST_CHECK int cancel_codel_init(
	struct cancel_codel *codel, const struct cancel_codel_options *options);
/* A request leaves the queue after `delay_ns`. False: shed it. */
bool cancel_codel_admit(struct cancel_codel *codel, uint64_t now_ns, uint64_t delay_ns);

struct cancel_codel_packet {
	uint64_t interval_ns, target_ns;
	uint64_t first_above_ns; /* when an interval above the target will be full; 0: not above */
	uint64_t drop_next_ns;
	uint64_t count, last_count; /* drops in this and the last dropping state */
	bool dropping, advance;	    /* advance: drop_next waits for the next packet's verdict */
};

/* Returns 0, or CANCEL_EINVAL (no struct_size, an interval over 4.29 s). */
CANCEL_MUST_CHECK int cancel_codel_packet_init(
	struct cancel_codel_packet *codel, const struct cancel_codel_options *options);
/* A packet leaves the queue after `delay_ns`, `behind` more are queued. False: drop it. */
bool cancel_codel_packet_admit(
	struct cancel_codel_packet *codel, uint64_t now_ns, uint64_t delay_ns, uint64_t behind);

#ifdef __cplusplus
}
#endif
#endif
