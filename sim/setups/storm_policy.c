/* SPDX-License-Identifier: Apache-2.0 */
/* Budget, gate, timeout and core put between a storm's clients and its server. */
#include "sim/setups/storm_policy.h"

#define LEVELS 4 /* business levels, as in lane 3 */

static const struct {
	const char *name;
	unsigned bits;
} defences[] = {
	{ "none", 0 },
	{ "budget", SIM_DEFEND_BUDGET },
	{ "dagor", SIM_DEFEND_DAGOR },
	{ "timeout", SIM_DEFEND_TIMEOUT },
	{ "cancel", SIM_DEFEND_CANCEL },
	{ "budget+dagor", SIM_DEFEND_BUDGET | SIM_DEFEND_DAGOR },
	{ "cancel+budget", SIM_DEFEND_CANCEL | SIM_DEFEND_BUDGET },
	{ "cancel+dagor", SIM_DEFEND_CANCEL | SIM_DEFEND_DAGOR },
	{ "cancel+timeout", SIM_DEFEND_CANCEL | SIM_DEFEND_TIMEOUT },
	{ "cancel+budget+dagor", SIM_DEFEND_CANCEL | SIM_DEFEND_BUDGET | SIM_DEFEND_DAGOR },
};

unsigned sim_defence_bits(size_t choice)
{
	return defences[choice].bits;
}

const char *sim_defence_name(size_t choice)
{
	return defences[choice].name;
}

static bool admit(void *state, uint64_t now_ns, const struct sim_attempt *attempt)
{
	struct sim_defender *d = state;
	/* Set once, where the request enters; a retry inherits it. */
	uint32_t priority = cancel_dagor_priority(&d->gate, attempt->original * d->interval_ns,
		(uint32_t)(attempt->original % LEVELS), attempt->original / LEVELS);
	return cancel_dagor_admit(&d->gate, now_ns, priority);
}

static bool allow_retry(void *state, uint64_t now_ns, const struct sim_attempt *attempt)
{
	struct sim_defender *d = state;
	(void)attempt;
	return cancel_bucket_admit(&d->bucket, now_ns, 1);
}

static void observe_queuing(void *state, uint64_t now_ns, uint64_t queuing_ns)
{
	struct sim_defender *d = state;
	cancel_dagor_observe(&d->gate, now_ns, queuing_ns);
}

static int start(const struct sim_run *run, struct sim_defender *d, const struct sim_storm *storm)
{
	struct cancel_bucket_options bucket = { .struct_size = sizeof bucket,
		.rate = (uint64_t)sim_int(run, "budget") };
	struct cancel_dagor_options gate = { .struct_size = sizeof gate,
		.business_levels = LEVELS };
	*d = (struct sim_defender){ .interval_ns = SIM_NS_PER_S / storm->load_qps };
	return cancel_bucket_init(&d->bucket, &bucket) < 0 || cancel_dagor_init(&d->gate, &gate) < 0
		       ? -1
		       : 0;
}

int sim_defend(
	const struct sim_run *run, unsigned bits, struct sim_defender *d, struct sim_storm *storm)
{
	if (start(run, d, storm) < 0)
		return -1;
	bool gate = bits & SIM_DEFEND_DAGOR;
	storm->policy = (struct sim_policy){
		.state = d,
		.admit = gate ? admit : NULL,
		.observe_queuing = gate ? observe_queuing : NULL,
		.allow_retry = bits & SIM_DEFEND_BUDGET ? allow_retry : NULL,
	};
	sim_watch_read(run, &storm->world, &d->pipeline);
	storm->world.seed = run->seed;
	if (bits & SIM_DEFEND_TIMEOUT)
		storm->world.statement_timeout_ns =
			(uint64_t)sim_int(run, "statement_timeout_ms") * SIM_NS_PER_MS;
	if (!(bits & SIM_DEFEND_CANCEL))
		storm->world.pipeline = NULL;
	return 0;
}
