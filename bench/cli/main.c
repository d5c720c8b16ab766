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
#include "bench/cli/run_options.h"
#include "bench/overhead/commands.h"
#include "bench/policies/policy.h"
#include "bench/report/plot.h"
#include "bench/report/range_output.h"
#include "bench/report/report.h"
#include "bench/experiment/picture.h"
#include "common/output.h"

#define STATUS_FAILED	 1
#define STATUS_BAD_INPUT 2

const char *argp_program_version = "cancel-bench (libcancel) 0.1.0";

/* ---- list ------------------------------------------------------------------------------------ */

static void print_wrapped(const char *name, const char *what)
{
	printf("  %-18s %s\n", name, what);
}

static void list_cases(const char *title, enum bench_target target)
{
	puts(title);
	for (const struct bench_case *const *c = bench_cases; *c; c++)
		if ((*c)->what[target])
			print_wrapped((*c)->name, (*c)->what[target]);
}

static void list_policies(const char *title, enum bench_target target)
{
	puts(title);
	for (const struct bench_policy *const *p = bench_policies; *p; p++)
		if ((*p)->what[target])
			print_wrapped((*p)->name, (*p)->what[target]);
}

static int command_list(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		puts("Usage: cancel-bench list\nThe cases and policies, a line each.");
		return 0;
	}
	if (argc > 1)
		bench_refuse("list takes no arguments");
	list_cases("cases:", ENGINE_TARGET);
	list_cases("cases of a server process (--target server), whose clients time out and retry:",
		SERVER_TARGET);
	list_policies("policies (reference, the same load without the culprit, always runs):",
		ENGINE_TARGET);
	list_policies("policies of a server process:", SERVER_TARGET);
	puts("policies of the library (cancel:NAME, monitor:NAME):");
	for (const struct cancel_policy *const *p = cancel_policies; *p; p++)
		print_wrapped((*p)->name, (*p)->what);
	puts("estimators of the library (cancel:POLICY/NAME):");
	for (const struct cancel_estimator *const *e = cancel_estimators; *e; e++)
		print_wrapped((*e)->name, (*e)->what);
	return 0;
}

/* ---- run ------------------------------------------------------------------------------------- */

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
	if (picture_draw(result, options->plot_dir, error) != 0) {
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
	if (status > 0)
		return status;
	return options->target == SERVER_TARGET ? STATUS_FAILED : STATUS_BAD_INPUT;
}

static int run_suite(
	const struct run_arguments *arguments, struct suite_result *result, char *error)
{
	const struct bench_options *options = &arguments->options;
	if (options->saturate)
		return saturate_run(options, result, error);
	return suite_run(options, arguments->bench_case, result, error);
}

static int command_run(int argc, char **argv)
{
	static struct suite_result result;
	struct run_arguments arguments;
	const struct bench_options *options = &arguments.options;
	struct output output;
	char error[TARGET_ERROR_MAX] = "";
	run_options_parse(argc, argv, &arguments);
	if (options->plot_dir)
		plot_check(options->plot_dir);
	const char *unwritable = output_open(&output, options->out_path);
	if (unwritable)
		bench_refuse("--out: cannot write '%s': %s", options->out_path, unwritable);
	int status = run_suite(&arguments, &result, error);
	status = finish_run(options, &result, status, error, &output);
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
