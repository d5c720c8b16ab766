/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns `run dump --saturate`: how much throughput is left when a thousandth or a hundredth of a per
 * cent of the requests are dumps. A closed loop asks as fast as it is answered; every so many
 * answers one more dump begins, up to as many as may dump at once. Source of the experiment:
 * Atropos (SOSP 2025), motivation 1: 25, 18 and 12 K QPS in MySQL.
 */
#include <stdio.h>
#include <string.h>

#include "bench/experiment/record.h"
#include "bench/experiment/run.h"
#include "bench/experiment/suite.h"
#include "bench/experiment/tasks.h"
#include "bench/experiment/warmup.h"
#include "bench/load/saturation.h"

#define DEFAULT_SECONDS 10
#define NS_PER_S	1000000000u
#define SLO_NS		5000000u

static const double paper_shares_pct[] = { 0, 0.001, 0.01 };

struct cell { /* one policy at one share */
	const struct bench_options *options;
	const struct bench_policy *policy;
	const char *policy_text;
	const char *data_dir;
	double share_pct;
	const struct case_plan *plan;
	struct summary *summary;
	char *error;
	_Atomic uint64_t cancels;
	struct saturation saturation;
	struct tasks dumps;
	pthread_mutex_t data_lock;	    /* of the dumps' record */
	uint64_t next_dump[CASE_DUMPS_MAX]; /* each begins when so many are answered */
	struct measures measures;	    /* of the last run */
};

static void on_decision(void *arg, const struct target_decision *decision)
{
	struct cell *cell = arg;
	if (decision->acted && decision->released_ns == 0 && decision->delivered_ns == 0)
		atomic_fetch_add_explicit(&cell->cancels, 1, memory_order_relaxed);
}

static uint64_t answers_between(const struct cell *cell)
{
	return cell->share_pct > 0 ? (uint64_t)(100 / cell->share_pct) : 0;
}

static int open_dumps(struct cell *cell, struct target *target, struct samples *data)
{
	struct actor dump = case_dump_actor;
	uint64_t between = answers_between(cell);
	dump.start_ns = UINT64_MAX; /* when its turn comes */
	dump.every_ns = 0;
	cell->dumps =
		(struct tasks){ .target = target, .data = data, .data_lock = &cell->data_lock };
	for (uint32_t i = 0; between && i < CASE_DUMPS_MAX; i++) {
		cell->next_dump[i] = between / 2 + i * between;
		if (tasks_add(&cell->dumps, &dump) != 0) {
			snprintf(cell->error, TARGET_ERROR_MAX, "cannot open a session to dump");
			return -1;
		}
	}
	return 0;
}

static void dump_in_turn(void *arg, uint64_t now_ns)
{
	struct cell *cell = arg;
	uint64_t answered = atomic_load_explicit(&cell->saturation.answered, memory_order_relaxed);
	tasks_step(&cell->dumps, now_ns);
	for (uint32_t i = 0; i < cell->dumps.count; i++)
		if (answered >= cell->next_dump[i] && task_begin(&cell->dumps.list[i], now_ns))
			cell->next_dump[i] += CASE_DUMPS_MAX * answers_between(cell);
}

/* The whole run is judged as one second, for its figure is one. */
static int saturate(struct cell *cell, struct target *target, struct disturbance *disturbance)
{
	static struct watch watch;
	const struct bench_options *options = cell->options;
	cell->saturation = (struct saturation){ .target = target,
		.ask = cell->plan->ask,
		.ask_arg = cell->plan,
		.seed = options->seed,
		.depth = run_saturate_depth(cell->plan),
		.length_ns = (uint64_t)(options->seconds ? options->seconds : DEFAULT_SECONDS) *
			     NS_PER_S,
		.on_turn = dump_in_turn,
		.arg = cell };
	watch_begin(&watch, 0);
	int status = saturation_run(&cell->saturation, cell->error);
	watch_second(&watch);
	watch_end(&watch);
	watch_judge(&watch, disturbance);
	return status;
}

static void count(struct cell *cell, const struct samples *data)
{
	struct measures *measures = &cell->measures;
	*measures = (struct measures){ .throughput_qps = cell->saturation.answers_per_s,
		.ok = (double)cell->saturation.answered,
		.offered = (double)cell->saturation.answered,
		.cancels = (double)cell->cancels,
		.culprits = data->task_count };
	for (uint32_t i = 0; i < data->task_count; i++)
		measures->culprits_completed += data->tasks[i].completed;
}

