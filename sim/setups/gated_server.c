/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gate and a budget as the three hooks of a policy, and what is counted on the way. Decides
 * nothing: the gate's rules are libcancel/admission's, the server's are single/causal.c's.
 */
#include "sim/setups/gated_server.h"

#include <stdlib.h>

#include "sim/base/histogram.h"
#include "sim/base/memory.h"
#include "sim/setups/single_keys.h"

#define FINE_LEVELS 128

struct scope_count {
	uint64_t from; /* the first original of the scope */
	uint64_t in_time[SIM_LEVELS_MAX];
	struct sim_histogram latency;
};

struct world {
	const struct sim_gated_server *setup;
	struct sim_guard guard;
	struct scope_count whole, second_half;
};

static void count(struct scope_count *scope, const struct sim_attempt *attempt, uint32_t level,
	uint64_t latency_ns, bool in_time)
{
	if (attempt->original < scope->from)
		return;
	sim_histogram_add(&scope->latency, latency_ns);
	scope->in_time[level] += in_time;
}

static void served(void *state, const struct sim_attempt *attempt, uint64_t done_ns, bool in_time)
{
	struct world *world = state;
	uint32_t level = (uint32_t)(attempt->original % world->setup->levels);
	uint64_t latency_ns = done_ns - attempt->arrival_ns;
	count(&world->whole, attempt, level, latency_ns, in_time);
	count(&world->second_half, attempt, level, latency_ns, in_time);
}

static int world_init(struct world *world, const struct sim_gated_server *setup)
{
	struct sim_guard_options guard = {
		.gate = {
			.kind = setup->gate == SIM_GATE_NONE ? SIM_SHED_NONE : SIM_SHED_DAGOR_Q,
			.business_levels = setup->levels,
			.user_levels = setup->gate == SIM_GATE_FINE ? FINE_LEVELS : 1,
			.rule = setup->rule,
			.window_ns = setup->window_ns,
			.window_requests = setup->window_requests,
			.threshold_ns = setup->threshold_ns,
		},
		.budget = {
			.kind = setup->budget_per_s ? SIM_BUDGET_BUCKET : SIM_BUDGET_NONE,
			.bucket = { .rate = setup->budget_per_s },
		},
		.levels = setup->levels,
		.interval_ns = setup->single.interval_ns,
	};
	uint64_t half_ns = setup->single.duration_ns / 2, interval_ns = setup->single.interval_ns;
	world->setup = setup;
	world->second_half.from = (half_ns + interval_ns - 1) / interval_ns;
	return sim_guard_init(&world->guard, &guard);
}

/* Originals of one level in [from, to). */
static uint64_t originals(uint64_t from, uint64_t to, uint32_t level, uint32_t levels)
{
	uint64_t below_to = (to + levels - 1 - level) / levels;
	uint64_t below_from = (from + levels - 1 - level) / levels;
	return below_to - below_from;
}

static void scope_result(const struct world *world, const struct scope_count *scope,
	const struct sim_windows *windows, size_t from_second,
	struct sim_gated_server_scope *result)
{
	const struct sim_single *s = &world->setup->single;
	uint64_t sent = (s->duration_ns + s->interval_ns - 1) / s->interval_ns, goodput = 0;
	for (size_t second = from_second; second < windows->count; second++) {
		goodput += windows->rows[second].goodput;
		result->rejected += windows->rows[second].rejected;
	}
	result->goodput_qps = (double)goodput / (double)(windows->count - from_second);
	result->p99_ns = sim_histogram_percentile(&scope->latency, 99.0);
	for (uint32_t level = 0; level < world->setup->levels; level++) {
		uint64_t all = originals(scope->from, sent, level, world->setup->levels);
		result->success_pct[level] =
			all > 0 ? 100.0 * (double)scope->in_time[level] / (double)all : 0.0;
	}
}

static void read_result(const struct world *world, struct sim_gated_server_result *result)
{
	const struct cancel_dagor *dagor = sim_gate_dagor(&world->guard.gate);
	scope_result(world, &world->whole, &result->windows, 0, &result->whole);
	scope_result(world, &world->second_half, &result->windows, result->windows.count / 2,
		&result->second_half);
	result->cursor = dagor ? dagor->cursor : 0;
	result->cursor_levels = dagor ? dagor->levels : 0;
}

int sim_gated_server_run(
	const struct sim_gated_server *setup, struct sim_gated_server_result *result)
{
	struct world *world = sim_alloc(1, sizeof(*world));
	struct sim_policy policy;
	struct sim_causal_options options = {
		.policy = &policy,
		.retry_on_reject = setup->retry_on_reject,
		.reject_backoff_ns = setup->reject_backoff_ns,
		.reject_cost_ns = setup->reject_cost_ns,
		.served = served,
		.served_state = world,
		.events_limit = setup->events_limit,
	};
	*result = (struct sim_gated_server_result){ 0 };
	int status = world_init(world, setup);
	if (status == 0) {
		policy = sim_guard_policy(&world->guard);
		sim_causal(&setup->single, &options, &result->windows, NULL);
		read_result(world, result);
	}
	sim_guard_free(&world->guard);
	free(world);
	return status;
}

void sim_gated_server_free(struct sim_gated_server_result *result)
{
	sim_windows_free(&result->windows);
}

struct sim_gated_server sim_gated_server_read(const struct sim_run *run, uint64_t load_qps)
{
	return (struct sim_gated_server){
		.single = sim_single_read(run, load_qps),
		.levels = (uint32_t)sim_int(run, "levels"),
		.window_ns = sim_ns(run, "window_ms"),
		.window_requests = (uint32_t)sim_int(run, "window_requests"),
		.threshold_ns = sim_ns(run, "threshold_ms"),
		.reject_backoff_ns = sim_ns(run, "reject_backoff_ms"),
		.reject_cost_ns = sim_ns(run, "reject_cost_us"),
		.events_limit = run->events_limit,
	};
}
