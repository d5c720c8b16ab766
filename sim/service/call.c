/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a call: sent, gated, queued, worked on, its own calls made and awaited, answered.
 * Knows servers and tasks; when clients send, wait and retry is client.c's.
 */
#include <assert.h>

#include "sim/service/parts.h"

#define WORK_MOST_NS 1e18 /* past the end of any run */

static void answer(struct sim_services *s, uint32_t index, enum outcome outcome);

/* ---- Calls as memory ---- */

static uint32_t new_call(struct sim_services *s)
{
	uint32_t index;
	s->calls = sim_slab_take(&s->call_slab, s->calls, sizeof(*s->calls), &index);
	s->live_calls++;
	s->full = s->full || s->live_calls >= s->options.live_limit;
	return index;
}

static void free_call(struct sim_services *s, uint32_t index)
{
	struct call *call = &s->calls[index];
	uint32_t task = call->task;
	call->state = CALL_FREE;
	call->generation++;
	sim_slab_give(&s->call_slab, index);
	s->live_calls--;
	s->tasks[task].live_calls--;
	task_release(s, task);
}

/* Freed once its answer is delivered and its own calls have answered. */
static void release_call(struct sim_services *s, uint32_t index)
{
	if (s->calls[index].delivered && s->calls[index].pending == 0)
		free_call(s, index);
}

/* ---- Sending ---- */

/* The least loaded server that is up; ties go round. */
static uint32_t shortest(struct service *service)
{
	uint32_t count = service->options.servers, from = service->turn++ % count, best = from;
	for (uint32_t i = 1; i < count; i++) {
		uint32_t at = (from + i) % count;
		const struct server *one = &service->servers[at], *two = &service->servers[best];
		bool shorter = one->queued + one->busy < two->queued + two->busy;
		if (!one->down && (two->down || shorter))
			best = at;
	}
	return best;
}

static uint32_t choose_server(struct service *service)
{
	uint32_t count = service->options.servers, at;
	if (service->options.balance == SIM_BALANCE_LEAST)
		return shortest(service);
	if (service->options.balance == SIM_BALANCE_RANDOM)
		at = (uint32_t)sim_rng_below(&service->rng, count);
	else
		at = service->turn++ % count;
	/* A server known to be down is passed over. */
	for (uint32_t i = 0; i < count && service->servers[at].down; i++)
		at = (at + 1) % count;
	return at;
}

static struct cancel_upstream *upstream_of(
	struct sim_services *s, const struct call *call, struct service *service)
{
	if (call->parent == NOBODY || !service->upstream)
		return NULL;
	uint32_t caller = s->calls[call->parent].service;
	return &service->upstream[caller * service->options.servers + call->server];
}

void call_send(
	struct sim_services *s, uint32_t task, uint32_t parent, uint32_t target, uint8_t resends)
{
	struct service *service = &s->services[target];
	uint32_t index = new_call(s);
	struct call *call = &s->calls[index];
	*call = (struct call){
		.generation = call->generation,
		.task = task,
		.parent = parent,
		.service = (uint8_t)target,
		.server = (uint8_t)choose_server(service),
		.resends = resends,
		.state = CALL_SENT,
		.next = NOBODY,
	};
	s->tasks[task].live_calls++;
	struct cancel_upstream *upstream = upstream_of(s, call, service);
	if (upstream && !cancel_upstream_admit(upstream, now_of(s), s->tasks[task].priority)) {
		service->result.refused_upstream++;
		call->state = CALL_ANSWERED;
		call->outcome = OUTCOME_REJECTED;
		sim_events_add(&s->events, now_of(s), SIM_RANK_COMPLETION, EVENT_ANSWER, index, 0);
		return;
	}
	if (upstream)
		call->missed = (uint32_t)cancel_upstream_take_shed(upstream);
	sim_events_add(&s->events, now_of(s) + service->options.net_ns, SIM_RANK_ARRIVAL,
		EVENT_ARRIVE, index, 0);
}

/* ---- At the server ---- */

