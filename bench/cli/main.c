/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel-bench: the command line. Owns which command runs and what a user may say to it; each
 * command is a function elsewhere. Status 0, 1 (something went wrong), 2 (bad input), 3 (the
 * machine was disturbed).
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cancel/policy.h>

#include "bench/cases/case.h"
#include "bench/overhead/commands.h"
#include "bench/cli/lane_command.h"
#include "bench/policies/policy.h"
#include "bench/report/plot.h"
#include "bench/report/range_output.h"
#include "bench/report/report.h"
#include "bench/experiment/suite.h"
#include "common/output.h"

#define STATUS_FAILED	 1
#define STATUS_BAD_INPUT 2

const char *argp_program_version = "cancel-bench (libcancel) 0.1.0";

/* ---- list ------------------------------------------------------------------------------------ */

static void print_wrapped(const char *name, const char *what)
{
	printf("  %-18s %s\n", name, what);
}

static int command_list(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		puts("Usage: cancel-bench list\nThe cases, live lanes and policies, a line each.");
		return 0;
	}
	if (argc > 1)
		bench_refuse("list takes no arguments");
	puts("cases:");
	for (const struct bench_case *const *c = bench_cases; *c; c++)
		print_wrapped((*c)->name, (*c)->what);
	puts("live lanes, against a server process:");
	for (const struct lane *const *lane = lanes; *lane; lane++)
		if (!(*lane)->of_case)
			print_wrapped((*lane)->name, (*lane)->what);
	for (const struct lane *const *lane = lanes; *lane; lane++)
		if ((*lane)->of_case)
			printf("  %-11s --wire %s\n", (*lane)->name, (*lane)->what);
	puts("policies (reference, the same load without the culprit, always runs):");
	for (const struct bench_policy *const *p = bench_policies; *p; p++)
		print_wrapped((*p)->name, (*p)->what);
	puts("policies of the live lanes:");
	for (const struct lane_policy *p = lane_policies; p->name; p++)
		print_wrapped(p->name, p->what);
	puts("policies of the library (cancel:NAME, monitor:NAME):");
	for (const struct cancel_policy *const *p = cancel_policies; *p; p++)
		print_wrapped((*p)->name, (*p)->what);
	puts("estimators of the library (cancel:POLICY/NAME):");
	for (const struct cancel_estimator *const *e = cancel_estimators; *e; e++)
		print_wrapped((*e)->name, (*e)->what);
	return 0;
}

/* ---- run ------------------------------------------------------------------------------------- */

enum {
	OPT_POLICY = 256,
	OPT_RATE,
	OPT_RHO,
	OPT_SECONDS,
	OPT_REPS,
	OPT_SEED,
	OPT_SLO_MS,
	OPT_SLO_RATIO,
	OPT_POOL,
	OPT_WORKERS,
	OPT_DATA,
	OPT_FORMAT,
	OPT_OUT,
	OPT_PLOT,
	OPT_ARRIVALS,
	OPT_SHARE,
	OPT_SATURATE,
	OPT_BATCH,
	OPT_RERUN,
	OPT_QUIET,
	OPT_ALLOW_DISTURBED,
};

static const struct argp_option run_options[] = {
	{ "policy", OPT_POLICY, "P,P", 0, "policies to compare [the case's]; see list", 1 },
	{ "rate", OPT_RATE, "N", 0, "requests a second [rho of the measured saturation]", 1 },
	{ "rho", OPT_RHO, "X", 0, "share of the saturated rate to offer [0.6]", 1 },
	{ "seconds", OPT_SECONDS, "N", 0, "length of each run [the case's]", 1 },
	{ "reps", OPT_REPS, "N", 0,
		"repetitions, each with its own schedule [1]; from 6 on with "
		"a 95 % interval of the median",
		1 },
	{ "seed", OPT_SEED, "N", 0, "of the schedule and the questions [1]", 1 },
	{ "slo-ms", OPT_SLO_MS, "X", 0, "what a request may take", 2 },
	{ "slo-ratio", OPT_SLO_RATIO, "X", 0,
		"the same as a multiple of the p99 of the reference's median second, at least 5 ms "
		"[10]",
		2 },
	{ "arrivals", OPT_ARRIVALS, "fixed|poisson", 0, "gaps between requests [fixed]", 2 },
	{ "pool-mb", OPT_POOL, "N", 0, "page pool, MiB [64]; the data set grows with it", 3 },
	{ "workers", OPT_WORKERS, "N", 0, "worker slots of the engine [8]", 3 },
	{ "data", OPT_DATA, "DIR", 0, "where the data set is made once [build/data]", 3 },
	{ "format", OPT_FORMAT, "table|json|csv", 0, "of the result [table]", 4 },
	{ "out", OPT_OUT, "FILE", 0, "write the result there, whole or not at all", 4 },
	{ "plot", OPT_PLOT, "DIR", 0, "draw goodput and late share over time (SVG, PNG)", 4 },
	{ "quiet", OPT_QUIET, NULL, 0, "no progress on standard error", 4 },
	{ "allow-disturbed", OPT_ALLOW_DISTURBED, NULL, 0,
		"on a machine that is busy otherwise: run nothing again, and mark what was "
		"disturbed",
		4 },
	{ "share", OPT_SHARE, "X", 0, "dump: that per cent of the requests are dumps", 5 },
	{ "saturate", OPT_SATURATE, NULL, 0,
		"dump: the largest throughput, at a share of 0, 0.001 and 0.01 % or that given",
		5 },
	{ "batch", OPT_BATCH, NULL, 0,
		"backup-lock: one write over several tables against many small ones", 5 },
	{ "rerun", OPT_RERUN, NULL, 0,
		"the culprit is one autocommit statement, which is run again after its cancel", 5 },
	{ 0 },
};

