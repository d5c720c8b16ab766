/* SPDX-License-Identifier: Apache-2.0 */
/* From a scenario's values to services, clients and changes. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sim/scenario/parts.h"

#define BINS_WANTED 3600 /* about as many probe bins, of whole seconds */

struct builder {
	const struct sim_scenario *scenario;
	const struct sim_run *run;
	const struct section *section;
	struct sim_services *services;
	char *error;
};

static const struct sim_setting *setting(const struct builder *b, const char *key)
{
	char name[128];
	snprintf(name, sizeof(name), "%s.%s", b->section->name[0] ? b->section->name : "run", key);
	return sim_options_find(&b->run->options, name);
}

static int64_t whole(const struct builder *b, const char *key)
{
	return setting(b, key)->integer;
}

static uint64_t count(const struct builder *b, const char *key)
{
	return (uint64_t)setting(b, key)->integer;
}

static double real(const struct builder *b, const char *key)
{
	return setting(b, key)->real;
}

static uint64_t span_ns(const struct builder *b, const char *key, double unit_ns)
{
	return (uint64_t)(setting(b, key)->real * unit_ns);
}

static const char *text(const struct builder *b, const char *key)
{
	return setting(b, key)->text;
}

/* The index among sections of its kind; an empty name is the first. -1: none. */
static int index_of(const struct builder *b, enum section_kind kind, const char *name)
{
	int index = 0;
	for (size_t i = 0; i < b->scenario->section_count; i++) {
		const struct section *section = &b->scenario->sections[i];
		if (section->kind != kind)
			continue;
		if (!*name || strcmp(section->name, name) == 0)
			return index;
		index++;
	}
	return -1;
}

/* The line that set the key, or the section's. */
static unsigned line_of(const struct builder *b, const char *key)
{
	char name[128];
	snprintf(name, sizeof(name), "%s.%s", b->section->name[0] ? b->section->name : "run", key);
	for (size_t i = 0; i < b->scenario->pair_count; i++)
		if (strcmp(b->scenario->pairs[i].key, name) == 0)
			return b->scenario->pairs[i].line;
	return b->section->line;
}

static bool fail(const struct builder *b, const char *key, const char *what, const char *value)
{
	snprintf(b->error, SIM_ERROR_MAX, "%.100s:%u: [%s %.39s] %s: %s '%.60s'", b->scenario->path,
		line_of(b, key), section_kind_name(b->section->kind), b->section->name, key, what,
		value);
	return false;
}

/* ---- Calls: "a, b*2 + c, d?" ---- */

static bool add_call(
	const struct builder *b, struct sim_service_options *options, char *item, bool with_next)
{
	char *at = item + strlen(item);
	struct sim_call_list list = { .count = 1, .with_next = with_next };
	int64_t times = 1;
	while (at > item && (isspace((unsigned char)at[-1]) || at[-1] == '?')) {
		list.cached = list.cached || at[-1] == '?';
		*--at = '\0';
	}
	item += strspn(item, " \t");
	char *star = strchr(item, '*');
	if (star) {
		*star = '\0';
		if (!sim_parse_int(star + 1, 1, 1000, &times))
			return fail(b, "calls", "the number after * is 1 … 1000, not", star + 1);
		item[strcspn(item, " \t")] = '\0';
	}
	int callee = index_of(b, SECTION_SERVICE, item);
	if (!*item || callee < 0)
		return fail(b, "calls", "there is no service", item);
	if (options->call_lists >= SIM_CALLS_MAX)
		return fail(b, "calls", "more than six, at", item);
	bool joined = with_next || (options->call_lists > 0 &&
					   options->calls[options->call_lists - 1].with_next);
	if (list.cached && joined)
		return fail(b, "calls", "? and + do not go together, at", item);
	list.callee = (uint32_t)callee;
	list.count = (uint32_t)times;
	options->calls[options->call_lists++] = list;
	return true;
}

static bool add_calls(const struct builder *b, struct sim_service_options *options)
{
	char copy[SIM_SCENARIO_TEXT_MAX + 1], *rest = copy, *step;
	snprintf(copy, sizeof(copy), "%s", text(b, "calls"));
	if (!*copy)
		return true;
	while ((step = strsep(&rest, ","))) {
		char *item;
		while ((item = strsep(&step, "+")))
			if (!add_call(b, options, item, step != NULL))
				return false;
	}
	return true;
}

