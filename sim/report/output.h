/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - a file that appears whole or not at all: written beside its final place, then renamed.
 * What is open when the tool is interrupted is removed.
 */
#ifndef SIM_REPORT_OUTPUT_H
#define SIM_REPORT_OUTPUT_H

#include <stdio.h>

struct sim_output {
	char *path, *temporary;
	FILE *file;
};

/* 0, or -1 with one line in `error` (SIM_ERROR_MAX bytes). */
int sim_output_open(struct sim_output *output, const char *path, char *error);
int sim_output_commit(struct sim_output *output, char *error);
void sim_output_discard(struct sim_output *output); /* also after a commit: does nothing */

#endif
