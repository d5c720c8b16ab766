/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - a summary as table, JSON or CSV.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "bench/report/summary.h"

void report_table(FILE *file, const struct summary *summary);
void report_csv(FILE *file, const struct summary *summary);
int report_json(FILE *file, const struct summary *summary); /* -1: out of memory or disk */
int report_write(FILE *file, const struct summary *summary, enum report_format format);

#endif
