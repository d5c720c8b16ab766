/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - who sends requests, how long they wait, and what they do when it fails.
 *
 * Owns requests (an original and its attempts), arrival processes, retries and the totals. A
 * request lives while a task or an event refers to it.
 */
#include "libcancel/base/histogram.h"
#include "sim/world/parts.h"

#define BIN_NS (100 * SIM_NS_PER_MS)

void world_request_hold(struct sim_world *w, uint32_t request)
{
	w->requests[request].references++;
}

void world_request_drop(struct sim_world *w, uint32_t request)
{
	if (--w->requests[request].references == 0)
		sim_slab_give(&w->request_slab, request);
}

uint32_t world_request_new(struct sim_world *w, uint32_t client)
{
	uint32_t i;
	w->requests = sim_slab_take(&w->request_slab, w->requests, sizeof *w->requests, &i);
	w->requests[i] = (struct world_request){ .client = client, .references = 1 };
	return i;
}

static struct world_bin *bin_of(struct sim_world *w, const struct world_request *r)
{
	return &w->bins[r->first_ns / BIN_NS];
}

void world_attempt_of(const struct world_request *r, struct sim_attempt *attempt)
{
	*attempt = (struct sim_attempt){
		.arrival_ns = r->arrival_ns, .original = r->sequence, .attempt = r->attempt
	};
}

static uint64_t draw_gap(
	const struct sim_world *w, struct world_client *c, const struct sim_dist *dist)
{
	uint64_t gap_ns = sim_dist_draw(dist, &c->rng), grain_ns = w->options.grain_ns;
	return grain_ns ? (gap_ns + grain_ns - 1) / grain_ns * grain_ns : gap_ns;
}

static void plan_open(struct sim_world *w, uint32_t client)
{
	struct world_client *c = &w->clients[client];
	const struct sim_client_options *o = &c->options;
	if (o->until_ns && c->next_ns >= o->until_ns)
		return;
	if (o->limit && c->totals.originals >= o->limit)
		return;
	world_at(w, c->next_ns, o->trigger ? SIM_RANK_TRIGGER : SIM_RANK_ARRIVAL, EVENT_ORIGINAL,
		client, 0);
}

static void think(struct sim_world *w, uint32_t client)
{
	struct world_client *c = &w->clients[client];
	uint64_t at_ns = w->clock.now_ns + draw_gap(w, c, &c->options.think);
	if (!c->options.until_ns || at_ns < c->options.until_ns)
		world_at(w, at_ns, SIM_RANK_ARRIVAL, EVENT_USER, client, 0);
}

void world_client_start(struct sim_world *w, uint32_t client)
{
	struct world_client *c = &w->clients[client];
	c->next_ns = c->options.first_ns;
	if (c->options.service)
		return;
	for (uint32_t i = 0; i < c->options.users; i++)
		world_at(w, c->next_ns + draw_gap(w, c, &c->options.think), SIM_RANK_ARRIVAL,
			EVENT_USER, client, 0);
	if (c->options.users == 0)
		plan_open(w, client);
}

/* The request's outcome is final, good or bad. */
static void settle(struct sim_world *w, uint32_t request, bool success)
{
	struct world_request *r = &w->requests[request];
	if (r->settled)
		return;
	r->settled = true;
	struct world_client *c = &w->clients[r->client];
	uint64_t latency_ns = w->clock.now_ns - r->first_ns;
	bool late = c->options.slo_ns && latency_ns > c->options.slo_ns;
	if (success) {
		c->totals.succeeded++;
		c->totals.late += late;
		c->totals.latency[histogram_index(latency_ns)]++;
		if (latency_ns > c->totals.latency_max_ns)
			c->totals.latency_max_ns = latency_ns;
	} else {
		c->totals.failed++;
	}
	if (c->options.measured) {
		bin_of(w, r)->late += late || !success;
		world_window(w)->goodput += success;
		world_window(w)->late += success && late;
	}
	if (c->options.users && !c->options.service)
		think(w, r->client);
}