static bool admitted(struct sim_services *s, struct service *service, struct call *call)
{
	struct server *server = &service->servers[call->server];
	const struct task *task = &s->tasks[call->task];
	struct sim_attempt attempt = {
		.arrival_ns = now_of(s),
		.original = task->original,
		.attempt = task->attempt + call->resends,
		.priority = task->priority,
		.user = task->user,
	};
	struct cancel_dagor *dagor = sim_gate_dagor(&server->gate);
	if (dagor && call->missed > 0)
		cancel_dagor_missed(dagor, now_of(s), call->missed);
	if (server->down ||
		(service->options.queue_limit && server->queued >= service->options.queue_limit))
		return false;
	if (service->shed > 0.0 && sim_rng_unit(&service->rng) < service->shed)
		return false;
	return sim_gate_admit(&server->gate, now_of(s), &attempt, &service->rng);
}

/* A reject is work too: a free worker does it now, else the next one does before it takes a call.
 */
static void charge_reject(struct sim_services *s, struct service *service, struct call *call)
{
	struct server *server = &service->servers[call->server];
	if (service->options.reject_cost_ns == 0 || server->down)
		return;
	server->rejects_due++;
	server_start(s, service, call->server);
}

static void enqueue(struct sim_services *s, struct service *service, uint32_t index)
{
	struct call *call = &s->calls[index];
	struct server *server = &service->servers[call->server];
	call->state = CALL_QUEUED;
	call->next = NOBODY;
	if (server->head == NOBODY)
		server->head = index;
	else
		s->calls[server->tail].next = index;
	server->tail = index;
	server->queued++;
	if (server->queued > service->result.queued_max)
		service->result.queued_max = server->queued;
}

void call_arrive(struct sim_services *s, const struct sim_event *event)
{
	struct call *call = &s->calls[event->who];
	struct service *service = &s->services[call->service];
	call->arrival_ns = now_of(s);
	service->result.arrivals++;
	service->result.first_arrivals += call->resends == 0 && s->tasks[call->task].attempt == 0;
	probe_now(s, service)->arrivals++;
	if (!admitted(s, service, call)) {
		service->result.rejected++;
		probe_now(s, service)->rejected++;
		charge_reject(s, service, call);
		answer(s, event->who, OUTCOME_REJECTED);
		return;
	}
	enqueue(s, service, event->who);
	server_start(s, service, call->server);
}

static bool start_reject(struct sim_services *s, struct service *service, uint32_t at)
{
	struct server *server = &service->servers[at];
	if (server->rejects_due == 0)
		return false;
	server->rejects_due--;
	server->busy++;
	service_busy(s, service, 1);
	sim_events_add(&s->events, now_of(s) + service->options.reject_cost_ns, SIM_RANK_COMPLETION,
		EVENT_REJECTED, (uint32_t)(service - s->services), at);
	return true;
}

static uint32_t dequeue(struct sim_services *s, struct server *server)
{
	uint32_t index = server->head;
	server->head = s->calls[index].next;
	server->queued--;
	return index;
}

static void start_call(struct sim_services *s, struct service *service, uint32_t at)
{
	struct server *server = &service->servers[at];
	uint32_t index = dequeue(s, server);
	struct call *call = &s->calls[index];
	uint64_t queuing_ns = now_of(s) - call->arrival_ns;
	if (!sim_gate_start(&server->gate, now_of(s), queuing_ns)) {
		service->result.shed_at_head++;
		probe_now(s, service)->rejected++;
		charge_reject(s, service, call);
		answer(s, index, OUTCOME_REJECTED);
		return;
	}
	struct sim_probe *probe = probe_now(s, service);
	probe->started++;
	probe->queuing_sum_ns += queuing_ns;
	if (queuing_ns < probe->queuing_min_ns)
		probe->queuing_min_ns = queuing_ns;
	call->state = CALL_WORKING;
	call->on_worker = true;
	server->busy++;
	service_busy(s, service, 1);
	double drawn_ns =
		(double)sim_dist_draw(&service->options.work, &service->rng) * server->slow;
	uint64_t work_ns = drawn_ns < WORK_MOST_NS ? (uint64_t)drawn_ns : (uint64_t)WORK_MOST_NS;
	probe->work_ns += work_ns;
	sim_events_add(&s->events, now_of(s) + work_ns, SIM_RANK_COMPLETION, EVENT_WORKED, index,
		call->generation);
}

