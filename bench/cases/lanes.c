/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list of live lanes. A new lane is a file in bench/cases/ and a row here. */
#include "bench/cases/lane.h"
#include "bench/policies/lane_policy.h"

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

#define SLACK 1.5

const struct lane *lane_find(const char *name, bool of_case)
{
	for (const struct lane *const *lane = lanes; *lane; lane++)
		if (strcmp((*lane)->name, name) == 0 && (*lane)->of_case == of_case)
			return *lane;
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
