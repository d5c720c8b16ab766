/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task.c - a task on the server: made, run step by step, ended.
 *
 * Owns the slab of tasks and the interpretation of scripts. A task runs until it must wait or work;
 * then an event or a grant brings it back.
 */
#include <assert.h>

#include "sim/world/parts.h"

uint32_t world_task_find(const struct sim_world *w, uint64_t id)
{
	uint64_t index = (id & UINT32_MAX) - 1;
	if (id == 0 || index >= w->task_slab.count || w->tasks[index].id != id ||
		w->tasks[index].state == TASK_FREE)
		return NONE;
	return (uint32_t)index;
}

uint64_t world_arg(
	const struct sim_world *w, const struct world_task *t, uint8_t arg, uint64_t plain)
{
	return arg ? w->requests[t->request].args[arg - 1] : plain;
}

/* Declared work of one page: what it costs when it must be fetched in order, else a hit. */
static uint64_t page_work_ns(const struct sim_world *w, const struct sim_step *step)
{
	const struct sim_resource_options *pool = &w->resources[step->resource].options;
	if (step->mode != SIM_READ_SEQUENTIAL)
		return pool->hit_ns;
	return (pool->miss_ns + (pool->read_ahead - 1) * pool->next_page_ns) / pool->read_ahead;
}

static uint64_t step_work_ns(
	const struct sim_world *w, const struct world_task *t, const struct sim_step *step)
{
	if (step->kind == SIM_STEP_COMPUTE)
		return world_arg(w, t, step->amount_arg, step->amount);
	if (step->kind == SIM_STEP_READ)
		return world_arg(w, t, step->amount_arg, step->amount) * page_work_ns(w, step);
	return 0;
}

uint64_t world_task_work_ns(const struct sim_world *w, const struct world_task *t)
{
	const struct world_script *script = &w->scripts[t->script_index];
	if (t->state == TASK_ENDING || t->pc >= script->count)
		return t->work_ns;
	const struct sim_step *step = world_step(w, t);
	if (step->kind == SIM_STEP_READ)
		return t->work_ns + t->pages_done * page_work_ns(w, step);
	if (step->kind == SIM_STEP_COMPUTE && t->state == TASK_WORKING)
		return t->work_ns + (w->clock.now_ns - t->step_since_ns);
	return t->work_ns;
}

static void join_node(struct sim_world *w, uint32_t index, struct world_node *node)
{
	struct world_task *t = &w->tasks[index];
	node->live = sim_grow(
		node->live, &node->live_capacity, node->live_count + 1, sizeof *node->live);
	t->live = (uint32_t)node->live_count;
	node->live[node->live_count++] = index;
	t->slot = node->free_count ? node->free_slots[--node->free_count] : NONE;
	if (t->slot == NONE && node->pipeline)
		w->untracked++;
	w->live_tasks++;
}

static void quit_node(struct sim_world *w, struct world_task *t, struct world_node *node)
{
	uint32_t last = node->live[--node->live_count];
	node->live[t->live] = last;
	w->tasks[last].live = t->live;
	if (t->slot != NONE)
		node->free_slots[node->free_count++] = t->slot;
	w->live_tasks--;
}

uint32_t world_task_new(struct sim_world *w, uint32_t request, uint32_t script)
{
	const struct world_request *r = &w->requests[request];
	struct world_client *client = &w->clients[r->client];
	uint32_t index;
	w->tasks = sim_slab_take(&w->task_slab, w->tasks, sizeof *w->tasks, &index);
	struct world_task *t = &w->tasks[index];
	*t = (struct world_task){
		.id = ((t->id >> 32) + 1) << 32 | (index + 1),
		.sequence = ++w->task_sequence,
		.arrival_ns = w->clock.now_ns,
		.request = request,
		.client = r->client,
		.parent = r->parent,
		.script_index = script,
		.entries = NONE,
		.waits_in = NONE,
		.next = NONE,
		.previous = NONE,
		.first_child = NONE,
		.sibling = NONE,
		.decision = NONE,
		.hold = NONE,
		.page = UINT64_MAX,
		.state = TASK_READY,
		.flags = client->options.flags,
		.deaf = (uint8_t)client->options.deaf_deliveries,
	};
	for (uint16_t i = 0; i < w->scripts[script].count; i++)
		t->work_total_ns += step_work_ns(w, t, &w->scripts[script].steps[i]);
	if (r->rerunning)
		t->flags |= CANCEL_RERUNNING;
	client->totals.tasks++;
	world_request_hold(w, request);
	join_node(w, index, &w->nodes[client->options.node]);
	world_ready(w, index);
	return index;
}

