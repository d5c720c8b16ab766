/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how the costs of single calls are printed, beside their budgets. They are measured in
 * micro.c. */
#include "bench/overhead/commands.h"

#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include <cancel/cancel.h>

#include "bench/overhead/micro.h"
#include "bench/report/report.h"
#include "common/output.h"

#define STATUS_FAILED	      1
#define PAIR_COARSE_NS	      5
#define PAIR_PRECISE_NS	      25
#define PRECISE_OF_TWO_STAMPS 1.3
#define TASK_NS		      100
#define CONTROLLER_1000_US    100
#define CONTROLLER_100000_US  20000

struct micro_arguments {
	bool json;
	const char *out_path;
};

enum { OPT_FORMAT = 256, OPT_OUT };

static const struct argp_option options_table[] = {
	{ "format", OPT_FORMAT, "table|json", 0, "of the result [table]", 1 },
	{ "out", OPT_OUT, "FILE", 0, "write the result there, whole or not at all", 1 },
	{ 0 },
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct micro_arguments *arguments = state->input;
	switch (key) {
	case OPT_FORMAT:
		if (strcmp(text, "table") != 0 && strcmp(text, "json") != 0)
			bench_refuse("--format: '%s' is not table or json", text);
		arguments->json = text[0] == 'j';
		return 0;
	case OPT_OUT:
		arguments->out_path = text;
		return 0;
	case ARGP_KEY_ARG:
		bench_refuse("micro takes no arguments, and '%s' is one", text);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static double precise_budget(const struct micro_result *result)
{
	double stamps_ns = PRECISE_OF_TWO_STAMPS * 2 * result->stamp_ns;
	return stamps_ns > PAIR_PRECISE_NS ? stamps_ns : PAIR_PRECISE_NS;
}

static int write_json(FILE *file, const struct micro_result *result)
{
	json_t *root = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:{s:f, s:f}, s:f}",
		"stamp_ns", result->stamp_ns, "pair_coarse_ns", result->pair_coarse_ns,
		"pair_precise_ns", result->pair_precise_ns, "pair_precise_budget_ns",
		precise_budget(result), "task_ns", result->task_ns, "task_used_ns",
		result->task_used_ns, "requested_ns", result->requested_ns, "controller_us", "1000",
		result->controller_1000_us, "100000", result->controller_100000_us,
		"controller_waits_us", result->controller_waits_us);
	int status = json_dumpf(root, file, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	fputc('\n', file);
	json_decref(root);
	return status;
}

static void line(FILE *file, const char *what, double value, const char *unit, double budget)
{
	fprintf(file, "%-56s %10.2f %s", what, value, unit);
	if (budget > 0)
		fprintf(file, "   budget %.0f%s", budget, value > budget ? ": MISSED" : "");
	fputc('\n', file);
}

static int write_table(FILE *file, const struct micro_result *result)
{
	line(file, "one precise time stamp", result->stamp_ns, "ns", 0);
	line(file, "getResourceAt + freeResourceAt, normal", result->pair_coarse_ns, "ns",
		PAIR_COARSE_NS);
	line(file, "getResourceAt + freeResourceAt, precise", result->pair_precise_ns, "ns",
		precise_budget(result));
	line(file, "createCancel + freeCancel", result->task_ns, "ns", TASK_NS);
	line(file, "the same with a lock and a slot taken and given back", result->task_used_ns,
		"ns", 0);
	line(file, "cancelRequested", result->requested_ns, "ns", 0);
	line(file, "controller turn, 1,000 tasks of 16 entries, all held",
		result->controller_1000_us, "us", CONTROLLER_1000_US);
	line(file, "controller turn, 1,000 tasks of 16 entries, all waiting",
		result->controller_waits_us, "us", 0);
	line(file, "controller turn, 100,000 tasks of 2 entries", result->controller_100000_us,
		"us", CONTROLLER_100000_US);
	return ferror(file) ? -1 : 0;
}

int command_micro(int argc, char **argv)
{
	struct micro_arguments arguments = { 0 };
	struct micro_result result;
	struct output output;
	struct argp argp = { .options = options_table,
		.parser = parse,
		.doc = "Measures what single calls of the library cost, in about three seconds." };
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	const char *unwritable = output_open(&output, arguments.out_path);
	if (unwritable)
		bench_refuse("--out: cannot write '%s': %s", arguments.out_path, unwritable);
	int status = micro_run(&result);
	if (status != 0) {
		fprintf(stderr, "cancel-bench: %s\n", cancel_error_text(status));
		return STATUS_FAILED;
	}
	status = arguments.json ? write_json(output.file, &result)
				: write_table(output.file, &result);
	if (status == 0 && output_commit(&output) == 0)
		return 0;
	fprintf(stderr, "cancel-bench: cannot write the result: %s\n", strerror(errno));
	return STATUS_FAILED;
}
