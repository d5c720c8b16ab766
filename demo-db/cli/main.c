/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - demo-db's command line: which subcommand. */
#include "demo-db/cli/commands.h"

#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *what;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "serve", "serve a data folder to PostgreSQL clients", command_serve },
	{ "init", "make the demo data set, or pgbench's tables", command_init },
	{ "password", "make the configuration line of a user", command_password },
};
#define COMMANDS (sizeof commands / sizeof *commands)

static void print_help(FILE *to)
{
	fprintf(to,
		"usage: demo-db COMMAND [OPTION…]\n\n"
		"A database server on SQLite that psql, pgbench and sysbench talk to, instrumented "
		"with libcancel.\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].what);
	fprintf(to, "\ndemo-db COMMAND --help tells a command's options.\n\n"
		    "  demo-db init --data /tmp/demo --size small --pgbench-scale 1\n"
		    "  demo-db serve --data /tmp/demo\n"
		    "  psql -h /tmp/demo -p 5433 -U demo -d demo\n");
}

/* Whoever reads our messages may go, and a file may hit a limit: an error where it happens, not the
 * end of the process. */
static void ignore_signals(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

int main(int argc, char **argv)
{
	argp_err_exit_status = EXIT_USAGE;
	ignore_signals();
	const char *name = argc > 1 ? argv[1] : "";
	if (strcmp(name, "--help") == 0 || strcmp(name, "-?") == 0 || strcmp(name, "help") == 0) {
		print_help(stdout);
		return 0;
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(name, commands[i].name) == 0) {
			char title[32];
			snprintf(title, sizeof title, "demo-db %s", name);
			argv[1] = title;
			return commands[i].run(argc - 1, argv + 1);
		}
	}
	if (*name)
		fprintf(stderr, "demo-db: there is no command %s\n", name);
	print_help(stderr);
	return EXIT_USAGE;
}
