/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What scenes are made of.
 */
#include "scene.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/hash.h"
#include "sim/base/clock.h"
#include "sim/base/math.h"

#define MS	   SIM_NS_PER_MS
#define BURST_MOST 400 /* requests */

/* ---- Draws ----------------------------------------------------------------------------------- */

uint32_t draw_between(struct scene *s, uint32_t least, uint32_t most)
{
	return least + (uint32_t)sim_rng_below(&s->rng, most - least + 1);
}

static uint64_t whole(double ns)
{
	uint64_t grains = (uint64_t)(ns / SCENE_GRAIN);
	return (grains ? grains : 1) * SCENE_GRAIN;
}

uint64_t draw_ns(struct scene *s, double least_s, double most_s)
{
	return whole(least_s * sim_pow(most_s / least_s, sim_rng_unit(&s->rng)) * 1e9);
}

bool draw_chance(struct scene *s, uint32_t percent)
{
	return sim_rng_below(&s->rng, 100) < percent;
}

void say(struct scene *s, const char *format, ...)
{
	size_t used = strlen(s->what);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(s->what + used, sizeof s->what - used, format, arguments);
	va_end(arguments);
}

/* ---- The server ------------------------------------------------------------------------------ */

void add_server(struct scene *s, double rate_most)
{
	static const uint32_t sizes[] = { 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64 };
	static const uint32_t windows[] = { 50, 50, 100 };
	s->workers = sizes[draw_between(s, 0, sizeof sizes / sizeof sizes[0] - 1)];
	s->options.control_ms = windows[draw_between(s, 0, 2)];
	s->options.grain_ns = SCENE_GRAIN;
	s->options.ledgers_only = true;
	s->options.no_rollback_guess = true;
	s->options.tracked_limit = 4096;
	s->resources[WORKERS] = (struct sim_resource_options){
		.name = "workers", .type = CANCEL_QUEUE, .capacity = s->workers
	};
	s->resources[TABLES] = (struct sim_resource_options){
		.name = "tables", .type = CANCEL_LOCK, .instances = SCENE_TABLES
	};
	s->resources[POOL] = (struct sim_resource_options){ .name = "pool",
		.type = CANCEL_MEMORY,
		.capacity = 1000,
		.io_resource = DEVICE + 1,
		.read_ahead = 8,
		.hit_ns = SCENE_GRAIN,
		.miss_ns = 10 * SCENE_GRAIN,
		.next_page_ns = SCENE_GRAIN };
	s->resources[DEVICE] = (struct sim_resource_options){
		.name = "device", .type = CANCEL_QUEUE, .capacity = 4, .untracked = true
	};
	s->load = 0.1 + 0.5 * sim_rng_unit(&s->rng);
	s->rate = (uint32_t)(20 * sim_pow(rate_most / 20, sim_rng_unit(&s->rng)));
	s->service_ns = whole(s->load * s->workers / s->rate * 1e9);
	/* A request is a small thing beside what chokes it. */
	if (s->service_ns > 100 * MS)
		s->service_ns = 100 * MS;
	s->load = (double)s->service_ns * s->rate / s->workers / 1e9;
	say(s, "%u workers, %u requests/s, load %.2f", s->workers, s->rate, s->load);
}

uint32_t add_script(struct scene *s, const struct sim_step *steps, uint32_t count)
{
	memcpy(s->steps[s->script_count], steps, count * sizeof *steps);
	s->scripts[s->script_count] = (struct sim_script){ s->steps[s->script_count], count };
	return s->script_count++;
}
#define ADD_SCRIPT(s, steps) add_script(s, steps, sizeof(steps) / sizeof(*(steps)))

/* ---- Requests -------------------------------------------------------------------------------- */

static void draw_request(void *arg, struct sim_rng *rng, uint64_t sequence, uint64_t *args)
{
	const struct scene_draw *draw = arg;
	(void)sequence;
	args[0] = whole((double)sim_dist_draw(&draw->service, rng));
	args[1] = draw->tables ? sim_rng_below(rng, draw->tables) : 0;
}

static uint32_t add_client(struct scene *s, const struct sim_client_options *options)
{
	s->clients[s->client_count] = *options;
	return s->client_count++;
}

static void add_stream(struct scene *s, const char *name, uint32_t script, double rate,
	uint64_t from_ns, uint64_t until_ns, uint32_t tables)
{
	struct scene_draw *draw = &s->draws[s->client_count];
	*draw = (struct scene_draw){ .service = { .shape = s->draws[0].service.shape,
					     .mean = s->service_ns },
		.tables = tables };
	add_client(s, &(struct sim_client_options){ .name = name,
			      .script = script,
			      .flags = CANCEL_CANCELLABLE,
			      .signature = 100 + script,
			      .slo_ns = s->slo_ns,
			      .measured = true,
			      .first_ns = from_ns,
			      .until_ns = until_ns,
			      .gap = { .shape = SIM_EXPONENTIAL, .mean = (uint64_t)(1e9 / rate) },
			      .draw = draw_request,
			      .draw_arg = draw });
}