void world_work_for(struct sim_world *w, struct world_task *t, uint64_t ns)
{
	t->state = TASK_WORKING;
	t->step_since_ns = w->clock.now_ns;
	t->step_serial++;
	world_at(w, w->clock.now_ns + ns, SIM_RANK_COMPLETION, EVENT_STEP, t->step_serial, t->id);
}

void world_task_step_done(struct sim_world *w, const struct sim_event *event)
{
	uint32_t index = world_task_find(w, event->arg);
	if (index == NONE || w->tasks[index].step_serial != event->who ||
		w->tasks[index].state != TASK_WORKING)
		return;
	w->tasks[index].state = TASK_READY;
	world_ready(w, index);
}

static void observe(struct sim_world *w, struct world_task *t)
{
	const struct sim_policy *policy = &w->options.policy;
	if (policy->observe_queuing && w->clients[t->client].options.measured)
		policy->observe_queuing(
			policy->state, w->clock.now_ns, w->clock.now_ns - t->arrival_ns);
}

static void start_statement_clock(struct sim_world *w, struct world_task *t)
{
	if (t->timed || w->options.statement_timeout_ns == 0)
		return;
	t->timed = true;
	world_at(w, w->clock.now_ns + w->options.statement_timeout_ns, SIM_RANK_TIMEOUT,
		EVENT_STATEMENT, 0, t->id);
}

static void record_taken(struct sim_world *w, struct world_task *t)
{
	if (t->hold != NONE || !w->clients[t->client].options.trigger)
		return;
	w->holds = sim_grow(w->holds, &w->hold_capacity, w->hold_count + 1, sizeof *w->holds);
	t->hold = (uint32_t)w->hold_count;
	w->holds[w->hold_count++] = (struct sim_hold){ .taken_ns = w->clock.now_ns,
		.client = t->client,
		.sequence = w->requests[t->request].sequence };
}

static void record_given(struct sim_world *w, const struct world_task *t)
{
	if (t->hold != NONE && w->holds[t->hold].given_ns == 0)
		w->holds[t->hold].given_ns = w->clock.now_ns;
}

/* A grant was handed out while the task waited: it comes back to the same step, now holding. */
static bool take(struct sim_world *w, uint32_t task, const struct sim_step *step)
{
	struct world_task *t = &w->tasks[task];
	uint32_t instance = (uint32_t)world_arg(w, t, step->instance_arg, step->instance);
	uint64_t amount = step->kind == SIM_STEP_LOCK
				  ? step->mode
				  : world_arg(w, t, step->amount_arg, step->amount);
	if (!t->granted) {
		t->granted = true;
		if (!world_take(w, task, step->resource, instance, amount))
			return false;
	}
	t = &w->tasks[task];
	t->granted = false;
	if (step->kind == SIM_STEP_SLOT)
		start_statement_clock(w, t);
	else
		record_taken(w, t);
	return true;
}

static bool compute(struct sim_world *w, struct world_task *t, const struct sim_step *step)
{
	if (t->working) {
		t->working = false;
		return true;
	}
	t->working = true;
	world_work_for(w, t, world_arg(w, t, step->amount_arg, step->amount));
	return false;
}

