/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the defaults and the accepted ranges of the pipeline's configuration. The reasons for each
 * number stand in docs/policy.md.
 */
#include "libcancel/core/settings.h"

#include "libcancel/base/struct_size.h"

#define NS_PER_MS      1000000ull
#define TASK_LIMIT_MAX (1u << 20)

static void or_default(uint32_t *value, uint32_t fallback)
{
	if (*value == 0)
		*value = fallback;
}

void settings_fill(struct cancel_pipeline_config *config)
{
	or_default(&config->task_limit, 4096);
	or_default(&config->late_share_ppm, 10000);
	or_default(&config->late_tasks, 3);
	or_default(&config->contention_ppm, 200000);
	or_default(&config->contention_ratio, 2);
	or_default(&config->blame_ppm, 20000);
	or_default(&config->held_back_ppm, 500000);
	or_default(&config->explained_ppm, 300000);
	or_default(&config->evict_share_ppm, 100000);
	or_default(&config->warm_up_ms, 2000);
	or_default(&config->pace_gap_ms, 100);
	or_default(&config->pace_burst, 5);
	or_default(&config->pace_share_ppm, 100000);
	or_default(&config->release_wait_ms, 1000);
}

static bool in_range(const struct settings *s)
{
	return s->policy && s->estimator && s->task_limit <= TASK_LIMIT_MAX &&
	       s->late_share_ppm <= CANCEL_PPM && s->contention_ppm <= CANCEL_PPM &&
	       s->blame_ppm <= CANCEL_PPM && s->held_back_ppm <= CANCEL_PPM &&
	       s->explained_ppm <= CANCEL_PPM && s->evict_share_ppm <= CANCEL_PPM &&
	       s->pace_share_ppm <= CANCEL_PPM;
}

int settings_resolve(const struct cancel_pipeline_config *config, struct settings *settings)
{
	struct cancel_pipeline_config c;
	if (!config || !struct_size_read(&c, sizeof c, config))
		return CANCEL_EINVAL;
	settings_fill(&c);
	*settings = (struct settings){
		.policy = c.policy ? c.policy : cancel_policies[0],
		.estimator = c.estimator ? c.estimator : cancel_estimators[0],
		.task_limit = c.task_limit,
		.act = c.act,
		.late_share_ppm = c.late_share_ppm,
		.late_tasks = c.late_tasks,
		.contention_ppm = c.contention_ppm,
		.contention_ratio = c.contention_ratio,
		.blame_ppm = c.blame_ppm,
		.held_back_ppm = c.held_back_ppm,
		.explained_ppm = c.explained_ppm,
		.evict_share_ppm = c.evict_share_ppm,
		.warm_up_ns = c.warm_up_ms * NS_PER_MS,
		.pace_gap_ns = c.pace_gap_ms * NS_PER_MS,
		.release_wait_ns = c.release_wait_ms * NS_PER_MS,
		.quarantine_ns = c.quarantine_ms * NS_PER_MS,
		.pace_burst = c.pace_burst,
		.pace_share_ppm = c.pace_share_ppm,
	};
	return in_range(settings) ? 0 : CANCEL_EINVAL;
}
