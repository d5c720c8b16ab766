/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kill the longest: what operators script around the process list. When more than 1 % of the
 * requests are late for two looks in a row it kills whatever has run longest (a transaction counts
 * from its start) and is at least LEAST_AGE old, then gives the system a second to show whether
 * that helped. It looks as often as libcancel does and knows the same SLO. Age is all it goes by: a
 * harmless report that started before the culprit dies first.
 */
#include <stdio.h>

#include "bench/policies/policy.h"

#define LEAST_AGE_NS  100000000u
#define PAUSE_NS      1000000000u
#define LATE_PER_CENT 1
#define LATE_LOOKS    2

enum { LOOKS_LATE, LAST_KILL_NS };

static bool is_late(const struct policy_moment *moment)
{
	uint64_t judged = moment->window.answered + moment->window.dropped;
	uint64_t bad = moment->window.late + moment->window.dropped;
	/* Nothing answered although much was asked: everything waits. */
	if (!judged)
		return moment->window.offered > 0;
	return bad * 100 > judged * LATE_PER_CENT;
}

static void tick(const struct policy_moment *moment)
{
	uint64_t *looks = &moment->state[LOOKS_LATE], *last_ns = &moment->state[LAST_KILL_NS];
	*looks = is_late(moment) ? *looks + 1 : 0;
	if (*looks < LATE_LOOKS || moment->now_ns < *last_ns + PAUSE_NS)
		return;
	struct target_running oldest;
	if (!target_oldest(moment->target, &oldest) ||
		moment->now_ns < oldest.since_ns + LEAST_AGE_NS ||
		!target_kill(moment->target, oldest.key))
		return;
	*last_ns = moment->now_ns;
	char why[RUN_WHY_MAX];
	snprintf(why, sizeof why, "had run longest: %.0f ms",
		(double)(moment->now_ns - oldest.since_ns) / 1e6);
	moment->note_kill(moment->arg, oldest.key, oldest.since_ns, why);
}

const struct bench_policy policy_longest = {
	.name = "longest",
	.what = "kill whatever has run longest while requests are late",
	.control = TARGET_MONITOR,
	.tick = tick,
	.server_what = "kill whatever has run longest while requests are late",
	.defences = DEFENCE_LONGEST,
};
