/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of services: its description checked and kept, its events dispatched, its changes begun and
 * ended, its results handed out. What a call or a client does is theirs.
 */
#include "sim/service/service.h"

#include <stdlib.h>

#include "sim/service/parts.h"

#define LIVE_DEFAULT 2000000u
#define WEEK_NS	     (7ull * 86400ull * SIM_NS_PER_S)
#define BINS_MAX     10000000u

struct sim_services *sim_services_new(const struct sim_services_options *options)
{
	struct sim_services *s = sim_alloc(1, sizeof(*s));
	struct cancel_dagor_options levels = { .struct_size = sizeof(levels) };
	s->options = *options;
	if (s->options.live_limit == 0)
		s->options.live_limit = LIVE_DEFAULT;
	s->seconds = (options->duration_ns + SIM_NS_PER_S - 1) / SIM_NS_PER_S;
	if (options->bin_ns)
		s->bins = (options->duration_ns + options->bin_ns - 1) / options->bin_ns;
	s->levels = sim_alloc(1, sizeof(*s->levels));
	if (cancel_dagor_init(s->levels, &levels) < 0)
		abort();
	sim_events_init(&s->events);
	sim_clock_init(&s->clock, options->duration_ns, options->events_limit);
	return s;
}

static void service_free(struct service *service)
{
	for (uint32_t i = 0; service->servers && i < service->options.servers; i++)
		sim_gate_free(&service->servers[i].gate);
	cache_free(&service->cache);
	free(service->servers);
	free(service->upstream);
	free(service->probes);
}

static void traffic_free(struct traffic *traffic)
{
	free(traffic->windows);
	free(traffic->schedule_ns);
	free(traffic);
}

void sim_services_free(struct sim_services *s)
{
	for (uint32_t i = 0; i < s->service_count; i++)
		service_free(&s->services[i]);
	for (uint32_t i = 0; i < s->traffic_count; i++)
		traffic_free(s->traffics[i]);
	sim_events_free(&s->events);
	free(s->tasks);
	free(s->task_slab.free);
	free(s->calls);
	free(s->call_slab.free);
	free(s->levels);
	free(s);
}

/* ---- Description ---- */

static bool service_in_range(const struct sim_service_options *o)
{
	return o->servers <= SIM_SERVERS_MAX && o->call_lists <= SIM_CALLS_MAX &&
	       o->resends <= UINT8_MAX && o->gate.kind < SIM_SHED_KINDS &&
	       (o->cache.keys == 0 || o->cache.ttl_ns > 0);
}

static void init_upstream(struct service *service)
{
	size_t count = (size_t)SIM_SERVICES_MAX * service->options.servers;
	struct cancel_upstream_options options = { .struct_size = sizeof(options) };
	if (!service->options.gate.collaborative)
		return;
	service->upstream = sim_alloc(count, sizeof(*service->upstream));
	for (size_t i = 0; i < count; i++)
		if (cancel_upstream_init(&service->upstream[i], &options) < 0)
			abort();
}

int sim_services_add(struct sim_services *s, const struct sim_service_options *options)
{
	uint32_t index = s->service_count;
	if (index >= SIM_SERVICES_MAX || !service_in_range(options))
		return -1;
	struct service *service = &s->services[index];
	service->options = *options;
	service->options.servers = options->servers ? options->servers : 1;
	service->options.workers = options->workers ? options->workers : 1;
	service->servers = sim_alloc(service->options.servers, sizeof(*service->servers));
	s->service_count++;
	for (uint32_t i = 0; i < service->options.servers; i++) {
		service->servers[i].head = service->servers[i].tail = NOBODY;
		service->servers[i].slow = 1.0;
		if (sim_gate_init(&service->servers[i].gate, &service->options.gate) < 0)
			return -1;
	}
	sim_rng_init(&service->rng, s->options.seed, 100 + index);
	cache_init(&service->cache, &service->options.cache);
	init_upstream(service);
	if (s->bins > 0 && s->bins <= BINS_MAX) {
		service->probes = sim_alloc(s->bins, sizeof(*service->probes));
		for (size_t bin = 0; bin < s->bins; bin++)
			service->probes[bin].queuing_min_ns = UINT64_MAX;
	}
	return (int)index;
}

