/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the order of one run: open the target under the policy, warm it, start tasks and load at the
 * same instant, look every tick, end at the schedule's length, drain, close.
 */
#include "bench/experiment/run.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "bench/experiment/record.h"
#include "bench/experiment/tasks.h"
#include "bench/experiment/warmup.h"
#include "bench/load/progress.h"
#include "bench/load/saturation.h"
#include "bench/load/sender.h"
#include "common/quantile.h"

#define NS_PER_S      1000000000u
#define NS_PER_MS     1000000u
#define LEAD_NS	      (20u * (uint64_t)NS_PER_MS) /* before time 0 comes */
#define DRAIN_NS      (1000u * (uint64_t)NS_PER_MS)
#define SKIP_NS	      NS_PER_S	/* a question this late for sending is skipped */
#define HEAR_NS	      NS_PER_MS /* a task's answer is heard so soon, by a deaf wait */
#define REFUSE_NS     (NS_PER_S / 2)
#define REFUSED_SHARE 0.95 /* else it is not the cost of refusals that was measured */

struct run {
	const struct run_setup *setup;
	struct target *target;
	struct samples *data;
	struct sender sender; /* answers may come until the target is closed */
	struct tasks tasks;
	struct record record;
	struct progress progress;
	struct clients_counts last_tick;
	uint64_t next_tick_ns, next_line_ns; /* since the start */
	uint64_t policy_state[POLICY_STATE];
	uint64_t target_cpu_ns, own_cpu_ns; /* at the start */
	char *error;
};

static uint64_t own_cpu_ns(void)
{
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * NS_PER_S +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
}

/* ---- Each tick, each second ------------------------------------------------------------------ */

static void look(struct run *run)
{
	struct clients_counts now, window;
	if (!run->setup->policy->tick)
		return;
	clients_counts(run->sender.clients, &now);
	clients_since(&now, &run->last_tick, &window);
	run->last_tick = now;
	const struct policy_moment moment = { .target = run->target,
		.now_ns = target_now_ns(),
		.window = &window,
		.last_kill_ns =
			atomic_load_explicit(&run->record.last_kill_ns, memory_order_relaxed),
		.state = run->policy_state };
	run->setup->policy->tick(&moment);
}

static void say(struct run *run)
{
	struct clients_counts counts;
	struct target_gauges gauges;
	uint64_t now_ns = target_now_ns();
	clients_counts(run->sender.clients, &counts);
	target_read_gauges(run->target, &gauges);
	if (gauges.active > run->data->in_flight_max)
		run->data->in_flight_max = gauges.active;
	progress_line(&run->progress, (double)(now_ns - run->sender.start_ns) / NS_PER_S, now_ns,
		&counts, &gauges);
	watch_second(&run->data->watch);
}

static int tick(struct run *run, uint64_t now_ns)
{
	if (now_ns >= run->next_tick_ns) {
		run->next_tick_ns += POLICY_TICK_MS * (uint64_t)NS_PER_MS;
		look(run);
		if (target_check(run->target, run->error) != 0)
			return -1;
	}
	if (now_ns >= run->next_line_ns) {
		run->next_line_ns += NS_PER_S;
		say(run);
	}
	return 0;
}

/* ---- The run --------------------------------------------------------------------------------- */

