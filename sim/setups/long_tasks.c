/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the world of the long tasks. */
#include "sim/setups/long_tasks.h"

#include "sim/base/math.h"
#include "sim/setups/trial.h"

#define EARLY	    4
#define WORKERS	    8  /* six go to the long tasks, two are left */
#define POOL_SLOTS  10 /* requests are longer there: four are left */
#define OTHER_PCT   90 /* load of the second queue, of the first's */
#define POOL_PAGES  1000
#define HOT_PAGES   850 /* what requests read */
#define READ_AHEAD  32
#define PAGE_NS	    (200 * SIM_NS_PER_US) /* of a read-ahead: a chunk takes 8.2 ms */
#define MISS_NS	    (2 * SIM_NS_PER_MS)
#define DUMP_TABLE  1
#define TASK_STREAM (SIM_CLIENTS_MAX + 1)

enum { REQUEST, OTHER_REQUEST, FIRST, SECOND, BOTH, DUMP }; /* scripts */
enum { QUEUE, OTHER_QUEUE, POOL };			    /* resources */
enum { ARG_AMOUNT = 1, ARG_SLOTS, ARG_OTHER_SLOTS };

/* Slots of either queue by long task; the last two come at 15 s. */
static const uint32_t queue_slots[SIM_LONG_TASKS][2] = { { 2, 0 }, { 0, 2 }, { 1, 1 }, { 1, 1 },
	{ 2, 0 }, { 0, 2 } };

static double uniform(struct sim_rng *rng, double low, double high)
{
	return low + (high - low) * sim_rng_unit(rng);
}

/* One draw whatever is reported, so that all kinds meet the same tasks. */
static uint32_t parameter(const struct sim_long_tasks *setup, struct sim_rng *rng)
{
	double u = sim_rng_unit(rng), value = 0;
	switch (setup->reported) {
	case SIM_PROGRESS_SCALED:
		value = sim_pow(10, setup->spread * (2 * u - 1));
		break;
	case SIM_PROGRESS_BIASED:
		value = u / 2;
		break;
	case SIM_PROGRESS_STUCK:
		value = 0.05 + 0.9 * u;
		break;
	case SIM_PROGRESS_OVER:
		value = 0.1 + 0.8 * u;
		break;
	case SIM_PROGRESS_NONE:
	case SIM_PROGRESS_TRUE:
		break;
	}
	return (uint32_t)(value * 1e6);
}

static void draw_one(
	const struct sim_long_tasks *setup, struct sim_rng *rng, int i, struct sim_long_task *task)
{
	const uint64_t chunk_ns = MISS_NS + (READ_AHEAD - 1) * PAGE_NS;
	bool queues = setup->scene == SIM_SCENE_QUEUES;
	bool reads = setup->scene == SIM_SCENE_POOL && i % 2;
	double low = setup->left_min_s, high = setup->left_max_s;
	double elapsed_s = uniform(rng, 2, 12);
	double left_s = low * sim_pow(high / low, sim_rng_unit(rng));
	/* A dump that runs early would hurt early: they all come at 15 s. */
	elapsed_s = i < EARLY && !reads ? elapsed_s : 0;
	task->undisturbed_ns = (uint64_t)((elapsed_s + left_s) * 1e9);
	task->start_ns = SIM_LONG_TASKS_FROM_NS - (uint64_t)(elapsed_s * 1e9);
	task->reads = reads;
	task->amount =
		reads ? task->undisturbed_ns / chunk_ns * READ_AHEAD + 1 : task->undisturbed_ns;
	task->slots[0] = queues ? queue_slots[i][0] : 1;
	task->slots[1] = queues ? queue_slots[i][1] : 0;
	task->progress_ppm = parameter(setup, rng);
}

static void draw_long(void *arg, struct sim_rng *rng, uint64_t sequence, uint64_t *args)
{
	const struct sim_long_task *task = arg;
	(void)rng;
	(void)sequence;
	args[ARG_AMOUNT - 1] = task->amount;
	args[ARG_SLOTS - 1] = task->slots[0];
	args[ARG_OTHER_SLOTS - 1] = task->slots[1];
}

static bool add_server(struct sim_world *w, bool pool_scene)
{
	struct sim_resource_options workers = { .name = "workers",
		.type = CANCEL_QUEUE,
		.capacity = pool_scene ? POOL_SLOTS : WORKERS };
	const struct sim_resource_options resources[] = { workers, workers,
		{ .name = "pool",
			.type = CANCEL_MEMORY,
			.capacity = POOL_PAGES,
			.read_ahead = READ_AHEAD,
			.hit_ns = SIM_NS_PER_US,
			.miss_ns = MISS_NS,
			.next_page_ns = PAGE_NS } };
	return sim_world_resources(w, resources, 3);
}

