/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - a summary as table, JSON or CSV.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "bench/report/summary.h"

/* 0, or -1: out of memory or disk. */
int report_write(FILE *file, const struct summary *summary, enum report_format format);

/* The parts of it: what a row is called, and the table. */
#define REPORT_NAME_MAX 80
void report_row_name(
	const struct summary *summary, const struct summary_row *row, char name[REPORT_NAME_MAX]);
void table_print(FILE *file, const struct summary *summary);

#endif
