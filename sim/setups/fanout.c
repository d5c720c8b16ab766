/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system of `fan-out`, built from services. Calibration: DAGOR's evaluation (SoCC 2018,
 * 5.1-5.2) says three servers, saturation near 750 QPS, a response-time gate (250 ms) that sheds
 * from 630 QPS on and a queuing-time gate (20 ms) that does not; it does not say what M does. Work
 * a little under 250 ms on enough workers gives all three: queuing starts near 750, and the
 * response threshold is passed before.
 */
#include "sim/setups/fanout.h"

#include "sim/setups/trial.h"

#define RAMP_STEPS 20
#define USERS	   100000

static struct sim_service_options victim(struct sim_run *run, const struct sim_fanout *fanout)
{
	uint64_t mean_us = (uint64_t)sim_int(run, "work_us");
	uint64_t least_us = (uint64_t)sim_int(run, "work_least_us");
	uint32_t servers = (uint32_t)sim_int(run, "servers");
	return (struct sim_service_options){
		.servers = servers,
		.workers = (uint32_t)sim_int(run, "workers"),
		.work = {
			.shape = least_us < mean_us ? SIM_SHIFTED : SIM_FIXED,
			.mean = mean_us * SIM_NS_PER_US,
			.low = least_us * SIM_NS_PER_US,
		},
		.net_ns = 250 * SIM_NS_PER_US,
		.resends = (uint32_t)sim_int(run, "resends"),
		.reject_cost_ns = fanout->reject_cost_ns,
		.balance = SIM_BALANCE_RANDOM,
		.gate = {
			.kind = fanout->gate,
			.rate_qps = (double)sim_int(run, "saturation_qps") / servers,
			.business_levels = 1,
			.collaborative = fanout->collaborative,
			.rule = (enum cancel_dagor_rule)sim_int(run, "rule"),
			.target_ns = fanout->gate == SIM_SHED_SEDA ? sim_ns(run, "seda_target_ms") : 0,
		},
	};
}

/* Load in steps from half to all of it, as a morning brings it: gates follow at their pace. */
static void ramp(struct sim_run *run, struct sim_services *services, uint32_t traffic)
{
	uint64_t ramp_ns = sim_ns(run, "ramp_s");
	for (uint64_t i = 0; ramp_ns > 0 && i < RAMP_STEPS; i++) {
		struct sim_change change = {
			.kind = SIM_CHANGE_LOAD,
			.target = traffic,
			.from_ns = ramp_ns * i / RAMP_STEPS,
			.until_ns = ramp_ns * (i + 1) / RAMP_STEPS,
			.value = 0.5 + 0.5 * (double)i / RAMP_STEPS,
		};
		sim_services_change(services, &change);
	}
}

static void add_front(struct sim_run *run, struct sim_services *services,
	const struct sim_fanout *fanout, uint32_t front, uint64_t stop_ns)
{
	bool both = front == SIM_FANOUT_BOTH;
	uint32_t calls = both ? 1 : front + 1;
	struct sim_service_options options = {
		.servers = 3,
		.workers = 1000,
		.work = { .shape = SIM_FIXED, .mean = SIM_NS_PER_MS },
		.net_ns = 250 * SIM_NS_PER_US,
		.calls = { { .callee = 0, .count = calls, .with_next = both },
			{ .callee = 1, .count = 1 } },
		.call_lists = both ? 2 : 1,
	};
	int service = sim_services_add(services, &options);
	struct sim_traffic_options traffic = {
		.service = (uint32_t)service,
		.loop = SIM_LOOP_POISSON,
		.rate_qps = fanout->feed_qps[front] / calls,
		.users = USERS,
		.stop_ns = stop_ns,
		.patience.timeout_ns = sim_ns(run, "timeout_ms"),
	};
	ramp(run, services, (uint32_t)sim_services_traffic(services, &traffic));
}

static void read_result(struct sim_services *services, const struct sim_fanout *fanout,
	struct sim_fanout_result *result)
{
	double queuing_ns = 0.0, response_ns = 0.0, started = 0.0, answered = 0.0;
	uint32_t traffic = 0;
	*result = (struct sim_fanout_result){ 0 };
	for (uint32_t front = 0; front < SIM_FANOUT_FRONTS; front++) {
		struct sim_traffic_result got;
		if (fanout->feed_qps[front] <= 0.0)
			continue;
		sim_services_traffic_result(services, traffic++, &got);
		result->fronts[front].tasks = got.originals;
		result->fronts[front].succeeded = got.succeeded;
	}
	sim_services_result(services, 0, &result->m);
	for (size_t i = result->m.probe_count / 2; i < result->m.probe_count; i++) {
		const struct sim_probe *probe = &result->m.probes[i];
		queuing_ns += (double)probe->queuing_sum_ns;
		response_ns += (double)probe->response_sum_ns;
		started += (double)probe->started;
		answered += (double)probe->answered;
	}
	uint64_t refused = result->m.rejected + result->m.shed_at_head + result->m.refused_upstream;
	uint64_t tried = result->m.arrivals + result->m.refused_upstream;
	result->shed_share = tried > 0 ? (double)refused / (double)tried : 0.0;
	result->wasted_share =
		result->m.served > 0 ? (double)result->m.wasted / (double)result->m.served : 0.0;
	result->mean_queuing_ms = started > 0.0 ? queuing_ns / started / 1e6 : 0.0;
	result->mean_response_ms = answered > 0.0 ? response_ns / answered / 1e6 : 0.0;
	result->m.probes = NULL;
}

int sim_fanout_run(
	struct sim_run *run, const struct sim_fanout *fanout, struct sim_fanout_result *result)
{
	uint64_t warm_s = (uint64_t)(sim_int(run, "ramp_s") + sim_int(run, "settle_s"));
	uint64_t stop_ns = (warm_s + (uint64_t)sim_int(run, "measure_s")) * SIM_NS_PER_S;
	struct sim_services_options options =
		sim_services_of(run, stop_ns + 2 * sim_ns(run, "timeout_ms"), fanout->seed);
	options.warm_up_ns = warm_s * SIM_NS_PER_S;
	options.bin_ns = SIM_NS_PER_S;
	struct sim_services *services = sim_services_new(&options);
	struct sim_service_options m = victim(run, fanout);
	sim_services_add(services, &m);
	if (fanout->feed_qps[SIM_FANOUT_BOTH] > 0.0)
		sim_services_add(services, &m);
	for (uint32_t front = 0; front < SIM_FANOUT_FRONTS; front++)
		if (fanout->feed_qps[front] > 0.0)
			add_front(run, services, fanout, front, stop_ns);
	if (sim_play_services(run, services, "a run") < 0)
		return -1;
	read_result(services, fanout, result);
	sim_services_free(services);
	return 0;
}
