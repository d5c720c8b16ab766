/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files or none. At most OPEN_MAX_FILES are open at once. */
#include "common/output.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_MAX_FILES 4

/* Names to remove at the end; written on the main thread only, NULL when free. */
static char *volatile pending[OPEN_MAX_FILES];

static void remove_pending(void)
{
	for (size_t i = 0; i < OPEN_MAX_FILES; i++)
		if (pending[i])
			unlink(pending[i]);
}

static void on_interrupt(int number)
{
	remove_pending();
	signal(number, SIG_DFL);
	raise(number);
}

static void watch_for_the_end(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	static bool watches;
	if (watches)
		return;
	watches = true;
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], on_interrupt);
	atexit(remove_pending);
}

static void remember(char *name)
{
	watch_for_the_end();
	for (size_t i = 0; i < OPEN_MAX_FILES; i++) {
		if (!pending[i]) {
			pending[i] = name;
			return;
		}
	}
}

static void forget(struct output *output)
{
	for (size_t i = 0; i < OPEN_MAX_FILES; i++)
		if (pending[i] == output->temporary)
			pending[i] = NULL;
	free(output->temporary);
	output->temporary = NULL;
}

static const char *open_beside(struct output *output)
{
	size_t bytes = strlen(output->path) + sizeof ".XXXXXX";
	output->temporary = malloc(bytes);
	if (!output->temporary)
		return strerror(errno);
	snprintf(output->temporary, bytes, "%s.XXXXXX", output->path);
	int file = mkstemp(output->temporary);
	if (file < 0)
		return strerror(errno);
	mode_t mask = umask(0);
	umask(mask);
	fchmod(file, 0666 & ~mask);
	remember(output->temporary);
	output->file = fdopen(file, "w");
	if (output->file)
		return NULL;
	unlink(output->temporary);
	close(file);
	return "out of memory";
}

const char *output_open(struct output *output, const char *path)
{
	struct stat there;
	*output = (struct output){ 0 };
	if (!path) {
		output->file = stdout;
		return NULL;
	}
	if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
		return "not a regular file";
	output->path = strdup(path);
	const char *error = output->path ? open_beside(output) : "out of memory";
	if (error) {
		forget(output);
		free(output->path);
		output->path = NULL;
	}
	return error;
}

int output_commit(struct output *output)
{
	if (ferror(output->file) || fflush(output->file) != 0)
		return -1;
	if (!output->path)
		return 0;
	if (rename(output->temporary, output->path) != 0)
		return -1;
	forget(output);
	return 0;
}

void output_discard(struct output *output)
{
	if (output->temporary) {
		unlink(output->temporary);
		forget(output);
	}
	if (output->file && output->file != stdout)
		fclose(output->file);
	free(output->path);
	*output = (struct output){ 0 };
}