/* ---- Sections ---- */

static struct sim_dist work_of(const struct builder *b)
{
	static const enum sim_shape shapes[] = { SIM_FIXED, SIM_EXPONENTIAL, SIM_PARETO,
		SIM_SHIFTED };
	uint64_t mean_ns = count(b, "work_us") * SIM_NS_PER_US;
	uint64_t least_ns = count(b, "work_least_us") * SIM_NS_PER_US;
	return (struct sim_dist){
		.shape = shapes[whole(b, "work")],
		.mean = mean_ns,
		.low = least_ns > 0 ? least_ns : 1,
		.high = mean_ns,
		.alpha = real(b, "pareto_alpha"),
	};
}

static bool add_service(const struct builder *b)
{
	struct sim_service_options options = {
		.name = b->section->name,
		.servers = (uint32_t)count(b, "servers"),
		.workers = (uint32_t)count(b, "workers"),
		.work = work_of(b),
		.holds_worker = whole(b, "holds_worker"),
		.queue_limit = count(b, "queue_limit"),
		.reject_cost_ns = count(b, "reject_cost_us") * SIM_NS_PER_US,
		.net_ns = count(b, "net_us") * SIM_NS_PER_US,
		.resends = (uint32_t)count(b, "resends"),
		.balance = (enum sim_balance)whole(b, "balance"),
		.gate = {
			.kind = (enum sim_gate_kind)whole(b, "gate"),
			.rate_qps = real(b, "gate_qps"),
			.target_ns = span_ns(b, "gate_target_ms", 1e6),
			.threshold_ns = span_ns(b, "gate_threshold_ms", 1e6),
			.business_levels = (uint32_t)count(b, "gate_levels"),
			.rule = (enum cancel_dagor_rule)whole(b, "gate_rule"),
			.collaborative = whole(b, "collaborative"),
		},
		.cache = {
			.keys = (uint32_t)count(b, "cache_keys"),
			.ttl_ns = span_ns(b, "cache_ttl_s", 1e9),
			.exponent = real(b, "cache_exponent"),
			.fill_late = whole(b, "cache_fill_late"),
			.single_flight = whole(b, "cache_single_flight"),
			.starts_warm = whole(b, "cache_warm"),
		},
	};
	bool bounded = options.work.shape == SIM_PARETO || options.work.shape == SIM_SHIFTED;
	if (bounded && options.work.low >= options.work.mean)
		return fail(b, "work_least_us", "it must be below work_us, not",
			text(b, "work_least_us"));
	if (!add_calls(b, &options))
		return false;
	for (uint32_t i = 0; i < options.call_lists; i++)
		if (options.calls[i].cached && options.cache.keys == 0)
			return fail(b, "calls", "? needs cache_keys over 0:", text(b, "calls"));
	return sim_services_add(b->services, &options) >= 0 ||
	       fail(b, "gate", "these settings make no gate", text(b, "gate"));
}

static bool add_clients(const struct builder *b, uint64_t stop_ns)
{
	int service = index_of(b, SECTION_SERVICE, text(b, "service"));
	uint64_t own_stop_ns = span_ns(b, "stop_s", 1e9);
	struct sim_traffic_options options = {
		.name = b->section->name,
		.service = (uint32_t)service,
		.loop = (enum sim_loop)whole(b, "loop"),
		.rate_qps = real(b, "rate_qps"),
		.users = (uint32_t)count(b, "users"),
		.think = { .shape = SIM_EXPONENTIAL, .mean = span_ns(b, "think_ms", 1e6) },
		.start_ns = span_ns(b, "start_s", 1e9),
		.stop_ns = own_stop_ns && own_stop_ns < stop_ns ? own_stop_ns : stop_ns,
		.burst = (uint32_t)count(b, "burst"),
		.burst_every_ns = whole(b, "burst") > 0 ? span_ns(b, "burst_every_s", 1e9) : 0,
		.day_ns = span_ns(b, "day_s", 1e9),
		.peak_ratio = real(b, "peak_ratio"),
		.patience.timeout_ns = count(b, "timeout_ms") * SIM_NS_PER_MS,
		.patience.retries = (uint32_t)count(b, "retries"),
		.patience.retry_on_reject = whole(b, "retry_on_reject"),
		.patience.backoff_ns = span_ns(b, "backoff_ms", 1e6),
		.patience.backoff_max_ns = span_ns(b, "backoff_max_ms", 1e6),
		.patience.backoff_jitter = whole(b, "backoff_jitter"),
		.budget = (enum sim_budget_kind)whole(b, "budget"),
		.budget_rate = real(b, "budget_rate"),
		.budget_burst = count(b, "budget_burst"),
		.business = (uint32_t)count(b, "business"),
		.business_levels = (uint32_t)count(b, "business_levels"),
	};
	if (service < 0)
		return fail(b, "service", "there is no service", text(b, "service"));
	return sim_services_traffic(b->services, &options) >= 0 ||
	       fail(b, "loop",
		       "these clients cannot send (paced needs a rate_qps of 0.001 or more)",
		       text(b, "loop"));
}

