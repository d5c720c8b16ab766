/* SPDX-License-Identifier: Apache-2.0 */
/* Builds lane 1 as a world and reads its outcome. */
#include "sim/setups/storm.h"

#include "sim/base/clock.h"
#include "sim/setups/trial.h"

enum { SERVER, TABLE };
enum { VICTIM, CULPRIT, REPORT, USER }; /* clients; the first three scripts too */

static uint64_t or_default(uint64_t value, uint64_t standard)
{
	return value ? value : standard;
}

static struct sim_storm with_defaults(const struct sim_storm *storm)
{
	struct sim_storm s = *storm;
	s.service_ns = or_default(s.service_ns, 3333333);
	s.timeout_ns = or_default(s.timeout_ns, SIM_NS_PER_S);
	s.lock_at_ns = or_default(s.lock_at_ns, 30 * SIM_NS_PER_S);
	s.duration_ns = or_default(s.duration_ns, 200 * SIM_NS_PER_S);
	s.slo_ns = or_default(s.slo_ns, 50 * SIM_NS_PER_MS);
	return s;
}

static bool build(struct sim_world *w, const struct sim_storm *s)
{
	const struct sim_resource_options resources[] = {
		{ .name = "server", .type = CANCEL_QUEUE, .capacity = 1 },
		{ .name = "table", .type = CANCEL_LOCK },
	};
	const struct sim_step victim[] = { SIM_TAKE(SERVER, 1), SIM_LOCK(TABLE, CANCEL_SHARED),
		SIM_UNLOCK(TABLE, CANCEL_SHARED), SIM_STEP(START, 0, 0), SIM_COMPUTE(s->service_ns),
		SIM_FREE(SERVER, 1) };
	const struct sim_step culprit[] = { SIM_LOCK(TABLE, CANCEL_EXCLUSIVE),
		SIM_COMPUTE(s->hold_ns), SIM_UNLOCK(TABLE, CANCEL_EXCLUSIVE) };
	const struct sim_step report[] = { SIM_COMPUTE(s->report_ns) };
	const struct sim_script scripts[] = { SIM_SCRIPT(victim), SIM_SCRIPT(culprit),
		SIM_SCRIPT(report) };
	struct sim_client_options clients[] = {
		[VICTIM] = { .name = "victim",
			.script = VICTIM,
			.flags = CANCEL_CANCELLABLE,
			.slo_ns = s->slo_ns,
			.measured = true,
			.gap = { .shape = SIM_FIXED, .mean = SIM_NS_PER_S / s->load_qps },
			.patience = { .timeout_ns = s->timeout_ns,
				.retries = s->retries,
				.retry_on_reject = s->retry_on_reject } },
		[CULPRIT] = sim_background_task("culprit", CULPRIT, 0xc1, s->lock_at_ns),
		[REPORT] = sim_background_task("report", REPORT, 0x2e, s->report_gap_ns / 2),
	};
	clients[CULPRIT].flags = s->culprit_exempt ? 0 : CANCEL_CANCELLABLE;
	clients[CULPRIT].service = s->hold_ns == 0;
	clients[CULPRIT].retries_on_cancel = s->culprit_retries;
	clients[CULPRIT].patience.backoff_ns = s->culprit_backoff_ns;
	clients[REPORT].class_index = 2;
	clients[REPORT].flags = CANCEL_CANCELLABLE;
	clients[REPORT].trigger = false;
	clients[REPORT].service = s->report_gap_ns == 0;
	clients[REPORT].limit = 0;
	clients[REPORT].gap.mean = s->report_gap_ns;
	struct sim_client_options user = clients[VICTIM];
	user.name = "user";
	user.measured = false;
	user.service = s->users == 0;
	user.users = s->users;
	user.think = (struct sim_dist){ .shape = SIM_EXPONENTIAL, .mean = SIM_NS_PER_S };
	return SIM_BUILD(w, resources, scripts, clients) && sim_world_client(w, &user) == USER;
}