struct run_arguments {
	struct bench_options options;
	const struct bench_case *bench_case;
	struct lane_options lane_options;
	const struct lane *lane; /* in place of a case */
	const char *policies;
};

static enum report_format parse_format(const char *text)
{
	if (strcmp(text, "table") == 0)
		return FORMAT_TABLE;
	if (strcmp(text, "json") == 0)
		return FORMAT_JSON;
	if (strcmp(text, "csv") == 0)
		return FORMAT_CSV;
	bench_refuse("--format: '%s' is not table, json or csv", text);
}

static bool parse_arrivals(const char *text)
{
	if (strcmp(text, "poisson") != 0 && strcmp(text, "fixed") != 0)
		bench_refuse("--arrivals: '%s' is not fixed or poisson", text);
	return text[0] == 'p';
}

static bool parse_load(int key, const char *text, struct bench_options *options)
{
	switch (key) {
	case OPT_RATE:
		options->rate_qps = options_number("--rate", text, 1, 1e6);
		return true;
	case OPT_RHO:
		options->rho = options_number("--rho", text, 0.01, 2);
		options->rho_given = true;
		return true;
	case OPT_SECONDS:
		options->seconds = (uint32_t)options_integer("--seconds", text, 1, 3600);
		return true;
	case OPT_REPS:
		options->reps = (uint32_t)options_integer("--reps", text, 1, OPTIONS_REPS_MAX);
		return true;
	case OPT_SEED:
		options->seed = options_integer("--seed", text, 0, INT64_MAX);
		return true;
	case OPT_SLO_MS:
		options->slo_ms = options_number("--slo-ms", text, 0.1, 60000);
		return true;
	case OPT_SLO_RATIO:
		options->slo_ratio = options_number("--slo-ratio", text, 1.01, 10000);
		options->slo_ratio_given = true;
		return true;
	case OPT_ARRIVALS:
		options->poisson = parse_arrivals(text);
		return true;
	case OPT_SHARE:
		options->share_pct = options_number("--share", text, 0, 1);
		return true;
	default:
		return false;
	}
}