static bool add_change(const struct builder *b)
{
	enum sim_change_kind kind = (enum sim_change_kind)whole(b, "kind");
	bool of_clients = kind == SIM_CHANGE_LOAD || kind == SIM_CHANGE_RETRIES;
	static const enum sim_change_kind kinds[] = { SIM_CHANGE_OUTAGE, SIM_CHANGE_SLOW,
		SIM_CHANGE_DOWN, SIM_CHANGE_LOAD, SIM_CHANGE_RETRIES, SIM_CHANGE_SHED,
		SIM_CHANGE_WIPE };
	int target = index_of(b, of_clients ? SECTION_CLIENTS : SECTION_SERVICE, text(b, "target"));
	struct sim_change change = {
		.kind = kinds[whole(b, "kind")],
		.target = (uint32_t)target,
		.server = (int32_t)whole(b, "server"),
		.from_ns = span_ns(b, "from_s", 1e9),
		.value = real(b, "value"),
	};
	change.until_ns = change.from_ns + span_ns(b, "for_s", 1e9);
	if (target < 0)
		return fail(b, "target",
			of_clients ? "there are no clients" : "there is no service",
			text(b, "target"));
	return sim_services_change(b->services, &change) >= 0 ||
	       fail(b, "kind", "too many changes, at", b->section->name);
}

static const struct section *run_section(const struct sim_scenario *scenario)
{
	for (size_t i = 0; i < scenario->section_count; i++)
		if (scenario->sections[i].kind == SECTION_RUN)
			return &scenario->sections[i];
	return NULL;
}

static bool add_section(const struct builder *b, uint64_t stop_ns)
{
	switch (b->section->kind) {
	case SECTION_SERVICE:
		return add_service(b);
	case SECTION_CLIENTS:
		return add_clients(b, stop_ns);
	case SECTION_CHANGE:
		return add_change(b);
	default:
		return true;
	}
}

uint64_t scenario_bin_ns(uint64_t duration_ns)
{
	uint64_t seconds = duration_ns / SIM_NS_PER_S / BINS_WANTED;
	return (seconds > 0 ? seconds : 1) * SIM_NS_PER_S;
}

struct sim_services *scenario_build(
	const struct sim_scenario *scenario, const struct sim_run *run, uint64_t seed, char *error)
{
	struct builder b = { scenario, run, run_section(scenario), NULL, error };
	uint64_t duration_ns = count(&b, "duration_s") * SIM_NS_PER_S;
	uint64_t drain_ns = count(&b, "drain_s") * SIM_NS_PER_S;
	struct sim_services_options options = {
		.duration_ns = duration_ns,
		.warm_up_ns = count(&b, "warm_up_s") * SIM_NS_PER_S,
		.seed = seed,
		.events_limit = run->events_limit,
		.bin_ns = scenario_bin_ns(duration_ns),
		.live_limit = (uint32_t)count(&b, "calls_alive"),
	};
	if (drain_ns + options.warm_up_ns >= duration_ns) {
		snprintf(error, SIM_ERROR_MAX,
			"%.100s:%u: [run]: warm_up_s and drain_s leave nothing of duration_s %s",
			scenario->path, line_of(&b, "warm_up_s"), text(&b, "duration_s"));
		return NULL;
	}
	b.services = sim_services_new(&options);
	for (size_t i = 0; i < scenario->section_count; i++) {
		b.section = &scenario->sections[i];
		if (!add_section(&b, duration_ns - drain_ns)) {
			sim_services_free(b.services);
			return NULL;
		}
	}
	return b.services;
}
