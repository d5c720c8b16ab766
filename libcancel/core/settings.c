/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the defaults and the accepted ranges of the pipeline's configuration. The thresholds are the
 * rows of policy.h; the reasons for their numbers stand in docs/policy.md.
 */
#include "libcancel/core/settings.h"

#include <stddef.h>

#include "libcancel/base/struct_size.h"

#define TASK_LIMIT	   4096u
#define TASK_LIMIT_LARGEST (1u << 20)

static const struct threshold thresholds[] = {
#define X(name, fallback, min, max, text)                                                          \
	{ #name, offsetof(struct cancel_pipeline_config, name), fallback, min, max },
	CANCEL_THRESHOLDS(X)
#undef X
};
#define THRESHOLDS (sizeof thresholds / sizeof thresholds[0])

static uint32_t *field_of(struct cancel_pipeline_config *config, const struct threshold *t)
{
	return (uint32_t *)((unsigned char *)config + t->offset);
}

uint32_t settings_value(const struct cancel_pipeline_config *config, const struct threshold *t)
{
	uint32_t value;
	memcpy(&value, (const unsigned char *)config + t->offset, sizeof value);
	return value;
}

void settings_fill(struct cancel_pipeline_config *config)
{
	for (uint32_t i = 0; i < THRESHOLDS; i++) {
		if (settings_value(config, &thresholds[i]) == 0)
			*field_of(config, &thresholds[i]) = thresholds[i].fallback;
	}
}

const struct threshold *settings_find_bad(const struct cancel_pipeline_config *config)
{
	for (uint32_t i = 0; i < THRESHOLDS; i++) {
		uint32_t value = settings_value(config, &thresholds[i]);
		if (value < thresholds[i].min || value > thresholds[i].max)
			return &thresholds[i];
	}
	return NULL;
}

int settings_resolve(const struct cancel_pipeline_config *config, struct settings *settings)
{
	struct cancel_pipeline_config c;
	if (!config || !struct_size_read(&c, sizeof c, config))
		return CANCEL_EINVAL;
	settings_fill(&c);
	*settings = (struct settings){ .policy = c.policy ? c.policy : cancel_policies[0],
		.estimator = c.estimator ? c.estimator : cancel_estimators[0],
		.task_limit = c.task_limit ? c.task_limit : TASK_LIMIT,
		.act = c.act,
#define X(name, fallback, min, max, text) .name = c.name,
		CANCEL_THRESHOLDS(X)
#undef X
	};
	if (settings_find_bad(&c) || settings->task_limit > TASK_LIMIT_LARGEST)
		return CANCEL_EINVAL;
	return 0;
}
