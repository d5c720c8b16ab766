/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The families of scenes: who chokes the server, or what looks as if somebody did.
 */
#include "scene.h"

#include "sim/base/clock.h"

#define MS		     SIM_NS_PER_MS
#define S		     SIM_NS_PER_S
#define CULPRIT_FROM	     6.0 /* seconds of healthy load before a culprit, at least */
#define DECOY_SECONDS	     90u
#define REQUESTS	     140
#define REQUESTS_DECOY	     48
#define LENGTH(array)	     (uint32_t)(sizeof(array) / sizeof((array)[0]))
#define ADD_SCRIPT(s, steps) add_script(s, steps, LENGTH(steps))

/* How long a culprit holds: at least so long that its cancel still helps. */
static uint64_t draw_hold_ns(struct scene *s)
{
	double least_s = (double)s->slo_ns * 6 / 1e9;
	if (least_s < 0.7)
		least_s = 0.7;
	return draw_ns(s, least_s, least_s > 3 ? 2 * least_s : 6);
}

static uint64_t draw_start_ns(struct scene *s)
{
	return draw_ns(s, CULPRIT_FROM, CULPRIT_FROM + 2);
}

static void end_after(struct scene *s, uint64_t ns)
{
	uint32_t seconds = (uint32_t)(ns / S) + 3;
	if (seconds > s->seconds)
		s->seconds = seconds;
}

/* A culprit that holds a table for so long; with a worker or, as one idle in its transaction,
 * without. */
static uint32_t add_holder(
	struct scene *s, uint32_t table, uint8_t mode, uint64_t at_ns, uint64_t hold_ns)
{
	const struct sim_step with_worker[] = { SIM_TAKE(WORKERS, 1),
		SIM_STEP(LOCK, TABLES, .mode = mode, .instance = table), SIM_COMPUTE(hold_ns),
		SIM_STEP(UNLOCK, TABLES, .mode = mode, .instance = table), SIM_FREE(WORKERS, 1) };
	uint32_t script =
		draw_chance(s, 60) ? ADD_SCRIPT(s, with_worker) : add_script(s, with_worker + 1, 3);
	uint32_t client = add_task(s, "holder", script, at_ns);
	if (draw_chance(s, 40)) {
		s->clients[client].progress = SIM_PROGRESS_TRUE;
		say(s, ", tells its progress");
	}
	end_after(s, at_ns + hold_ns);
	return client;
}

/* ---- Culprits -------------------------------------------------------------------------------- */

static void lock_exclusive(struct scene *s)
{
	uint32_t tables = draw_between(s, 1, 3);
	s->culprit = true;
	s->on = TABLES;
	add_requests(s, draw_between(s, 30, 100), 0, tables);
	uint64_t hold_ns = draw_hold_ns(s);
	add_culprit(s, add_holder(s, draw_between(s, 0, tables - 1), CANCEL_EXCLUSIVE,
			       draw_start_ns(s), hold_ns));
	say(s, "; holds one of %u tables exclusively for %.1f s", tables, (double)hold_ns / 1e9);
}

static void lock_shared(struct scene *s)
{
	uint32_t writes = draw_between(s, 25, 50);
	s->culprit = true;
	s->on = TABLES;
	add_requests(s, draw_between(s, 0, 50), writes, SCENE_TABLES / 2);
	uint64_t hold_ns = draw_hold_ns(s);
	add_culprit(s, add_holder(s, draw_between(s, 0, SCENE_TABLES / 2 - 1), CANCEL_SHARED,
			       draw_start_ns(s), hold_ns));
	say(s, "; holds a table shared for %.1f s, %u %% write", (double)hold_ns / 1e9, writes);
}

static void queue_slots(struct scene *s)
{
	s->culprit = true;
	s->on = WORKERS;
	add_requests(s, 0, 0, 1);
	uint32_t least = (s->workers * 7 + 9) / 10, slots = draw_between(s, least, s->workers);
	uint64_t hold_ns = draw_hold_ns(s), at_ns = draw_start_ns(s);
	const struct sim_step steps[] = { SIM_TAKE(WORKERS, slots), SIM_COMPUTE(hold_ns),
		SIM_FREE(WORKERS, slots) };
	uint32_t client = add_task(s, "parallel", ADD_SCRIPT(s, steps), at_ns);
	if (draw_chance(s, 40))
		s->clients[client].progress = SIM_PROGRESS_TRUE;
	add_culprit(s, client);
	end_after(s, at_ns + hold_ns);
	say(s, "; takes %u workers for %.1f s", slots, (double)hold_ns / 1e9);
}

