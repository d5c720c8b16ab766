/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files or none. At most OPEN_MAX_FILES are open at once. */
#include "sim/report/output.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/memory.h"
#include "sim/report/options.h"

#define OPEN_MAX_FILES 4

/* Names to remove on a signal; written on the main thread only, NULL when free. */
static char *volatile pending[OPEN_MAX_FILES];

static void remove_pending(int number)
{
	for (size_t i = 0; i < OPEN_MAX_FILES; i++)
		if (pending[i])
			unlink(pending[i]);
	signal(number, SIG_DFL);
	raise(number);
}

static void remember(char *name)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], remove_pending);
	for (size_t i = 0; i < OPEN_MAX_FILES; i++) {
		if (!pending[i]) {
			pending[i] = name;
			return;
		}
	}
}

static void forget(const char *name)
{
	for (size_t i = 0; i < OPEN_MAX_FILES; i++)
		if (pending[i] == name)
			pending[i] = NULL;
}

int sim_output_open(struct sim_output *output, const char *path, char *error)
{
	static const char suffix[] = ".XXXXXX";
	size_t bytes = strlen(path) + sizeof(suffix);
	struct stat there;
	*output = (struct sim_output){ 0 };
	if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
		snprintf(error, SIM_ERROR_MAX, "cannot write '%.120s': not a regular file", path);
		return -1;
	}
	char *temporary = sim_alloc(bytes, 1);
	snprintf(temporary, bytes, "%s%s", path, suffix);
	int file = mkstemp(temporary);
	if (file < 0) {
		snprintf(error, SIM_ERROR_MAX, "cannot write '%.120s': %s", path, strerror(errno));
		free(temporary);
		return -1;
	}
	mode_t mask = umask(0);
	umask(mask);
	fchmod(file, 0666 & ~mask);
	remember(temporary);
	output->temporary = temporary;
	output->path = sim_copy_text(path);
	output->file = fdopen(file, "w");
	return 0;
}

int sim_output_commit(struct sim_output *output, char *error)
{
	int failed = ferror(output->file) || fflush(output->file) != 0 ||
		     rename(output->temporary, output->path) != 0;
	if (failed) {
		snprintf(error, SIM_ERROR_MAX, "cannot write '%.120s': %s", output->path,
			strerror(errno));
		return -1;
	}
	forget(output->temporary);
	free(output->temporary);
	output->temporary = NULL;
	return 0;
}

void sim_output_discard(struct sim_output *output)
{
	if (output->temporary) {
		unlink(output->temporary);
		forget(output->temporary);
		free(output->temporary);
	}
	if (output->file)
		fclose(output->file);
	free(output->path);
	*output = (struct sim_output){ 0 };
}
