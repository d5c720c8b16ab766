/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of worlds and services for lanes. */
#include "sim/setups/trial.h"

/* None where the lane sweeps it. */
static const char *chosen(const struct sim_run *run, const char *key)
{
	const struct sim_setting *setting = sim_options_find(&run->options, key);
	return setting->key->kind == SIM_KEY_CHOICE ? setting->text : NULL;
}

void sim_watch_read(const struct sim_run *run, struct sim_world_options *options,
	struct cancel_pipeline_config *pipeline)
{
	const char *policy = chosen(run, "choose"), *estimator = chosen(run, "estimator");
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
		.policy = policy ? cancel_policy_find(policy) : NULL,
		.estimator = estimator ? cancel_estimator_find(estimator) : NULL,
	};
}

int sim_play_world(struct sim_run *run, struct sim_world *world, const char *why,
	struct sim_result *result, const char *subject)
{
	*result = (struct sim_result){ 0 };
	if (world) {
		sim_world_run(world);
		sim_world_result(world, result);
		why = result->broken;
	}
	sim_note_bound(run, result->bound, subject ? "%s" : NULL, subject);
	return why ? sim_fail(run, "%s: %s", run->lane->name, why) : 0;
}

static int run_seed(const struct sim_world_lane *lane, struct sim_trial *trial, void *found)
{
	const char *why;
	trial->world = sim_world_new(&trial->options, &why);
	bool built = trial->world && lane->build(trial);
	int status = sim_play_world(trial->run, built ? trial->world : NULL,
		trial->world ? "the world's tables do not hold this lane" : why, &trial->result,
		trial->subject);
	if (built)
		lane->read(trial, found);
	sim_world_free(trial->world);
	return status;
}

int sim_trials(
	struct sim_run *run, const struct sim_world_lane *lane, const void *variant, void *found)
{
	for (uint32_t i = 0; i < run->seeds; i++) {
		struct sim_trial trial = { .run = run, .variant = variant, .subject = "a run" };
		sim_watch_read(run, &trial.options, &trial.pipeline);
		trial.options.duration_ns = sim_ns(run, "duration_s");
		trial.options.seed = run->seed + i;
		if (lane->describe)
			lane->describe(&trial);
		if (run_seed(lane, &trial, found) != 0)
			return -1;
	}
	return 0;
}

struct sim_client_options sim_requests(const struct sim_run *run, const char *name)
{
	return (struct sim_client_options){
		.name = name,
		.flags = CANCEL_CANCELLABLE,
		.slo_ns = sim_ns(run, "slo_ms"),
		.measured = true,
		.gap = { .shape = SIM_EXPONENTIAL,
			.mean = SIM_NS_PER_S / (uint64_t)sim_int(run, "load") },
	};
}

struct sim_client_options sim_background_task(
	const char *name, uint32_t script, uint64_t signature, uint64_t first_ns)
{
	return (struct sim_client_options){
		.name = name,
		.script = script,
		.class_index = 1,
		.flags = CANCEL_CANCELLABLE | CANCEL_BACKGROUND,
		.signature = signature,
		.trigger = true,
		.first_ns = first_ns,
		.limit = 1,
		.gap = { .shape = SIM_FIXED, .mean = 1 },
		.progress = SIM_PROGRESS_TRUE,
	};
}

void sim_draw_dist(void *arg, struct sim_rng *rng, uint64_t sequence, uint64_t *args)
{
	(void)sequence;
	args[0] = sim_dist_draw(arg, rng);
}

uint64_t sim_decisions_on(const struct sim_result *result, uint32_t client)
{
	uint64_t count = 0;
	for (size_t i = 0; i < result->decision_count; i++)
		count += result->decisions[i].client == client;
	return count;
}

double sim_in_slo_pct(const struct sim_client_totals *totals)
{
	return 100.0 * (double)(totals->succeeded - totals->late) / (double)totals->originals;
}

int sim_play_services(struct sim_run *run, struct sim_services *services, const char *subject)
{
	const char *why;
	if (sim_services_run(services, &why) < 0) {
		sim_services_free(services);
		return sim_fail(run, "%s", why);
	}
	sim_note_bound(run, sim_services_bound(services), subject ? "%s" : NULL, subject);
	return 0;
}

struct sim_services_options sim_services_of(
	const struct sim_run *run, uint64_t duration_ns, uint64_t seed)
{
	return (struct sim_services_options){
		.duration_ns = duration_ns, .seed = seed, .events_limit = run->events_limit
	};
}
