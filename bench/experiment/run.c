/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the order of one run: open the target under the policy, warm it, start tasks and load at the
 * same instant, look every tick, end at the schedule's length, drain, close. Knows no case and no
 * policy by name.
 */
#include "bench/experiment/run.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/experiment/actors.h"
#include "bench/load/loadgen.h"
#include "bench/machine/machine.h"
#include "bench/experiment/stability.h"
#include "bench/load/progress.h"
#include "bench/experiment/warmup.h"

#define NS_PER_S     1000000000u
#define NS_PER_MS    1000000u
#define LEAD_NS	     (20u * (uint64_t)NS_PER_MS) /* threads are up when time 0 comes */
#define DRAIN_NS     (1000u * (uint64_t)NS_PER_MS)
#define LINES_MAX    5 /* about cancels of one kind of task */
#define PROBE_SLO_NS (5u * (uint64_t)NS_PER_MS)

struct run {
	const struct run_setup *setup;
	struct target *target;
	struct samples *data;
	struct live live;
	struct loadgen loadgen; /* answers may come until the target is closed */
	struct progress progress;
	struct live_view last_tick;
	_Atomic uint64_t start_ns; /* of target_now_ns(); UINT64_MAX while it is warmed */
	uint64_t policy_state[POLICY_STATE];
	uint64_t announced;		   /* serial of the last decision seen */
	pthread_mutex_t lock;		   /* data->tasks, data->cancels, lines */
	uint32_t lines[LABEL_WAITING + 1]; /* printed about each kind of task */
};

static uint64_t since_start(const struct run *run, uint64_t at_ns)
{
	return at_ns > run->start_ns ? at_ns - run->start_ns : 0;
}

static struct task_record *task_of(const struct run *run, uint64_t key)
{
	for (uint32_t i = run->data->task_count; i > 0; i--)
		if (run->data->tasks[i - 1].key == key)
			return &run->data->tasks[i - 1];
	return NULL;
}

/* Callers hold run->lock. NULL: only counted. */
static struct cancel_record *add_cancel(
	struct run *run, uint64_t serial, uint64_t key, uint64_t wasted_ns)
{
	struct samples *data = run->data;
	const struct task_record *task = task_of(run, key);
	uint32_t room = task ? RUN_CANCELS_MAX : RUN_CANCELS_MAX / 2;
	if (data->cancel_count >= room) {
		data->cancels_unrecorded++;
		data->unrecorded_wasted_ns += wasted_ns;
		return NULL;
	}
	struct cancel_record *cancel = &data->cancels[data->cancel_count++];
	*cancel = (struct cancel_record){ .serial = serial,
		.key = key,
		.label = task ? task->label : LABEL_VICTIM,
		.wasted_ns = wasted_ns };
	snprintf(cancel->name, sizeof cancel->name, "%s", task ? task->name : "a request");
	return cancel;
}

static struct cancel_record *cancel_of(struct run *run, uint64_t serial)
{
	for (uint32_t i = 0; serial && i < run->data->cancel_count; i++)
		if (run->data->cancels[i].serial == serial)
			return &run->data->cancels[i];
	return NULL;
}

static void copy_times(
	struct run *run, struct cancel_record *cancel, const struct target_decision *decision)
{
	cancel->suspected_ns = since_start(run, decision->suspected_ns);
	cancel->decided_ns = since_start(run, decision->decided_ns);
	cancel->delivered_ns = since_start(run, decision->delivered_ns);
	cancel->acknowledged_ns = since_start(run, decision->acknowledged_ns);
	cancel->released_ns = since_start(run, decision->released_ns);
	cancel->wasted_ns = decision->wasted_ns;
	struct task_record *task = task_of(run, cancel->key);
	if (task && decision->rerun_ns)
		task->rerun_start_ns = since_start(run, decision->rerun_ns);
}

/* The first few of each kind get a line; the rest shows in the table. Callers hold run->lock. */
static void announce(struct run *run, const struct task_record *task, uint64_t at_ns,
	const char *what, const char *why)
{
	uint32_t *lines = &run->lines[task ? task->label : LABEL_VICTIM];
	char text[RUN_WHY_MAX + 32];
	if (++*lines > LINES_MAX)
		return;
	snprintf(text, sizeof text, "%s%s", why,
		*lines == LINES_MAX ? " (more are only counted)" : "");
	progress_cancel(&run->progress, (double)at_ns / NS_PER_S, what,
		task ? task->name : "a request", text);
}

