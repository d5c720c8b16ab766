/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what a user may say to `cancel-bench run`. */
#include "bench/cli/run_options.h"

#include <argp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "bench/experiment/suite.h"
#include "bench/policies/policy.h"

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
	OPT_TARGET,
	OPT_WIRE,
	OPT_STALL, /* from here on of a server only */
	OPT_TIMEOUT,
	OPT_RETRIES,
	OPT_SERVICE,
	OPT_CONNECTIONS,
	OPT_TRIGGER,
	OPT_CPU,
	OPT_RESENDS,
};

static const struct argp_option run_options[] = {
	{ "target", OPT_TARGET, "engine|server", 0,
		"the engine in this process, or a server process whose clients time out and retry "
		"[the engine, where the case has a plan for it]",
		1 },
	{ "wire", OPT_WIRE, NULL, 0, "the same as --target server", 1 },
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
	{ NULL, 0, NULL, 0, "On a server, whose clients time out and retry:", 20 },
	{ "stall", OPT_STALL, "S", 0, "seconds the trigger lasts if left alone [the case's]", 20 },
	{ "timeout-ms", OPT_TIMEOUT, "X", 0,
		"a client waits so long [half the trigger, at most 1 s]", 20 },
	{ "retries", OPT_RETRIES, "N", 0, "attempts after the first [1]", 20 },
	{ "service-ms", OPT_SERVICE, "N", 0, "what a statement keeps its worker [40]", 20 },
	{ "connections", OPT_CONNECTIONS, "N", 0, "most connections of clients [6000]", 20 },
	{ "trigger", OPT_TRIGGER, "pause|lock|checkpoint", 0,
		"stall: what makes it stand still [pause]", 20 },
	{ "cpu", OPT_CPU, NULL, 0, "reads that cost CPU in place of a pinned service time", 20 },
	{ "culprit-retries", OPT_RESENDS, "N", 0,
		"a culprit that is cancelled is sent again, so often [0]", 20 },
	{ 0 },
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

/* Where the value of an option goes, and what it may be. */
static const struct field {
	int key;
	enum { NUMBER, COUNT, SEED, TEXT, FLAG } type;
	size_t at;
	double low, high;
	size_t given_at; /* of a flag that says it was given; 0: there is none */
} fields[] = {
#define AT(name) offsetof(struct bench_options, name)
	{ OPT_RATE, NUMBER, AT(rate_qps), 1, 1e6, 0 },
	{ OPT_RHO, NUMBER, AT(rho), 0.01, 2, AT(rho_given) },
	{ OPT_SECONDS, COUNT, AT(seconds), 1, 3600, 0 },
	{ OPT_REPS, COUNT, AT(reps), 1, OPTIONS_REPS_MAX, 0 },
	{ OPT_SEED, SEED, AT(seed), 0, 0, 0 },
	{ OPT_SLO_MS, NUMBER, AT(slo_ms), 0.1, 60000, 0 },
	{ OPT_SLO_RATIO, NUMBER, AT(slo_ratio), 1.01, 10000, AT(slo_ratio_given) },
	{ OPT_SHARE, NUMBER, AT(share_pct), 0, 1, 0 },
	{ OPT_POOL, COUNT, AT(pool_mb), 4, 65536, AT(pool_given) },
	{ OPT_WORKERS, COUNT, AT(workers), 1, 256, AT(workers_given) },
	{ OPT_DATA, TEXT, AT(data_dir), 0, 0, 0 },
	{ OPT_OUT, TEXT, AT(out_path), 0, 0, 0 },
	{ OPT_PLOT, TEXT, AT(plot_dir), 0, 0, 0 },
	{ OPT_QUIET, FLAG, AT(quiet), 0, 0, 0 },
	{ OPT_ALLOW_DISTURBED, FLAG, AT(allow_disturbed), 0, 0, 0 },
	{ OPT_SATURATE, FLAG, AT(saturate), 0, 0, 0 },
	{ OPT_BATCH, FLAG, AT(batch), 0, 0, 0 },
	{ OPT_RERUN, FLAG, AT(rerun), 0, 0, 0 },
	{ OPT_STALL, NUMBER, AT(stall_s), 0.1, 600, 0 },
	{ OPT_TIMEOUT, NUMBER, AT(timeout_ms), 1, 600000, 0 },
	{ OPT_RETRIES, COUNT, AT(retries), 0, 100, 0 },
	{ OPT_SERVICE, COUNT, AT(service_ms), 1, 1000, 0 },
	{ OPT_CONNECTIONS, COUNT, AT(connections), 16, 16000, 0 },
	{ OPT_TRIGGER, TEXT, AT(trigger), 0, 0, 0 },
	{ OPT_CPU, FLAG, AT(cpu), 0, 0, 0 },
	{ OPT_RESENDS, COUNT, AT(resends), 0, 100, 0 },
#undef AT
};

static const char *name_of(int key)
{
	const struct argp_option *option = run_options;
	while (option->key != key)
		option++;
	return option->name;
}

static void store(const struct field *field, char *text, struct bench_options *options)
{
	char *at = (char *)options + field->at, name[32];
	snprintf(name, sizeof name, "--%s", name_of(field->key));
	switch (field->type) {
	case NUMBER:
		*(double *)(void *)at = options_number(name, text, field->low, field->high);
		break;
	case COUNT:
		*(uint32_t *)(void *)at = (uint32_t)options_integer(
			name, text, (uint64_t)field->low, (uint64_t)field->high);
		break;
	case SEED:
		*(uint64_t *)(void *)at = options_integer(name, text, 0, INT64_MAX);
		break;
	case TEXT:
		*(const char **)(void *)at = text;
		break;
	case FLAG:
		*(bool *)at = true;
		break;
	}
	if (field->given_at)
		*((bool *)options + field->given_at) = true;
	if (field->key >= OPT_STALL)
		options->server_only_given = name_of(field->key);
}

static bool store_field(int key, char *text, struct bench_options *options)
{
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (fields[i].key == key) {
			store(&fields[i], text, options);
			return true;
		}
	return false;
}

static enum bench_target parse_target(const char *text)
{
	if (strcmp(text, "engine") == 0)
		return ENGINE_TARGET;
	if (strcmp(text, "server") == 0)
		return SERVER_TARGET;
	bench_refuse("--target: '%s' is not engine or server", text);
}

static error_t parse_run(int key, char *text, struct argp_state *state)
{
	struct run_arguments *arguments = state->input;
	struct bench_options *options = &arguments->options;
	if (store_field(key, text, options))
		return 0;
	switch (key) {
	case OPT_FORMAT:
		options->format = parse_format(text);
		break;
	case OPT_ARRIVALS:
		options->poisson = parse_arrivals(text);
		break;
	case OPT_TARGET:
	case OPT_WIRE:
		options->target = parse_target(key == OPT_WIRE ? "server" : text);
		arguments->target_given = true;
		break;
	case OPT_POLICY:
		arguments->policies = text; /* what there is depends on the case */
		break;
	case ARGP_KEY_ARG:
		if (arguments->bench_case)
			bench_refuse("run takes one case, and '%s' is a second", text);
		arguments->bench_case = bench_case_find(text);
		if (!arguments->bench_case)
			bench_refuse("unknown case '%s'; 'cancel-bench list' names them", text);
		break;
	case ARGP_KEY_NO_ARGS:
		bench_refuse("run needs a case; 'cancel-bench list' names them");
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void check_engine_options(
	const struct bench_options *options, const struct bench_case *bench_case)
{
	if (options->server_only_given)
		bench_refuse("run %s: --%s belongs to --target server", bench_case->name,
			options->server_only_given);
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

static void check_server_options(
	const struct bench_options *options, const struct bench_case *bench_case)
{
	if (options->saturate || options->batch || options->rerun || options->share_pct >= 0)
		bench_refuse("run %s: --saturate, --share, --batch and --rerun belong to the other "
			     "cases",
			bench_case->name);
	if (options->slo_ratio_given)
		bench_refuse("run %s: --slo-ratio needs a reference, and on a server there is "
			     "none; say --slo-ms",
			bench_case->name);
	if (options->trigger && bench_case != &case_stall)
		bench_refuse("--trigger belongs to the case stall");
	if (options->cpu && bench_case != &case_stall && bench_case != &case_dump_storm &&
		!bench_case->what[ENGINE_TARGET])
		bench_refuse(
			"--cpu belongs to stall, dump-storm, dump, backup-lock and scan-backup");
	if (options->trigger && strcmp(options->trigger, "pause") != 0 &&
		strcmp(options->trigger, "lock") != 0 &&
		strcmp(options->trigger, "checkpoint") != 0)
		bench_refuse("--trigger: '%s' is not pause, lock or checkpoint", options->trigger);
	if (options->cpu && options->service_ms)
		bench_refuse("--service-ms pins what --cpu leaves open: one of them");
	suite_check(options, bench_case);
}

/* The case's own target where none is named. */
static void choose_target(struct run_arguments *arguments)
{
	struct bench_options *options = &arguments->options;
	const struct bench_case *bench_case = arguments->bench_case;
	if (!arguments->target_given && !bench_case->what[ENGINE_TARGET])
		options->target = SERVER_TARGET;
	if (!bench_case->what[options->target])
		bench_refuse("--target: the case %s has no plan for %s; 'cancel-bench list' names "
			     "those that have",
			bench_case->name,
			options->target == SERVER_TARGET ? "a server" : "the engine");
}

static const char *default_policies(
	const struct bench_options *options, const struct bench_case *bench_case)
{
	return options->saturate ? "none,cancel" : bench_case->policies[options->target];
}

void run_options_parse(int argc, char **argv, struct run_arguments *arguments)
{
	const struct argp argp = { .options = run_options,
		.parser = parse_run,
		.args_doc = "CASE",
		.doc = "Runs one case under each policy, with the same load." };
	struct bench_options *options = &arguments->options;
	*arguments = (struct run_arguments){ 0 };
	options_defaults(options);
	argp_parse(&argp, argc, argv, 0, NULL, arguments);
	choose_target(arguments);
	options_policies(options, arguments->policies
					  ? arguments->policies
					  : default_policies(options, arguments->bench_case));
	if (options->target == SERVER_TARGET)
		check_server_options(options, arguments->bench_case);
	else
		check_engine_options(options, arguments->bench_case);
}
