/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - what cancel-replay is asked for. Each command returns the exit status.
 */
#ifndef REPLAY_COMMAND_H
#define REPLAY_COMMAND_H

#include "replay/replay.h"

struct request {
	bool json, all;
	struct replay_changes changes;
	const char *const *arguments; /* what is left after the options */
	int count;
};

/* One line on standard error; returns REPLAY_USAGE. */
__attribute__((format(printf, 1, 2))) int refuse(const char *format, ...);

int command_files(const struct request *request); /* the files of one record, oldest first */
int command_score(const struct request *request); /* folders with labels */

#endif