static void again(struct sim_world *w, uint32_t request)
{
	struct world_request *r = &w->requests[request];
	struct world_client *c = &w->clients[r->client];
	uint64_t wait_ns = sim_backoff_ns(&c->options.patience, r->attempt, &c->rng);
	r->attempt++;
	world_request_hold(w, request);
	world_at(w, w->clock.now_ns + wait_ns, SIM_RANK_ARRIVAL, EVENT_RETRY, request, 0);
}

/* An attempt came to nothing for the client: another one, or the end. */
static void attempt_failed(struct sim_world *w, uint32_t request)
{
	struct world_request *r = &w->requests[request];
	const struct world_client *c = &w->clients[r->client];
	struct sim_attempt attempt;
	if (r->attempt - r->cancels >= c->options.patience.retries) {
		settle(w, request, false);
		return;
	}
	world_attempt_of(r, &attempt);
	const struct sim_policy *policy = &w->options.policy;
	if (policy->allow_retry && c->options.measured &&
		!policy->allow_retry(policy->state, w->clock.now_ns, &attempt)) {
		settle(w, request, false);
		return;
	}
	again(w, request);
}

void world_client_give_up(struct sim_world *w, uint32_t request)
{
	settle(w, request, false);
}

static void rejected(struct sim_world *w, uint32_t request)
{
	const struct world_client *c = &w->clients[w->requests[request].client];
	if (c->options.patience.retry_on_reject)
		attempt_failed(w, request);
	else
		settle(w, request, false);
}

/* The server cancelled it, or keeps its kind out: another task after a while, or the end. */
static void cancelled(struct sim_world *w, uint32_t request)
{
	struct world_request *r = &w->requests[request];
	if (r->cancels < w->clients[r->client].options.retries_on_cancel) {
		r->cancels++;
		again(w, request);
	} else {
		settle(w, request, false);
	}
}

static void turn_away(struct sim_world *w, uint32_t request)
{
	struct world_client *c = &w->clients[w->requests[request].client];
	c->totals.rejected++;
	if (c->options.measured)
		world_window(w)->rejected++;
	if (c->options.reject_script == 0) {
		rejected(w, request);
		return;
	}
	uint32_t task = world_task_new(w, request, c->options.reject_script - 1);
	w->tasks[task].rejecting = true;
	c->totals.tasks--; /* a refusal is no task of the script */
}

/* The client's patience, and the server's idea of it. */
static void wait_for(struct sim_world *w, uint32_t task)
{
	const struct world_task *t = &w->tasks[task];
	uint64_t timeout_ns = w->clients[t->client].options.patience.timeout_ns;
	uint64_t lead_ns = w->options.zombie_lead_ns;
	if (timeout_ns == 0)
		return;
	world_at(w, w->clock.now_ns + timeout_ns, SIM_RANK_TIMEOUT, EVENT_LEAVE, 0, t->id);
	if (w->options.zombies != SIM_ZOMBIES_SERVE && lead_ns > 0 && lead_ns < timeout_ns)
		world_at(w, w->clock.now_ns + timeout_ns - lead_ns, SIM_RANK_TIMEOUT,
			EVENT_DEADLINE, 0, t->id);
}

static void arrive(struct sim_world *w, uint32_t request)
{
	struct world_request *r = &w->requests[request];
	struct world_client *c = &w->clients[r->client];
	const struct sim_policy *policy = &w->options.policy;
	struct sim_attempt attempt;
	r->arrival_ns = w->clock.now_ns;
	world_attempt_of(r, &attempt);
	c->totals.attempts++;
	if (c->options.measured)
		world_window(w)->offered++;
	if (world_control_bars(w, c->options.signature)) {
		c->totals.barred++;
		cancelled(w, request);
	} else if (policy->admit && c->options.measured &&
		   !policy->admit(policy->state, w->clock.now_ns, &attempt)) {
		turn_away(w, request);
	} else {
		wait_for(w, world_task_new(w, request, c->options.script));
	}
	world_request_drop(w, request); /* the arrival's own reference */
}