static int init_budget(struct sim_budget *budget, const struct sim_traffic_options *o)
{
	uint64_t burst = o->budget_burst > 0 ? o->budget_burst : (uint64_t)o->budget_rate;
	struct sim_budget_options options = {
		.kind = o->budget,
		.bucket = { .rate = (uint64_t)(o->budget_rate * 1000.0),
			.per_ns = 1000 * SIM_NS_PER_S,
			.burst = burst > 0 ? burst : 1 },
		.share_ppm = (uint32_t)(o->budget_rate * 1e6),
	};
	return sim_budget_init(budget, &options);
}

int sim_services_traffic(struct sim_services *s, const struct sim_traffic_options *options)
{
	bool closed = options->loop == SIM_LOOP_PACED || options->loop == SIM_LOOP_CLOSED;
	if (s->traffic_count >= SIM_TRAFFICS_MAX || (closed && options->users == 0) ||
		(options->loop == SIM_LOOP_PACED && options->rate_qps < 1e-3) ||
		options->rate_qps < 0.0 || options->budget >= SIM_BUDGET_KINDS)
		return -1;
	struct sim_budget budget;
	if (init_budget(&budget, options) < 0)
		return -1;
	struct traffic *traffic = sim_alloc(1, sizeof(*traffic));
	traffic->options = *options;
	traffic->budget = budget;
	traffic->load = 1.0;
	traffic->retries = options->patience.retries;
	traffic->windows = sim_alloc(s->seconds, sizeof(*traffic->windows));
	sim_rng_init(&traffic->rng, s->options.seed, 200 + s->traffic_count);
	s->traffics[s->traffic_count] = traffic;
	return (int)s->traffic_count++;
}

int sim_services_change(struct sim_services *s, const struct sim_change *change)
{
	if (s->change_count >= SIM_CHANGES_MAX || change->until_ns < change->from_ns)
		return -1;
	s->changes[s->change_count] = *change;
	return (int)s->change_count++;
}

static bool is_of_traffic(const struct sim_change *change)
{
	return change->kind == SIM_CHANGE_LOAD || change->kind == SIM_CHANGE_RETRIES;
}

/* Deeper than there are services means a cycle. */
static bool has_cycle(const struct sim_services *s)
{
	uint32_t depth[SIM_SERVICES_MAX] = { 0 };
	for (uint32_t round = 0; round <= s->service_count; round++)
		for (uint32_t i = 0; i < s->service_count; i++)
			for (uint32_t j = 0; j < s->services[i].options.call_lists; j++) {
				uint32_t callee = s->services[i].options.calls[j].callee;
				if (depth[callee] < depth[i] + 1)
					depth[callee] = depth[i] + 1;
				if (depth[callee] > s->service_count)
					return true;
			}
	return false;
}

static const char *check(const struct sim_services *s)
{
	if (s->options.duration_ns == 0 || s->options.duration_ns > WEEK_NS)
		return "the duration must be between a nanosecond and a week";
	if (s->bins > BINS_MAX)
		return "too many probe bins";
	for (uint32_t i = 0; i < s->service_count; i++)
		for (uint32_t j = 0; j < s->services[i].options.call_lists; j++) {
			const struct sim_call_list *list = &s->services[i].options.calls[j];
			if (list->callee >= s->service_count || list->count == 0)
				return "a service calls one that does not exist";
			if (list->cached && s->services[i].options.cache.keys == 0)
				return "a cached call of a service without a cache";
		}
	if (has_cycle(s))
		return "services call each other in a circle";
	for (uint32_t i = 0; i < s->traffic_count; i++)
		if (s->traffics[i]->options.service >= s->service_count)
			return "a traffic enters at a service that does not exist";
	for (uint32_t i = 0; i < s->change_count; i++) {
		const struct sim_change *c = &s->changes[i];
		uint32_t limit = is_of_traffic(c) ? s->traffic_count : s->service_count;
		if (c->target >= limit)
			return "a change of something that does not exist";
		if (!is_of_traffic(c) &&
			c->server >= (int32_t)s->services[c->target].options.servers)
			return "a change of a server that does not exist";
	}
	return NULL;
}

/* ---- Changes ---- */

static void change_server(
	struct sim_services *s, const struct sim_change *change, uint32_t at, bool begins)
{
	struct service *service = &s->services[change->target];
	struct server *server = &service->servers[at];
	switch (change->kind) {
	case SIM_CHANGE_OUTAGE:
		server->outage = begins;
		break;
	case SIM_CHANGE_SLOW:
		server->slow = begins ? change->value : 1.0;
		break;
	case SIM_CHANGE_DOWN:
		server->down = begins;
		if (begins)
			server_down(s, change->target, at);
		break;
	default:
		return;
	}
	server_start(s, service, at);
}

