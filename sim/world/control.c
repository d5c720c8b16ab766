/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.c - the controller of a node: ledger in, verdict out, every window.
 *
 * Owns the copy of the world into the core's ledger, exactly as the live collector makes it, the
 * delivery of verdicts, and reruns, which wait for the core's word that a resource is calm.
 */
#include <stdlib.h>

#include "libcancel/base/histogram.h"
#include "libcancel/recorder/recorder.h"
#include "sim/world/parts.h"

#define CALM_LOOK_NS (50 * SIM_NS_PER_MS)

static int start_node(struct sim_world *w, uint32_t index)
{
	struct world_node *node = &w->nodes[index];
	struct cancel_pipeline_config config = *w->options.pipeline;
	config.struct_size = sizeof config;
	config.task_limit = w->options.tracked_limit;
	config.window_ms = w->options.control_ms;
	size_t bytes = cancel_pipeline_bytes(&config);
	if (bytes == 0)
		return -1;
	node->pipeline = sim_alloc(1, bytes);
	node->verdict = sim_alloc(1, sizeof *node->verdict);
	if (cancel_pipeline_init(node->pipeline, bytes, &config) != 0)
		return -1;
	node->recorder = world_record_start(w, &config);
	node->free_slots = sim_alloc(w->options.tracked_limit, sizeof *node->free_slots);
	for (uint32_t i = w->options.tracked_limit; i-- > 0;)
		node->free_slots[node->free_count++] = i;
	world_at(w, w->options.control_ms * SIM_NS_PER_MS, SIM_RANK_TICK, EVENT_CONTROL, index, 0);
	return 0;
}

int world_control_start(struct sim_world *w)
{
	if (!w->options.pipeline)
		return 0;
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++)
		if (w->options.controlled_nodes >> i & 1 && start_node(w, i) != 0)
			return -1;
	return 0;
}

void world_control_free(struct sim_world *w)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct world_node *node = &w->nodes[i];
		recorder_close(node->recorder);
		free(node->live);
		free(node->free_slots);
		free(node->pipeline);
		free(node->verdict);
		free(node->events);
		free(node->tasks);
		free(node->entries);
	}
}

void world_control_ended(struct sim_world *w, const struct world_task *t)
{
	const struct world_client *c = &w->clients[t->client];
	struct world_node *node = &w->nodes[c->options.node];
	if (!node->pipeline || c->options.slo_ns == 0 || t->slot == NONE)
		return;
	uint64_t latency_ns = w->clock.now_ns - t->arrival_ns;
	node->completed++;
	node->late += latency_ns > c->options.slo_ns;
	node->ended_active_ns += latency_ns;
	node->latency[histogram_index(latency_ns)]++;
}

/* What the task itself says of its progress, in microseconds of work. */
static void report_progress(
	const struct sim_world *w, const struct world_task *t, struct cancel_ledger_task *out)
{
	const struct sim_client_options *o = &w->clients[t->client].options;
	uint64_t done = world_task_work_ns(w, t) / 1000, total = t->work_total_ns / 1000;
	uint64_t share = total / CANCEL_PPM * o->progress_ppm +
			 total % CANCEL_PPM * o->progress_ppm / CANCEL_PPM;
	switch (o->progress) {
	case SIM_PROGRESS_NONE:
		return;
	case SIM_PROGRESS_TRUE:
		break;
	case SIM_PROGRESS_SCALED:
	case SIM_PROGRESS_OVER:
		total = share;
		break;
	case SIM_PROGRESS_BIASED:
		done += share;
		break;
	case SIM_PROGRESS_STUCK:
		done = done < share ? done : share;
		break;
	}
	out->progress_done = done;
	out->progress_expected = total;
}

static uint8_t state_of(const struct world_task *t)
{
	if (t->delivered)
		return CANCEL_DELIVERED;
	return t->blocked ? CANCEL_BLOCKED : CANCEL_RUNNING;
}