void server_start(struct sim_services *s, struct service *service, uint32_t at)
{
	struct server *server = &service->servers[at];
	while (server->busy < service->options.workers && !server->outage && !server->down) {
		if (start_reject(s, service, at))
			continue;
		if (server->head == NOBODY)
			return;
		start_call(s, service, at);
	}
}

void server_rejected(struct sim_services *s, const struct sim_event *event)
{
	struct service *service = &s->services[event->who];
	service->servers[event->arg].busy--;
	service_busy(s, service, -1);
	server_start(s, service, (uint32_t)event->arg);
}

static void leave_worker(struct sim_services *s, struct call *call)
{
	struct service *service = &s->services[call->service];
	if (!call->on_worker)
		return;
	call->on_worker = false;
	service->servers[call->server].busy--;
	service_busy(s, service, -1);
	server_start(s, service, call->server);
}

/* ---- Its own calls ---- */

/* Lists made at once, from `first` on: their calls, and the list after them. */
static uint32_t group(const struct service *service, uint32_t first, uint32_t *after)
{
	const struct sim_call_list *lists = service->options.calls;
	uint32_t count = lists[first].count, last = first;
	while (lists[last].with_next && last + 1 < service->options.call_lists)
		count += lists[++last].count;
	*after = last + 1;
	return count;
}

static void make_calls(struct sim_services *s, uint32_t index, uint32_t after)
{
	struct call *call = &s->calls[index];
	const struct sim_call_list *lists = s->services[call->service].options.calls;
	uint32_t task = call->task, first = call->list, made = 0;
	for (uint32_t list = first; list < after; list++)
		made += lists[list].sequential ? 1 : lists[list].count;
	call->made += made;
	call->pending += made;
	for (uint32_t list = first; list < after; list++)
		for (uint32_t i = 0; i < (lists[list].sequential ? 1 : lists[list].count); i++)
			call_send(s, task, index, lists[list].callee, 0);
}

/* Makes the next calls that are due, or answers. */
static void go_on(struct sim_services *s, uint32_t index)
{
	struct call *call = &s->calls[index];
	struct service *service = &s->services[call->service];
	while (call->list < service->options.call_lists) {
		const struct sim_call_list *list = &service->options.calls[call->list];
		uint32_t after, count = group(service, call->list, &after);
		bool asks_cache = list->cached && call->made == 0;
		if (call->made < count && !(asks_cache && cache_hit(s, service, call))) {
			if (!asks_cache || !cache_join(s, service, index))
				make_calls(s, index, after);
			return;
		}
		call->list = (uint8_t)after;
		call->made = 0;
	}
	answer(s, index, OUTCOME_OK);
}

void call_worked(struct sim_services *s, const struct sim_event *event)
{
	struct call *call = &s->calls[event->who];
	if (call->generation != event->arg)
		return;
	struct service *service = &s->services[call->service];
	service->result.served++;
	s->tasks[call->task].served[call->service]++;
	call->state = CALL_CALLING;
	if (!service->options.holds_worker)
		leave_worker(s, call);
	go_on(s, event->who);
}

/* Those that waited for the same key share its fate. */
static void land_flight(struct sim_services *s, uint32_t index, enum outcome outcome)
{
	struct call *call = &s->calls[index];
	struct service *service = &s->services[call->service];
	if (!call->owns_flight)
		return;
	for (uint32_t waiter = cache_land(s, service, call), next; waiter != NOBODY;
		waiter = next) {
		next = s->calls[waiter].next;
		s->calls[waiter].next = NOBODY;
		if (s->calls[waiter].state != CALL_CALLING)
			continue;
		s->calls[waiter].made = s->services[s->calls[waiter].service]
						.options.calls[s->calls[waiter].list]
						.count;
		if (outcome == OUTCOME_OK)
			go_on(s, waiter);
		else
			answer(s, waiter, OUTCOME_FAILED);
	}
}

