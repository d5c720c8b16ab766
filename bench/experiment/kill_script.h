/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill_script.h - the rival `longest` on a server: an operator's script that looks on while
 * clients are served and, when too many are late, cancels whatever has been in the server longest.
 */
#ifndef BENCH_KILL_SCRIPT_H
#define BENCH_KILL_SCRIPT_H

#include "bench/experiment/server_session.h"

struct kill_script {
	struct server_session *session;
	uint64_t slo_ns;
	uint32_t culprit;	   /* as the server numbers its session: other kills are wrong */
	uint64_t next_ns, rest_ns; /* its next look; no kill before */
	uint32_t answered, late, looks;
	struct clients_counts before;
	bool asks;
	uint32_t kills, wrong;
};

/* An answer came, so long after its request was due; UINT64_MAX: it was none. */
void kill_script_hear(struct kill_script *killer, uint64_t took_ns);
/* Looks, if it is time to. */
void kill_script_step(struct kill_script *killer, const struct clients *clients, uint64_t now_ns);

#endif