static int measure_cell(void *arg, struct disturbance *disturbance)
{
	static struct samples data;
	struct cell *cell = arg;
	const char *colon = strchr(cell->policy_text, ':');
	struct warm warm = { 0 };
	struct target *target = NULL;
	struct run_setup setup = { .options = cell->options,
		.plan = cell->plan,
		.data_dir = cell->data_dir,
		.slo_ns = SLO_NS,
		.policy = cell->policy,
		.variant = colon ? colon + 1 : NULL };
	struct target_options options = run_target_options(&setup);
	options.on_decision = on_decision;
	options.on_decision_arg = cell;
	cell->cancels = 0;
	data.task_count = 0;
	int status = target_open(&options, &target, cell->error);
	if (status == 0)
		status = warm_up(&warm, target, cell->plan, WARM_SATURATE_QPS, cell->options->seed,
			cell->error);
	if (status == 0)
		status = open_dumps(cell, target, &data);
	if (status == 0)
		status = saturate(cell, target, disturbance);
	if (target) {
		cell->summary->io = target_io(target);
		target_stop_clients(target);
		tasks_end(&cell->dumps);
	}
	target_close(target);
	warm_free(&warm);
	count(cell, &data);
	return status;
}

static void add_row(const struct cell *cell, const struct measures *reference)
{
	struct summary *summary = cell->summary;
	struct summary_row *row = &summary->rows[summary->row_count++];
	snprintf(row->policy, sizeof row->policy, "%s", cell->policy_text);
	snprintf(row->setting, sizeof row->setting, "share %g %%", cell->share_pct);
	row->load_pct = 100;
	row->share_pct = cell->share_pct;
	row->rate_qps = cell->measures.throughput_qps;
	row->slo_ms = SLO_NS / 1e6;
	summary_fill(row, &cell->measures, reference, 1);
}

/* The first cell is what all are compared with. */
static int add_cell(struct cell *cell, struct measures *reference)
{
	const struct bench_options *options = cell->options;
	struct disturbance disturbance = { 0 };
	const struct disturbance_retry retry = { .title = cell->policy_text,
		.runs = options->allow_disturbed ? 1 : 1 + DISTURBANCE_EXTRA_RUNS,
		.quiet = options->quiet,
		.run = measure_cell,
		.arg = cell };
	if (disturbance_retry(&retry, &disturbance) != 0)
		return -1;
	bool is_first = cell->summary->row_count == 0;
	if (is_first && disturbance.disturbed && !options->allow_disturbed)
		return disturbance_refuse("first row", &disturbance, cell->error, TARGET_ERROR_MAX);
	cell->measures.disturbance = disturbance;
	if (is_first)
		*reference = cell->measures;
	if (!options->quiet)
		fprintf(stderr, "%-14s dumps %g %% of the requests: %.0f/s\n", cell->policy_text,
			cell->share_pct, cell->measures.throughput_qps);
	add_row(cell, reference);
	return 0;
}

static void fill_head(
	const struct bench_options *options, double first_qps, struct summary *summary)
{
	summary->case_name = case_dump.name;
	summary->what = "the largest throughput against the share of dumps";
	summary->options = options;
	summary->seconds = options->seconds ? options->seconds : DEFAULT_SECONDS;
	summary->saturation_qps = summary->rate_qps = first_qps;
	summary->rho = 1;
	summary->slo_ms = SLO_NS / 1e6;
}

int saturate_run(const struct bench_options *options, struct suite_result *result,
	char error[TARGET_ERROR_MAX])
{
	static struct case_plan plan;
	static struct cell cell;
	char data_dir[DATA_PATH_MAX];
	struct measures reference = { 0 };
	double one[] = { options->share_pct };
	const double *shares = options->share_pct >= 0 ? one : paper_shares_pct;
	uint32_t share_count = options->share_pct >= 0 ? 1 : 3;
	*result = (struct suite_result){ 0 };
	bench_case_plan(&case_dump, options, &plan);
	data_prepare(options, plan.pool_mb, plan.archive_pools, data_dir, &plan.data);
	for (uint32_t p = 0; p < options->policy_count; p++)
		for (uint32_t s = 0; s < share_count; s++) {
			cell = (struct cell){ .options = options,
				.policy = bench_policy_find(options->policies[p], options->target),
				.policy_text = options->policies[p],
				.data_dir = data_dir,
				.share_pct = shares[s],
				.plan = &plan,
				.summary = &result->summary,
				.error = error };
			pthread_mutex_init(&cell.data_lock, NULL);
			int status = add_cell(&cell, &reference);
			pthread_mutex_destroy(&cell.data_lock);
			if (status != 0)
				return status;
		}
	fill_head(options, reference.throughput_qps, &result->summary);
	return 0;
}