static void apply(struct sim_services *s, const struct sim_change *change, bool begins)
{
	if (is_of_traffic(change)) {
		struct traffic *traffic = s->traffics[change->target];
		if (change->kind == SIM_CHANGE_LOAD)
			traffic->load = begins ? change->value : 1.0;
		else
			traffic->retries = begins ? (uint32_t)change->value
						  : traffic->options.patience.retries;
		return;
	}
	struct service *service = &s->services[change->target];
	if (change->kind == SIM_CHANGE_SHED)
		service->shed = begins ? change->value : 0.0;
	if (change->kind == SIM_CHANGE_WIPE && begins)
		cache_wipe(&service->cache, &service->options.cache);
	for (uint32_t at = 0; at < service->options.servers; at++)
		if (change->server < 0 || at == (uint32_t)change->server)
			change_server(s, change, at, begins);
}

void change_begins(struct sim_services *s, const struct sim_event *event)
{
	apply(s, &s->changes[event->who], true);
}

void change_ends(struct sim_services *s, const struct sim_event *event)
{
	apply(s, &s->changes[event->who], false);
}

/* ---- The run ---- */

void warm_up_ends(struct sim_services *s, const struct sim_event *event)
{
	(void)event;
	for (uint32_t i = 0; i < s->service_count; i++)
		s->services[i].result = (struct sim_service_result){ 0 };
}

static void (*const handlers[])(struct sim_services *, const struct sim_event *) = {
#define X(event, handler) handler,
	SERVICE_EVENTS(X)
#undef X
};

static void begin(struct sim_services *s)
{
	/* Ends first: where one change ends as the next begins, the next one holds. */
	for (uint32_t i = 0; i < s->change_count; i++)
		if (s->changes[i].until_ns > s->changes[i].from_ns)
			sim_events_add(&s->events, s->changes[i].until_ns, SIM_RANK_TRIGGER,
				EVENT_CHANGE_UNTIL, i, 0);
	for (uint32_t i = 0; i < s->change_count; i++)
		sim_events_add(&s->events, s->changes[i].from_ns, SIM_RANK_TRIGGER,
			EVENT_CHANGE_FROM, i, 0);
	for (uint32_t i = 0; i < s->traffic_count; i++)
		traffic_begin(s, i);
	if (s->options.warm_up_ns)
		sim_events_add(
			&s->events, s->options.warm_up_ns, SIM_RANK_TRIGGER, EVENT_WARM, 0, 0);
}

int sim_services_run(struct sim_services *s, const char **why)
{
	struct sim_event event;
	*why = check(s);
	if (*why)
		return -1;
	begin(s);
	while (!s->full && sim_events_take(&s->events, &event)) {
		if (event.at_ns > s->options.duration_ns)
			break;
		if (!sim_clock_advance(&s->clock, event.at_ns))
			break;
		handlers[event.kind](s, &event);
	}
	for (uint32_t i = 0; i < s->service_count; i++)
		service_busy(s, &s->services[i], 0);
	return 0;
}

/* ---- Results ---- */

void sim_services_traffic_result(
	const struct sim_services *s, uint32_t index, struct sim_traffic_result *result)
{
	const struct traffic *traffic = s->traffics[index];
	*result = traffic->result;
	result->windows = traffic->windows;
	result->window_count = s->seconds;
	result->latency = &traffic->latency;
	result->from_send = &traffic->from_send;
}

void sim_services_result(
	const struct sim_services *s, uint32_t index, struct sim_service_result *result)
{
	const struct service *service = &s->services[index];
	struct cancel_dagor *dagor = sim_gate_dagor(&s->services[index].servers[0].gate);
	*result = service->result;
	result->probes = service->probes;
	result->probe_count = service->probes ? s->bins : 0;
	if (dagor) {
		result->cursor = dagor->cursor;
		result->levels = dagor->levels;
	}
}

uint32_t sim_services_alive(const struct sim_services *s)
{
	return s->live_calls;
}

uint64_t sim_services_events(const struct sim_services *s)
{
	return s->clock.events;
}

const char *sim_services_bound(const struct sim_services *s)
{
	return s->full ? "number of calls alive at once" : sim_clock_bound(&s->clock);
}
