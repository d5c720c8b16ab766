/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list of what may defend a server in a live lane. */
#include "bench/policies/lane_policy.h"

#include <string.h>

#define BUDGET_LARGE_PCT 200 /* twice the headroom */

const struct lane_policy lane_policies[] = {
	{ .name = "none", .what = "timeouts and retries, and nobody who intervenes" },
	{ .name = "none-47", .what = "the same at a load of 47 %", .load_pct = 47 },
	{ .name = "queue",
		.what = "the order of the server's worker queue: priorities, and no gate",
		.defences = LANE_QUEUE },
	{ .name = "timeout",
		.what = "a statement timeout as long as the clients wait: nothing is done for "
			"nobody",
		.defences = LANE_TIMEOUT },
	{ .name = "limit",
		.what = "a queue as short as can be answered in half the clients' timeout",
		.defences = LANE_LIMIT },
	{ .name = "longest",
		.what = "kill whatever has run longest while requests are late",
		.defences = LANE_LONGEST },
	{ .name = "budget",
		.what = "a retry budget of 30 % of the headroom",
		.defences = LANE_BUDGET,
		.budget_pct = LANE_BUDGET_PCT },
	{ .name = "budget-large",
		.what = "a retry budget of twice the headroom",
		.defences = LANE_BUDGET,
		.budget_pct = BUDGET_LARGE_PCT },
	{ .name = "gate", .what = "the server's admission gate", .defences = LANE_GATE },
	{ .name = "gate+budget",
		.what = "both",
		.defences = LANE_GATE | LANE_BUDGET,
		.budget_pct = LANE_BUDGET_PCT },
	{ .name = "gate+retry",
		.what = "the gate, and clients that retry a refusal at once",
		.defences = LANE_GATE,
		.on_refusal = CROWD_RETRY },
	{ .name = "gate+retry-after",
		.what = "the gate, and clients that retry a refusal when its hint says",
		.defences = LANE_GATE,
		.on_refusal = CROWD_RETRY_LATER },
	{ .name = "cancel", .what = "libcancel cancels the culprit", .defences = LANE_CANCEL },
	{ .name = "cancel+budget",
		.what = "and a retry budget",
		.defences = LANE_CANCEL | LANE_BUDGET,
		.budget_pct = LANE_BUDGET_PCT },
	{ .name = "cancel+gate",
		.what = "and the admission gate",
		.defences = LANE_CANCEL | LANE_GATE },
	{ .name = "cancel+gate+budget",
		.what = "all three",
		.defences = LANE_CANCEL | LANE_GATE | LANE_BUDGET,
		.budget_pct = LANE_BUDGET_PCT },
	{ 0 },
};

const struct lane_policy *lane_policy_find(const char *name)
{
	for (const struct lane_policy *policy = lane_policies; policy->name; policy++)
		if (strcmp(policy->name, name) == 0)
			return policy;
	return NULL;
}