static bool join(struct sim_world *w, uint32_t task)
{
	struct world_task *t = &w->tasks[task];
	if (t->children == 0 || t->child_failed)
		return true;
	(void)w;
	t->state = TASK_JOINING;
	return false;
}

/* One step. False: the task waits or works. */
static bool advance(struct sim_world *w, uint32_t task)
{
	struct world_task *t = &w->tasks[task];
	const struct sim_step *step = world_step(w, t);
	uint32_t instance = (uint32_t)world_arg(w, t, step->instance_arg, step->instance);
	switch (step->kind) {
	case SIM_STEP_LOCK:
	case SIM_STEP_SLOT:
		return take(w, task, step);
	case SIM_STEP_UNLOCK:
		world_give(w, task, step->resource, instance, step->mode);
		record_given(w, t);
		return true;
	case SIM_STEP_FREE:
		world_give(w, task, step->resource, instance,
			world_arg(w, t, step->amount_arg, step->amount));
		return true;
	case SIM_STEP_READ:
		return world_read_go(w, task);
	case SIM_STEP_COMPUTE:
		return compute(w, t, step);
	case SIM_STEP_START:
		observe(w, t);
		t->started = true;
		return true;
	case SIM_STEP_BLOCK:
	case SIM_STEP_ALLOW:
		t->blocked = step->kind == SIM_STEP_BLOCK;
		return true;
	case SIM_STEP_CALL:
		world_tree_call(w, task, instance);
		return true;
	case SIM_STEP_JOIN:
		return join(w, task);
	}
	return true;
}

void world_task_run(struct sim_world *w, uint32_t task)
{
	if (w->scripts[w->tasks[task].script_index].steps[0].kind != SIM_STEP_SLOT)
		start_statement_clock(w, &w->tasks[task]);
	for (;;) {
		struct world_task *t = &w->tasks[task];
		if (t->child_failed || t->pc == w->scripts[t->script_index].count)
			break;
		if (!advance(w, task))
			return;
		t = &w->tasks[task];
		t->work_ns += step_work_ns(w, t, world_step(w, t));
		t->pages_done = 0;
		t->pc++;
	}
	world_task_end(w, task);
}

/* Totals that outlive the task, and the entries' way back to the slab. */
static void fold_entries(struct sim_world *w, struct world_task *t)
{
	uint64_t slo_ns = w->clients[t->client].options.slo_ns;
	uint32_t next;
	for (uint32_t i = t->entries; i != NONE; i = next) {
		struct world_entry *entry = &w->entries[i];
		struct cancel_ledger_resource *r = &w->resources[entry->ledger.resource].ledger;
		r->ended_wait_ns += slo_ns ? entry->ledger.wait_ns : 0;
		r->ended_hold_ns += entry->ledger.hold_ns;
		r->ended_evicted += entry->ledger.evicted;
		r->waits += entry->waits;
		r->acquires += entry->acquires;
		next = entry->next;
		sim_slab_give(&w->entry_slab, i);
	}
	t->entries = NONE;
}

void world_task_end(struct sim_world *w, uint32_t task)
{
	world_give_all(w, task);
	struct world_task *t = &w->tasks[task];
	record_given(w, t);
	if (t->requested)
		world_cancel_released(w, t);
	fold_entries(w, t);
	world_control_ended(w, t);
	world_tree_orphan(w, t, t->requested || t->child_failed);
	quit_node(w, t, &w->nodes[w->clients[t->client].options.node]);
	struct world_task ended = *t;
	w->clients[t->client].totals.ended_ns = w->clock.now_ns;
	t->state = TASK_FREE;
	sim_slab_give(&w->task_slab, task);
	enum world_reason reason = ended.requested ? (enum world_reason)ended.reason : REASON_NONE;
	if (ended.parent)
		world_tree_ended(w, &ended, ended.requested || ended.child_failed);
	world_client_ended(w, &ended, reason);
	world_request_drop(w, ended.request);
}