static void on_decision(void *arg, const struct target_decision *decision)
{
	struct run *run = arg;
	if (decision->decided_ns < run->start_ns)
		return; /* while the target was warmed */
	pthread_mutex_lock(&run->lock);
	struct cancel_record *cancel = cancel_of(run, decision->serial);
	bool fresh = !decision->serial || (!cancel && decision->serial > run->announced);
	if (fresh && decision->acted)
		cancel = add_cancel(run, decision->serial, decision->key, decision->wasted_ns);
	if (cancel)
		copy_times(run, cancel, decision);
	if (fresh && decision->why[0]) {
		const struct task_record *task = task_of(run, decision->key);
		run->data->decisions += decision->serial != 0;
		if (decision->serial)
			run->announced = decision->serial;
		if (cancel)
			snprintf(cancel->why, sizeof cancel->why, "%s", decision->why);
		announce(run, task, since_start(run, decision->decided_ns),
			decision->acted ? "cancelled" : "would cancel", decision->why);
	}
	pthread_mutex_unlock(&run->lock);
}

static void note_kill(void *arg, uint64_t key, uint64_t since_ns, const char *why)
{
	struct run *run = arg;
	uint64_t now_ns = target_now_ns();
	pthread_mutex_lock(&run->lock);
	struct cancel_record *cancel = add_cancel(run, 0, key, now_ns - since_ns);
	if (cancel) {
		cancel->decided_ns = cancel->delivered_ns = since_start(run, now_ns);
		snprintf(cancel->why, sizeof cancel->why, "%s", why);
		announce(run, task_of(run, key), cancel->decided_ns, "killed", why);
	}
	pthread_mutex_unlock(&run->lock);
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec at = { .tv_sec = (time_t)(at_ns / NS_PER_S),
		.tv_nsec = (long)(at_ns % NS_PER_S) };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

static void look(struct run *run, uint64_t now_ns)
{
	if (!run->setup->policy->tick)
		return;
	struct live_view now;
	live_read(&run->live, &now);
	struct policy_moment moment = { .target = run->target,
		.now_ns = now_ns,
		.start_ns = run->start_ns,
		.state = run->policy_state,
		.note_kill = note_kill,
		.arg = run };
	live_since(&now, &run->last_tick, &moment.window);
	run->last_tick = now;
	run->setup->policy->tick(&moment);
}

static void say(struct run *run, uint64_t now_ns)
{
	struct live_view live;
	struct target_gauges gauges;
	live_read(&run->live, &live);
	target_read_gauges(run->target, &gauges);
	progress_line(&run->progress, (double)since_start(run, now_ns) / NS_PER_S, now_ns, &live,
		&gauges);
}

static void tick(struct run *run)
{
	uint64_t tick_ns = (uint64_t)POLICY_TICK_MS * NS_PER_MS;
	uint64_t ticks = run->data->length_ns / tick_ns, ticks_a_second = NS_PER_S / tick_ns;
	for (uint64_t i = 1; i <= ticks; i++) {
		sleep_until(run->start_ns + i * tick_ns);
		look(run, target_now_ns());
		if (i % ticks_a_second)
			continue;
		say(run, target_now_ns());
		watch_second(&run->data->watch);
	}
	sleep_until(run->start_ns + run->data->length_ns);
}

static void settle_kills(struct run *run)
{
	for (uint32_t i = 0; i < run->data->cancel_count; i++) {
		struct cancel_record *cancel = &run->data->cancels[i];
		const struct task_record *task = task_of(run, cancel->key);
		if (cancel->serial == 0 && task && task->end_ns)
			cancel->released_ns = task->end_ns;
	}
}

static int drive(struct run *run, char error[TARGET_ERROR_MAX])
{
	const struct run_setup *setup = run->setup;
	run->loadgen = (struct loadgen){ .target = run->target,
		.data = run->data,
		.live = &run->live,
		.ask = setup->plan->ask,
		.ask_arg = setup->plan,
		.start_ns = run->start_ns };
	struct cast_options cast_options = { .target = run->target,
		.data = run->data,
		.plan = setup->plan,
		.start_ns = run->start_ns,
		.culprits = setup->culprits,
		.waiting = setup->waiting,
		.data_lock = &run->lock };
	struct cast *cast;
	if (cast_start(&cast_options, &cast) != 0 || loadgen_start(&run->loadgen) != 0) {
		snprintf(error, TARGET_ERROR_MAX, "cannot start the threads of the load");
		return -1;
	}
	target_arm(run->target);
	watch_begin(&run->data->watch, 0);
	tick(run);
	watch_end(&run->data->watch);
	struct target_gauges gauges;
	target_read_gauges(run->target, &gauges);
	cast_dismiss(cast);
	target_stop_clients(run->target);
	loadgen_finish(&run->loadgen, DRAIN_NS);
	cast_join(cast);
	run->data->io = target_io(run->target);
	run->data->resource_overloads = gauges.resource_overloads;
	run->data->regular_overloads = gauges.regular_overloads;
	run->data->reruns = gauges.reruns;
	return 0;
}

static void fill_options(struct run *run, struct target_options *options)
{
	const struct run_setup *setup = run->setup;
	*options = (struct target_options){ .struct_size = sizeof *options,
		.data_dir = setup->options->data_dir,
		.pool_mb = setup->options->pool_mb,
		.workers = setup->options->workers,
		.control = setup->policy->control,
		.policy = setup->variant,
		.slo_ns = setup->slo_ns,
		.on_decision = on_decision,
		.on_decision_arg = run };
	if (setup->policy->apply)
		setup->policy->apply(setup->value, options);
}

int run_execute(const struct run_setup *setup, struct samples **data, char error[TARGET_ERROR_MAX])
{
	struct run *run = calloc(1, sizeof *run);
	if (!run || samples_make(&run->data, setup->schedule, setup->slo_ns) != 0) {
		free(run);
		snprintf(error, TARGET_ERROR_MAX, "out of memory for %zu requests",
			setup->schedule->count);
		return -1;
	}
	run->setup = setup;
	run->start_ns = UINT64_MAX;
	pthread_mutex_init(&run->lock, NULL);
	struct target_options options;
	fill_options(run, &options);
	struct warm warm = { 0 };
	int status = target_open(&options, &run->target, error);
	if (status == 0) {
		status = warm_up(&warm, run->target, setup->plan, setup->schedule->rate_qps,
			setup->options->seed, error);
		run->start_ns = target_now_ns() + LEAD_NS;
		progress_start(&run->progress, setup->title, setup->quiet, run->start_ns);
		if (status == 0)
			status = drive(run, error);
		target_close(run->target); /* the last answers come here */
		warm_free(&warm);
	}
	settle_kills(run);
	if (run->live.has_failure)
		fprintf(stderr, "cancel-bench: %s: requests failed; the first: %s\n", setup->title,
			run->live.failure);
	*data = run->data;
	if (status != 0) {
		samples_free(run->data);
		*data = NULL;
	}
	pthread_mutex_destroy(&run->lock);
	free(run);
	return status;
}

struct probe {
	const struct bench_options *options;
	const struct case_plan *plan;
	struct target *target;
	struct machine *machine;
	uint64_t sample_ns;
};

static double take_sample(void *arg, struct machine_second *second)
{
	const struct probe *probe = arg;
	struct saturation saturation = { .target = probe->target,
		.ask = probe->plan->ask,
		.ask_arg = probe->plan,
		.seed = probe->options->seed,
		.depth = RUN_SATURATE_DEPTH,
		.length_ns = probe->sample_ns };
	machine_read(probe->machine, second);
	loadgen_saturate(&saturation);
	machine_read(probe->machine, second);
	return saturation.answers_per_s;
}

int run_saturation(const struct bench_options *options, const struct case_plan *plan,
	uint64_t sample_ns, double *qps, struct disturbance *disturbance,
	char error[TARGET_ERROR_MAX])
{
	struct probe probe = { .options = options, .plan = plan, .sample_ns = sample_ns };
	if (target_open(&(struct target_options){ .struct_size = sizeof(struct target_options),
				.data_dir = options->data_dir,
				.pool_mb = options->pool_mb,
				.workers = options->workers,
				.control = TARGET_MONITOR,
				.slo_ns = PROBE_SLO_NS },
		    &probe.target, error) != 0)
		return -1;
	struct warm warm = { 0 };
	int status =
		warm_up(&warm, probe.target, plan, RUN_SATURATE_WARM_QPS, options->seed, error);
	if (status == 0) {
		const struct steady_probe steady = { .take = take_sample,
			.arg = &probe,
			.rounds = options->allow_disturbed ? 1 : STEADY_ROUNDS,
			.quiet = options->quiet };
		probe.machine = machine_open(0);
		status = steady_saturation(&steady, qps, disturbance);
		machine_close(probe.machine);
	}
	target_close(probe.target);
	warm_free(&warm);
	return status;
}
