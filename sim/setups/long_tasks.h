/* SPDX-License-Identifier: Apache-2.0 */
/*
 * long_tasks.h - six long tasks that crowd a server, and what they say of their progress may be wrong.
 *
 * Some run before 15 s and hurt nobody much; the others come at 15 s and bring the overload. All
 * that is random follows from the seed, whatever is reported and whoever chooses, so that choices
 * can be compared run by run.
 */
#ifndef SIM_SETUPS_LONG_TASKS_H
#define SIM_SETUPS_LONG_TASKS_H

#include "sim/base/clock.h"
#include "sim/world/world.h"

#define SIM_LONG_TASKS	       6
#define SIM_LONG_TASKS_FROM_NS (15 * SIM_NS_PER_S)
/* Requests of the first queue are client 0, of the second client 1; long task i is this plus i. */
#define SIM_LONG_TASK_CLIENT 2

enum sim_long_task_scene {
	SIM_SCENE_SLOTS,  /* all six compute on a worker slot each */
	SIM_SCENE_QUEUES, /* two worker queues: slots of one, of the other, of both */
	SIM_SCENE_POOL,	  /* three compute, three read more pages than the pool has */
};

struct sim_long_task {
	uint64_t start_ns, undisturbed_ns;
	uint64_t amount; /* computes ns, or reads pages */
	uint32_t progress_ppm;
	uint32_t slots[2]; /* it takes of either queue */
	bool reads;
};

struct sim_long_tasks {
	enum sim_long_task_scene scene;
	enum sim_progress reported;
	double spread;		       /* decimal orders a SCALED estimate is off by */
	double left_min_s, left_max_s; /* what a task has left at 15 s, log-uniform */
	uint64_t seed, load_qps, service_ns, slo_ns, duration_ns;
	struct sim_world_options world; /* pipeline and latencies */
	/* Filled in by sim_long_tasks_new; must live as long as the world. */
	struct sim_dist service;
	struct sim_long_task task[SIM_LONG_TASKS];
};

/* NULL with *why. */
struct sim_world *sim_long_tasks_new(struct sim_long_tasks *setup, const char **why);
/* Policies that cancel long task i and nobody else: the oracle tries each. */
extern const struct cancel_policy sim_long_task_only[SIM_LONG_TASKS];

#endif