static error_t parse_run(int key, char *text, struct argp_state *state)
{
	struct run_arguments *arguments = state->input;
	struct bench_options *options = &arguments->options;
	if (parse_load(key, text, options))
		return 0;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->lane_options;
		break;
	case OPT_POLICY:
		arguments->policies = text; /* what there is depends on the case */
		break;
	case OPT_POOL:
		options->pool_mb = (uint32_t)options_integer("--pool-mb", text, 4, 65536);
		options->pool_given = true;
		break;
	case OPT_WORKERS:
		options->workers = (uint32_t)options_integer("--workers", text, 1, 256);
		options->workers_given = true;
		break;
	case OPT_DATA:
		options->data_dir = text;
		break;
	case OPT_FORMAT:
		options->format = parse_format(text);
		break;
	case OPT_OUT:
		options->out_path = text;
		break;
	case OPT_PLOT:
		options->plot_dir = text;
		break;
	case OPT_SATURATE:
		options->saturate = true;
		break;
	case OPT_BATCH:
		options->batch = true;
		break;
	case OPT_RERUN:
		options->rerun = true;
		break;
	case OPT_QUIET:
		options->quiet = true;
		break;
	case OPT_ALLOW_DISTURBED:
		options->allow_disturbed = true;
		break;
	case ARGP_KEY_ARG:
		if (arguments->bench_case || arguments->lane)
			bench_refuse("run takes one case, and '%s' is a second", text);
		arguments->bench_case = bench_case_find(text);
		arguments->lane = lane_find(text, false);
		if (!arguments->bench_case && !arguments->lane)
			bench_refuse("unknown case '%s'; 'cancel-bench list' names them", text);
		break;
	case ARGP_KEY_NO_ARGS:
		bench_refuse("run needs a case; 'cancel-bench list' names them");
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void check_case_options(const struct run_arguments *arguments)
{
	const struct bench_options *options = &arguments->options;
	const struct bench_case *bench_case = arguments->bench_case;
	if (arguments->lane_options.given)
		bench_refuse("run %s: --%s is an option of the live lanes; 'cancel-bench list' "
			     "names them",
			bench_case->name, arguments->lane_options.given);
	if ((options->saturate || options->share_pct >= 0) && bench_case != &case_dump)
		bench_refuse("--share and --saturate belong to the case dump");
	if (options->batch && bench_case != &case_backup_lock)
		bench_refuse("--batch belongs to the case backup-lock");
	if (options->rerun && (!bench_case->has_culprit || options->batch))
		bench_refuse("--rerun needs a case with a culprit, and goes not with --batch");
	for (uint32_t i = 0; options->saturate && i < options->policy_count; i++)
		if (strcmp(options->policies[i], "none") != 0 &&
			strncmp(options->policies[i], "cancel", strlen("cancel")) != 0)
			bench_refuse("--saturate compares none and cancel, not %s",
				options->policies[i]);
	if (options->plot_dir && options->saturate)
		bench_refuse("--plot needs runs over time, and --saturate has none");
}

static int plot_result(
	const struct suite_result *result, const char *folder, char error[TARGET_ERROR_MAX])
{
	static struct plot plot;
	char title[128];
	const struct summary *summary = &result->summary;
	snprintf(title, sizeof title, "%s: %.0f requests/s offered, SLO %.1f ms%s",
		summary->case_name, summary->rate_qps, summary->slo_ms,
		summary_is_disturbed(summary) ? " " RANGE_DISTURBED : "");
	plot = (struct plot){ .name = summary->case_name,
		.title = title,
		.goodput = "answers within SLO /s",
		.shade = "the culprit runs if nobody stops it",
		.bin_s = MEASURE_BIN_NS / 1e9,
		.series_count = result->trace_count,
		.spans = result->spans };
	for (uint32_t i = 0; i < result->trace_count; i++)
		plot.series[i] = (struct plot_series){ .name = result->traces[i].policy,
			.disturbed = result->traces[i].disturbed,
			.due = result->traces[i].due,
			.late = result->traces[i].late,
			.bin_count = result->traces[i].bin_count };
	return plot_write(&plot, folder, error);
}

static int report_result(const struct bench_options *options, const struct suite_result *result,
	struct output *output)
{
	char error[TARGET_ERROR_MAX];
	if (report_write(output->file, &result->summary, options->format) != 0 ||
		output_commit(output) != 0) {
		fprintf(stderr, "cancel-bench: cannot write the result: %s\n", strerror(errno));
		return STATUS_FAILED;
	}
	if (!options->plot_dir)
		return 0;
	if (plot_result(result, options->plot_dir, error) != 0) {
		fprintf(stderr, "cancel-bench: %s\n", error);
		return STATUS_FAILED;
	}
	return 0;
}

/* The result is there, and its rows say which of them were disturbed. */
static int judge_result(const struct bench_options *options, bool is_disturbed)
{
	if (!is_disturbed || options->allow_disturbed)
		return 0;
	fputs("cancel-bench: rows are marked as disturbed; try a quiet machine, or "
	      "--allow-disturbed\n",
		stderr);
	return DISTURBANCE_EXIT_STATUS;
}

/* Loads that were measured before one that could not be are reported. */
static int finish_run(const struct bench_options *options, const struct suite_result *result,
	int status, const char *error, struct output *output)
{
	int reported = 0;
	if (status == 0 || (status > 0 && result->summary.row_count))
		reported = report_result(options, result, output);
	if (reported != 0)
		return reported;
	if (status == 0)
		return judge_result(options, summary_is_disturbed(&result->summary));
	fprintf(stderr, "cancel-bench: %s\n", error);
	return status < 0 ? STATUS_BAD_INPUT : status;
}

/* ---- run LANE -------------------------------------------------------------------------------- */

static void check_lane_options(const struct run_arguments *arguments)
{
	const struct bench_options *options = &arguments->options;
	if (options->saturate || options->batch || options->rerun || options->share_pct >= 0)
		bench_refuse("run %s: --saturate, --share, --batch and --rerun belong to the other "
			     "cases",
			arguments->lane->name);
	if (options->slo_ratio_given)
		bench_refuse("run %s: --slo-ratio needs a reference, and a lane has none; say "
			     "--slo-ms",
			arguments->lane->name);
}

static int run_lane(const struct run_arguments *arguments)
{
	struct output output;
	char error[TARGET_ERROR_MAX] = "";
	const struct lane_arguments lane_arguments = { .lane = arguments->lane,
		.options = &arguments->options,
		.lane_options = &arguments->lane_options,
		.policies = arguments->policies };
	check_lane_options(arguments);
	lane_check(&lane_arguments);
	if (arguments->options.plot_dir)
		plot_check(arguments->options.plot_dir);
	const char *unwritable = output_open(&output, arguments->options.out_path);
	if (unwritable)
		bench_refuse(
			"--out: cannot write '%s': %s", arguments->options.out_path, unwritable);
	int status = lane_command(&lane_arguments, output.file, error);
	if (status == 0 && output_commit(&output) != 0) {
		snprintf(error, sizeof error, "cannot write the result: %s", strerror(errno));
		status = -1;
	}
	if (status == 0 && arguments->options.plot_dir)
		status = lane_draw(error); /* the result is there, whatever becomes of it */
	if (status != 0)
		fprintf(stderr, "cancel-bench: %s\n", error);
	output_discard(&output);
	if (status == 0)
		return judge_result(&arguments->options, lane_is_disturbed());
	return status < 0 ? STATUS_FAILED : status;
}

static void choose_wire(struct run_arguments *arguments)
{
	const char *name = arguments->lane ? arguments->lane->name : arguments->bench_case->name;
	arguments->lane = lane_find(name, true);
	if (!arguments->lane)
		bench_refuse("--wire belongs to the cases dump, backup-lock and scan-backup");
}

static int command_run(int argc, char **argv)
{
	static struct suite_result result;
	struct run_arguments arguments = { 0 };
	struct output output;
	char error[TARGET_ERROR_MAX] = "";
	const struct argp_child children[] = { { &lane_argp, 0, NULL, 0 }, { 0 } };
	options_defaults(&arguments.options);
	lane_options_defaults(&arguments.lane_options);
	struct argp argp = { .options = run_options,
		.parser = parse_run,
		.args_doc = "CASE",
		.doc = "Runs one case under each policy, with the same load.",
		.children = children };
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	if (arguments.lane_options.wire)
		choose_wire(&arguments);
	if (arguments.lane)
		return run_lane(&arguments);
	if (!arguments.policies)
		arguments.policies =
			arguments.options.saturate ? "none,cancel" : arguments.bench_case->policies;
	options_policies(&arguments.options, arguments.policies);
	check_case_options(&arguments);
	if (arguments.options.plot_dir)
		plot_check(arguments.options.plot_dir);
	const char *unwritable = output_open(&output, arguments.options.out_path);
	if (unwritable)
		bench_refuse(
			"--out: cannot write '%s': %s", arguments.options.out_path, unwritable);
	int status = arguments.options.saturate
			     ? saturate_run(&arguments.options, &result, error)
			     : suite_run(&arguments.options, arguments.bench_case, &result, error);
	status = finish_run(&arguments.options, &result, status, error, &output);
	output_discard(&output);
	suite_free(&result);
	return status;
}

/* ---- Which command --------------------------------------------------------------------------- */

static const struct command {
	const char *name, *what;
	int (*run)(int argc, char **argv);
	bool hidden;
} commands[] = {
	{ "list", "the cases and policies, a line each", command_list, false },
	{ "run", "one case under each policy; run --help", command_run, false },
#ifndef CANCEL_OFF
	{ "micro", "what the library's calls cost", command_micro, false },
#endif
	{ "overhead", "what the instrumentation costs the engine", command_overhead, false },
	{ "slices", "a measured process of overhead", command_slices, true },
	{ "count", "a counted process of overhead", command_count, true },
};
#define COMMANDS (sizeof commands / sizeof *commands)

static void print_help(void)
{
	puts("Usage: cancel-bench COMMAND [OPTION...]\n"
	     "Reproduces overloads on a real engine and compares what stops them.\n");
	for (size_t i = 0; i < COMMANDS; i++)
		if (!commands[i].hidden)
			printf("  %-10s %s\n", commands[i].name, commands[i].what);
	puts("\n  cancel-bench run dump --policy none,cancel\n"
	     "  cancel-bench run backup-lock --format json --out result.json\n"
	     "\nDocumentation: docs/bench.md");
}

/* argp takes the name it shows from argv[0]. */
static int run_command(const struct command *command, int argc, char **argv)
{
	char title[32];
	snprintf(title, sizeof title, "cancel-bench %s", command->name);
	argv[0] = title;
	return command->run(argc, argv);
}

int main(int argc, char **argv)
{
	argp_err_exit_status = STATUS_BAD_INPUT;
	if (argc < 2)
		bench_refuse("a command is missing; 'cancel-bench --help' lists them");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
		strcmp(argv[1], "help") == 0) {
		print_help();
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts(argp_program_version);
		return 0;
	}
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return run_command(&commands[i], argc - 1, argv + 1);
	bench_refuse("unknown command '%s'; 'cancel-bench --help' lists them", argv[1]);
}