/* Requests read a hot set that fits the pool. */
static void add_hot_reads(struct scene *s, uint32_t pages, uint32_t span)
{
	const struct sim_step hot[] = { SIM_TAKE(WORKERS, 1),
		SIM_STEP(READ, POOL, .amount = pages, .span = span), SIM_FREE(WORKERS, 1) };
	uint32_t script = ADD_SCRIPT(s, hot);
	for (uint32_t i = 0; i < s->client_count; i++)
		s->clients[i].script = s->clients[i].script < 3 ? script : s->clients[i].script;
}

static void memory_dump(struct scene *s)
{
	uint32_t pages = draw_between(s, 4, 12), span = draw_between(s, 600, 900);
	uint32_t device = draw_between(s, 1, 3);
	uint64_t at_ns = 8 * S + draw_ns(s, 0.1, 2), dump = draw_between(s, 8000, 40000);
	s->culprit = true;
	s->on = POOL;
	s->resources[DEVICE].capacity = device;
	s->service_ns = pages * SCENE_GRAIN;
	add_requests(s, 0, 0, 1);
	add_hot_reads(s, pages, span);
	s->clients[0].gap.mean /= draw_between(s, 2, 5); /* a busy pool is full of hot pages */
	const struct sim_step steps[] = { SIM_STEP(READ, POOL, .mode = SIM_READ_SEQUENTIAL,
		.instance = 1, .amount = dump, .span = 1u << 30) };
	s->resources[POOL].read_ahead = draw_between(s, 8, 32);
	uint32_t client = add_task(s, "dump", ADD_SCRIPT(s, steps), at_ns);
	add_culprit(s, client);
	s->seconds = 18;
	say(s, "; dump of %u pages, hot set %u of 1000, %u devices", (uint32_t)dump, span, device);
}

static void several(struct scene *s)
{
	uint32_t count = draw_between(s, 2, 3);
	uint64_t at_ns = draw_start_ns(s);
	s->culprit = true;
	s->on = TABLES;
	s->workers = s->workers < 8 ? 8 : s->workers;
	s->resources[WORKERS].capacity = s->workers;
	add_requests(s, draw_between(s, 80, 100), 0, count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t hold_ns = draw_hold_ns(s);
		hold_ns = hold_ns < 2 * S ? 2 * S : hold_ns;
		add_culprit(s, add_holder(s, i, CANCEL_EXCLUSIVE, at_ns, hold_ns));
		at_ns += draw_ns(s, 0.1, 1);
	}
	say(s, "; %u culprits, a table each", count);
}

/* A long reader harms nobody; who waits behind it for the whole table bars all other readers. */
static void ddl_waiter(struct scene *s)
{
	uint64_t at_ns = draw_start_ns(s), read_ns = draw_ns(s, 3, 9);
	uint64_t alter_ns = at_ns + draw_ns(s, 0.3, 1.5), work_ns = draw_ns(s, 0.01, 0.2);
	s->culprit = true;
	s->on = TABLES;
	s->waiter = true;
	add_requests(s, draw_between(s, 50, 100), 0, 1);
	add_holder(s, 0, CANCEL_SHARED, at_ns, read_ns);
	const struct sim_step alter[] = { SIM_LOCK(TABLES, CANCEL_EXCLUSIVE), SIM_COMPUTE(work_ns),
		SIM_UNLOCK(TABLES, CANCEL_EXCLUSIVE) };
	add_culprit(s, add_task(s, "alter", ADD_SCRIPT(s, alter), alter_ns));
	say(s, "; ALTER waits behind a read of %.1f s", (double)read_ns / 1e9);
}

static void returning(struct scene *s)
{
	uint64_t at_ns = draw_start_ns(s), think_ns = draw_ns(s, 0.5, 3);
	s->culprit = true;
	s->on = TABLES;
	add_requests(s, draw_between(s, 50, 100), 0, 1);
	double least_s = (double)s->slo_ns * 6 / 1e9;
	uint64_t hold_ns =
		draw_ns(s, least_s > 0.7 ? least_s : 0.7, least_s > 0.7 ? 2 * least_s : 2);
	uint32_t client = add_holder(s, 0, CANCEL_EXCLUSIVE, at_ns, hold_ns);
	add_culprit(s, client);
	s->clients[client].limit = 0;
	s->clients[client].users = 1;
	s->clients[client].think = (struct sim_dist){ .shape = SIM_FIXED, .mean = think_ns };
	s->clients[client].signature = 4242;
	s->clients[client].until_ns = at_ns + 4 * (hold_ns + think_ns);
	end_after(s, s->clients[client].until_ns + hold_ns + S);
	say(s, "; returns %.1f s after each hold of %.1f s", (double)think_ns / 1e9,
		(double)hold_ns / 1e9);
}

