/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.c - building a world and its event loop.
 *
 * Owns creation, validation of descriptions, dispatch of events, the ready list and the windows.
 * What an event does is in the file of its noun.
 */
#include "sim/world/world.h"

#include <stdlib.h>
#include <string.h>

#include "sim/world/parts.h"

#define TASKS_LIMIT   4000000u
#define TRACKED_LIMIT 4096u
#define YEAR_S	      31536000ull
#define BIN_NS	      (100 * SIM_NS_PER_MS)

static uint64_t or_default(uint64_t value, uint64_t standard)
{
	return value ? value : standard;
}

static void fill_defaults(struct sim_world_options *o)
{
	o->tasks_limit = (uint32_t)or_default(o->tasks_limit, TASKS_LIMIT);
	o->tracked_limit = (uint32_t)or_default(o->tracked_limit, TRACKED_LIMIT);
	o->controlled_nodes = (uint32_t)or_default(o->controlled_nodes, 1);
	o->control_ms = (uint32_t)or_default(o->control_ms, 50);
	o->deliver_ns = or_default(o->deliver_ns, SIM_NS_PER_MS);
	o->ack_ns = or_default(o->ack_ns, 5 * SIM_NS_PER_MS);
	o->rollback_ppm = (uint32_t)or_default(o->rollback_ppm, 100000);
	o->rerun_wait_max_ns = or_default(o->rerun_wait_max_ns, 10 * SIM_NS_PER_S);
	o->net_ns = or_default(o->net_ns, SIM_NS_PER_MS / 2);
	o->resend_ns = or_default(o->resend_ns, 100 * SIM_NS_PER_MS);
}

static const char *refuse(const struct sim_world_options *o)
{
	if (o->duration_ns == 0 || o->duration_ns > YEAR_S * SIM_NS_PER_S)
		return "duration must lie in 1 ns … 1 year";
	if (o->tracked_limit > 1000000)
		return "tracked_limit must be at most 1,000,000";
	return NULL;
}

struct sim_world *sim_world_new(const struct sim_world_options *options, const char **why)
{
	*why = refuse(options);
	if (*why)
		return NULL;
	struct sim_world *w = sim_alloc(1, sizeof *w);
	w->options = *options;
	fill_defaults(&w->options);
	sim_clock_init(&w->clock, w->options.duration_ns, w->options.events_limit);
	sim_events_init(&w->events);
	sim_rng_init(&w->net_rng, w->options.seed, SIM_CLIENTS_MAX);
	w->ready_head = w->ready_tail = NONE;
	w->window_count = (w->options.duration_ns + SIM_NS_PER_S - 1) / SIM_NS_PER_S;
	w->windows = sim_alloc(w->window_count, sizeof *w->windows);
	w->bin_count = (w->options.duration_ns + BIN_NS - 1) / BIN_NS;
	w->bins = sim_alloc(w->bin_count, sizeof *w->bins);
	return w;
}

void sim_world_free(struct sim_world *w)
{
	if (!w)
		return;
	world_control_free(w);
	for (uint32_t i = 0; i < w->resource_count; i++)
		if (w->resources[i].options.type == CANCEL_MEMORY)
			world_pool_free(&w->resources[i].pool);
	sim_events_free(&w->events);
	free(w->instances);
	free(w->tasks);
	free(w->task_slab.free);
	free(w->entries);
	free(w->entry_slab.free);
	free(w->requests);
	free(w->request_slab.free);
	free(w->windows);
	free(w->bins);
	free(w->decisions);
	free(w->holds);
	free(w);
}

static bool valid_resource(const struct sim_resource_options *o)
{
	if (o->type == CANCEL_LOCK)
		return true;
	if (o->type == CANCEL_MEMORY)
		return o->capacity > 0 && o->capacity < UINT32_MAX && o->instances <= 1;
	return o->type == CANCEL_QUEUE && o->capacity > 0;
}

static const uint8_t shared_exclusive[CANCEL_LOCK_MODES_MAX] = { 2, 3 };

