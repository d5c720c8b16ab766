/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - the configuration with every default filled in, in the units the core computes in.
 */
#ifndef CANCEL_CORE_SETTINGS_H
#define CANCEL_CORE_SETTINGS_H

#include <cancel/policy.h>

struct settings {
	const struct cancel_policy *policy;
	const struct cancel_estimator *estimator;
	uint32_t task_limit;
	bool act;
	uint32_t late_share_ppm, late_tasks;
	uint32_t contention_ppm, contention_ratio;
	uint32_t blame_ppm, held_back_ppm, evict_share_ppm, explained_ppm;
	uint64_t warm_up_ns;
	uint64_t pace_gap_ns, release_wait_ns, quarantine_ns;
	uint32_t pace_burst, pace_share_ppm;
};

/* The default for each number that is 0, in the caller's units. */
void settings_fill(struct cancel_pipeline_config *config);
/* Fills in the defaults. 0, or CANCEL_EINVAL for a number out of its range. */
int settings_resolve(const struct cancel_pipeline_config *config, struct settings *settings);

#endif
