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
	SIM_KEYS_SERVER,
	SIM_KEY_RETRIES("1"),
	SIM_KEYS_OUTAGE,
	SIM_KEY_DURATION("20000"),
	{ "repeat", SIM_KEY_INT, "5", 1, 100, NULL, "the fastest of so many runs counts" },
	{ 0 },
};

struct speed {
	double seconds;
	uint64_t done;		 /* requests, or events */
	uint64_t memory_bytes;	 /* at most */
	double bytes_per_queued; /* of the causal engine, at most */
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
	return speed->seconds > 0.0 ? (int64_t)((double)speed->done / speed->seconds) : 0;
}

/* ---- The engines: each runs once. 0, or negative after sim_fail ---- */

static int sweep(struct sim_run *run, const struct sim_single *single, struct speed *speed)
{
	struct sim_windows windows;
	sim_sweep(single, NULL, NULL, run->events_limit, &windows);
	*speed = (struct speed){ .done = windows.attempts, .memory_bytes = windows.memory_bytes };
	sim_note_bound(run, windows.bound, NULL);
	sim_windows_free(&windows);
	return 0;
}

static int causal(struct sim_run *run, const struct sim_single *single, struct speed *speed)
{
	struct sim_causal_options options = { .events_limit = run->events_limit };
	struct sim_causal_cost cost;
	struct sim_windows windows;
	sim_causal(single, &options, &windows, &cost);
	*speed = (struct speed){ .done = windows.attempts, .memory_bytes = windows.memory_bytes };
	if (cost.queued_max > 0)
		speed->bytes_per_queued = (double)cost.memory_bytes / (double)cost.queued_max;
	sim_note_bound(run, windows.bound, NULL);
	sim_windows_free(&windows);
	return 0;
}

/* A front that calls an overloaded back end twice, behind a gate. */
static int services(struct sim_run *run, const struct sim_single *single, struct speed *speed)
{
	(void)single;
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
	struct sim_services *model = sim_services_new(&options);
	const char *why;
	sim_services_add(model, &front);
	sim_services_add(model, &back);
	sim_services_traffic(model, &clients);
	int status = sim_services_run(model, &why);
	speed->done = sim_services_events(model);
	sim_services_free(model);
	return status < 0 ? sim_fail(run, "%s", why) : 0;
}

/* Lane 1 at 280 QPS with a 10 s culprit and nobody watching. */
static int world(struct sim_run *run, const struct sim_single *single, struct speed *speed)
{
	struct sim_storm storm = { .load_qps = 280,
		.retries = 1,
		.hold_ns = 10 * SIM_NS_PER_S,
		.duration_ns = WORLD_S * SIM_NS_PER_S };
	struct sim_result result = { 0 };
	const char *why;
	struct sim_world *w = sim_storm_new(&storm, &why);
	(void)single;
	if (!w || sim_world_run(w) < 0)
		why = "the world's storm did not run";
	else
		why = NULL;
	if (w)
		sim_world_result(w, &result);
	speed->done = result.events;
	sim_world_free(w);
	return why ? sim_fail(run, "%s", why) : 0;
}

typedef int (*engine_fn)(struct sim_run *, const struct sim_single *, struct speed *);

static int fastest(
	struct sim_run *run, engine_fn engine, const struct sim_single *single, struct speed *best)
{
	for (int64_t i = 0; i < sim_int(run, "repeat"); i++) {
		struct speed next = { 0 };
		double from_s = now_s();
		int status = engine(run, single, &next);
		next.seconds = now_s() - from_s;
		if (status < 0)
			return status;
		if (i == 0 || next.seconds < best->seconds)
			*best = next;
	}
	return 0;
}

/* ---- What it comes to ---- */

static void add(struct speed *sum, const struct speed *one)
{
	sum->seconds += one->seconds;
	sum->done += one->done;
	if (one->memory_bytes > sum->memory_bytes)
		sum->memory_bytes = one->memory_bytes;
	/* The largest queue tells what a queued request costs; a short one is mostly its chunk. */
	if (one->memory_bytes == sum->memory_bytes)
		sum->bytes_per_queued = one->bytes_per_queued;
}

static bool memory_is_flat(struct sim_run *run, struct sim_single single, uint64_t memory_bytes)
{
	struct speed brief;
	single.duration_ns /= SHORT_RUN;
	sweep(run, &single, &brief);
	return brief.memory_bytes == memory_bytes;
}

static const struct {
	const char *name;
	engine_fn run;
} singles[] = { { "sweep", sweep }, { "causal", causal } };

static int time_singles(struct sim_run *run, struct sim_table *table)
{
	struct speed sums[2] = { 0 };
	bool flat = true;
	for (size_t i = 0; i < sim_count(run, "load"); i++) {
		int64_t load = sim_item(run, "load", i);
		struct sim_single single = sim_single_read(run, (uint64_t)load);
		for (size_t j = 0; j < 2; j++) {
			struct speed speed;
			if (fastest(run, singles[j].run, &single, &speed) < 0)
				return -1;
			SIM_ROW(table, SIM_TEXT(singles[j].name), SIM_INT(load),
				SIM_INT(speed.done), SIM_REAL(speed.seconds), SIM_INT(rate(&speed)),
				SIM_INT(speed.memory_bytes));
			if (singles[j].run == causal)
				sim_put(table, SIM_REAL(speed.bytes_per_queued));
			else
				flat = flat && memory_is_flat(run, single, speed.memory_bytes);
			add(&sums[j], &speed);
		}
	}
	sim_fact(run->report, "sweep.requests_per_s", SIM_INT(rate(&sums[0])));
	sim_fact(run->report, "sweep.memory_bytes", SIM_INT(sums[0].memory_bytes));
	sim_fact(run->report, "sweep.memory_flat", SIM_BOOL(flat));
	sim_fact(run->report, "causal.requests_per_s", SIM_INT(rate(&sums[1])));
	sim_fact(run->report, "causal.bytes_per_queued", SIM_DECIMALS(sums[1].bytes_per_queued, 2));
	return 0;
}

static int run_speed(struct sim_run *run)
{
	struct sim_table *table = sim_table(run, "speed", "Simulated requests a second on one core",
		"engine|load_qps|requests|seconds:4|requests_per_s|memory_bytes|bytes_per_queued:"
		"2");
	struct speed speed;
	if (time_singles(run, table) < 0)
		return -1;
	sim_note(run->report, "Seconds are CPU time of one thread, the fastest of %s runs.",
		sim_text(run, "repeat"));
	if (fastest(run, services, NULL, &speed) < 0)
		return -1;
	sim_fact(run->report, "services.events_per_s", SIM_INT(rate(&speed)));
	if (fastest(run, world, NULL, &speed) < 0)
		return -1;
	sim_fact(run->report, "world.events_per_s", SIM_INT(rate(&speed)));
	return 0;
}

const struct sim_lane sim_lane_speed = {
	.name = "speed",
	.what = "How fast the engines run on this machine",
	.keys = keys,
	.run = run_speed,
};
