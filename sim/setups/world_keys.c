/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the keys of a watched world. */
#include "sim/setups/world_keys.h"

void sim_watch_times(const struct sim_run *run, struct sim_world_options *options,
	struct cancel_pipeline_config *pipeline)
{
	options->events_limit = run->events_limit;
	options->control_ms = (uint32_t)sim_int(run, "window_ms");
	options->deliver_ns = sim_ns(run, "deliver_ms");
	options->ack_ns = sim_ns(run, "ack_ms");
	options->rollback_ppm = (uint32_t)(sim_real(run, "rollback_pct") * 1e4);
	options->pipeline = pipeline;
	*pipeline = (struct cancel_pipeline_config){
		.struct_size = sizeof *pipeline,
		.act = true,
		.pace_gap_ms = (uint32_t)sim_int(run, "pause_ms"),
	};
}

void sim_watch_read(const struct sim_run *run, struct sim_world_options *options,
	struct cancel_pipeline_config *pipeline)
{
	sim_watch_times(run, options, pipeline);
	pipeline->policy = cancel_policy_find(sim_text(run, "choose"));
	pipeline->estimator = cancel_estimator_find(sim_text(run, "estimator"));
}