static void copy_entry(
	const struct sim_world *w, const struct world_entry *entry, struct cancel_ledger_entry *out)
{
	*out = entry->ledger;
	if (out->held) {
		bool queue = w->resources[out->resource].options.type == CANCEL_QUEUE;
		out->hold_ns += world_since(w, out->held_since_ns) * (queue ? out->held : 1);
	}
	if (out->waiting_since_ns)
		out->wait_ns += world_since(w, out->waiting_since_ns);
}

static uint8_t copy_entries(
	struct sim_world *w, struct world_node *node, const struct world_task *t, uint32_t first)
{
	uint8_t count = 0;
	node->entries = sim_grow(node->entries, &node->entry_capacity,
		(size_t)first + CANCEL_ENTRIES_MAX, sizeof *node->entries);
	for (uint32_t i = t->entries; i != NONE && count < CANCEL_ENTRIES_MAX;
		i = w->entries[i].next)
		if (!w->resources[w->entries[i].ledger.resource].options.untracked)
			copy_entry(w, &w->entries[i], &node->entries[first + count++]);
	return count;
}

static void copy_task(struct sim_world *w, struct world_node *node, const struct world_task *t,
	struct cancel_ledger_task *out, uint32_t first_entry)
{
	const struct sim_client_options *o = &w->clients[t->client].options;
	uint64_t ppm = w->options.no_rollback_guess ? 0 : o->rollback_ppm;
	*out = (struct cancel_ledger_task){
		.id = t->id,
		.sequence = t->sequence,
		.key = (uint64_t)t->client << 32 | (uint32_t)w->requests[t->request].sequence,
		.signature = o->signature,
		.episode_start_ns = t->arrival_ns ? t->arrival_ns : 1,
		.slo_ns = o->slo_ns,
		.active_ns = w->clock.now_ns - t->arrival_ns,
		.rollback_ns = world_task_work_ns(w, t) / 1000 * ppm / 1000,
		.slot = t->slot,
		.first_entry = first_entry,
		.entry_count = copy_entries(w, node, t, first_entry),
		.class_index = o->class_index,
		.state = state_of(t),
		.flags = t->flags,
	};
	report_progress(w, t, out);
}

static void fill_ledger(struct sim_world *w, struct world_node *node,
	struct cancel_ledger_resource *resources, struct cancel_ledger *ledger)
{
	uint32_t tasks = 0, entries = 0;
	node->tasks = sim_grow(
		node->tasks, &node->task_capacity, node->live_count + 1, sizeof *node->tasks);
	for (size_t i = 0; i < node->live_count; i++) {
		const struct world_task *t = &w->tasks[node->live[i]];
		if (t->slot == NONE)
			continue;
		copy_task(w, node, t, &node->tasks[tasks], entries);
		entries += node->tasks[tasks++].entry_count;
	}
	for (uint32_t i = 0; i < w->resource_count; i++)
		resources[i] = w->resources[i].ledger;
	*ledger = (struct cancel_ledger){
		.now_ns = w->clock.now_ns,
		.resources = resources,
		.tasks = node->tasks,
		.entries = node->entries,
		.events = node->events,
		.resource_count = w->resource_count,
		.task_count = tasks,
		.entry_count = entries,
		.event_count = (uint32_t)node->event_count,
		.completed = node->completed,
		.late = node->late,
		.ended_active_ns = node->ended_active_ns,
		.latency = node->latency,
		.dropped_events = w->untracked,
	};
}

static uint64_t oldest_hold_ns(
	const struct sim_world *w, const struct world_task *t, uint64_t blamed_mask)
{
	uint64_t oldest_ns = 0;
	for (uint32_t i = t->entries; i != NONE; i = w->entries[i].next) {
		const struct cancel_ledger_entry *e = &w->entries[i].ledger;
		if (e->held && blamed_mask >> e->resource & 1 &&
			(oldest_ns == 0 || e->held_since_ns < oldest_ns))
			oldest_ns = e->held_since_ns;
	}
	return oldest_ns;
}

