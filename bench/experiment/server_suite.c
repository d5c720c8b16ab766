/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the order of the runs on a server: the data, saturation, then each policy under the same
 * schedule of the same seed.
 */
#include "bench/experiment/server_suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/cases/case.h"
#include "bench/cases/scripts.h"
#include "bench/policies/policy.h"
#include "bench/target/data.h"
#include "bench/experiment/server_run.h"
#include "bench/experiment/server_session.h"
#include "bench/experiment/script_task.h"

#define SEED_STRIDE	1000003u
#define WINDOW_LEAST_MS 10u /* what the server takes for admission.window_ms */
#define WINDOW_MOST_MS	60000u
#define OTHER_FDS	256 /* of this process and of the server, beside connections */

/* ---- The plan -------------------------------------------------------------------------------- */

/* A short timeout has parts the server does not take. */
static void fit_gate(struct retry_plan *plan)
{
	if (plan->window_ms < WINDOW_LEAST_MS)
		plan->window_ms = WINDOW_LEAST_MS;
	if (plan->window_ms > WINDOW_MOST_MS)
		plan->window_ms = WINDOW_MOST_MS;
	if (!plan->threshold_ms)
		plan->threshold_ms = 1;
	if (!plan->slo_ms)
		plan->slo_ms = 1;
}

static void make_plan(const struct bench_options *options, const struct bench_case *bench_case,
	struct retry_plan *plan)
{
	bench_case->retry_plan(options, plan);
	if (options->rho_given)
		plan->rho = options->rho;
	if (options->seconds)
		plan->length_ns = options->seconds * (uint64_t)BENCH_NS_PER_S;
	if (options->slo_ms > 0)
		plan->slo_ms = (uint32_t)fmax(1, options->slo_ms);
	if (options->retries != UINT32_MAX)
		plan->retries = options->retries;
	if (options->service_ms && plan->service_ms)
		plan->service_ms = options->service_ms;
	plan->resends = options->resends;
	if (options->pool_given)
		plan->pool_mb = options->pool_mb;
	if (options->workers_given)
		plan->workers = options->workers;
	fit_gate(plan);
}

/* ---- Checks ---------------------------------------------------------------------------------- */

/* A connection is a descriptor here and one in the server, which inherits the limit. */
static void make_room(uint32_t connections)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	if (limit.rlim_max < connections + OTHER_FDS)
		bench_refuse("--connections %u needs %u open files, and the limit is %llu",
			connections, connections + OTHER_FDS, (unsigned long long)limit.rlim_max);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void check_case(const struct bench_options *options, const struct bench_case *bench_case)
{
	if (!options->policy_count)
		bench_refuse("--policy: no policy to run");
	if (options->trigger && bench_case != &case_stall)
		bench_refuse("--trigger belongs to the case stall");
	if (options->cpu && bench_case != &case_stall && bench_case != &case_dump_storm &&
		!bench_case->plan)
		bench_refuse(
			"--cpu belongs to stall, dump-storm, dump, backup-lock and scan-backup");
	if (options->trigger && strcmp(options->trigger, "pause") != 0 &&
		strcmp(options->trigger, "lock") != 0 &&
		strcmp(options->trigger, "checkpoint") != 0)
		bench_refuse("--trigger: '%s' is not pause, lock or checkpoint", options->trigger);
	if (options->cpu && options->service_ms)
		bench_refuse("--service-ms pins what --cpu leaves open: one of them");
}

void server_suite_check(const struct bench_options *options, const struct bench_case *bench_case)
{
	struct retry_plan plan;
	check_case(options, bench_case);
	make_plan(options, bench_case, &plan);
	if (options->stall_s > 0 && plan.trigger == SCRIPT_NONE)
		bench_refuse("--stall: case %s has no trigger", bench_case->name);
	if (plan.resends && !script_is_culprit(plan.trigger))
		bench_refuse("--culprit-retries: case %s has no culprit", bench_case->name);
	if (plan.onset_ns + plan.timeout_ns * (plan.retries + 1) >= plan.length_ns)
		bench_refuse("--seconds: the trigger comes at %.1f s, requests need %.1f s, and "
			     "the run has %.1f s",
			(double)plan.onset_ns / 1e9,
			(double)(plan.timeout_ns * (plan.retries + 1)) / 1e9,
			(double)plan.length_ns / 1e9);
	make_room(options->connections);
}

