/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what a user may say about lanes, and the order of a lane's runs: its data, saturation, then
 * each policy under the same schedule of the same seed.
 */
#include "bench/cli/lane_command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/cases/scripts.h"
#include "bench/target/data.h"
#include "bench/experiment/lane_run.h"
#include "bench/experiment/lane_session.h"
#include "bench/experiment/lane_task.h"
#include "bench/report/plot.h"
#include "bench/report/range_output.h"

#define SEED_STRIDE	1000003u
#define WINDOW_LEAST_MS 10u /* what the server takes for admission.window_ms */
#define WINDOW_MOST_MS	60000u
#define OTHER_FDS	256 /* of this process and of the server, beside connections */

enum {
	OPT_STALL = 512,
	OPT_TIMEOUT,
	OPT_RETRIES,
	OPT_SERVICE,
	OPT_CONNECTIONS,
	OPT_TRIGGER,
	OPT_CPU,
	OPT_RESENDS,
	OPT_WIRE,
};

static const struct argp_option lane_option_list[] = {
	{ NULL, 0, NULL, 0, "Live lanes (stall, culprit-storm, dump-storm, overload-2x):", 20 },
	{ "stall", OPT_STALL, "S", 0, "seconds the trigger lasts if left alone [the lane's]", 20 },
	{ "timeout-ms", OPT_TIMEOUT, "X", 0,
		"a client waits so long [half the trigger, at most 1 s]", 20 },
	{ "retries", OPT_RETRIES, "N", 0, "attempts after the first [1]", 20 },
	{ "service-ms", OPT_SERVICE, "N", 0, "what a statement keeps its worker [40]", 20 },
	{ "connections", OPT_CONNECTIONS, "N", 0, "most connections of clients [6000]", 20 },
	{ "trigger", OPT_TRIGGER, "pause|lock|checkpoint", 0,
		"stall: what makes it stand still [pause]", 20 },
	{ "cpu", OPT_CPU, NULL, 0,
		"stall, dump-storm, --wire: reads that cost CPU in place of a pinned service time",
		20 },
	{ "culprit-retries", OPT_RESENDS, "N", 0,
		"a culprit that is cancelled is sent again, so often [0]", 20 },
	{ "wire", OPT_WIRE, NULL, 0,
		"dump, backup-lock, scan-backup as live lanes: over the wire, with retries", 20 },
	{ 0 },
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct lane_options *options = state->input;
	switch (key) {
	case OPT_STALL:
		options->stall_s = options_number("--stall", text, 0.1, 600);
		break;
	case OPT_TIMEOUT:
		options->timeout_ms = options_number("--timeout-ms", text, 1, 600000);
		break;
	case OPT_RETRIES:
		options->retries = (uint32_t)options_integer("--retries", text, 0, 100);
		break;
	case OPT_SERVICE:
		options->service_ms = (uint32_t)options_integer("--service-ms", text, 1, 1000);
		break;
	case OPT_CONNECTIONS:
		options->connections = (uint32_t)options_integer("--connections", text, 16, 16000);
		break;
	case OPT_TRIGGER:
		options->trigger = text;
		break;
	case OPT_CPU:
		options->cpu = true;
		break;
	case OPT_RESENDS:
		options->resends = (uint32_t)options_integer("--culprit-retries", text, 0, 100);
		break;
	case OPT_WIRE:
		options->wire = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	for (const struct argp_option *o = lane_option_list; o->name || o->doc; o++)
		if (o->key == key)
			options->given = o->name;
	return 0;
}

const struct argp lane_argp = { .options = lane_option_list, .parser = parse };

/* ---- The plan -------------------------------------------------------------------------------- */

/* A short timeout has parts the server does not take. */
static void fit_gate(struct lane_plan *plan)
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

static void make_plan(const struct lane_arguments *arguments, struct lane_plan *plan)
{
	const struct bench_options *options = arguments->options;
	const struct lane_options *lane_options = arguments->lane_options;
	arguments->lane->plan(options, lane_options, plan);
	if (options->rho_given)
		plan->rho = options->rho;
	if (options->seconds)
		plan->length_ns = options->seconds * (uint64_t)LANE_NS_PER_S;
	if (options->slo_ms > 0)
		plan->slo_ms = (uint32_t)fmax(1, options->slo_ms);
	if (lane_options->retries != UINT32_MAX)
		plan->retries = lane_options->retries;
	if (lane_options->service_ms && plan->service_ms)
		plan->service_ms = lane_options->service_ms;
	plan->resends = lane_options->resends;
	if (options->pool_given)
		plan->pool_mb = options->pool_mb;
	if (options->workers_given)
		plan->workers = options->workers;
	fit_gate(plan);
}

/* ---- Checks ---------------------------------------------------------------------------------- */

static void add_policy(const char *name, const struct lane_policy **policies, uint32_t *count)
{
	const struct lane_policy *policy = lane_policy_find(name);
	if (!policy)
		bench_refuse("unknown policy '%s' of a lane; 'cancel-bench list' names them", name);
	for (uint32_t i = 0; i < *count; i++)
		if (policies[i] == policy)
			bench_refuse("policy '%s' is named twice", name);
	if (*count == OPTIONS_POLICIES_MAX)
		bench_refuse("more than %d policies", OPTIONS_POLICIES_MAX);
	policies[(*count)++] = policy;
}

static uint32_t choose_policies(
	const struct lane_arguments *arguments, const struct lane_policy **policies)
{
	char name[OPTIONS_POLICY_BYTES];
	uint32_t count = 0;
	const char *list = arguments->policies ? arguments->policies : arguments->lane->policies;
	for (const char *at = list; *at;) {
		size_t length = strcspn(at, ",");
		if (length == 0 || length >= sizeof name)
			bench_refuse("'%s' is not a list of policies", list);
		memcpy(name, at, length);
		name[length] = '\0';
		add_policy(name, policies, &count);
		at += length;
		if (*at == ',' && !*++at)
			bench_refuse("'%s' is not a list of policies", list);
	}
	if (!count)
		bench_refuse("'%s' is not a list of policies", list);
	return count;
}

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

void lane_check(const struct lane_arguments *arguments)
{
	const struct lane_options *options = arguments->lane_options;
	const struct lane_policy *policies[OPTIONS_POLICIES_MAX];
	struct lane_plan plan;
	(void)choose_policies(arguments, policies);
	if (options->trigger && arguments->lane != &lane_stall)
		bench_refuse("--trigger belongs to the lane stall");
	if (options->cpu && arguments->lane != &lane_stall && arguments->lane != &lane_dump_storm &&
		!arguments->lane->of_case)
		bench_refuse("--cpu belongs to the lanes stall and dump-storm, and to --wire");
	if (options->trigger && strcmp(options->trigger, "pause") != 0 &&
		strcmp(options->trigger, "lock") != 0 &&
		strcmp(options->trigger, "checkpoint") != 0)
		bench_refuse("--trigger: '%s' is not pause, lock or checkpoint", options->trigger);
	if (options->cpu && options->service_ms)
		bench_refuse("--service-ms pins what --cpu leaves open: one of them");
	make_plan(arguments, &plan);
	if (options->stall_s > 0 && plan.trigger == LANE_NO_SCRIPT)
		bench_refuse("--stall: lane %s has no trigger", arguments->lane->name);
	if (plan.resends && !lane_script_is_culprit(plan.trigger))
		bench_refuse("--culprit-retries: lane %s has no culprit", arguments->lane->name);
	if (plan.onset_ns + plan.timeout_ns * (plan.retries + 1) >= plan.length_ns)
		bench_refuse("--seconds: the trigger comes at %.1f s, requests need %.1f s, and "
			     "the run has %.1f s",
			(double)plan.onset_ns / 1e9,
			(double)(plan.timeout_ns * (plan.retries + 1)) / 1e9,
			(double)plan.length_ns / 1e9);
	make_room(options->connections);
}

/* ---- Data ------------------------------------------------------------------------------------ */

/* Pinned lanes ask for single rows: any data will do. */
static void make_data(const struct lane_plan *plan, const struct bench_options *options,
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
	const struct lane_arguments *arguments;
	struct lane_plan plan;
	struct lane_summary summary;
	const struct lane_policy *policies[OPTIONS_POLICIES_MAX];
	struct lane_measures measures[OPTIONS_POLICIES_MAX][OPTIONS_REPS_MAX];
	struct lane_trace traces[OPTIONS_POLICIES_MAX]; /* of first repetitions, for --plot */
	uint32_t policy_count;
	double query_cpu_us;
	bool rate_disturbed; /* the saturation was, and that is allowed */
	char folder[SERVER_PATH_MAX];
	struct case_data data;
};

static struct lane_setup setup_of(
	const struct suite *suite, const struct lane_policy *policy, uint32_t rep)
{
	const struct bench_options *options = suite->arguments->options;
	double rate_qps = policy->load_pct ? suite->summary.saturation_qps * policy->load_pct / 100
					   : suite->summary.rate_qps;
	return (struct lane_setup){ .title = policy->name,
		.plan = &suite->plan,
		.policy = policy,
		.saturation_qps = suite->summary.saturation_qps,
		.rate_qps = rate_qps,
		.seed = options->seed + (uint64_t)rep * SEED_STRIDE,
		.poisson = options->poisson,
		.quiet = options->quiet,
		.connections = suite->arguments->lane_options->connections,
		.data_dir = suite->folder,
		.items = suite->data.items };
}

static uint32_t runs_of(const struct bench_options *options)
{
	return options->allow_disturbed ? 1 : 1 + DISTURBANCE_EXTRA_RUNS;
}

struct saturating {
	const struct lane_setup *setup;
	struct lane_capacity *capacity;
	char *error;
};

static int saturate_once(void *arg, struct disturbance *disturbance)
{
	const struct saturating *saturating = arg;
	int status = lane_saturate(saturating->setup, saturating->capacity, saturating->error);
	*disturbance = saturating->capacity->disturbance;
	return status;
}

static int find_rate(struct suite *suite, char *error)
{
	const struct bench_options *options = suite->arguments->options;
	struct lane_summary *summary = &suite->summary;
	struct lane_setup setup = setup_of(suite, lane_policy_find("none"), 0);
	if (!options->quiet)
		fprintf(stderr, "measuring saturation\n");
	struct lane_capacity capacity = { 0 };
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
						  : summary->saturation_qps * suite->plan.rho;
	suite->plan.rho = summary->rate_qps / summary->saturation_qps;
	if (!options->quiet)
		fprintf(stderr, "saturation %.1f/s, load %.1f/s\n", summary->saturation_qps,
			summary->rate_qps);
	return 0;
}

struct running {
	const struct lane_setup *setup;
	struct lane_measures *measures;
	char *error;
};

static int run_once(void *arg, struct disturbance *disturbance)
{
	const struct running *running = arg;
	if (running->setup->trace)
		lane_trace_free(running->setup->trace); /* of a run that was disturbed */
	int status = lane_run(running->setup, running->measures, running->error);
	*disturbance = running->measures->disturbance;
	return status;
}

static int run_cell(struct suite *suite, uint32_t rep, uint32_t i, char *error)
{
	const struct bench_options *options = suite->arguments->options;
	struct lane_setup setup = setup_of(suite, suite->policies[i], rep);
	if (rep == 0 && options->plot_dir)
		setup.trace = &suite->traces[i];
	struct running running = { &setup, &suite->measures[i][rep], error };
	const struct disturbance_retry retry = { .title = setup.title,
		.runs = runs_of(options),
		.quiet = options->quiet,
		.run = run_once,
		.arg = &running };
	struct disturbance last;
	int status = disturbance_retry(&retry, &last);
	suite->measures[i][rep].figures[LANE_query_cpu_us] = suite->query_cpu_us;
	return status;
}

/* Policies take turns within a repetition, so that what changes slowly on the machine hits all. */
static int run_all(struct suite *suite, char *error)
{
	for (uint32_t rep = 0; rep < suite->arguments->options->reps; rep++)
		for (uint32_t i = 0; i < suite->policy_count; i++)
			if (run_cell(suite, rep, i, error) != 0)
				return -1;
	return 0;
}

static void summarise(struct suite *suite)
{
	struct lane_summary *summary = &suite->summary;
	for (uint32_t i = 0; i < suite->policy_count; i++) {
		struct lane_setup setup = setup_of(suite, suite->policies[i], 0);
		struct lane_row *row = &summary->rows[summary->row_count++];
		row->policy = suite->policies[i];
		row->rate_qps = setup.rate_qps;
		row->rho = setup.rate_qps / summary->saturation_qps;
		row->disturbed = suite->rate_disturbed;
		lane_row_fill(row, suite->measures[i], suite->arguments->options->reps);
	}
}

/* ---- The picture ----------------------------------------------------------------------------- */

static struct suite suite; /* of the lane that is run; its traces stay until they are drawn */

static void forget_traces(void)
{
	for (uint32_t i = 0; i < suite.policy_count; i++)
		lane_trace_free(&suite.traces[i]);
}

int lane_draw(char error[SERVER_ERROR_MAX])
{
	_Static_assert(SERVER_ERROR_MAX >= PLOT_ERROR_MAX, "plot_write's line fits");
	static struct plot plot;
	char name[32], title[160];
	const struct lane *lane = suite.summary.lane;
	const struct lane_plan *plan = &suite.plan;
	snprintf(name, sizeof name, "%s%s", lane->name, lane->of_case ? "-wire" : "");
	snprintf(title, sizeof title, "%s: load %.0f/s of %.0f/s, timeout %.0f ms, %u retr%s%s",
		name, suite.summary.rate_qps, suite.summary.saturation_qps,
		(double)plan->timeout_ns / 1e6, plan->retries, plan->retries == 1 ? "y" : "ies",
		lane_summary_is_disturbed(&suite.summary) ? " " RANGE_DISTURBED : "");
	plot = (struct plot){ .name = name,
		.title = title,
		.goodput = "answers in time /s",
		.shade = plan->trigger == LANE_NO_SCRIPT ? NULL : "the trigger, if nobody stops it",
		.bin_s = LANE_BIN_NS / 1e9,
		.series_count = suite.policy_count };
	for (uint32_t i = 0; i < suite.policy_count; i++)
		plot.series[i] = (struct plot_series){ .name = suite.policies[i]->name,
			.due = suite.traces[i].due,
			.late = suite.traces[i].late,
			.disturbed = suite.measures[i][0].disturbance.disturbed,
			.bin_count = suite.traces[i].bin_count };
	if (plan->trigger != LANE_NO_SCRIPT)
		plot.spans = (struct spans){ .count = 1,
			.list = { { plan->onset_ns, plan->onset_ns + plan->hold_ns } } };
	int status = plot_write(&plot, suite.arguments->options->plot_dir, error);
	forget_traces();
	return status;
}

bool lane_is_disturbed(void)
{
	return lane_summary_is_disturbed(&suite.summary);
}

int lane_command(const struct lane_arguments *arguments, FILE *file, char error[SERVER_ERROR_MAX])
{
	suite.arguments = arguments;
	suite.summary = (struct lane_summary){
		.lane = arguments->lane, .plan = &suite.plan, .options = arguments->options
	};
	lane_session_catch_interrupts();
	suite.policy_count = choose_policies(arguments, suite.policies);
	make_plan(arguments, &suite.plan);
	make_data(&suite.plan, arguments->options, suite.folder, &suite.data);
	int status = find_rate(&suite, error);
	if (status == 0)
		status = run_all(&suite, error);
	if (status == 0) {
		summarise(&suite);
		status = lane_report(file, &suite.summary, arguments->options->format);
		if (status != 0)
			snprintf(error, SERVER_ERROR_MAX, "cannot write the result");
	}
	if (status != 0)
		forget_traces();
	return status;
}
