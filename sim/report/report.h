/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - what a lane found: facts, tables, notes and plots, printed once the lane has ended.
 *
 * Tables print as aligned text, CSV or JSON. Text shows every table that is not DATA_ONLY; CSV is
 * one table (the first that is not TEXT_ONLY, or the one named by --table); JSON has all of them
 * but the TEXT_ONLY ones under "tables", and each fact at the top level (dots in its name nest
 * objects). Column names are the CSV header and the JSON keys.
 */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/base/stats.h"

struct sim_run;
struct sim_report;
struct sim_table;
struct sim_plot;
struct sim_series;

enum sim_table_use {
	SIM_TABLE_ALL,
	SIM_TABLE_DATA_ONLY, /* long series: CSV and JSON */
	SIM_TABLE_TEXT_ONLY, /* a picture for a reader */
};

struct sim_report *sim_report_new(void);
void sim_report_free(struct sim_report *report);

/*
 * A new table; all strings are copied. Lives with the report. Its columns are written in one text,
 * `name:decimals note` each, divided by |. A name ends in its unit where it has one
 * (time_to_release_ms). Decimals [0] are those of real values; the note [none] stands under the name
 * in text. Where sim_put_figures fills a column, ~ behind the decimals marks half the width of the
 * 95 % interval of the mean before it, and ? one that is none, not 0, where nothing was added.
 */
struct sim_table *sim_report_table(struct sim_report *report, const char *name, const char *title,
	enum sim_table_use use, const char *columns);
/* One that is shown everywhere. */
struct sim_table *sim_table(
	struct sim_run *run, const char *name, const char *title, const char *columns);
/* More columns, written in the same way, of a table that has no row yet. */
__attribute__((format(printf, 2, 3))) void sim_columns(
	struct sim_table *table, const char *format, ...);
enum sim_cell_kind {
	SIM_CELL_NONE,
	SIM_CELL_INT,
	SIM_CELL_REAL,
	SIM_CELL_BOOL,
	SIM_CELL_TEXT,
};

struct sim_cell {
	enum sim_cell_kind kind;
	int decimals; /* of a fact; in a table the column says it */
	union {
		int64_t integer;
		double real;
		const char *text;
	};
};
#define SIM_INT(value)	((struct sim_cell){ .kind = SIM_CELL_INT, .integer = (int64_t)(value) })
#define SIM_REAL(value) ((struct sim_cell){ .kind = SIM_CELL_REAL, .real = (double)(value) })
#define SIM_DECIMALS(value, places)                                                                \
	((struct sim_cell){ .kind = SIM_CELL_REAL, .real = (double)(value), .decimals = (places) })
#define SIM_BOOL(value) ((struct sim_cell){ .kind = SIM_CELL_BOOL, .integer = (value) })
#define SIM_TEXT(value) ((struct sim_cell){ .kind = SIM_CELL_TEXT, .text = (value) })
#define SIM_NONE	((struct sim_cell){ .kind = SIM_CELL_NONE })
/* Starts a row; then one cell per column, left to right (missing ones at the end stay empty). */
void sim_row(struct sim_table *table);
void sim_put(struct sim_table *table, struct sim_cell cell); /* a text is copied */
/* A row, or the first cells of it, at one blow. */
#define SIM_ROW(table, ...)                                                                        \
	sim_put_row(table, (struct sim_cell[]){ __VA_ARGS__ },                                     \
		sizeof((struct sim_cell[]){ __VA_ARGS__ }) / sizeof(struct sim_cell))
void sim_put_row(struct sim_table *table, const struct sim_cell *cells, size_t count);

/* The next cells of a row: `count` means over seeds, and the intervals of columns marked ~. */
void sim_put_figures(struct sim_table *table, const struct sim_stats *stats, size_t count);

/* One named value, top level in JSON, a line of its own in text; none is "never", null in JSON. */
void sim_fact(struct sim_report *report, const char *name, struct sim_cell cell);
/* A remark under the tables; "notes" in JSON. */
__attribute__((format(printf, 2, 3))) void sim_note(
	struct sim_report *report, const char *format, ...);

enum sim_style {
	SIM_LINES,
	SIM_STEPS,
	SIM_POINTS,
	SIM_LINES_POINTS,
	SIM_MAP, /* cells (x, y, value) as colours */
};
enum sim_axes { /* bits */
	SIM_AXIS_LINEAR = 0,
	SIM_AXIS_LOG_X = 1,
	SIM_AXIS_LOG_Y = 2,
};
/* Several plots stack in one picture. All strings are copied. */
struct sim_plot *sim_report_plot(struct sim_report *report, const char *title, const char *x_label,
	const char *y_label, unsigned axes);
struct sim_series *sim_plot_series(struct sim_plot *plot, const char *label, enum sim_style style);
void sim_plot_point(struct sim_series *series, double x, double y);
void sim_plot_cell(struct sim_series *series, double x, double y, double value);

enum sim_format {
	SIM_FORMAT_TABLE,
	SIM_FORMAT_CSV,
	SIM_FORMAT_JSON,
};

/* Prints to `out`; `table` names the CSV table or is NULL. -1 with a line in `error` when there is
 * no such table. */
int sim_report_print(const struct sim_report *report, const struct sim_run *run,
	enum sim_format format, const char *table, FILE *out, char *error);
/* Draws all plots with gnuplot into `path`, as "svg" or "png". 0, or -1 with a line in `error`. */
int sim_report_draw(
	const struct sim_report *report, const char *path, const char *kind, char *error);

#endif
