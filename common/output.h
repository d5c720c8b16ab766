/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - a file that appears whole or not at all: it is written beside its final place, then
 * renamed. What is open when the program exits or is interrupted is removed.
 */
#ifndef COMMON_OUTPUT_H
#define COMMON_OUTPUT_H

#include <stdio.h>

struct output {
	char *path, *temporary; /* NULL: standard output */
	FILE *file;
};

/* Opens before the long work begins, so that an unwritable path is said at once. NULL, or why it
 * cannot be written. `path` may be NULL: standard output. */
const char *output_open(struct output *output, const char *path)
	__attribute__((warn_unused_result));
/* 0, or -1 and errno. */
int output_commit(struct output *output) __attribute__((warn_unused_result));
/* Leaves nothing behind; after a commit it does nothing. */
void output_discard(struct output *output);

#endif