struct sim_world *sim_storm_new(const struct sim_storm *storm, const char **why)
{
	struct sim_storm s = with_defaults(storm);
	struct sim_world_options options = s.world;
	options.duration_ns = s.duration_ns;
	options.policy = s.policy;
	*why = "load must lie in 1 … 1,000,000,000 a second";
	if (s.load_qps == 0 || s.load_qps > SIM_NS_PER_S)
		return NULL;
	struct sim_world *w = sim_world_new(&options, why);
	if (w && !build(w, &s)) {
		*why = "the storm's tables do not fit a world";
		sim_world_free(w);
		return NULL;
	}
	return w;
}

static void read_holds(
	const struct sim_storm *s, const struct sim_result *r, struct sim_storm_outcome *outcome)
{
	outcome->holds = (uint32_t)r->hold_count;
	for (size_t i = 0; i < r->hold_count; i++) {
		uint64_t given_ns = r->holds[i].given_ns ? r->holds[i].given_ns : s->duration_ns;
		uint64_t held_ns = given_ns - r->holds[i].taken_ns;
		outcome->release_sum_ns += held_ns;
		if (i == 0)
			outcome->release_ns = held_ns;
	}
}

static void read_decisions(
	const struct sim_storm *s, const struct sim_result *r, struct sim_storm_outcome *outcome)
{
	outcome->cancels = r->decisions_total;
	outcome->wrong_cancels = r->decision_count - sim_decisions_on(r, CULPRIT);
	if (r->decision_count > 0)
		outcome->decided_ns = r->decisions[0].decided_ns - s->lock_at_ns;
}

/* Fewer are in the server than a tenth of the run ago. */
static bool draining(const struct sim_result *r)
{
	size_t last = r->window_count - 1, before = last - r->window_count / 10;
	return r->windows[last].in_server < r->windows[before].in_server;
}

void sim_storm_read(const struct sim_storm *storm, const struct sim_world *world,
	struct sim_storm_outcome *outcome)
{
	struct sim_storm s = with_defaults(storm);
	struct sim_result r;
	sim_world_result(world, &r);
	const struct sim_client_totals *victims = sim_world_totals(world, VICTIM);
	const struct sim_client_totals *culprit = sim_world_totals(world, CULPRIT);
	*outcome = (struct sim_storm_outcome){
		.heal_s = sim_world_heal_s(
			world, s.lock_at_ns / SIM_NS_PER_S, s.load_qps, 1 + s.users),
		.goodput = victims->succeeded,
		.offered = victims->originals,
		.failed = victims->failed,
		.wasted_ns = victims->wasted_ns + culprit->wasted_ns,
		.late_bins = r.late_bins,
		.barred = culprit->barred,
		.stopped = victims->stopped,
		.zombies = victims->zombies,
		.regular_windows = r.regular_windows,
	};
	for (size_t i = r.window_count / 2; i < r.window_count; i++)
		outcome->second_half_goodput += r.windows[i].goodput;
	outcome->heals = outcome->heal_s >= 0;
	outcome->undecided = !outcome->heals && draining(&r);
	outcome->reports = sim_world_totals(world, REPORT)->originals;
	outcome->reports_stopped = sim_world_totals(world, REPORT)->stopped +
				   sim_world_totals(world, REPORT)->cancelled;
	read_holds(&s, &r, outcome);
	read_decisions(&s, &r, outcome);
}

uint64_t sim_storm_survivable_ns(const struct sim_storm *storm)
{
	struct sim_storm s = with_defaults(storm);
	double rho = (double)s.load_qps * (double)s.service_ns / 1e9;
	double timeout_ns = (double)s.timeout_ns;
	double outage_ns = timeout_ns * (1 + (1 - rho) * (1 - rho) / rho) - (double)s.service_ns;
	return outage_ns > 0 ? (uint64_t)outage_ns : 0;
}
