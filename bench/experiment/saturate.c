/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns `run dump --saturate`: how much throughput is left when a thousandth or a hundredth of a per
 * cent of the requests are dumps. A closed loop asks as fast as it is answered; every so many
 * answers one more dump begins, up to as many as may dump at once. Source of the experiment:
 * Atropos (SOSP 2025), motivation 1: 25, 18 and 12 K QPS in MySQL.
 */
#include "bench/experiment/suite.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench/experiment/actors.h"
#include "bench/target/data.h"
#include "bench/load/loadgen.h"
#include "bench/policies/policy.h"
#include "bench/experiment/run.h"
#include "bench/experiment/warmup.h"

#define DEFAULT_SECONDS 10
#define NS_PER_S	1000000000u
#define DUMP_POLL_NS	5000000
#define SLO_NS		5000000u

static const double paper_shares_pct[] = { 0, 0.001, 0.01 };

/* One client that dumps when its turn comes. */
struct dumper {
	struct saturation *saturation;
	struct target_client *client;
	uint64_t first, step; /* begins when so many are answered, then every `step` */
	_Atomic bool *over;
	uint64_t begun, completed;
	pthread_t thread;
};

static void *dump_in_turn(void *arg)
{
	struct dumper *dumper = arg;
	uint64_t next = dumper->first;
	while (!atomic_load_explicit(dumper->over, memory_order_acquire)) {
		if (atomic_load_explicit(&dumper->saturation->answered, memory_order_relaxed) <
			next) {
			nanosleep(&(struct timespec){ .tv_nsec = DUMP_POLL_NS }, NULL);
			continue;
		}
		struct target_answer sum = { 0 };
		dumper->begun++;
		actor_play(&case_dump_actor, dumper->client, &sum);
		dumper->completed += sum.status == TARGET_OK;
		next += dumper->step;
	}
	return NULL;
}

static uint32_t start_dumpers(
	struct dumper *dumpers, struct saturation *saturation, double share_pct, _Atomic bool *over)
{
	uint64_t between = share_pct > 0 ? (uint64_t)(100 / share_pct) : 0;
	uint32_t count = 0;
	for (uint32_t i = 0; between && i < CASE_DUMPS_MAX; i++) {
		dumpers[i] = (struct dumper){ .saturation = saturation,
			.first = between / 2 + i * between,
			.step = CASE_DUMPS_MAX * between,
			.over = over };
		if (target_client_open(saturation->target, &dumpers[i].client) != 0)
			break;
		if (pthread_create(&dumpers[i].thread, NULL, dump_in_turn, &dumpers[i]) != 0) {
			target_client_close(dumpers[i].client);
			break;
		}
		count++;
	}
	return count;
}

static void stop_dumpers(struct dumper *dumpers, uint32_t count, struct target *target,
	_Atomic bool *over, struct measures *measures)
{
	atomic_store_explicit(over, true, memory_order_release);
	target_stop_clients(target);
	for (uint32_t i = 0; i < count; i++) {
		pthread_join(dumpers[i].thread, NULL);
		target_client_close(dumpers[i].client);
		measures->culprits += dumpers[i].begun;
		measures->culprits_completed += dumpers[i].completed;
	}
}

struct cell { /* one policy at one share */
	const struct bench_options *options;
	const char *policy_text;
	double share_pct;
	const struct case_plan *plan;
	struct summary *summary;
	char *error;
	_Atomic uint64_t cancels;
	struct measures measures; /* of the last run */
};

static void on_decision(void *arg, const struct target_decision *decision)
{
	struct cell *cell = arg;
	if (decision->acted && decision->released_ns == 0 && decision->delivered_ns == 0)
		atomic_fetch_add_explicit(&cell->cancels, 1, memory_order_relaxed);
}

/* The whole run is judged as one second, for its figure is one. */
static void saturate(struct saturation *saturation, struct disturbance *disturbance)
{
	static struct watch watch;
	watch_begin(&watch, 0);
	loadgen_saturate(saturation);
	watch_second(&watch);
	watch_end(&watch);
	watch_judge(&watch, 0, disturbance);
}

static int measure_cell(void *arg, struct disturbance *disturbance)
{
	struct cell *cell = arg;
	const struct bench_options *options = cell->options;
	struct measures *measures = &cell->measures;
	const struct bench_policy *policy = bench_policy_find(cell->policy_text, ENGINE_TARGET);
	const char *colon = strchr(cell->policy_text, ':');
	struct dumper dumpers[CASE_DUMPS_MAX];
	_Atomic bool over = false;
	struct warm warm = { 0 };
	struct live live = { 0 };
	struct target *target;
	struct target_options target_options = { .struct_size = sizeof target_options,
		.data_dir = options->data_dir,
		.pool_mb = options->pool_mb,
		.workers = options->workers,
		.control = policy->control,
		.policy = colon ? colon + 1 : NULL,
		.slo_ns = SLO_NS,
		.on_decision = on_decision,
		.on_decision_arg = cell };
	*measures = (struct measures){ 0 };
	cell->cancels = 0;
	if (target_open(&target_options, &target, cell->error) != 0)
		return -1;
	struct saturation saturation = { .target = target,
		.ask = cell->plan->ask,
		.ask_arg = cell->plan,
		.seed = options->seed,
		.depth = RUN_SATURATE_DEPTH,
		.live = &live,
		.length_ns = (uint64_t)(options->seconds ? options->seconds : DEFAULT_SECONDS) *
			     NS_PER_S };
	int status = warm_up(
		&warm, target, cell->plan, RUN_SATURATE_WARM_QPS, options->seed, cell->error);
	if (status == 0) {
		uint32_t count = start_dumpers(dumpers, &saturation, cell->share_pct, &over);
		saturate(&saturation, disturbance);
		stop_dumpers(dumpers, count, target, &over, measures);
	}
	cell->summary->io = target_io(target);
	target_close(target);
	warm_free(&warm);
	if (live.has_failure)
		fprintf(stderr, "cancel-bench: requests failed; the first: %s\n", live.failure);
	measures->throughput_qps = saturation.answers_per_s;
	measures->ok = measures->offered = saturation.answered;
	measures->cancels = cell->cancels;
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

int saturate_run(const struct bench_options *options, struct suite_result *result,
	char error[TARGET_ERROR_MAX])
{
	static struct case_plan plan;
	struct measures reference = { 0 };
	double one[] = { options->share_pct };
	const double *shares = options->share_pct >= 0 ? one : paper_shares_pct;
	uint32_t share_count = options->share_pct >= 0 ? 1 : 3;
	*result = (struct suite_result){ 0 };
	data_prepare(options, &plan.data);
	plan.ask = case_ask_read;
	for (uint32_t p = 0; p < options->policy_count; p++)
		for (uint32_t s = 0; s < share_count; s++) {
			struct cell cell = { .options = options,
				.policy_text = options->policies[p],
				.share_pct = shares[s],
				.plan = &plan,
				.summary = &result->summary,
				.error = error };
			int status = add_cell(&cell, &reference);
			if (status != 0)
				return status;
		}
	struct summary *summary = &result->summary;
	summary->case_name = "dump";
	summary->what = "the largest throughput against the share of dumps";
	summary->options = options;
	summary->seconds = options->seconds ? options->seconds : DEFAULT_SECONDS;
	summary->saturation_qps = summary->rate_qps = reference.throughput_qps;
	summary->rho = 1;
	summary->slo_ms = SLO_NS / 1e6;
	return 0;
}
