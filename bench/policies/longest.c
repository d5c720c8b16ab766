/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kill the longest: what operators script around the process list. When more than 1 % of the
 * requests are late for two looks in a row it kills whatever has run longest (a transaction counts
 * from its start) and is at least LEAST_AGE old, then gives the system a second to show whether
 * that helped. It looks as often as libcancel does and knows the same SLO. Age is all it goes by: a
 * harmless report that started before the culprit dies first.
 */
#include "bench/policies/policy.h"

#define LEAST_AGE_NS  100000000u
#define PAUSE_NS      1000000000u
#define LATE_PER_CENT 1
#define LATE_LOOKS    2

static bool is_late(const struct clients_counts *window)
{
	uint64_t judged = window->ok + window->dropped, bad = window->late + window->dropped;
	/* Nothing answered although much was asked: everything waits. */
	return judged ? bad * 100 > judged * LATE_PER_CENT : window->offered > 0;
}

static void tick(const struct policy_moment *moment)
{
	uint64_t *looks = &moment->state[0];
	*looks = is_late(moment->window) ? *looks + 1 : 0;
	if (*looks >= LATE_LOOKS && moment->now_ns >= moment->last_kill_ns + PAUSE_NS)
		target_kill_oldest(moment->target, LEAST_AGE_NS);
}

const struct bench_policy policy_longest = {
	.name = "longest",
	.what = { "kill whatever has run longest while requests are late",
		"kill whatever has run longest while requests are late" },
	.control = TARGET_MONITOR,
	.tick = tick,
};