static uint64_t sooner(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static void wait_for_what_is_next(struct run *run, uint64_t now_ns)
{
	uint64_t next_ns = sooner(run->next_tick_ns, tasks_next_ns(&run->tasks));
	next_ns = sooner(next_ns, clients_next_ns(run->sender.clients));
	next_ns = sooner(next_ns, sooner(run->next_line_ns, run->data->length_ns));
	if (run->target->api->deaf_ns && tasks_busy(&run->tasks))
		next_ns = sooner(next_ns, now_ns + HEAR_NS);
	if (next_ns > now_ns)
		target_wait(run->target, run->sender.start_ns + next_ns);
}

static int drive(struct run *run)
{
	uint64_t now_ns = 0;
	target_wait(run->target, run->sender.start_ns);
	while ((now_ns = sender_now_ns(&run->sender)) < run->data->length_ns) {
		tasks_step(&run->tasks, now_ns);
		sender_send_due(&run->sender, now_ns);
		if (tick(run, now_ns) != 0)
			return -1;
		wait_for_what_is_next(run, now_ns);
	}
	if (!run->setup->plan->timeout_ns)
		sender_send_due(&run->sender, run->data->length_ns); /* all of the schedule */
	return tick(run, now_ns);
}

static struct clients *make_clients(const struct run_setup *setup, struct samples *data)
{
	const struct case_plan *plan = setup->plan;
	const struct bench_policy *policy = setup->policy;
	double headroom_qps = fmax(0, setup->saturation_qps - setup->schedule->rate_qps);
	double budget_qps = headroom_qps * policy->budget_pct / 100;
	const struct clients_options options = { .struct_size = sizeof options,
		.schedule = setup->schedule,
		.outcomes = data->outcomes,
		.slo_ns = setup->slo_ns,
		.skip_ns = plan->timeout_ns ? 0 : SKIP_NS,
		.timeout_ns = plan->timeout_ns,
		.retries = plan->retries,
		.on_refusal = policy->on_refusal,
		.budget_milli_per_s = (uint64_t)fmax(policy->budget_pct ? 1 : 0, budget_qps * 1000),
		.budget_burst = (uint32_t)fmax(1, budget_qps) };
	return clients_new(&options);
}

static bool takes_part(const struct run_setup *setup, const struct actor *actor)
{
	if (actor->label == LABEL_CULPRIT)
		return setup->culprits;
	return actor->label != LABEL_WAITING || setup->waiting;
}

static int add_tasks(struct run *run)
{
	const struct case_plan *plan = run->setup->plan;
	for (uint32_t i = 0; i < plan->actor_count; i++)
		if (takes_part(run->setup, &plan->actors[i]) &&
			tasks_add(&run->tasks, &plan->actors[i]) != 0) {
			snprintf(run->error, TARGET_ERROR_MAX, "no connection for the task '%s'",
				plan->actors[i].name);
			return -1;
		}
	return 0;
}

static int begin(struct run *run)
{
	const struct run_setup *setup = run->setup;
	run->sender = (struct sender){ .target = run->target,
		.clients = make_clients(setup, run->data),
		.ask = setup->plan->ask,
		.ask_arg = setup->plan,
		.priorities = setup->plan->priorities };
	run->tasks = (struct tasks){ .target = run->target,
		.data = run->data,
		.data_lock = &run->record.lock,
		.progress = &run->progress };
	if (!run->sender.clients) {
		snprintf(run->error, TARGET_ERROR_MAX, "out of memory for the clients");
		return -1;
	}
	if (add_tasks(run) != 0)
		return -1;
	run->target_cpu_ns = target_cpu_ns(run->target);
	run->own_cpu_ns = own_cpu_ns();
	run->next_tick_ns = POLICY_TICK_MS * (uint64_t)NS_PER_MS;
	run->next_line_ns = NS_PER_S;
	run->record.start_ns = run->sender.start_ns = target_now_ns() + LEAD_NS;
	run->progress.last_ns = run->sender.start_ns;
	prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul);
	target_arm(run->target);
	watch_begin(&run->data->watch, target_process(run->target));
	return 0;
}

/* A task that fails without having been cancelled makes its run worthless. */
static int judge_tasks(struct run *run)
{
	for (uint32_t i = 0; i < run->tasks.count; i++) {
		const struct task *task = &run->tasks.list[i];
		if (!task->error[0] || record_was_cancelled(&run->record, task->actor.name))
			continue;
		snprintf(run->error, TARGET_ERROR_MAX, "%s", task->error);
		return -1;
	}
	return 0;
}

/* ---- What is left of it ---------------------------------------------------------------------- */

/* One client of the lowest priority asks again as soon as it is refused, while the gate is still
 * as closed as the run left it. */
static int measure_refusal(struct run *run)
{
	struct saturation refusals = { .target = run->target,
		.ask = run->setup->plan->ask,
		.ask_arg = run->setup->plan,
		.priority = TARGET_PRIORITIES - 1,
		.depth = 1,
		.length_ns = REFUSE_NS };
	uint64_t cpu_ns = target_cpu_ns(run->target);
	if (saturation_run(&refusals, run->error) != 0)
		return -1;
	cpu_ns = target_cpu_ns(run->target) - cpu_ns;
	if (refusals.refused &&
		(double)refusals.refused >= (double)refusals.replies * REFUSED_SHARE)
		run->data->reject_cpu_us = (double)cpu_ns / 1e3 / (double)refusals.replies;
	return 0;
}

