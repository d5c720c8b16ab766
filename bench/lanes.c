/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the lists of live lanes and of what may defend a server in them. A new lane is a file in
 * bench/lanes/ and a row here.
 */
#include "lane.h"

#include <math.h>
#include <string.h>

const struct lane *const lanes[] = {
	&lane_stall,
	&lane_culprit_storm,
	&lane_dump_storm,
	&lane_overload_2x,
	&lane_dump,
	&lane_backup_lock,
	&lane_scan_backup,
	NULL,
};

#define SLACK		 1.5
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

const char *const lane_figure_names[LANE_FIGURE_COUNT] = {
#define X(name) #name,
	LANE_FIGURES(X)
#undef X
};

const struct lane *lane_find(const char *name, bool of_case)
{
	for (const struct lane *const *lane = lanes; *lane; lane++)
		if (strcmp((*lane)->name, name) == 0 && (*lane)->of_case == of_case)
			return *lane;
	return NULL;
}

const struct lane_policy *lane_policy_find(const char *name)
{
	for (const struct lane_policy *policy = lane_policies; policy->name; policy++)
		if (strcmp(policy->name, name) == 0)
			return policy;
	return NULL;
}

double lane_cure_s(double rho, double stall_s, double timeout_s)
{
	double backlog_s = fmax(rho * stall_s - timeout_s, timeout_s / 2);
	return SLACK * backlog_s / ((1 - rho) * (1 - LANE_BUDGET_PCT / 100.0));
}

void lane_options_defaults(struct lane_options *options)
{
	*options = (struct lane_options){ .retries = UINT32_MAX, .connections = 6000 };
}
