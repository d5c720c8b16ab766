/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kind of gate behind one set of calls. Which call a kind listens to differs: CoDel decides at
 * the head of the queue, the others at arrival.
 */
#include "sim/admission/gate.h"

#include <stdlib.h>

#include "sim/base/clock.h"
#include "sim/base/memory.h"

static int dagor_init(struct sim_gate *gate, bool response)
{
	const struct sim_gate_options *o = gate->options;
	struct cancel_dagor_options options = {
		.struct_size = sizeof(options),
		.business_levels = o->business_levels,
		.user_levels = o->user_levels,
		.rule = o->rule,
		.signal = response ? CANCEL_DAGOR_RESPONSE_TIME : CANCEL_DAGOR_QUEUING_TIME,
		.threshold_ns = o->threshold_ns,
		.window_ns = o->window_ns,
		.window_requests = o->window_requests,
	};
	gate->dagor = sim_alloc(1, sizeof(*gate->dagor));
	return cancel_dagor_init(gate->dagor, &options) < 0 ? -1 : 0;
}

int sim_gate_init(struct sim_gate *gate, const struct sim_gate_options *options)
{
	struct cancel_codel_options codel = { .struct_size = sizeof(codel),
		.target_ns = options->target_ns };
	/* Told the rate it should find, it need not learn it from ten thousand a second down. */
	struct cancel_seda_options seda = {
		.struct_size = sizeof(seda),
		.target_ns = options->target_ns,
		.start_per_s = (uint32_t)options->rate_qps,
		.max_per_s = 2 * (uint32_t)options->rate_qps,
	};
	gate->options = options;
	switch (options->kind) {
	case SIM_SHED_CODEL:
		return cancel_codel_init(&gate->codel, &codel) < 0 ? -1 : 0;
	case SIM_SHED_SEDA:
		return cancel_seda_init(&gate->seda, &seda) < 0 ? -1 : 0;
	case SIM_SHED_DAGOR_Q:
	case SIM_SHED_DAGOR_R:
		return dagor_init(gate, options->kind == SIM_SHED_DAGOR_R);
	default:
		return 0;
	}
}

void sim_gate_free(struct sim_gate *gate)
{
	if (sim_gate_dagor(gate))
		free(gate->dagor);
}

struct cancel_dagor *sim_gate_dagor(const struct sim_gate *gate)
{
	bool is = gate->options && (gate->options->kind == SIM_SHED_DAGOR_Q ||
					   gate->options->kind == SIM_SHED_DAGOR_R);
	return is ? gate->dagor : NULL;
}

static bool coin_admit(struct sim_gate *gate, uint64_t now_ns, struct sim_rng *rng)
{
	struct sim_coin *coin = &gate->coin;
	uint64_t second = now_ns / SIM_NS_PER_S;
	if (second != coin->second) {
		coin->last_requests = second == coin->second + 1 ? coin->requests : 0;
		coin->second = second;
		coin->requests = 0;
	}
	coin->requests++;
	return sim_rng_unit(rng) * (double)coin->last_requests < gate->options->rate_qps;
}

bool sim_gate_admit(struct sim_gate *gate, uint64_t now_ns, const struct sim_attempt *attempt,
	struct sim_rng *rng)
{
	const struct sim_policy *policy = &gate->options->policy;
	switch (gate->options->kind) {
	case SIM_SHED_RANDOM:
		return coin_admit(gate, now_ns, rng);
	case SIM_SHED_SEDA:
		return cancel_seda_admit(&gate->seda, now_ns);
	case SIM_SHED_DAGOR_Q:
	case SIM_SHED_DAGOR_R:
		return cancel_dagor_admit(gate->dagor, now_ns, attempt->priority);
	case SIM_SHED_HOOKS:
		return !policy->admit || policy->admit(policy->state, now_ns, attempt);
	default:
		return true;
	}
}

bool sim_gate_start(struct sim_gate *gate, uint64_t now_ns, uint64_t queuing_ns)
{
	const struct sim_policy *policy = &gate->options->policy;
	switch (gate->options->kind) {
	case SIM_SHED_CODEL:
		return cancel_codel_admit(&gate->codel, now_ns, queuing_ns);
	case SIM_SHED_DAGOR_Q:
		cancel_dagor_observe(gate->dagor, now_ns, queuing_ns);
		return true;
	case SIM_SHED_HOOKS:
		if (policy->observe_queuing)
			policy->observe_queuing(policy->state, now_ns, queuing_ns);
		return true;
	default:
		return true;
	}
}

void sim_gate_answered(struct sim_gate *gate, uint64_t now_ns, uint64_t response_ns)
{
	if (gate->options->kind == SIM_SHED_SEDA)
		cancel_seda_observe(&gate->seda, now_ns, response_ns);
	else if (gate->options->kind == SIM_SHED_DAGOR_R)
		cancel_dagor_observe(gate->dagor, now_ns, response_ns);
}