static uint32_t record(struct sim_world *w, uint32_t node, const struct cancel_decision *decision)
{
	w->decisions_total++;
	if (w->decision_count == SIM_DECISIONS_MAX)
		return NONE;
	w->decisions = sim_grow(
		w->decisions, &w->decision_capacity, w->decision_count + 1, sizeof *w->decisions);
	struct sim_decision *d = &w->decisions[w->decision_count];
	*d = (struct sim_decision){ .decision = *decision, .node = node, .client = NONE };
	d->decided_ns = w->clock.now_ns;
	uint32_t index = world_task_find(w, decision->target.task);
	if (index != NONE) {
		const struct world_task *t = &w->tasks[index];
		d->client = t->client;
		d->sequence = w->requests[t->request].sequence;
		d->hold_started_ns = oldest_hold_ns(w, t, decision->blamed_mask);
	}
	return (uint32_t)w->decision_count++;
}

static void keep_out(struct sim_world *w, const struct cancel_decision *decision)
{
	if (decision->quarantine_until_ns == 0)
		return;
	w->quarantine[w->quarantine_next++ % QUARANTINE_MAX] = (struct world_quarantine){
		.signature = decision->target.signature,
		.until_ns = decision->quarantine_until_ns,
	};
}

bool world_control_bars(const struct sim_world *w, uint64_t signature)
{
	for (uint32_t i = 0; i < QUARANTINE_MAX; i++)
		if (signature && w->quarantine[i].signature == signature &&
			w->clock.now_ns < w->quarantine[i].until_ns)
			return true;
	return false;
}

static void act(struct sim_world *w, uint32_t node, const struct cancel_verdict *verdict)
{
	if (!verdict->decided && !verdict->cancel)
		return;
	uint32_t index = record(w, node, &verdict->decision);
	if (!verdict->cancel)
		return;
	keep_out(w, &verdict->decision);
	world_at(w, w->clock.now_ns + w->options.deliver_ns, SIM_RANK_WAKE, EVENT_DELIVER, index,
		verdict->decision.target.task);
}

void world_control_step(struct sim_world *w, const struct sim_event *event)
{
	struct world_node *node = &w->nodes[event->who];
	struct cancel_ledger_resource resources[CANCEL_RESOURCES_MAX];
	struct cancel_ledger ledger;
	fill_ledger(w, node, resources, &ledger);
	cancel_pipeline_step(node->pipeline, &ledger, node->verdict);
	world_record(node, &ledger);
	node->event_count = 0;
	node->calm_mask = node->verdict->calm_mask;
	w->regular_windows += node->verdict->overload == CANCEL_REGULAR;
	w->resource_windows += node->verdict->overload == CANCEL_RESOURCE;
	w->suspect_windows += node->verdict->overload == CANCEL_SUSPECT;
	act(w, event->who, node->verdict);
	world_at(w, w->clock.now_ns + w->options.control_ms * SIM_NS_PER_MS, SIM_RANK_TICK,
		EVENT_CONTROL, event->who, 0);
}

/* A cancelled request that the server will run once more: when what it held is calm, or when it has
 * waited its maximum; dropped when its SLO has passed meanwhile. */
void world_control_rerun(struct sim_world *w, const struct sim_event *event)
{
	struct world_request *r = &w->requests[event->who];
	struct world_client *c = &w->clients[r->client];
	const struct world_node *node = &w->nodes[c->options.node];
	uint64_t waited_ns = w->clock.now_ns - r->rerun_since_ns;
	if (c->options.slo_ns && w->clock.now_ns - r->first_ns > c->options.slo_ns) {
		c->totals.dropped_reruns++;
		world_client_give_up(w, event->who);
		world_request_drop(w, event->who);
		return;
	}
	bool calm = (node->calm_mask & r->rerun_mask) == r->rerun_mask;
	if (!calm && waited_ns < w->options.rerun_wait_max_ns) {
		world_at(w, w->clock.now_ns + CALM_LOOK_NS, SIM_RANK_WAKE, EVENT_RERUN, event->who,
			0);
		return;
	}
	c->totals.reruns++;
	c->totals.rerun_wait_ns += waited_ns;
	uint32_t task = world_task_new(w, event->who, c->options.script);
	world_event_emit(w, c->options.node, CANCEL_EVENT_RERUN, w->tasks[task].id, 0);
	world_request_drop(w, event->who);
}
