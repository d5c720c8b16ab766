/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - a summary as table, JSON or CSV, and where the text goes.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "bench/report/summary.h"

/* Where a command's result goes. A file is written beside its name and renamed when complete, so
 * nobody ever sees half of one. */
struct output {
	const char *path; /* NULL: standard output */
	char temporary[512];
	FILE *file;
};

/* Opens before the long work begins, so that an unwritable path is said at once. 0, or -1. */
int output_open(struct output *output, const char *path) __attribute__((warn_unused_result));
int output_commit(struct output *output) __attribute__((warn_unused_result));
void output_abandon(struct output *output); /* leaves nothing behind */
/* The same when the process exits or is interrupted before the commit. One output a process. */
void output_abandon_at_exit(struct output *output);

void report_table(FILE *file, const struct summary *summary);
void report_csv(FILE *file, const struct summary *summary);
int report_json(FILE *file, const struct summary *summary); /* -1: out of memory or disk */
int report_write(FILE *file, const struct summary *summary, enum report_format format);

#endif