void world_client_original(struct sim_world *w, const struct sim_event *event)
{
	struct world_client *c = &w->clients[event->who];
	uint32_t request = world_request_new(w, event->who);
	struct world_request *r = &w->requests[request];
	r->sequence = c->totals.originals++;
	r->first_ns = w->clock.now_ns;
	if (c->options.draw)
		c->options.draw(c->options.draw_arg, &c->rng, r->sequence, r->args);
	if (c->options.measured)
		bin_of(w, r)->originals++;
	if (c->options.users == 0) {
		c->next_ns += draw_gap(w, c, &c->options.gap);
		plan_open(w, event->who);
	}
	arrive(w, request);
}

void world_client_arrive(struct sim_world *w, const struct sim_event *event)
{
	arrive(w, event->who);
}

void world_client_left(struct sim_world *w, const struct sim_event *event)
{
	uint32_t index = world_task_find(w, event->arg);
	if (index == NONE)
		return;
	struct world_task *t = &w->tasks[index];
	if (t->left || t->rejecting)
		return;
	t->left = true;
	w->clients[t->client].totals.timed_out++;
	attempt_failed(w, t->request);
	t = &w->tasks[index];
	enum sim_zombies zombies = w->options.zombies;
	if (zombies == SIM_ZOMBIES_CANCEL ||
		(zombies == SIM_ZOMBIES_DROP_QUEUED && !t->started && t->state == TASK_WAITING))
		world_cancel(w, index, REASON_ZOMBIE);
}

/* It could not be answered in time any more: dropped unseen, its client still waits. */
void world_client_deadline(struct sim_world *w, const struct sim_event *event)
{
	uint32_t index = world_task_find(w, event->arg);
	if (index == NONE || w->tasks[index].started || w->tasks[index].rejecting)
		return;
	struct world_task *t = &w->tasks[index];
	world_request_hold(w, t->request);
	world_at(w, t->arrival_ns + w->clients[t->client].options.patience.timeout_ns,
		SIM_RANK_TIMEOUT, EVENT_TIRED, t->request, 0);
	t->left = true; /* nobody will read its answer */
	world_cancel(w, index, REASON_ZOMBIE);
}

void world_client_tired(struct sim_world *w, const struct sim_event *event)
{
	w->clients[w->requests[event->who].client].totals.timed_out++;
	attempt_failed(w, event->who);
	world_request_drop(w, event->who);
}

static void count_stopped(struct sim_world *w, const struct world_task *t, enum world_reason reason)
{
	struct world_client *c = &w->clients[t->client];
	if (reason == REASON_CULPRIT)
		c->totals.cancelled++;
	else
		c->totals.stopped++;
	c->totals.wasted_ns += t->work_ns;
	if (c->options.measured)
		world_window(w)->cancelled++;
}

/* The server stopped it: the client hears an error, unless it has left or the server reruns it. */
static void stopped(struct sim_world *w, const struct world_task *t, enum world_reason reason)
{
	struct world_request *r = &w->requests[t->request];
	const struct world_client *c = &w->clients[t->client];
	count_stopped(w, t, reason);
	if (t->left || t->parent)
		return;
	if (reason == REASON_CULPRIT && c->options.rerun && !r->rerunning) {
		r->rerunning = true;
		r->rerun_since_ns = w->clock.now_ns;
		r->rerun_mask =
			t->decision == NONE ? 0 : w->decisions[t->decision].decision.blamed_mask;
		world_request_hold(w, t->request);
		world_at(w, w->clock.now_ns, SIM_RANK_WAKE, EVENT_RERUN, t->request, 0);
	} else {
		cancelled(w, t->request);
	}
}

void world_client_ended(struct sim_world *w, const struct world_task *t, enum world_reason reason)
{
	struct world_client *c = &w->clients[t->client];
	if (t->rejecting) {
		rejected(w, t->request);
		return;
	}
	if (reason != REASON_NONE) {
		stopped(w, t, reason);
		return;
	}
	c->totals.completed++;
	if (t->left) {
		c->totals.zombies++;
		c->totals.wasted_ns += t->work_ns;
		if (c->options.measured)
			world_window(w)->zombies++;
	} else if (t->child_failed) {
		attempt_failed(w, t->request);
	} else {
		settle(w, t->request, true);
	}
}

uint64_t sim_latency_ns(const struct sim_client_totals *totals, uint32_t share_ppm)
{
	return histogram_quantile_ns(totals->latency, share_ppm);
}