static void add_request_scripts(struct scene *s)
{
	const struct sim_step plain[] = { SIM_TAKE(WORKERS, 1), SIM_COMPUTE_ARG(1),
		SIM_FREE(WORKERS, 1) };
	const struct sim_step shared[] = { SIM_TAKE(WORKERS, 1),
		SIM_LOCK_ARG(TABLES, 2, CANCEL_SHARED), SIM_COMPUTE_ARG(1),
		SIM_UNLOCK_ARG(TABLES, 2, CANCEL_SHARED), SIM_FREE(WORKERS, 1) };
	const struct sim_step exclusive[] = { SIM_TAKE(WORKERS, 1),
		SIM_LOCK_ARG(TABLES, 2, CANCEL_EXCLUSIVE), SIM_COMPUTE_ARG(1),
		SIM_UNLOCK_ARG(TABLES, 2, CANCEL_EXCLUSIVE), SIM_FREE(WORKERS, 1) };
	ADD_SCRIPT(s, plain);
	ADD_SCRIPT(s, shared);
	ADD_SCRIPT(s, exclusive);
}

void add_requests(
	struct scene *s, uint32_t shared_percent, uint32_t exclusive_percent, uint32_t tables)
{
	bool fixed = draw_chance(s, 30);
	uint32_t factor = fixed ? draw_between(s, 3, 10) : draw_between(s, 8, 16);
	uint32_t plain_percent = 100 - shared_percent - exclusive_percent;
	s->draws[0].service.shape = fixed ? SIM_FIXED : SIM_EXPONENTIAL;
	s->slo_ns = s->service_ns * factor;
	if (s->slo_ns < 10 * MS)
		s->slo_ns = 10 * MS;
	say(s, ", SLO %.1f ms", (double)s->slo_ns / MS);
	add_request_scripts(s);
	if (plain_percent)
		add_stream(s, "plain", 0, s->rate * plain_percent / 100.0, 0, 0, 0);
	if (shared_percent)
		add_stream(s, "reads", 1, s->rate * shared_percent / 100.0, 0, 0, tables);
	if (exclusive_percent)
		add_stream(s, "writes", 2, s->rate * exclusive_percent / 100.0, 0, 0, tables);
}

void add_burst(struct scene *s, uint64_t from_ns, uint64_t until_ns, double load)
{
	double rate = load * s->workers / (double)s->service_ns * 1e9;
	double requests = rate * (double)(until_ns - from_ns) / 1e9;
	if (requests > BURST_MOST)
		until_ns = from_ns + whole((double)(until_ns - from_ns) * BURST_MOST / requests);
	if (s->client_count < SCENE_CLIENTS)
		add_stream(s, "burst", 0, rate, from_ns, until_ns, 0);
}

/* ---- Tasks ----------------------------------------------------------------------------------- */

uint32_t add_task(struct scene *s, const char *name, uint32_t script, uint64_t at_ns)
{
	return add_client(s, &(struct sim_client_options){ .name = name,
				     .script = script,
				     .class_index = 1,
				     .flags = CANCEL_CANCELLABLE,
				     .signature = 1000 + s->client_count,
				     .trigger = true,
				     .first_ns = at_ns,
				     .limit = 1,
				     .gap = { .shape = SIM_FIXED, .mean = 1 } });
}

void add_long_tasks(struct scene *s, uint32_t count)
{
	for (uint32_t i = 0; i < count && s->client_count + 4 < SCENE_CLIENTS &&
			     s->script_count + 4 < SCENE_SCRIPTS;
		i++) {
		uint64_t from_ns = draw_ns(s, 0.1, 0.6 * s->seconds);
		const struct sim_step steps[] = { SIM_TAKE(WORKERS, 1),
			SIM_COMPUTE(draw_ns(s, 0.3 * s->seconds, 1.5 * s->seconds)),
			SIM_FREE(WORKERS, 1) };
		add_task(s, "long task", ADD_SCRIPT(s, steps), from_ns);
	}
}

void add_culprit(struct scene *s, uint32_t client)
{
	s->culprits |= (uint64_t)1 << client;
}

void scene_build(
	struct scene *s, const struct scene_family *family, uint32_t number, uint32_t attempt)
{
	uint64_t seed = hash_bytes(hash_text(family->name), (const char *)&number, sizeof number);
	memset(s, 0, sizeof *s);
	sim_rng_init(&s->rng, seed, attempt);
	s->options.seed = seed ^ (uint64_t)attempt << 32;
	add_server(s, family->rate_most);
	family->build(s);
	s->options.duration_ns = s->seconds * SIM_NS_PER_S;
}
