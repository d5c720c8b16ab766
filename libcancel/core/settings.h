/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - the configuration with every default filled in.
 */
#ifndef CANCEL_CORE_SETTINGS_H
#define CANCEL_CORE_SETTINGS_H

#include <cancel/policy.h>

#define NS_PER_MS 1000000ull

struct settings {
	const struct cancel_policy *policy;
	const struct cancel_estimator *estimator;
	uint32_t task_limit;
	bool act;
#define X(name, fallback, min, max, text) uint32_t name;
	CANCEL_THRESHOLDS(X)
#undef X
};

/* A row of CANCEL_THRESHOLDS. */
struct threshold {
	const char *name;
	uint32_t offset; /* in struct cancel_pipeline_config */
	uint32_t fallback, min, max;
};

/* The default for each threshold that is 0. */
void settings_fill(struct cancel_pipeline_config *config);
/* The first threshold of a filled configuration that is outside its range; NULL: none. */
const struct threshold *settings_find_bad(const struct cancel_pipeline_config *config);
uint32_t settings_value(
	const struct cancel_pipeline_config *config, const struct threshold *threshold);

/* Fills in the defaults. 0, or CANCEL_EINVAL for a number out of its range. */
int settings_resolve(const struct cancel_pipeline_config *config, struct settings *settings);

#endif
