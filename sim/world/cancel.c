/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.c - how a task is stopped: delivery, the next checkpoint, rollback, release.
 *
 * Owns the way from "stop" to "gave everything back" and the events the core hears about it. Why a
 * task is to stop (verdict, statement timeout, a client that left, a parent) is the caller's.
 */
#include "sim/world/parts.h"

void world_event_emit(struct sim_world *w, uint32_t node, enum cancel_event_kind kind,
	uint64_t task, uint64_t wasted_ns)
{
	struct world_node *n = &w->nodes[node];
	if (!n->pipeline)
		return;
	n->events = sim_grow(n->events, &n->event_capacity, n->event_count + 1, sizeof *n->events);
	n->events[n->event_count++] = (struct cancel_event){
		.kind = kind, .task = task, .at_ns = w->clock.now_ns, .wasted_ns = wasted_ns
	};
}

static uint32_t node_of(const struct sim_world *w, const struct world_task *t)
{
	return w->clients[t->client].options.node;
}

void world_cancel(struct sim_world *w, uint32_t task, enum world_reason reason)
{
	struct world_task *t = &w->tasks[task];
	if (t->requested || t->state == TASK_ENDING)
		return;
	t->requested = true;
	t->reason = (uint8_t)reason;
	/* A waiter is woken by the cancel; one that works sees it at its next checkpoint. */
	uint64_t notice_ns = t->state == TASK_WORKING ? w->options.ack_ns : 0;
	world_at(w, w->clock.now_ns + notice_ns, SIM_RANK_WAKE, EVENT_NOTICE, 0, t->id);
}

void world_cancel_statement(struct sim_world *w, const struct sim_event *event)
{
	uint32_t index = world_task_find(w, event->arg);
	if (index != NONE && !w->tasks[index].blocked)
		world_cancel(w, index, REASON_STATEMENT);
}

static struct sim_decision *decision_of(struct sim_world *w, uint32_t decision)
{
	return decision == NONE ? NULL : &w->decisions[decision];
}

/* A verdict reaches the host: its action runs, or finds nobody it may stop. */
void world_cancel_deliver(struct sim_world *w, const struct sim_event *event)
{
	uint32_t index = world_task_find(w, event->arg);
	if (index == NONE) {
		world_event_emit(w,
			decision_of(w, event->who) ? decision_of(w, event->who)->node : 0,
			CANCEL_EVENT_IGNORED, event->arg, 0);
		return;
	}
	struct world_task *t = &w->tasks[index];
	if (t->blocked) {
		world_event_emit(w, node_of(w, t), CANCEL_EVENT_IGNORED, event->arg, 0);
		return;
	}
	world_event_emit(w, node_of(w, t), CANCEL_EVENT_DELIVERED, event->arg, 0);
	t->delivered = true;
	t->decision = event->who;
	if (decision_of(w, event->who))
		decision_of(w, event->who)->delivered_ns = w->clock.now_ns;
	if (t->deaf > 0) {
		t->deaf--;
		return;
	}
	if (w->options.cancel_root && world_tree_root(w, event->arg) != event->arg)
		world_tree_tell(w, world_tree_root(w, event->arg));
	else
		world_cancel(w, index, REASON_CULPRIT);
}

static void stop_waiting(struct sim_world *w, uint32_t task)
{
	struct world_task *t = &w->tasks[task];
	if (t->state == TASK_WAITING)
		world_stop_waiting(w, task);
	for (uint32_t i = t->entries; i != NONE; i = w->entries[i].next) {
		struct cancel_ledger_entry *e = &w->entries[i].ledger;
		if (e->waiting_since_ns == 0)
			continue;
		e->wait_ns += world_since(w, e->waiting_since_ns);
		e->waiting_since_ns = 0;
	}
}

void world_cancel_notice(struct sim_world *w, const struct sim_event *event)
{
	uint32_t index = world_task_find(w, event->arg);
	if (index == NONE || w->tasks[index].state == TASK_ENDING)
		return;
	struct world_task *t = &w->tasks[index];
	uint64_t work_ns = world_task_work_ns(w, t);
	stop_waiting(w, index);
	if (t->delivered)
		world_event_emit(w, node_of(w, t), CANCEL_EVENT_ACKNOWLEDGED, event->arg, 0);
	if (decision_of(w, t->decision))
		decision_of(w, t->decision)->acknowledged_ns = w->clock.now_ns;
	world_tree_orphan(w, t, true);
	t->work_ns = work_ns;
	t->state = TASK_ENDING;
	t->step_serial++;
	uint64_t ppm = w->clients[t->client].options.rollback_ppm;
	uint64_t rollback_ns = work_ns / CANCEL_PPM * ppm + work_ns % CANCEL_PPM * ppm / CANCEL_PPM;
	world_at(
		w, w->clock.now_ns + rollback_ns, SIM_RANK_COMPLETION, EVENT_ROLLED, 0, event->arg);
}

void world_cancel_rolled(struct sim_world *w, const struct sim_event *event)
{
	uint32_t index = world_task_find(w, event->arg);
	if (index != NONE && w->tasks[index].state == TASK_ENDING)
		world_task_end(w, index);
}

void world_cancel_released(struct sim_world *w, struct world_task *t)
{
	if (!t->delivered)
		return;
	world_event_emit(w, node_of(w, t), CANCEL_EVENT_RELEASED, t->id, 0);
	world_event_emit(
		w, node_of(w, t), CANCEL_EVENT_ENDED, t->id, w->clock.now_ns - t->arrival_ns);
	if (decision_of(w, t->decision))
		decision_of(w, t->decision)->released_ns = w->clock.now_ns;
}