/* Each of them would do little harm alone. */
static void many_medium(struct scene *s)
{
	uint32_t count = draw_between(s, 3, 8);
	uint64_t at_ns = draw_start_ns(s);
	s->culprit = true;
	s->one_incident = true;
	add_requests(s, draw_between(s, 50, 100), 0, 1);
	bool queue = s->workers >= 6 && draw_chance(s, 50);
	s->on = queue ? WORKERS : TABLES;
	uint32_t slots = (s->workers + count - 1) / count;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t hold_ns = draw_ns(s, queue ? 1.5 : 0.4, queue ? 5 : 1.2);
		const struct sim_step steps[] = { SIM_TAKE(WORKERS, slots), SIM_COMPUTE(hold_ns),
			SIM_FREE(WORKERS, slots) };
		uint32_t client = queue ? add_task(s, "batch", ADD_SCRIPT(s, steps), at_ns)
					: add_holder(s, 0, CANCEL_EXCLUSIVE, at_ns, hold_ns);
		s->clients[client].signature = 4242;
		add_culprit(s, client);
		at_ns += draw_ns(s, 0.02, 0.2);
		end_after(s, at_ns + (queue ? hold_ns : count * S));
	}
	say(s, "; %u at once, %s", count, queue ? "each with a part of the workers" : "one table");
}

/* The same culprit among what is harmless. */
static void amid_decoys(struct scene *s)
{
	s->seconds = 16;
	s->culprit = true;
	s->on = TABLES;
	s->workers = s->workers < 6 ? 6 : s->workers;
	s->resources[WORKERS].capacity = s->workers;
	add_requests(s, draw_between(s, 50, 100), 0, 1);
	uint32_t count = draw_between(s, 1, s->workers / 2);
	add_long_tasks(s, count);
	uint64_t at_ns = draw_start_ns(s), hold_ns = draw_hold_ns(s);
	add_culprit(s, add_holder(s, 0, CANCEL_EXCLUSIVE, at_ns, hold_ns));
	add_burst(s, at_ns - S, at_ns + draw_ns(s, 0.1, 1), 0.5 + sim_rng_unit(&s->rng));
	say(s, "; holds a table for %.1f s beside %u long tasks and a burst", (double)hold_ns / 1e9,
		count);
}

/* ---- Nobody's fault -------------------------------------------------------------------------- */

static void begin_decoy(struct scene *s)
{
	s->decoy = true;
	s->seconds = DECOY_SECONDS;
}

static void add_bursts(struct scene *s, double least_load, double most_load)
{
	uint64_t at_ns = 5 * S;
	uint32_t count = 0;
	for (; at_ns < (s->seconds - 4) * S && count < 8; count++) {
		double load = least_load + (most_load - least_load) * sim_rng_unit(&s->rng);
		uint64_t until_ns = at_ns + draw_ns(s, 0.2, 3);
		add_burst(s, at_ns, until_ns, load);
		at_ns = until_ns + draw_ns(s, 2, 20);
	}
	say(s, "; %u bursts", count);
}

static void steady(struct scene *s)
{
	s->seconds = DECOY_SECONDS;
	add_requests(s, draw_between(s, 0, 60), 0, SCENE_TABLES);
}

static void long_half(struct scene *s)
{
	begin_decoy(s);
	add_requests(s, draw_between(s, 0, 30), 0, SCENE_TABLES);
	uint32_t count = draw_between(s, (s->workers + 3) / 4, s->workers / 2);
	add_long_tasks(s, count);
	if (draw_chance(s, 70))
		add_bursts(s, 0.2, 1.2);
	say(s, "; %u harmless tasks", count);
}

static void bursts(struct scene *s)
{
	begin_decoy(s);
	add_requests(s, draw_between(s, 0, 60), 0, SCENE_TABLES);
	add_bursts(s, 0.5, 2.5);
}

