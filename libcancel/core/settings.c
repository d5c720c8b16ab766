/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the defaults and the accepted ranges of the pipeline's configuration. The reasons for each
 * number stand in docs/policy.md. It knows nothing of the running pipeline.
 */
#include <libcancel/core/settings.h>

#include <string.h>

#define NS_PER_MS      1000000ull
#define TASK_LIMIT_MAX (1u << 20)

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
	return value ? value : fallback;
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
	struct cancel_pipeline_config c = { 0 };

	/* An older caller's structure is a prefix of ours; what it does not have is a default. */
	if (!config || config->struct_size < sizeof(c.struct_size) ||
		config->struct_size > sizeof(c))
		return CANCEL_EINVAL;
	memcpy(&c, config, config->struct_size);
	*settings = (struct settings){
		.policy = c.policy ? c.policy : cancel_policies[0],
		.estimator = c.estimator ? c.estimator : cancel_estimators[0],
		.task_limit = or_default(c.task_limit, 4096),
		.act = c.act,
		.late_share_ppm = or_default(c.late_share_ppm, 10000),
		.late_tasks = or_default(c.late_tasks, 3),
		.contention_ppm = or_default(c.contention_ppm, 200000),
		.contention_ratio = or_default(c.contention_ratio, 2),
		.blame_ppm = or_default(c.blame_ppm, 20000),
		.held_back_ppm = or_default(c.held_back_ppm, 500000),
		.explained_ppm = or_default(c.explained_ppm, 250000),
		.evict_share_ppm = or_default(c.evict_share_ppm, 100000),
		.warm_up_ns = or_default(c.warm_up_ms, 2000) * NS_PER_MS,
		.pace_gap_ns = or_default(c.pace_gap_ms, 100) * NS_PER_MS,
		.release_wait_ns = or_default(c.release_wait_ms, 1000) * NS_PER_MS,
		.quarantine_ns = c.quarantine_ms * NS_PER_MS,
		.pace_burst = or_default(c.pace_burst, 5),
		.pace_share_ppm = or_default(c.pace_share_ppm, 100000),
	};
	return in_range(settings) ? 0 : CANCEL_EINVAL;
}