static bool add_scripts(struct sim_world *w, bool pool_scene)
{
	const struct sim_step take = SIM_STEP(SLOT, QUEUE, .amount_arg = ARG_SLOTS);
	const struct sim_step give = SIM_STEP(FREE, QUEUE, .amount_arg = ARG_SLOTS);
	const struct sim_step take_other =
		SIM_STEP(SLOT, OTHER_QUEUE, .amount_arg = ARG_OTHER_SLOTS);
	const struct sim_step give_other =
		SIM_STEP(FREE, OTHER_QUEUE, .amount_arg = ARG_OTHER_SLOTS);
	const struct sim_step work = SIM_COMPUTE_ARG(ARG_AMOUNT);
	const struct sim_step hot =
		SIM_STEP(READ, POOL, .amount = pool_scene ? 4 : 0, .span = HOT_PAGES);
	const struct sim_step request[] = { SIM_TAKE(QUEUE, 1), hot, work, SIM_FREE(QUEUE, 1) };
	const struct sim_step other[] = { SIM_TAKE(OTHER_QUEUE, 1), hot, work,
		SIM_FREE(OTHER_QUEUE, 1) };
	const struct sim_step first[] = { take, work, give };
	const struct sim_step second[] = { take_other, work, give_other };
	const struct sim_step both[] = { take, take_other, work, give_other, give };
	const struct sim_step dump[] = { take,
		SIM_STEP(READ, POOL, .mode = SIM_READ_SEQUENTIAL, .instance = DUMP_TABLE,
			.amount_arg = ARG_AMOUNT, .span = 1u << 30),
		give };
	const struct sim_script scripts[] = { SIM_SCRIPT(request), SIM_SCRIPT(other),
		SIM_SCRIPT(first), SIM_SCRIPT(second), SIM_SCRIPT(both), SIM_SCRIPT(dump) };
	return sim_world_scripts(w, scripts, 6);
}

static uint32_t script_of(const struct sim_long_task *task)
{
	if (task->reads)
		return DUMP;
	if (task->slots[1] == 0)
		return FIRST;
	return task->slots[0] == 0 ? SECOND : BOTH;
}

static bool add_request_clients(struct sim_world *w, struct sim_long_tasks *setup)
{
	for (uint32_t queue = 0; queue < SIM_LONG_TASK_CLIENT; queue++) {
		uint64_t load_qps = setup->load_qps * (queue ? OTHER_PCT : 100) / 100;
		struct sim_client_options request = {
			.name = "request",
			.script = REQUEST + queue,
			.flags = CANCEL_CANCELLABLE,
			.slo_ns = setup->slo_ns,
			.measured = true,
			.service = queue == 1 && setup->scene != SIM_SCENE_QUEUES,
			.gap = { .shape = SIM_EXPONENTIAL, .mean = SIM_NS_PER_S / load_qps },
			.draw = sim_draw_dist,
			.draw_arg = &setup->service,
		};
		if (sim_world_client(w, &request) != (int)queue)
			return false;
	}
	return true;
}

static bool add_long_clients(struct sim_world *w, struct sim_long_tasks *setup)
{
	for (int i = 0; i < SIM_LONG_TASKS; i++) {
		struct sim_long_task *task = &setup->task[i];
		struct sim_client_options options = sim_background_task(
			"long task", script_of(task), 0x10 + (uint64_t)i, task->start_ns);
		options.progress = setup->reported;
		options.progress_ppm = task->progress_ppm;
		options.draw = draw_long;
		options.draw_arg = task;
		if (sim_world_client(w, &options) != SIM_LONG_TASK_CLIENT + i)
			return false;
	}
	return true;
}

struct sim_world *sim_long_tasks_new(struct sim_long_tasks *setup, const char **why)
{
	bool pool_scene = setup->scene == SIM_SCENE_POOL;
	struct sim_world_options options = setup->world;
	struct sim_rng rng;
	options.duration_ns = setup->duration_ns;
	options.seed = setup->seed;
	setup->service = (struct sim_dist){ .shape = SIM_EXPONENTIAL, .mean = setup->service_ns };
	sim_rng_init(&rng, setup->seed, TASK_STREAM);
	for (int i = 0; i < SIM_LONG_TASKS; i++)
		draw_one(setup, &rng, i, &setup->task[i]);
	struct sim_world *w = sim_world_new(&options, why);
	if (!w)
		return NULL;
	*why = "the world's tables do not hold the long tasks";
	if (add_server(w, pool_scene) && add_scripts(w, pool_scene) &&
		add_request_clients(w, setup) && add_long_clients(w, setup))
		return w;
	sim_world_free(w);
	return NULL;
}

/* The key of a task is its client in the upper half. */
static int only(const struct cancel_choice *choice, uint64_t task)
{
	for (uint32_t i = 0; i < choice->candidate_count; i++)
		if (choice->candidates[i].key >> 32 == SIM_LONG_TASK_CLIENT + task)
			return (int)i;
	return -1;
}

#define ONLY(i)                                                                                    \
	static int only_##i(const struct cancel_choice *choice)                                    \
	{                                                                                          \
		return only(choice, i);                                                            \
	}                                                                                          \
	struct sim_long_task
ONLY(0);
ONLY(1);
ONLY(2);
ONLY(3);
ONLY(4);
ONLY(5);

const struct cancel_policy sim_long_task_only[SIM_LONG_TASKS] = {
	{ "long task 0", "cancels long task 0 and nobody else", only_0 },
	{ "long task 1", "cancels long task 1 and nobody else", only_1 },
	{ "long task 2", "cancels long task 2 and nobody else", only_2 },
	{ "long task 3", "cancels long task 3 and nobody else", only_3 },
	{ "long task 4", "cancels long task 4 and nobody else", only_4 },
	{ "long task 5", "cancels long task 5 and nobody else", only_5 },
};
