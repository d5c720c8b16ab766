/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns when an operator's script kills, and whom: the same rule as the bench's policy `longest`
 * inside the engine, over the wire.
 */
#include "bench/experiment/kill_script.h"

#include <stdlib.h>

#define LOOK_NS	      (50ull * BENCH_NS_PER_MS)
#define PAUSE_NS      (1000ull * BENCH_NS_PER_MS) /* to see whether it helped */
#define LATE_PER_CENT 1
#define LATE_LOOKS    2

/* A transaction counts from its start, also while its client thinks; younger ones than 100 ms are
 * left alone, as in bench/policies/longest.c. */
#define KILL_LONGEST                                                                               \
	"SELECT cancel_task(id), process FROM cancel_tasks WHERE process = (SELECT process "       \
	"FROM cancel_sessions WHERE transaction_ms > 100 ORDER BY transaction_ms DESC LIMIT 1)"

static void on_killed(void *arg, const struct wire_answer *answer)
{
	struct kill_script *killer = arg;
	const char *hit = wire_value(answer, 0, 0);
	killer->asks = false;
	if (answer->status != WIRE_OK || (hit[0] != 't' && hit[0] != '1'))
		return;
	killer->kills++;
	killer->wrong += strtoul(wire_value(answer, 0, 1), NULL, 10) != killer->culprit;
	killer->rest_ns = server_session_now_ns(killer->session) + PAUSE_NS;
}

void kill_script_hear(struct kill_script *killer, uint64_t took_ns)
{
	killer->answered++;
	killer->late += took_ns > killer->slo_ns;
}

void kill_script_step(struct kill_script *killer, const struct clients *clients, uint64_t now_ns)
{
	struct clients_counts counts;
	if (now_ns < killer->next_ns)
		return;
	clients_counts(clients, &counts);
	uint64_t left = counts.timeouts - killer->before.timeouts;
	uint64_t judged = killer->answered + left, late = killer->late + left;
	/* nothing answered although something was asked: everything waits */
	bool bad = judged ? late * 100 > judged * LATE_PER_CENT
			  : counts.offered > killer->before.offered;
	killer->looks = bad ? killer->looks + 1 : 0;
	killer->before = counts;
	killer->answered = killer->late = 0;
	killer->next_ns = now_ns + LOOK_NS;
	if (killer->looks < LATE_LOOKS || now_ns < killer->rest_ns || killer->asks)
		return;
	killer->asks = wire_ask(killer->session->operators, KILL_LONGEST, on_killed, killer) == 0;
}
