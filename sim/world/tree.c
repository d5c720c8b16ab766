/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - calls between nodes: children, replies, and what becomes of them when the parent
 * is cancelled, ends early, or cannot be reached.
 *
 * Owns the links between parent and child and the messages between nodes. A message takes net_ns;
 * a partition holds calls and replies back until it ends and swallows cancels; cancels may be lost.
 */
#include "sim/world/parts.h"

/* When a call or reply sent now arrives: links retransmit those until the partition is over. */
static uint64_t arrival_ns(const struct sim_world *w)
{
	uint64_t sent_ns = w->clock.now_ns;
	if (world_partitioned(w))
		sent_ns = w->options.partition_start_ns + w->options.partition_ns;
	return sent_ns + w->options.net_ns;
}

void world_tree_call(struct sim_world *w, uint32_t task, uint32_t service)
{
	uint32_t request = world_request_new(w, service);
	struct world_task *t = &w->tasks[task];
	const struct world_request *mine = &w->requests[t->request];
	struct world_request *r = &w->requests[request];
	r->sequence = mine->sequence;
	r->first_ns = w->clock.now_ns;
	r->parent = t->id;
	for (int i = 0; i < SIM_ARGS_MAX; i++)
		r->args[i] = mine->args[i];
	t->children++;
	world_at(w, arrival_ns(w), SIM_RANK_ARRIVAL, EVENT_CHILD, request, 0);
}

void world_tree_arrive(struct sim_world *w, const struct sim_event *event)
{
	struct world_request *r = &w->requests[event->who];
	struct world_client *c = &w->clients[r->client];
	uint32_t parent = world_task_find(w, r->parent);
	c->totals.originals++;
	c->totals.attempts++;
	uint32_t task = world_task_new(w, event->who, c->options.script);
	struct world_task *t = &w->tasks[task];
	if (parent != NONE) {
		t->sibling = w->tasks[parent].first_child;
		w->tasks[parent].first_child = task;
	}
	if (w->options.lease_ns)
		world_at(w, w->clock.now_ns + w->options.lease_ns, SIM_RANK_TIMEOUT, EVENT_LEASE, 0,
			t->id);
	world_request_drop(w, event->who);
}

void world_tree_reply(struct sim_world *w, const struct sim_event *event)
{
	uint32_t index = world_task_find(w, event->arg);
	if (index == NONE)
		return;
	struct world_task *t = &w->tasks[index];
	t->children--;
	t->child_failed |= event->who != 0;
	if (t->state != TASK_JOINING || (t->children > 0 && !event->who))
		return;
	t->state = TASK_READY;
	world_ready(w, index);
}

static void unlink_child(struct sim_world *w, uint32_t parent, uint64_t child)
{
	uint32_t *link = &w->tasks[parent].first_child;
	while (*link != NONE && w->tasks[*link].id != child)
		link = &w->tasks[*link].sibling;
	if (*link != NONE)
		*link = w->tasks[*link].sibling;
}

void world_tree_ended(struct sim_world *w, const struct world_task *child, bool failed)
{
	uint32_t parent = world_task_find(w, child->parent);
	if (parent == NONE)
		return;
	unlink_child(w, parent, child->id);
	world_at(w, arrival_ns(w), SIM_RANK_WAKE, EVENT_REPLY, failed, child->parent);
}

void world_tree_tell(struct sim_world *w, uint64_t child)
{
	bool lost = world_partitioned(w) || sim_rng_chance(&w->net_rng, w->options.loss_ppm);
	if (!lost)
		world_at(w, w->clock.now_ns + w->options.net_ns, SIM_RANK_WAKE, EVENT_TELL, 1,
			child);
	else if (w->options.propagation == SIM_CHILDREN_TOLD_AGAIN)
		world_at(w, w->clock.now_ns + w->options.resend_ns, SIM_RANK_WAKE, EVENT_TELL, 0,
			child);
}

void world_tree_orphan(struct sim_world *w, struct world_task *parent, bool told)
{
	uint32_t next;
	for (uint32_t i = parent->first_child; i != NONE; i = next) {
		next = w->tasks[i].sibling;
		w->tasks[i].sibling = NONE;
		if (told && w->options.propagation != SIM_CHILDREN_FORGOTTEN)
			world_tree_tell(w, w->tasks[i].id);
	}
	parent->first_child = NONE;
}

/* `arrived` false: the sender tries once more. */
void world_tree_told(struct sim_world *w, const struct sim_event *event)
{
	uint32_t index = world_task_find(w, event->arg);
	if (index == NONE)
		return;
	if (event->who)
		world_cancel(w, index, REASON_PARENT);
	else
		world_tree_tell(w, event->arg);
}

static bool parent_lives(const struct sim_world *w, const struct world_task *child)
{
	uint32_t parent = world_task_find(w, child->parent);
	return parent != NONE && !w->tasks[parent].requested && !world_partitioned(w);
}

void world_tree_lease(struct sim_world *w, const struct sim_event *event)
{
	uint32_t index = world_task_find(w, event->arg);
	if (index == NONE)
		return;
	if (parent_lives(w, &w->tasks[index]))
		world_at(w, w->clock.now_ns + w->options.lease_ns, SIM_RANK_TIMEOUT, EVENT_LEASE, 0,
			event->arg);
	else
		world_cancel(w, index, REASON_PARENT);
}

uint64_t world_tree_root(const struct sim_world *w, uint64_t id)
{
	for (int depth = 0; depth < SIM_NODES_MAX; depth++) {
		uint32_t index = world_task_find(w, id);
		uint64_t parent = index == NONE ? 0 : w->tasks[index].parent;
		if (world_task_find(w, parent) == NONE)
			return id;
		id = parent;
	}
	return id;
}