static void count_refusals(struct run *run)
{
	static double ms[CLIENTS_REFUSALS_MAX];
	uint32_t count = clients_refusals(run->sender.clients, ms);
	if (!count)
		return;
	sort_doubles(ms, count);
	run->data->reject_ms = ms[count / 2];
}

static int finish(struct run *run)
{
	const struct run_setup *setup = run->setup;
	struct samples *data = run->data;
	struct target_gauges gauges;
	watch_end(&data->watch);
	data->target_cpu_s = (double)(target_cpu_ns(run->target) - run->target_cpu_ns) / 1e9;
	data->own_cpu_s = (double)(own_cpu_ns() - run->own_cpu_ns) / 1e9;
	clients_counts(run->sender.clients, &data->counts);
	target_read_gauges(run->target, &gauges);
	data->resource_overloads = gauges.resource_overloads;
	data->regular_overloads = gauges.regular_overloads;
	data->reruns = gauges.reruns;
	data->io = target_io(run->target);
	target_stop_clients(run->target);
	if (!setup->plan->timeout_ns)
		sender_drain(&run->sender, DRAIN_NS);
	count_refusals(run);
	int status = target_finish(run->target, run->error);
	if (status == 0 && setup->plan->reject_cost && setup->policy->gate)
		status = measure_refusal(run);
	return status == 0 ? judge_tasks(run) : status;
}

struct target_options run_target_options(const struct run_setup *setup)
{
	const struct case_plan *plan = setup->plan;
	const struct bench_policy *policy = setup->policy;
	struct target_options options = { .struct_size = sizeof options,
		.kind = setup->options->target,
		.data_dir = setup->data_dir,
		.pool_mb = plan->pool_mb,
		.workers = plan->workers,
		.control = policy->control,
		.policy = setup->variant,
		.slo_ns = setup->slo_ns,
		.service_ms = plan->service_ms,
		.connections = setup->options->connections,
		.log_mb = plan->log_mb,
		.gate = policy->gate,
		.gate_window_ms = plan->window_ms,
		.gate_threshold_ms = plan->threshold_ms,
		.priorities = plan->priorities > 1 && (policy->gate || policy->priorities) };
	if (policy->apply)
		policy->apply(setup->value, &options);
	return options;
}

static int open_and_drive(struct run *run, struct warm *warm)
{
	const struct run_setup *setup = run->setup;
	struct target_options options = run_target_options(setup);
	options.on_decision = record_decision;
	options.on_decision_arg = &run->record;
	if (target_open(&options, &run->target, run->error) != 0 ||
		warm_up(warm, run->target, setup->plan, setup->schedule->rate_qps,
			setup->options->seed, run->error) != 0 ||
		begin(run) != 0)
		return -1;
	int status = drive(run);
	if (status != 0)
		watch_end(&run->data->watch);
	return status == 0 ? finish(run) : status;
}

int run_execute(const struct run_setup *setup, struct samples **data, char error[TARGET_ERROR_MAX])
{
	struct run *run = calloc(1, sizeof *run);
	*data = NULL;
	if (!run || samples_make(data, setup->schedule,
			    setup->plan->timeout_ns ? UINT64_MAX : setup->slo_ns) != 0) {
		free(run);
		snprintf(error, TARGET_ERROR_MAX, "out of memory for %zu requests",
			setup->schedule->count);
		return -1;
	}
	run->setup = setup;
	run->error = error;
	run->data = *data;
	run->progress = (struct progress){
		.title = setup->title, .quiet = setup->quiet, .retries = setup->plan->timeout_ns > 0
	};
	run->record = (struct record){
		.data = *data, .progress = &run->progress, .start_ns = UINT64_MAX
	};
	pthread_mutex_init(&run->record.lock, NULL);
	struct warm warm = { 0 };
	int status = open_and_drive(run, &warm);
	if (run->target) {
		target_stop_clients(run->target);
		tasks_end(&run->tasks);
	}
	target_close(run->target); /* the last answers come here */
	warm_free(&warm);
	record_settle(&run->record);
	if (!setup->plan->timeout_ns && run->sender.clients &&
		clients_failure(run->sender.clients)[0])
		fprintf(stderr, "cancel-bench: %s: requests failed; the first: %s\n", setup->title,
			clients_failure(run->sender.clients));
	clients_free(run->sender.clients);
	if (status != 0) {
		samples_free(run->data);
		*data = NULL;
	}
	pthread_mutex_destroy(&run->record.lock);
	free(run);
	return status;
}
