/* SPDX-License-Identifier: Apache-2.0 */
/*
 * micro.c - measures single calls and single turns. Knows the library's collector, because a turn
 * is measured by itself, without the thread that usually runs it.
 */
#include "bench/overhead/micro.h"

#include <stdlib.h>
#include <string.h>

#include <cancel/cancel.h>

#include "libcancel/control/collect.h"
#include "libcancel/sys/clock.h"
#include "common/quantile.h"

#define RUNS	  21
#define CALLS	  20000
#define TURNS	  21
#define WINDOW_MS 60000 /* the library's own controller stays out of the way */

static struct cancel_resource table, queue;
static volatile uint64_t sink; /* keeps a loop's work alive */

static double median(double *values, size_t n)
{
	sort_doubles(values, n);
	return values[n / 2];
}

static int start(bool precise, uint32_t max_tasks)
{
	static const struct cancel_class reads = { .name = "reads", .slo_ns = 1000000000 };
	struct cancel_config config = {
		.struct_size = sizeof(config),
		.window_ms = WINDOW_MS,
		.max_tasks = max_tasks,
		.classes = &reads,
		.class_count = 1,
		.no_precise = !precise,
		.always_precise = precise,
	};
	int error = startCancel(&config);
	table = createResource("table", CANCEL_LOCK, NULL);
	queue = createResource("queue", CANCEL_QUEUE, NULL);
	return error;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void run_stamps(void)
{
	for (int i = 0; i < CALLS; i++)
		sink = clock_precise_ns();
}

static void run_pairs(void)
{
	for (int i = 0; i < CALLS; i++) {
		getResourceAt(table, 3, CANCEL_SHARED);
		freeResourceAt(table, 3, CANCEL_SHARED);
	}
}

static void run_tasks(void)
{
	for (int i = 0; i < CALLS; i++)
		freeCancel(createCancel(NULL));
}

static void run_used_tasks(void)
{
	for (int i = 0; i < CALLS; i++) {
		struct cancel_task task = createCancel(NULL);
		getResource(queue, 1);
		getResource(table, CANCEL_SHARED);
		freeResource(table, CANCEL_SHARED);
		freeResource(queue, 1);
		freeCancel(task);
	}
}

static void run_requested(void)
{
	for (int i = 0; i < CALLS; i++)
		sink += cancelRequested();
}

static double measure(void (*run)(void))
{
	double each_ns[RUNS];
	run();
	for (int i = 0; i < RUNS; i++) {
		uint64_t before_ns = clock_precise_ns();
		run();
		each_ns[i] = (double)(clock_precise_ns() - before_ns) / CALLS;
	}
	return median(each_ns, RUNS);
}

/* A pair on the last of four entries. */
static int measure_pairs(bool precise, double *pair_ns)
{
	int error = start(precise, 0);
	if (error)
		return error;
	struct cancel_task task = createCancel(NULL);
	for (uint32_t instance = 0; instance < 4; instance++)
		getResourceAt(table, instance, CANCEL_SHARED);
	freeResourceAt(table, 3, CANCEL_SHARED);
	*pair_ns = measure(run_pairs);
	for (uint32_t instance = 0; instance < 3; instance++)
		freeResourceAt(table, instance, CANCEL_SHARED);
	freeCancel(task);
	return stopCancel();
}

static int measure_tasks(struct micro_result *result)
{
	int error = start(false, 0);
	if (error)
		return error;
	result->stamp_ns = measure(run_stamps);
	result->task_ns = measure(run_tasks);
	result->task_used_ns = measure(run_used_tasks);
	struct cancel_task task = createCancel(NULL);
	result->requested_ns = measure(run_requested);
	freeCancel(task);
	return stopCancel();
}

/* ---- Turns ----------------------------------------------------------------------------------- */

struct world {
	uint32_t tasks, entries; /* entries a task */
	bool waits;		 /* each task waits for its last one */
};

static int make_tasks(const struct world *w, struct cancel_task *tasks)
{
	for (uint32_t i = 0; i < w->tasks; i++) {
		tasks[i] = createCancel(NULL);
		if (!tasks[i].id)
			return CANCEL_ENOMEM;
		for (uint32_t e = 0; e < w->entries; e++) {
			bool last = e + 1 == w->entries;
			if (last && w->waits)
				slowByResourceAt(table, 1000, CANCEL_EXCLUSIVE);
			else
				getResourceAt(table, e, CANCEL_SHARED);
		}
		unbindCancel(tasks[i], CANCEL_QUEUED);
	}
	return 0;
}

static double time_turns(
	struct collector *c, struct cancel_pipeline *pipeline, struct cancel_verdict *verdict)
{
	double each_us[TURNS];
	for (int i = -2; i < TURNS; i++) {
		uint64_t before_ns = clock_precise_ns();
		collect(c, before_ns);
		cancel_pipeline_step(pipeline, &c->ledger, verdict);
		double us = (double)(clock_precise_ns() - before_ns) / 1e3;
		if (i >= 0)
			each_us[i] = us;
	}
	return median(each_us, TURNS);
}

static int run_turns(const struct world *w, double *turn_us)
{
	struct cancel_pipeline_config config = {
		.struct_size = sizeof(config),
		.task_limit = w->tasks,
	};
	static struct cancel_verdict verdict;
	struct collector *c = calloc(1, sizeof(*c));
	size_t bytes = cancel_pipeline_bytes(&config);
	struct cancel_pipeline *pipeline = malloc(bytes);
	int error = c && pipeline ? collector_init(c, w->tasks) : CANCEL_ENOMEM;
	if (!error)
		error = cancel_pipeline_init(pipeline, bytes, &config);
	if (!error)
		*turn_us = time_turns(c, pipeline, &verdict);
	if (c)
		collector_free(c);
	free(pipeline);
	free(c);
	return error;
}

/* Gives everything back, so that no leak is reported. */
static void end_task(const struct world *w, struct cancel_task task)
{
	bindCancel(task);
	for (uint32_t e = 0; e < w->entries; e++) {
		if (e + 1 == w->entries && w->waits)
			giveUpResourceAt(table, 1000);
		else
			freeResourceAt(table, e, CANCEL_SHARED);
	}
	freeCancel(task);
}

static int measure_turns(struct world w, double *turn_us)
{
	struct cancel_task *tasks = calloc(w.tasks, sizeof(tasks[0]));
	if (!tasks)
		return CANCEL_ENOMEM;
	int error = start(false, w.tasks);
	if (!error) {
		error = make_tasks(&w, tasks);
		if (!error)
			error = run_turns(&w, turn_us);
		for (uint32_t i = 0; i < w.tasks; i++)
			end_task(&w, tasks[i]);
		int stopped = stopCancel();
		error = error ? error : stopped;
	}
	free(tasks);
	return error;
}

int micro_run(struct micro_result *r)
{
	memset(r, 0, sizeof(*r));
	int error = measure_pairs(false, &r->pair_coarse_ns);
	if (!error)
		error = measure_pairs(true, &r->pair_precise_ns);
	if (!error)
		error = measure_tasks(r);
	if (!error)
		error = measure_turns((struct world){ 1000, 16, false }, &r->controller_1000_us);
	if (!error)
		error = measure_turns((struct world){ 1000, 16, true }, &r->controller_waits_us);
	if (!error)
		error = measure_turns((struct world){ 100000, 2, false }, &r->controller_100000_us);
	return error;
}