static void cache_misses(struct scene *s)
{
	uint32_t pages = draw_between(s, 4, 12), span = draw_between(s, 800, 3000);
	begin_decoy(s);
	s->service_ns = pages * SCENE_GRAIN;
	s->resources[DEVICE].capacity = draw_between(s, 1, 4);
	add_requests(s, 0, 0, 1);
	add_hot_reads(s, pages, span);
	say(s, "; %u pages each of %u, the pool has 1000", pages, span);
	if (draw_chance(s, 50)) { /* another set is hot from then on */
		uint64_t at_ns = draw_ns(s, 20, 60);
		const struct sim_step steps[] = { SIM_TAKE(WORKERS, 1),
			SIM_STEP(READ, POOL, .amount = pages, .first = 10000, .span = span),
			SIM_FREE(WORKERS, 1) };
		s->clients[0].until_ns = at_ns;
		s->clients[s->client_count] = s->clients[0];
		s->clients[s->client_count].script = ADD_SCRIPT(s, steps);
		s->clients[s->client_count].first_ns = at_ns;
		s->clients[s->client_count++].until_ns = 0;
		say(s, ", others after %.0f s", (double)at_ns / 1e9);
	}
}

static void pauses(struct scene *s)
{
	begin_decoy(s);
	add_requests(s, draw_between(s, 0, 100), 0, SCENE_TABLES);
	s->options.pause_first_ns = draw_ns(s, 4, 10);
	s->options.pause_every_ns = draw_ns(s, 5, 20);
	s->options.pause_ns = draw_ns(s, 0.1, 2);
	if (draw_chance(s, 50))
		add_long_tasks(s, draw_between(s, 1, s->workers / 2));
	say(s, "; stands still for %.2f s every %.0f s", (double)s->options.pause_ns / 1e9,
		(double)s->options.pause_every_ns / 1e9);
}

/* Many short holders of one table and none that stands out. */
static void hot_table(struct scene *s)
{
	begin_decoy(s);
	double load = 0.6 + 0.35 * sim_rng_unit(&s->rng);
	s->workers = s->workers < 6 ? 6 : s->workers;
	s->resources[WORKERS].capacity = s->workers;
	s->service_ns = (uint64_t)(load * 1e9 / s->rate / SCENE_GRAIN) * SCENE_GRAIN;
	add_requests(s, 0, 100, 1);
	if (draw_chance(s, 50))
		add_long_tasks(s, draw_between(s, 1, s->workers / 4));
	say(s, "; all write one table, busy %.2f", load);
}

/* Reports of some seconds, as many as half of the workers at a time. */
static void reports(struct scene *s)
{
	begin_decoy(s);
	add_requests(s, draw_between(s, 0, 50), 0, SCENE_TABLES);
	uint32_t users = draw_between(s, 1, s->workers / 2);
	const struct sim_step steps[] = { SIM_TAKE(WORKERS, 1), SIM_COMPUTE(draw_ns(s, 0.5, 5)),
		SIM_FREE(WORKERS, 1) };
	uint32_t client = add_task(s, "report", ADD_SCRIPT(s, steps), draw_ns(s, 1, 10));
	s->clients[client].limit = 0;
	s->clients[client].users = users;
	s->clients[client].think =
		(struct sim_dist){ .shape = SIM_EXPONENTIAL, .mean = draw_ns(s, 0.5, 10) };
	if (draw_chance(s, 50))
		add_bursts(s, 0.2, 1);
	say(s, "; %u users run reports", users);
}

const struct scene_family scene_families[] = {
	{ "lock-exclusive", 36, REQUESTS, lock_exclusive },
	{ "lock-shared", 30, REQUESTS, lock_shared },
	{ "queue", 36, REQUESTS, queue_slots },
	{ "memory", 30, REQUESTS, memory_dump },
	{ "several", 30, REQUESTS, several },
	{ "ddl", 30, REQUESTS, ddl_waiter },
	{ "returning", 30, REQUESTS, returning },
	{ "medium", 30, REQUESTS, many_medium },
	{ "amid", 30, REQUESTS, amid_decoys },
	{ "steady", 40, REQUESTS_DECOY, steady },
	{ "long", 60, REQUESTS_DECOY, long_half },
	{ "burst", 40, REQUESTS_DECOY, bursts },
	{ "cache", 40, REQUESTS_DECOY, cache_misses },
	{ "pause", 30, REQUESTS_DECOY, pauses },
	{ "hot", 30, REQUESTS_DECOY, hot_table },
	{ "reports", 30, REQUESTS_DECOY, reports },
	{ 0 },
};