int sim_world_resource(struct sim_world *w, const struct sim_resource_options *options)
{
	if (w->resource_count == CANCEL_RESOURCES_MAX || !valid_resource(options))
		return -1;
	struct world_resource *r = &w->resources[w->resource_count];
	r->options = *options;
	r->options.instances = (uint32_t)or_default(options->instances, 1);
	r->options.read_ahead = (uint32_t)or_default(options->read_ahead, 1);
	static const uint8_t none[CANCEL_LOCK_MODES_MAX];
	if (options->type == CANCEL_LOCK && memcmp(options->conflicts, none, sizeof none) == 0)
		memcpy(r->options.conflicts, shared_exclusive, sizeof shared_exclusive);
	r->ledger.type = options->type;
	r->ledger.capacity = options->capacity;
	memcpy(r->ledger.conflicts, r->options.conflicts, sizeof r->ledger.conflicts);
	if (options->type == CANCEL_MEMORY)
		world_pool_init(&r->pool, (uint32_t)options->capacity);
	r->first_instance = (uint32_t)w->instance_count;
	w->instances = sim_grow(w->instances, &w->instance_capacity,
		w->instance_count + r->options.instances, sizeof *w->instances);
	for (uint32_t i = 0; i < r->options.instances; i++)
		w->instances[w->instance_count++] =
			(struct world_instance){ .head = NONE, .tail = NONE };
	return (int)w->resource_count++;
}

static bool valid_step(const struct sim_world *w, const struct sim_step *s)
{
	if (s->amount_arg > SIM_ARGS_MAX || s->instance_arg > SIM_ARGS_MAX)
		return false;
	if (s->kind >= SIM_STEP_COMPUTE)
		return s->kind <= SIM_STEP_JOIN;
	if (s->resource >= w->resource_count)
		return false;
	const struct sim_resource_options *r = &w->resources[s->resource].options;
	if (!s->instance_arg && r->type != CANCEL_MEMORY && s->instance >= r->instances)
		return false;
	switch (s->kind) {
	case SIM_STEP_LOCK:
	case SIM_STEP_UNLOCK:
		return r->type == CANCEL_LOCK && s->mode >= 1 && s->mode <= CANCEL_LOCK_MODES_MAX;
	case SIM_STEP_SLOT:
	case SIM_STEP_FREE:
		return r->type == CANCEL_QUEUE && (s->amount_arg || s->amount <= r->capacity);
	default:
		return s->kind == SIM_STEP_READ && r->type == CANCEL_MEMORY;
	}
}

int sim_world_script(struct sim_world *w, const struct sim_step *steps, size_t count)
{
	if (w->script_count == SIM_SCRIPTS_MAX || count == 0 || count > SIM_STEPS_MAX)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (!valid_step(w, &steps[i]))
			return -1;
	struct world_script *script = &w->scripts[w->script_count];
	memcpy(script->steps, steps, count * sizeof *steps);
	script->count = (uint16_t)count;
	return (int)w->script_count++;
}

int sim_world_client(struct sim_world *w, const struct sim_client_options *options)
{
	if (w->client_count == SIM_CLIENTS_MAX || options->script >= w->script_count ||
		options->node >= SIM_NODES_MAX || options->class_index >= CANCEL_CLASSES_MAX ||
		options->reject_script > w->script_count)
		return -1;
	struct world_client *client = &w->clients[w->client_count];
	client->options = *options;
	struct sim_client_options *o = &client->options;
	o->rollback_ppm = (uint32_t)or_default(o->rollback_ppm, w->options.rollback_ppm);
	sim_rng_init(&client->rng, w->options.seed, w->client_count);
	return (int)w->client_count++;
}

bool sim_world_resources(
	struct sim_world *w, const struct sim_resource_options *resources, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (sim_world_resource(w, &resources[i]) < 0)
			return false;
	return true;
}

bool sim_world_scripts(struct sim_world *w, const struct sim_script *scripts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (sim_world_script(w, scripts[i].steps, scripts[i].count) < 0)
			return false;
	return true;
}

bool sim_world_clients(struct sim_world *w, const struct sim_client_options *clients, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (sim_world_client(w, &clients[i]) < 0)
			return false;
	return true;
}

void world_at(struct sim_world *w, uint64_t at_ns, enum sim_rank rank, enum world_event kind,
	uint32_t who, uint64_t arg)
{
	sim_events_add(&w->events, at_ns, rank, kind, who, arg);
}

void world_ready(struct sim_world *w, uint32_t task)
{
	w->tasks[task].next = NONE;
	if (w->ready_tail == NONE)
		w->ready_head = task;
	else
		w->tasks[w->ready_tail].next = task;
	w->ready_tail = task;
}

static void drain(struct sim_world *w)
{
	while (w->ready_head != NONE) {
		uint32_t task = w->ready_head;
		w->ready_head = w->tasks[task].next;
		if (w->ready_head == NONE)
			w->ready_tail = NONE;
		w->tasks[task].next = NONE;
		world_task_run(w, task);
	}
}