static void child_answered(struct sim_services *s, uint32_t parent, enum outcome outcome)
{
	struct call *call = &s->calls[parent];
	struct service *service = &s->services[call->service];
	const struct sim_call_list *list = &service->options.calls[call->list];
	call->pending--;
	if (call->state == CALL_ANSWERED) {
		land_flight(s, parent, outcome);
		release_call(s, parent);
		return;
	}
	if (outcome != OUTCOME_OK) {
		land_flight(s, parent, OUTCOME_FAILED);
		answer(s, parent, OUTCOME_FAILED);
		return;
	}
	if (call->pending > 0)
		return;
	if (list->cached && call->made >= list->count) {
		cache_fill(s, service, call);
		land_flight(s, parent, OUTCOME_OK);
	}
	go_on(s, parent);
}

/* ---- Answers ---- */

/* On its way back. */
static void answer(struct sim_services *s, uint32_t index, enum outcome outcome)
{
	struct call *call = &s->calls[index];
	struct service *service = &s->services[call->service];
	struct server *server = &service->servers[call->server];
	if (outcome != OUTCOME_REJECTED) {
		uint64_t response_ns = now_of(s) - call->arrival_ns;
		struct sim_probe *probe = probe_now(s, service);
		probe->answered++;
		probe->response_sum_ns += response_ns;
		sim_gate_answered(&server->gate, now_of(s), response_ns);
	}
	struct cancel_dagor *dagor = sim_gate_dagor(&server->gate);
	call->has_level = dagor && service->upstream;
	if (call->has_level)
		call->level = cancel_dagor_current_level(dagor, now_of(s));
	call->state = CALL_ANSWERED;
	call->outcome = (uint8_t)outcome;
	leave_worker(s, &s->calls[index]);
	sim_events_add(&s->events, now_of(s) + service->options.net_ns, SIM_RANK_COMPLETION,
		EVENT_ANSWER, index, 0);
}

static void learn_level(struct sim_services *s, const struct call *call)
{
	struct service *service = &s->services[call->service];
	struct cancel_upstream *upstream = upstream_of(s, call, service);
	if (!upstream || !call->has_level)
		return;
	struct cancel_dagor_level level = call->level;
	level.age_ns += service->options.net_ns;
	cancel_upstream_observe(upstream, now_of(s), level);
}

void call_answer(struct sim_services *s, const struct sim_event *event)
{
	struct call copy = s->calls[event->who];
	assert(copy.state == CALL_ANSWERED);
	learn_level(s, &copy);
	s->calls[event->who].delivered = true;
	bool again = copy.outcome == OUTCOME_REJECTED && copy.parent != NOBODY &&
		     copy.resends < s->services[copy.service].options.resends &&
		     s->calls[copy.parent].state == CALL_CALLING;
	if (again)
		call_send(s, copy.task, copy.parent, copy.service, (uint8_t)(copy.resends + 1));
	else if (copy.parent != NOBODY)
		child_answered(s, copy.parent, (enum outcome)copy.outcome);
	else
		task_answered(s, copy.task, (enum outcome)copy.outcome);
	release_call(s, event->who);
}

/* ---- A server dies ---- */

void server_down(struct sim_services *s, uint32_t service_index, uint32_t at)
{
	struct service *service = &s->services[service_index];
	struct server *server = &service->servers[at];
	server->head = server->tail = NOBODY;
	server->queued = 0;
	server->rejects_due = 0;
	for (size_t i = 0; i < s->call_slab.count; i++) {
		struct call *call = &s->calls[i];
		bool here = call->service == service_index && call->server == at;
		bool lost = call->state == CALL_QUEUED || call->state == CALL_WORKING ||
			    (call->state == CALL_CALLING && call->pending > 0);
		if (!here || !lost)
			continue;
		call->generation++; /* its work never ends */
		answer(s, (uint32_t)i, OUTCOME_FAILED);
	}
}
