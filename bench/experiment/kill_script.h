/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane_killer.h - the rival `longest` of the live lanes: an operator's script that looks on while
 * clients are served and, when too many are late, cancels whatever has been in the server longest.
 */
#ifndef BENCH_LANE_KILLER_H
#define BENCH_LANE_KILLER_H

#include "bench/experiment/lane_session.h"

struct lane_killer {
	struct lane_session *session;
	uint64_t slo_ns;
	uint32_t culprit;	   /* as the server numbers its session: other kills are wrong */
	uint64_t next_ns, rest_ns; /* its next look; no kill before */
	uint32_t answered, late, looks;
	struct crowd_counts before;
	bool asks;
	uint32_t kills, wrong;
};

/* An answer came, so long after its request was due; UINT64_MAX: it was none. */
void lane_killer_hear(struct lane_killer *killer, uint64_t took_ns);
/* Looks, if it is time to. */
void lane_killer_step(struct lane_killer *killer, const struct crowd *crowd, uint64_t now_ns);

#endif