struct sim_world_window *world_window(struct sim_world *w)
{
	size_t second = w->clock.now_ns / SIM_NS_PER_S;
	return &w->windows[second < w->window_count ? second : w->window_count - 1];
}

bool world_partitioned(const struct sim_world *w)
{
	uint64_t start_ns = w->options.partition_start_ns;
	return w->clock.now_ns >= start_ns && w->clock.now_ns - start_ns < w->options.partition_ns;
}

static void plan_pause(struct sim_world *w, uint64_t at_ns)
{
	if (w->options.pause_ns)
		world_at(w, at_ns, SIM_RANK_TRIGGER, EVENT_PAUSE, 0, 0);
}

/* Clients stand still with the machine: what they would have sent meanwhile comes later. */
void world_stand_still(struct sim_world *w, const struct sim_event *event)
{
	(void)event;
	sim_events_delay(&w->events, w->options.pause_ns);
	for (uint32_t i = 0; i < w->client_count; i++)
		w->clients[i].next_ns += w->options.pause_ns;
	if (w->options.pause_every_ns)
		plan_pause(w, w->clock.now_ns + w->options.pause_every_ns);
}

static void (*const handlers[])(struct sim_world *, const struct sim_event *) = {
#define X(event, handler) world_##handler,
	WORLD_EVENTS(X)
#undef X
};

static void close_windows(struct sim_world *w, uint64_t before_ns, size_t *open)
{
	size_t now = before_ns / SIM_NS_PER_S;
	for (; *open < now && *open < w->window_count; ++*open)
		w->windows[*open].in_server = w->live_tasks;
}

uint64_t sim_world_late_bins(const struct sim_world *w, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t late = 0;
	for (size_t i = from_ns / BIN_NS; i < w->bin_count && i * BIN_NS < to_ns; i++)
		late += (uint64_t)w->bins[i].late * 100 > w->bins[i].originals;
	return late;
}

static bool bounded(struct sim_world *w)
{
	if (w->live_tasks <= w->options.tasks_limit)
		return false;
	w->clock.bound = "live tasks";
	return true;
}

int sim_world_run(struct sim_world *w)
{
	if (world_control_start(w) != 0) {
		w->broken = "the pipeline refuses its configuration";
		return -1;
	}
	for (uint32_t i = 0; i < w->client_count; i++)
		world_client_start(w, i);
	plan_pause(w, w->options.pause_first_ns);
	struct sim_event e;
	size_t open = 0;
	while (!w->broken && !bounded(w)) {
		const struct sim_event *next = sim_events_peek(&w->events);
		if (!next || next->at_ns >= w->options.duration_ns)
			break;
		sim_events_take(&w->events, &e);
		close_windows(w, e.at_ns, &open);
		if (!sim_clock_advance(&w->clock, e.at_ns))
			break;
		handlers[e.kind](w, &e);
		drain(w);
		if (w->options.check && !w->broken)
			w->broken = w->options.check(w);
	}
	close_windows(w, w->options.duration_ns + SIM_NS_PER_S, &open);
	return w->broken || sim_clock_bound(&w->clock) ? -1 : 0;
}

void sim_world_result(const struct sim_world *w, struct sim_result *result)
{
	*result = (struct sim_result){
		.windows = w->windows,
		.window_count = w->window_count,
		.decisions = w->decisions,
		.decision_count = w->decision_count,
		.decisions_total = w->decisions_total,
		.holds = w->holds,
		.hold_count = w->hold_count,
		.late_bins = sim_world_late_bins(w, 0, UINT64_MAX),
		.end_ns = w->clock.bound ? w->clock.now_ns : w->options.duration_ns,
		.events = w->clock.events,
		.regular_windows = w->regular_windows,
		.resource_windows = w->resource_windows,
		.suspect_windows = w->suspect_windows,
		.untracked = w->untracked,
		.bound = sim_clock_bound(&w->clock),
		.broken = w->broken,
	};
}

const struct sim_client_totals *sim_world_totals(const struct sim_world *w, uint32_t client)
{
	return &w->clients[client].totals;
}

int64_t sim_world_heal_s(
	const struct sim_world *w, uint64_t start_s, uint64_t goodput, uint64_t slack)
{
	size_t heal = w->window_count;
	while (heal > start_s) {
		uint64_t got = w->windows[heal - 1].goodput;
		if (got + slack < goodput || got > goodput + slack)
			break;
		heal--;
	}
	return heal == w->window_count ? -1 : (int64_t)heal;
}
