/* SPDX-License-Identifier: Apache-2.0 */
/* password.c - `demo-db password NAME`: reads a password, prints the [users] line. */
#include "demo-db/cli/commands.h"
#include "demo-db/server/config/config.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define PASSWORD_MAX 256

static error_t parse(int key, char *value, struct argp_state *state)
{
	const char **name = state->input;
	switch (key) {
	case ARGP_KEY_ARG:
		if (*name)
			argp_error(state, "one name only");
		if (!*value || strlen(value) >= CONFIG_NAME_MAX || strpbrk(value, "=:;#[] \t"))
			argp_error(state, "%s cannot be a user's name here", value);
		*name = value;
		return 0;
	case ARGP_KEY_END:
		if (!*name)
			argp_error(state, "whose password?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* One line of standard input, without echo on a terminal. */
static int read_password(char password[PASSWORD_MAX])
{
	struct termios before, quiet;
	bool terminal = tcgetattr(STDIN_FILENO, &before) == 0;
	if (terminal) {
		quiet = before;
		quiet.c_lflag &= ~(tcflag_t)ECHO;
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
		fprintf(stderr, "Password: ");
	}
	char *line = fgets(password, PASSWORD_MAX, stdin);
	if (terminal) {
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
		fprintf(stderr, "\n");
	}
	if (!line || !strchr(password, '\n'))
		return -1;
	password[strcspn(password, "\n")] = '\0';
	return *password ? 0 : -1;
}

int command_password(int argc, char **argv)
{
	const char *name = NULL;
	char password[PASSWORD_MAX], text[SCRAM_VERIFIER_MAX];
	struct scram_verifier verifier;
	static const struct argp argp = { .parser = parse,
		.args_doc = "NAME",
		.doc = "Reads a password from the terminal or from standard input and prints the "
		       "line "
		       "for the [users] section of the server's configuration. The password itself "
		       "is "
		       "not kept anywhere." };
	argp_parse(&argp, argc, argv, 0, NULL, &name);
	if (read_password(password)) {
		fprintf(stderr, "demo-db password: empty, too long, or no end of line\n");
		return EXIT_USAGE;
	}
	if (scram_verifier_derive(&verifier, password, NULL, 0, SCRAM_ITERATIONS) ||
		scram_verifier_format(&verifier, text)) {
		fprintf(stderr, "demo-db password: cannot derive a verifier\n");
		return 1;
	}
	printf("%s = %s\n", name, text);
	return 0;
}
