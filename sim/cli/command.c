/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cancel-sim lane` and `list`: options in, one run, its report out. All input is checked and every
 * output file opened before the run starts; nothing is printed before it has ended well.
 */
#include "sim/cli/command.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/memory.h"
#include "sim/lanes/lanes.h"
#include "sim/scenario/scenario.h"
#include "sim/world/world.h"
#include "common/output.h"

#define NUMBER_MAX   0x1p62
#define FIRST_OPTION 256 /* above what getopt says of errors, ':' and '?' */

/* What every lane takes beside its own keys. */
static const struct sim_key tool_keys[] = {
	{ "set", SIM_KEY_TEXT, "", 0, PATH_MAX, NULL, "" },
	{ "format", SIM_KEY_CHOICE, "table", 0, 0, "table|csv|json", "" },
	{ "plot", SIM_KEY_TEXT, "", 0, PATH_MAX, NULL, "" },
	{ "out", SIM_KEY_TEXT, "", 0, PATH_MAX, NULL, "" },
	{ "table", SIM_KEY_TEXT, "", 0, PATH_MAX, NULL, "" },
	{ "seed", SIM_KEY_INT, "1", 0, NUMBER_MAX, NULL, "" },
	{ "seeds", SIM_KEY_INT, "1", 1, SIM_SEEDS_MAX, NULL, "" },
	{ "max-events", SIM_KEY_INT, "1", 1, NUMBER_MAX, NULL, "" },
	{ "progress", SIM_KEY_FLAG, "no", 0, 0, NULL, "" },
	{ "record", SIM_KEY_TEXT, "", 0, PATH_MAX, NULL, "" },
	{ "help", SIM_KEY_FLAG, "no", 0, 0, NULL, "" },
	{ 0 },
};

struct request {
	struct sim_run run;
	struct sim_options tool;
	char command[128]; /* what came after "cancel-sim" */
	const char *plot_path, *plot_kind, *out_path, *record_path;
};

__attribute__((format(printf, 1, 2))) static int refuse(const char *format, ...)
{
	va_list args;
	fputs("cancel-sim: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return SIM_EXIT_USAGE;
}

/* A long option for every key of the tool, then of the lane; its value is its place. */
static struct option *build_options(const struct request *request)
{
	const struct sim_options *lists[] = { &request->tool, &request->run.options };
	struct option *all = sim_alloc(lists[0]->count + lists[1]->count + 1, sizeof(*all));
	int count = 0;
	for (size_t i = 0; i < lists[0]->count + lists[1]->count; i++) {
		bool own = i < lists[0]->count;
		const struct sim_setting *setting =
			&lists[!own]->settings[own ? i : i - lists[0]->count];
		char *name = sim_copy_text(setting->key->name);
		for (char *at = name; *at; at++)
			*at = *at == '_' ? '-' : *at;
		if (!own && sim_options_find(lists[0], name))
			abort(); /* a lane's key hides an option of the tool */
		all[count] = (struct option){ name,
			own && setting->key->kind == SIM_KEY_FLAG ? no_argument : required_argument,
			NULL, FIRST_OPTION + count };
		count++;
	}
	return all;
}

static void free_options(struct option *all)
{
	for (struct option *option = all; option->name; option++)
		free((char *)(uintptr_t)option->name);
	free(all);
}

/* key=value */
static int set_pair(struct request *request, const char *pair)
{
	char error[SIM_ERROR_MAX];
	const char *equals = strchr(pair, '=');
	if (!equals || equals == pair)
		return refuse("--set takes key=value, not '%.60s'", pair);
	char *key = sim_copy_text(pair);
	key[equals - pair] = '\0';
	int failed = sim_options_set(&request->run.options, key, equals + 1, error);
	free(key);
	return failed ? refuse("%s", error) : 0;
}

static const struct sim_setting *tool(const struct request *request, const char *name)
{
	return sim_options_find(&request->tool, name);
}

static int set_plot(struct request *request, const char *path)
{
	const char *dot = strrchr(path, '.');
	if (!dot || (strcmp(dot, ".svg") != 0 && strcmp(dot, ".png") != 0))
		return refuse("--plot: '%.120s' must end in .svg or .png", path);
	request->plot_path = path;
	request->plot_kind = dot + 1;
	return 0;
}

/* What the tool's options say of the run, where they were given. */
static int read_tool(struct request *request)
{
	struct sim_run *run = &request->run;
	if (tool(request, "seed")->given)
		run->seed = (uint64_t)tool(request, "seed")->integer;
	if (tool(request, "seeds")->given)
		run->seeds = (uint32_t)tool(request, "seeds")->integer;
	if (tool(request, "max-events")->given)
		run->events_limit = (uint64_t)tool(request, "max-events")->integer;
	run->progress = run->progress || tool(request, "progress")->integer;
	request->out_path = tool(request, "out")->given ? tool(request, "out")->text : NULL;
	request->record_path =
		tool(request, "record")->given ? tool(request, "record")->text : NULL;
	return tool(request, "plot")->given ? set_plot(request, tool(request, "plot")->text) : 0;
}

/* The option at `place`, see build_options. */
static int set_option(struct request *request, size_t place, const char *value)
{
	char error[SIM_ERROR_MAX];
	struct sim_options *own = &request->tool, *keys = &request->run.options;
	if (place >= own->count)
		return sim_options_set(
			       keys, keys->settings[place - own->count].key->name, value, error) < 0
			       ? refuse("%s", error)
			       : 0;
	const struct sim_key *key = own->settings[place].key;
	if (strcmp(key->name, "set") == 0)
		return set_pair(request, value);
	if (sim_options_set(own, key->name, value ? value : "yes", error) < 0)
		return refuse("--%s", error);
	return 0;
}

static int parse(struct request *request, int argc, char **argv)
{
	struct option *all = build_options(request);
	int status = 0, option;
	opterr = 0;
	optind = 0;
	while (status == 0 && (option = getopt_long(argc, argv, ":", all, NULL)) != -1) {
		if (option == ':')
			status = refuse("%.60s needs a value", argv[optind - 1]);
		else if (option == '?')
			status = refuse("unknown or ambiguous option '%.60s'; see "
					"cancel-sim %s --help",
				argv[optind - 1], request->command);
		else
			status = set_option(request, (size_t)(option - FIRST_OPTION), optarg);
	}
	free_options(all);
	if (status == 0 && optind < argc)
		status = refuse("unexpected argument '%.60s'", argv[optind]);
	return status ? status : read_tool(request);
}

static void print_help(const struct sim_run *run, const char *command)
{
	char range[SIM_ERROR_MAX];
	printf("usage: cancel-sim %s [options]\n%s\n\n", command, run->lane->what);
	for (size_t i = 0; i < run->options.count; i++) {
		const struct sim_key *key = run->options.settings[i].key;
		sim_key_range(key, range, sizeof(range));
		printf("  --set %s=%s\n      %s (%s)\n", key->name, key->fallback, key->what,
			range);
	}
	printf("\nEvery key is also an option: --set timeout_ms=50 is --timeout-ms 50.\n"
	       "  --format table|csv|json   --table NAME (for csv)   --out FILE\n"
	       "  --plot FILE.svg|FILE.png  --progress\n"
	       "  --seed N                  --seeds N (repetitions; default %u%s)\n"
	       "  --max-events N            bound of one simulated run\n"
	       "  --record FILE             what the controllers see, for cancel-replay: the "
	       "first\n"
	       "                            one's in FILE, the others' in FILE-2, FILE-3 … (at "
	       "most "
	       "64)\n",
		run->lane->seeds > 0 ? run->lane->seeds : 1,
		run->lane->seeds > 0 ? "" : "; nothing here is random");
}

static int draw(struct request *request, struct output *plot)
{
	char error[SIM_ERROR_MAX];
	if (!request->plot_path)
		return 0;
	if (sim_report_draw(request->run.report, plot->temporary, request->plot_kind, error) == 0)
		return 0;
	refuse("%s", error);
	return SIM_EXIT_FAULT;
}

/* Prints into memory first: a report that cannot be printed must leave nothing behind. */
static int print(struct request *request, FILE *to)
{
	char error[SIM_ERROR_MAX], *text = NULL;
	size_t bytes = 0;
	FILE *memory = open_memstream(&text, &bytes);
	if (!memory)
		return refuse("cannot buffer the report: %s", strerror(errno));
	int failed = sim_report_print(request->run.report, &request->run,
		(enum sim_format)tool(request, "format")->integer,
		tool(request, "table")->given ? tool(request, "table")->text : NULL, memory, error);
	fclose(memory);
	int status = failed ? refuse("%s", error) : 0;
	if (!failed && (fwrite(text, 1, bytes, to) != bytes || fflush(to) != 0)) {
		refuse("cannot write the report: %s", strerror(errno));
		status = SIM_EXIT_FAULT;
	}
	free(text);
	return status;
}

static int commit(struct output *output)
{
	if (output_commit(output) == 0)
		return 0;
	refuse("cannot write '%.120s': %s", output->path, strerror(errno));
	return SIM_EXIT_FAULT;
}

static int finish(struct request *request, struct output *plot, struct output *out)
{
	int status = draw(request, plot);
	if (status == 0)
		status = print(request, request->out_path ? out->file : stdout);
	if (status == 0 && request->out_path)
		status = commit(out);
	if (status == 0 && request->plot_path)
		status = commit(plot);
	return status;
}

static int open_output(struct output *output, const char *path)
{
	const char *error = output_open(output, path);
	return error ? refuse("cannot write '%.120s': %s", path, error) : 0;
}

/* What was recorded is part of the answer: a file that is not whole is a failure. */
static int check_records(const struct request *request)
{
	const char *failure = NULL;
	if (!request->record_path)
		return 0;
	uint32_t count = sim_world_recorded(&failure);
	if (failure) {
		refuse("%s", failure);
		return SIM_EXIT_FAULT;
	}
	return count ? 0
		     : refuse("--record: this lane has no controller whose ledgers could be "
			      "recorded");
}

static int execute(struct request *request)
{
	struct output plot = { 0 }, out = { 0 };
	int status = request->plot_path ? open_output(&plot, request->plot_path) : 0;
	if (status == 0 && request->out_path)
		status = open_output(&out, request->out_path);
	if (request->record_path)
		sim_world_record_all(request->record_path);
	if (status == 0 && request->run.lane->run(&request->run) < 0)
		status = refuse("%s", request->run.error);
	if (status == 0)
		status = check_records(request);
	if (status == 0)
		status = finish(request, &plot, &out);
	output_discard(&plot);
	output_discard(&out);
	return status;
}

/* argv[0] is any name; options follow. `scenario` may be NULL. */
static int run_lane(
	const struct sim_lane *lane, struct sim_scenario *scenario, int argc, char **argv)
{
	struct request request = {
		.run = {
			.lane = lane,
			.report = sim_report_new(),
			.seed = 1,
			.seeds = lane->seeds > 0 ? lane->seeds : 1,
			.events_limit = SIM_EVENTS_DEFAULT,
			.progress = isatty(STDERR_FILENO),
		},
	};
	if (lane == &sim_lane_speed)
		snprintf(request.command, sizeof(request.command), "speed");
	else
		snprintf(request.command, sizeof(request.command), "%s %.100s",
			scenario ? "run" : "lane", argv[0]);
	sim_options_init(&request.tool, tool_keys);
	sim_options_init(&request.run.options, lane->keys);
	if (scenario)
		sim_scenario_apply(scenario, &request.run);
	int status = parse(&request, argc, argv);
	if (status == 0 && tool(&request, "help")->integer)
		print_help(&request.run, request.command);
	else if (status == 0)
		status = execute(&request);
	sim_options_free(&request.tool);
	sim_options_free(&request.run.options);
	sim_report_free(request.run.report);
	return status;
}

int sim_command_lane(int argc, char **argv)
{
	if (argc < 1 || argv[0][0] == '-')
		return refuse("lane needs a name or number; see cancel-sim list");
	const struct sim_lane *lane = sim_lane_find(argv[0]);
	if (!lane)
		return refuse("unknown lane '%.60s'; see cancel-sim list", argv[0]);
	return run_lane(lane, NULL, argc, argv);
}

int sim_command_speed(int argc, char **argv)
{
	return run_lane(&sim_lane_speed, NULL, argc, argv);
}

int sim_command_run(int argc, char **argv)
{
	char error[SIM_ERROR_MAX];
	if (argc < 1 || argv[0][0] == '-')
		return refuse("run needs a scenario file; docs/lanes.md shows one");
	struct sim_scenario *scenario = sim_scenario_load(argv[0], error);
	if (!scenario)
		return refuse("%s", error);
	int status = run_lane(sim_scenario_lane(scenario), scenario, argc, argv);
	sim_scenario_free(scenario);
	return status;
}

int sim_command_list(int argc, char **argv)
{
	if (argc > 0)
		return refuse("unexpected argument '%.60s'", argv[0]);
	for (const struct sim_lane *lane = sim_lanes; lane->name; lane++) {
		if (lane->number > 0)
			printf("%3d  %-18s %s\n", lane->number, lane->name, lane->what);
		else
			printf("     %-18s %s\n", lane->name, lane->what);
	}
	return 0;
}
