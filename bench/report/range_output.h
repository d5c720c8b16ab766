/* SPDX-License-Identifier: Apache-2.0 */
/* range_output.h - figures with their ranges as CSV and JSON, for every target. */
#ifndef BENCH_RANGE_OUTPUT_H
#define BENCH_RANGE_OUTPUT_H

#include <jansson.h>
#include <stdio.h>

#include "bench/report/measure.h"

/* Three columns, each with its comma before it; empty if nothing was measured. */
void range_csv(FILE *file, const struct range *range);
/* An integer where the value is one. */
json_t *range_json_number(double value);
/* {"median", "min", "max"[, "ci95"]}; nulls if nothing was measured. */
json_t *range_json(const struct range *range);
/* What a row says about disturbance: two columns, the second "2 5" for repetitions left out. */
void range_csv_disturbed(FILE *file, bool disturbed, const struct repetition_choice *choice);
/* Sets "disturbed" and "left_out" of a row. */
void range_json_disturbed(json_t *row, bool disturbed, const struct repetition_choice *choice);
/* Below a table, a line for a row that has something to say. */
void range_note_left_out(FILE *file, const char *name, const struct repetition_choice *choice);
/* Below a table with a marked row, one entry a row: what was taken from it. No line feed. */
void range_note_taken(FILE *file, bool is_first, const char *name, const struct range *taken);
#define RANGE_DISTURBED "[disturbed]" /* at the end of a row of a table */
/* Writes `root` with `rows` as its "summary"; takes both. -1: out of memory or disk. */
int range_json_write(FILE *file, json_t *root, json_t *rows);

#endif
