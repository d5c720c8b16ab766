/* SPDX-License-Identifier: Apache-2.0 */
/* cancel-sim: chooses the command. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sim/cli/command.h"

static void usage(FILE *out)
{
	fputs("usage: cancel-sim list\n"
	      "       cancel-sim lane NAME|NUMBER [options]   (--help lists the lane's keys)\n"
	      "       cancel-sim run FILE.ini [options]       (a lane of your own: docs/lanes.md)\n"
	      "       cancel-sim speed [options]\n",
		out);
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";
	bool help = argc == 3 && strcmp(argv[2], "--help") == 0;
	if (help && (strcmp(command, "lane") == 0 || strcmp(command, "run") == 0 ||
			    strcmp(command, "list") == 0)) {
		usage(stdout);
		return 0;
	}
	if (strcmp(command, "lane") == 0)
		return sim_command_lane(argc - 2, argv + 2);
	if (strcmp(command, "run") == 0)
		return sim_command_run(argc - 2, argv + 2);
	if (strcmp(command, "speed") == 0)
		return sim_command_speed(argc - 1, argv + 1);
	if (strcmp(command, "list") == 0)
		return sim_command_list(argc - 2, argv + 2);
	if (strcmp(command, "--help") == 0 || strcmp(command, "help") == 0) {
		usage(stdout);
		return 0;
	}
	if (strcmp(command, "--version") == 0) {
		puts("cancel-sim " CANCEL_SIM_VERSION);
		return 0;
	}
	if (*command)
		fprintf(stderr, "cancel-sim: unknown command '%.60s'; see cancel-sim --help\n",
			command);
	else
		usage(stderr);
	return SIM_EXIT_USAGE;
}