/* ---- Data ------------------------------------------------------------------------------------ */

/* Pinned cases ask for single rows: any data will do. */
static void make_data(const struct retry_plan *plan, const struct bench_options *options,
	char folder[SERVER_PATH_MAX], struct case_data *data)
{
	char error[SERVER_ERROR_MAX];
	const char *scratch = server_scratch(error);
	if (!scratch)
		bench_refuse("%s", error);
	if (plan->archive_pools)
		snprintf(folder, SERVER_PATH_MAX, "%.200s/lanes-%u-%u", options->data_dir,
			plan->pool_mb, plan->archive_pools);
	else
		snprintf(folder, SERVER_PATH_MAX, "%.200s/data", scratch);
	data_prepare_in(folder, plan->pool_mb, plan->archive_pools ? plan->archive_pools : 1, data);
}

/* ---- The runs -------------------------------------------------------------------------------- */

struct suite {
	const struct bench_options *options;
	const struct bench_case *bench_case;
	struct retry_plan *plan; /* of the result */
	struct suite_result *result;
	const struct bench_policy *policies[OPTIONS_POLICIES_MAX];
	struct retry_measures measures[OPTIONS_POLICIES_MAX][OPTIONS_REPS_MAX];
	uint32_t policy_count;
	double query_cpu_us;
	bool rate_disturbed; /* the saturation was, and that is allowed */
	char folder[SERVER_PATH_MAX];
	struct case_data data;
};

static struct server_setup setup_of(
	const struct suite *suite, const struct bench_policy *policy, uint32_t rep)
{
	const struct bench_options *options = suite->options;
	double rate_qps = policy->load_pct
				  ? suite->result->summary.saturation_qps * policy->load_pct / 100
				  : suite->result->summary.rate_qps;
	return (struct server_setup){ .title = policy->name,
		.plan = suite->plan,
		.policy = policy,
		.saturation_qps = suite->result->summary.saturation_qps,
		.rate_qps = rate_qps,
		.seed = options->seed + (uint64_t)rep * SEED_STRIDE,
		.poisson = options->poisson,
		.quiet = options->quiet,
		.connections = suite->options->connections,
		.data_dir = suite->folder,
		.items = suite->data.items };
}

static uint32_t runs_of(const struct bench_options *options)
{
	return options->allow_disturbed ? 1 : 1 + DISTURBANCE_EXTRA_RUNS;
}

struct saturating {
	const struct server_setup *setup;
	struct server_capacity *capacity;
	char *error;
};

static int saturate_once(void *arg, struct disturbance *disturbance)
{
	const struct saturating *saturating = arg;
	int status = server_saturate(saturating->setup, saturating->capacity, saturating->error);
	*disturbance = saturating->capacity->disturbance;
	return status;
}

static int find_rate(struct suite *suite, char *error)
{
	const struct bench_options *options = suite->options;
	struct summary *summary = &suite->result->summary;
	struct server_setup setup = setup_of(suite, &policy_none, 0);
	if (!options->quiet)
		fprintf(stderr, "measuring saturation\n");
	struct server_capacity capacity = { 0 };
	struct saturating saturating = { &setup, &capacity, error };
	const struct disturbance_retry retry = { .title = "the saturation",
		.runs = runs_of(options),
		.quiet = options->quiet,
		.run = saturate_once,
		.arg = &saturating };
	struct disturbance disturbance;
	if (disturbance_retry(&retry, &disturbance) != 0)
		return -1;
	if (disturbance.disturbed && !options->allow_disturbed)
		return disturbance_refuse("saturation", &disturbance, error, SERVER_ERROR_MAX);
	suite->rate_disturbed = disturbance.disturbed;
	summary->saturation_qps = capacity.qps;
	suite->query_cpu_us = capacity.query_cpu_us;
	summary->rate_qps = options->rate_qps > 0 ? options->rate_qps
						  : summary->saturation_qps * suite->plan->rho;
	suite->plan->rho = summary->rate_qps / summary->saturation_qps;
	if (!options->quiet)
		fprintf(stderr, "saturation %.1f/s, load %.1f/s\n", summary->saturation_qps,
			summary->rate_qps);
	return 0;
}

