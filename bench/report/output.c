/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the file a result goes to: complete under its name, or not there. Knows no format. */
#include "bench/report/report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the one output of this process: what an interrupt has to remove. */
static struct output *unfinished;
static char unfinished_path[sizeof((struct output *)0)->temporary];

static void on_interrupt(int signal_number)
{
	if (unfinished_path[0])
		unlink(unfinished_path);
	_exit(128 + signal_number);
}

static void on_exit_abandon(void)
{
	if (unfinished)
		output_abandon(unfinished);
}

void output_abandon_at_exit(struct output *output)
{
	unfinished = output;
	memcpy(unfinished_path, output->temporary, sizeof unfinished_path);
	atexit(on_exit_abandon);
	struct sigaction action = { .sa_handler = on_interrupt };
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

int output_open(struct output *output, const char *path)
{
	*output = (struct output){ .path = path, .file = stdout };
	if (!path)
		return 0;
	int length = snprintf(output->temporary, sizeof output->temporary, "%s.tmp", path);
	if (length >= (int)sizeof output->temporary) {
		errno = ENAMETOOLONG;
		return -1;
	}
	output->file = fopen(output->temporary, "w");
	return output->file ? 0 : -1;
}

/* Its owner may be gone when the process exits. */
static void forget(const struct output *output)
{
	if (unfinished == output)
		unfinished = NULL;
}

int output_commit(struct output *output)
{
	forget(output);
	if (!output->path)
		return fflush(stdout) == 0 && !ferror(stdout) ? 0 : -1;
	bool written = !ferror(output->file);
	written = fclose(output->file) == 0 && written;
	output->file = NULL;
	if (written && rename(output->temporary, output->path) == 0)
		return 0;
	int error = errno;
	unlink(output->temporary);
	errno = error;
	return -1;
}

void output_abandon(struct output *output)
{
	forget(output);
	if (!output->path || !output->file)
		return;
	fclose(output->file);
	output->file = NULL;
	unlink(output->temporary);
}
