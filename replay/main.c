/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel-replay: options, and which command.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/command.h"

enum {
	OPTION_FORMAT = 1000,
	OPTION_ALL,
	OPTION_POLICY,
	OPTION_ESTIMATOR,
	OPTION_SET,
	OPTION_SLO,
	OPTION_HELP,
	OPTION_VERSION
};

static const struct option options[] = {
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "all", no_argument, NULL, OPTION_ALL },
	{ "policy", required_argument, NULL, OPTION_POLICY },
	{ "estimator", required_argument, NULL, OPTION_ESTIMATOR },
	{ "set", required_argument, NULL, OPTION_SET },
	{ "slo-ms", required_argument, NULL, OPTION_SLO },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ 0 },
};

static void usage(FILE *out)
{
	fputs("usage: cancel-replay [OPTION…] FILE…\n"
	      "       cancel-replay score [OPTION…] FOLDER…\n\n"
	      "Judges again what a record holds: the files of one record, the oldest first\n"
	      "(PATH.3 PATH.2 PATH.1 PATH). Without changes the verdicts are those of the "
	      "recording.\n"
	      "score compares the verdicts on each record of a folder with its labels.txt.\n\n"
	      "  --format text|json\n"
	      "  --all                    every look, not only those that bring news\n"
	      "  --policy NAME            another policy,\n"
	      "  --estimator NAME         another estimator,\n"
	      "  --set THRESHOLD=VALUE    another threshold,\n"
	      "  --slo-ms NUMBER          another SLO of every task that has one: what would have\n"
	      "                           been decided, up to the first different cancel\n"
	      "  --help  --version\n",
		out);
}

int refuse(const char *format, ...)
{
	va_list args;
	fputs("cancel-replay: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return REPLAY_USAGE;
}

static int set_format(struct request *request, const char *value)
{
	request->json = strcmp(value, "json") == 0;
	if (request->json || strcmp(value, "text") == 0)
		return 0;
	return refuse("--format: '%.60s' is not accepted; it takes one of: text, json", value);
}

static int set_policy(struct request *request, const char *value)
{
	request->changes.policy = cancel_policy_find(value);
	if (request->changes.policy)
		return 0;
	refuse("--policy: there is no '%.60s'; it takes one of:", value);
	for (uint32_t i = 0; cancel_policies[i]; i++)
		fprintf(stderr, "  %-16s %s\n", cancel_policies[i]->name, cancel_policies[i]->what);
	return REPLAY_USAGE;
}

static int set_estimator(struct request *request, const char *value)
{
	request->changes.estimator = cancel_estimator_find(value);
	if (request->changes.estimator)
		return 0;
	refuse("--estimator: there is no '%.60s'; it takes one of:", value);
	for (uint32_t i = 0; cancel_estimators[i]; i++)
		fprintf(stderr, "  %-16s %s\n", cancel_estimators[i]->name,
			cancel_estimators[i]->what);
	return REPLAY_USAGE;
}

static int set_threshold(struct request *request, const char *pair)
{
	char name[64], message[REPLAY_MESSAGE_MAX];
	const char *equals = strchr(pair, '=');
	if (!equals || equals == pair || (size_t)(equals - pair) >= sizeof name)
		return refuse("--set takes threshold=value, not '%.60s'", pair);
	memcpy(name, pair, (size_t)(equals - pair));
	name[equals - pair] = '\0';
	if (replay_change_threshold(&request->changes, name, equals + 1, message) == 0)
		return 0;
	return refuse("--set: %s", message);
}

static int set_slo(struct request *request, const char *value)
{
	char *end;
	errno = 0;
	double ms = strtod(value, &end);
	if (errno || end == value || *end || !(ms > 0 && ms <= 3600e3))
		return refuse("--slo-ms: '%.60s' is not accepted; it takes a number of "
			      "milliseconds over 0, at most 3600000",
			value);
	request->changes.has_slo = true;
	request->changes.slo_ns = (uint64_t)(ms * 1e6);
	return 0;
}

static int set_option(struct request *request, int option, const char *value)
{
	switch (option) {
	case OPTION_FORMAT:
		return set_format(request, value);
	case OPTION_POLICY:
		return set_policy(request, value);
	case OPTION_ESTIMATOR:
		return set_estimator(request, value);
	case OPTION_SET:
		return set_threshold(request, value);
	case OPTION_SLO:
		return set_slo(request, value);
	default:
		request->all = true;
		return 0;
	}
}

/* Exit status, or -1: go on. */
static int parse(struct request *request, int argc, char **argv)
{
	int option, status = 0;
	opterr = 0;
	while (status == 0 && (option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (option == ':')
			return refuse("%.60s needs a value", argv[optind - 1]);
		if (option == '?')
			return refuse("unknown option '%.60s'; see cancel-replay --help",
				argv[optind - 1]);
		if (option == OPTION_HELP) {
			usage(stdout);
			return 0;
		}
		if (option == OPTION_VERSION) {
			puts("cancel-replay " CANCEL_REPLAY_VERSION);
			return 0;
		}
		status = set_option(request, option, optarg);
	}
	request->arguments = (const char *const *)argv + optind;
	request->count = argc - optind;
	return status ? status : -1;
}

int main(int argc, char **argv)
{
	struct request request = { 0 };
	int status = parse(&request, argc, argv);
	if (status >= 0)
		return status;
	if (request.count > 0 && strcmp(request.arguments[0], "score") == 0) {
		request.arguments++;
		request.count--;
		status = request.count ? command_score(&request)
				       : refuse("score needs a folder; see cancel-replay --help");
	} else {
		status = request.count ? command_files(&request)
				       : refuse("which file? See cancel-replay --help");
	}
	if (fflush(stdout) != 0 || ferror(stdout)) {
		refuse("cannot write the answer: %s", strerror(errno));
		return REPLAY_FAULT;
	}
	return status;
}
