/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cancel-sim speed`: how many requests a second the engines simulate on one core, on lane 1 at 280
 * and 140 QPS over a long run. The only file of the simulator that reads a real clock: its results
 * differ from run to run, everything else's do not.
 */
#include <time.h>

#include "sim/cli/command.h"
#include "sim/service/service.h"
#include "sim/setups/single_keys.h"
#include "sim/setups/storm.h"

#define WORLD_S	  200 /* virtual seconds of the storm that times the world */
#define SHORT_RUN 10  /* memory is compared with a run of a tenth the length */

static const struct sim_key keys[] = {
	SIM_KEY_LOADS("280,140"),
	SIM_KEY_SERVICE,
	SIM_KEY_TIMEOUT,
	SIM_KEY_RETRIES("1"),
	SIM_KEY_OUTAGE_START,
	SIM_KEY_OUTAGE("10000"),
	SIM_KEY_DURATION("20000"),
	{ "repeat", SIM_KEY_INT, "5", 1, 100, NULL, "the fastest of so many runs counts" },
	{ 0 },
};

enum engine { SWEEP, CAUSAL, ENGINES };
static const char *const engine_names[] = { "sweep", "causal" };

struct speed {
	double seconds;
	uint64_t requests;
	uint64_t memory_bytes;	 /* at most */
	double bytes_per_queued; /* CAUSAL, at most */
};

/* Time of this thread on a core: what others run beside it is not its business. */
static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int64_t rate(const struct speed *speed)
{
	return speed->seconds > 0.0 ? (int64_t)((double)speed->requests / speed->seconds) : 0;
}

static struct speed once(struct sim_run *run, const struct sim_single *single, enum engine engine)
{
	struct sim_causal_options options = { .events_limit = run->events_limit };
	struct sim_causal_cost cost = { 0 };
	struct sim_windows windows;
	double from_s = now_s();
	if (engine == SWEEP)
		sim_sweep(single, NULL, NULL, run->events_limit, &windows);
	else
		sim_causal(single, &options, &windows, &cost);
	struct speed speed = { now_s() - from_s, windows.attempts, windows.memory_bytes, 0.0 };
	if (cost.queued_max > 0)
		speed.bytes_per_queued = (double)cost.memory_bytes / (double)cost.queued_max;
	sim_note_bound(run, windows.bound, NULL);
	sim_windows_free(&windows);
	return speed;
}

static struct speed fastest(
	struct sim_run *run, const struct sim_single *single, enum engine engine)
{
	struct speed best = once(run, single, engine);
	for (int64_t i = 1; i < sim_int(run, "repeat"); i++) {
		struct speed next = once(run, single, engine);
		if (next.seconds < best.seconds)
			best = next;
	}
	return best;
}

static void put_row(
	struct sim_table *table, enum engine engine, int64_t load, const struct speed *speed)
{
	SIM_ROW(table, SIM_TEXT(engine_names[engine]), SIM_INT(load), SIM_INT(speed->requests),
		SIM_REAL(speed->seconds), SIM_INT(rate(speed)), SIM_INT(speed->memory_bytes));
	if (engine == CAUSAL)
		sim_put(table, SIM_REAL(speed->bytes_per_queued));
}

static void add(struct speed *sum, const struct speed *one)
{
	sum->seconds += one->seconds;
	sum->requests += one->requests;
	if (one->memory_bytes > sum->memory_bytes)
		sum->memory_bytes = one->memory_bytes;
	/* The largest queue tells what a queued request costs; a short one is mostly its chunk. */
	if (one->memory_bytes == sum->memory_bytes)
		sum->bytes_per_queued = one->bytes_per_queued;
}

static bool memory_is_flat(struct sim_run *run, struct sim_single single, uint64_t memory_bytes)
{
	single.duration_ns /= SHORT_RUN;
	return once(run, &single, SWEEP).memory_bytes == memory_bytes;
}

/* A front that calls an overloaded back end twice, behind a gate. */
static struct sim_services *services_to_time(void)
{
	struct sim_services_options options = { .duration_ns = 60 * SIM_NS_PER_S, .seed = 1 };
	struct sim_service_options front = {
		.workers = 100,
		.work = { .shape = SIM_EXPONENTIAL, .mean = SIM_NS_PER_MS },
		.calls = { { .callee = 1, .count = 2 } },
		.call_lists = 1,
	};
	struct sim_service_options back = {
		.servers = 3,
		.workers = 4,
		.work = { .shape = SIM_EXPONENTIAL, .mean = 8 * SIM_NS_PER_MS },
		.net_ns = 250 * SIM_NS_PER_US,
		.resends = 3,
		.gate = { .kind = SIM_SHED_DAGOR_Q, .business_levels = 1 },
	};
	struct sim_traffic_options clients = {
		.loop = SIM_LOOP_POISSON,
		.rate_qps = 1500.0,
		.patience.timeout_ns = 500 * SIM_NS_PER_MS,
	};
	struct sim_services *services = sim_services_new(&options);
	sim_services_add(services, &front);
	sim_services_add(services, &back);
	sim_services_traffic(services, &clients);
	return services;
}

static int measure_services(struct sim_run *run)
{
	struct speed best = { 0 };
	for (int64_t i = 0; i < sim_int(run, "repeat"); i++) {
		struct sim_services *services = services_to_time();
		const char *why;
		double from_s = now_s();
		int status = sim_services_run(services, &why);
		double took_s = now_s() - from_s;
		if (i == 0 || took_s < best.seconds)
			best = (struct speed){ .seconds = took_s,
				.requests = sim_services_events(services) };
		sim_services_free(services);
		if (status < 0)
			return sim_fail(run, "%s", why);
	}
	sim_fact(run->report, "services.events_per_s", SIM_INT(rate(&best)));
	return 0;
}

/* Lane 1 at 280 QPS with a 10 s culprit and nobody watching. */
static int time_storm(uint64_t *events)
{
	struct sim_storm storm = { .load_qps = 280,
		.retries = 1,
		.hold_ns = 10 * SIM_NS_PER_S,
		.duration_ns = WORLD_S * SIM_NS_PER_S };
	struct sim_result result;
	const char *why;
	struct sim_world *world = sim_storm_new(&storm, &why);
	if (!world)
		return -1;
	int status = sim_world_run(world);
	sim_world_result(world, &result);
	*events = result.events;
	sim_world_free(world);
	return status;
}

static int measure_world(struct sim_run *run)
{
	double best_s = 0.0;
	uint64_t events = 0;
	for (int64_t i = 0; i < sim_int(run, "repeat"); i++) {
		double from_s = now_s();
		if (time_storm(&events) < 0)
			return sim_fail(run, "the world's storm did not run");
		double took_s = now_s() - from_s;
		if (i == 0 || took_s < best_s)
			best_s = took_s;
	}
	struct speed world = { .seconds = best_s, .requests = events };
	sim_fact(run->report, "world.events_per_s", SIM_INT(rate(&world)));
	return 0;
}

static int run_speed(struct sim_run *run)
{
	static const char columns[] =
		"engine|load_qps|requests|seconds:4|requests_per_s|memory_bytes|"
		"bytes_per_queued:2";
	struct sim_table *table =
		sim_table(run, "speed", "Simulated requests a second on one core", columns);
	struct speed sums[ENGINES] = { 0 };
	bool flat = true;
	for (size_t i = 0; i < sim_count(run, "load"); i++) {
		int64_t load = sim_item(run, "load", i);
		struct sim_single single = sim_single_read(run, (uint64_t)load);
		for (enum engine engine = SWEEP; engine < ENGINES; engine++) {
			struct speed speed = fastest(run, &single, engine);
			put_row(table, engine, load, &speed);
			add(&sums[engine], &speed);
			if (engine == SWEEP && !memory_is_flat(run, single, speed.memory_bytes))
				flat = false;
		}
	}
	sim_fact(run->report, "sweep.requests_per_s", SIM_INT(rate(&sums[SWEEP])));
	sim_fact(run->report, "sweep.memory_bytes", SIM_INT(sums[SWEEP].memory_bytes));
	sim_fact(run->report, "sweep.memory_flat", SIM_BOOL(flat));
	sim_fact(run->report, "causal.requests_per_s", SIM_INT(rate(&sums[CAUSAL])));
	sim_fact(run->report, "causal.bytes_per_queued",
		SIM_DECIMALS(sums[CAUSAL].bytes_per_queued, 2));
	sim_note(run->report, "Seconds are CPU time of one thread, the fastest of %s runs.",
		sim_text(run, "repeat"));
	return measure_services(run) < 0 ? -1 : measure_world(run);
}

const struct sim_lane sim_lane_speed = {
	.name = "speed",
	.what = "How fast the engines run on this machine",
	.keys = keys,
	.run = run_speed,
};