struct running {
	const struct server_setup *setup;
	struct retry_measures *measures;
	char *error;
};

static int run_once(void *arg, struct disturbance *disturbance)
{
	const struct running *running = arg;
	if (running->setup->trace)
		trace_free(running->setup->trace); /* of a run that was disturbed */
	int status = server_run(running->setup, running->measures, running->error);
	*disturbance = running->measures->disturbance;
	return status;
}

static int run_cell(struct suite *suite, uint32_t rep, uint32_t i, char *error)
{
	const struct bench_options *options = suite->options;
	struct server_setup setup = setup_of(suite, suite->policies[i], rep);
	struct suite_trace *trace = &suite->result->traces[i];
	if (rep == 0 && options->plot_dir)
		setup.trace = &trace->bins;
	struct running running = { &setup, &suite->measures[i][rep], error };
	const struct disturbance_retry retry = { .title = setup.title,
		.runs = runs_of(options),
		.quiet = options->quiet,
		.run = run_once,
		.arg = &running };
	struct disturbance last;
	int status = disturbance_retry(&retry, &last);
	if (setup.trace) {
		suite->result->trace_count = i + 1;
		snprintf(trace->policy, sizeof trace->policy, "%s", setup.title);
		trace->disturbed = suite->measures[i][rep].disturbance.disturbed;
	}
	suite->measures[i][rep].figures[RETRY_query_cpu_us] = suite->query_cpu_us;
	return status;
}

/* Policies take turns within a repetition, so that what changes slowly on the machine hits all. */
static int run_all(struct suite *suite, char *error)
{
	for (uint32_t rep = 0; rep < suite->options->reps; rep++)
		for (uint32_t i = 0; i < suite->policy_count; i++)
			if (run_cell(suite, rep, i, error) != 0)
				return -1;
	return 0;
}

static void add_rows(struct suite *suite)
{
	struct summary *summary = &suite->result->summary;
	for (uint32_t i = 0; i < suite->policy_count; i++) {
		struct server_setup setup = setup_of(suite, suite->policies[i], 0);
		struct summary_row *row = &summary->rows[summary->row_count++];
		snprintf(row->policy, sizeof row->policy, "%s", suite->policies[i]->name);
		row->what = suite->policies[i]->server_what;
		row->rate_qps = setup.rate_qps;
		row->rho = setup.rate_qps / summary->saturation_qps;
		row->disturbed = suite->rate_disturbed;
		summary_fill_retries(row, suite->measures[i], suite->options->reps);
	}
}

static void fill_head(struct suite *suite)
{
	const struct retry_plan *plan = suite->plan;
	struct summary *summary = &suite->result->summary;
	summary->case_name = suite->bench_case->name;
	summary->what = suite->bench_case->server_what;
	summary->options = suite->options;
	summary->plan = plan;
	summary->wire = suite->bench_case->plan != NULL;
	summary->rho = plan->rho;
	if (plan->trigger != SCRIPT_NONE)
		suite->result->spans = (struct spans){ .count = 1,
			.list = { { plan->onset_ns, plan->onset_ns + plan->hold_ns } } };
}

int server_suite_run(const struct bench_options *options, const struct bench_case *bench_case,
	struct suite_result *result, char error[TARGET_ERROR_MAX])
{
	static struct suite suite;
	suite.options = options;
	suite.bench_case = bench_case;
	suite.result = result;
	suite.plan = &result->plan;
	server_session_catch_interrupts();
	for (uint32_t i = 0; i < options->policy_count; i++)
		suite.policies[i] = bench_policy_find(options->policies[i], SERVER_TARGET);
	suite.policy_count = options->policy_count;
	make_plan(options, bench_case, &result->plan);
	make_data(&result->plan, options, suite.folder, &suite.data);
	int status = find_rate(&suite, error);
	if (status == 0)
		status = run_all(&suite, error);
	fill_head(&suite);
	if (status == 0)
		add_rows(&suite);
	return status;
}
