/* SPDX-License-Identifier: Apache-2.0 */
/* The three hooks of a policy over one gate and one budget. */
#include "sim/admission/guard.h"

static bool admit(void *state, uint64_t now_ns, const struct sim_attempt *attempt)
{
	struct sim_guard *guard = state;
	const struct cancel_dagor *dagor = sim_gate_dagor(&guard->gate);
	struct sim_attempt asks = *attempt;
	if (attempt->attempt == 0)
		sim_budget_first(&guard->budget, now_ns, NULL);
	/* Set once, where the request enters; a retry inherits it. */
	if (dagor)
		asks.priority =
			cancel_dagor_priority(dagor, attempt->original * guard->options.interval_ns,
				(uint32_t)(attempt->original % guard->options.levels),
				attempt->original / guard->options.levels);
	return sim_gate_admit(&guard->gate, now_ns, &asks, NULL);
}

static bool allow_retry(void *state, uint64_t now_ns, const struct sim_attempt *attempt)
{
	struct sim_guard *guard = state;
	(void)attempt;
	return sim_budget_allows(&guard->budget, now_ns);
}

static void observe_queuing(void *state, uint64_t now_ns, uint64_t queuing_ns)
{
	struct sim_guard *guard = state;
	sim_gate_start(&guard->gate, now_ns, queuing_ns);
}

int sim_guard_init(struct sim_guard *guard, const struct sim_guard_options *options)
{
	*guard = (struct sim_guard){ .options = *options };
	if (sim_budget_init(&guard->budget, &guard->options.budget) < 0)
		return -1;
	return sim_gate_init(&guard->gate, &guard->options.gate);
}

void sim_guard_free(struct sim_guard *guard)
{
	sim_gate_free(&guard->gate);
}

struct sim_policy sim_guard_policy(struct sim_guard *guard)
{
	bool gate = guard->options.gate.kind != SIM_SHED_NONE;
	enum sim_budget_kind budget = guard->options.budget.kind;
	return (struct sim_policy){
		.state = guard,
		.admit = gate || budget == SIM_BUDGET_FINAGLE ? admit : NULL,
		.observe_queuing = gate ? observe_queuing : NULL,
		.allow_retry = budget != SIM_BUDGET_NONE ? allow_retry : NULL,
	};
}
