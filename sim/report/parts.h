/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - the inside of a report, for this room only. */
#ifndef SIM_REPORT_PARTS_H
#define SIM_REPORT_PARTS_H

#include "sim/report/report.h"

struct sim_head { /* a column; owns its strings */
	char *name, *note;
	int decimals;
	bool interval, if_any; /* for sim_put_figures */
};

struct sim_table {
	char *name, *title;
	enum sim_table_use use;
	struct sim_head *columns;
	size_t column_count, column_capacity;
	struct sim_cell *cells; /* row by row */
	size_t row_count, next_column, cell_capacity;
	struct sim_table *next;
};

struct sim_fact {
	char *name;
	struct sim_cell cell;
};

struct sim_point {
	double x, y, value;
};

struct sim_series {
	char *label;
	enum sim_style style;
	struct sim_point *points;
	size_t count, capacity;
	struct sim_series *next;
};

struct sim_plot {
	char *title, *x_label, *y_label;
	unsigned axes;
	struct sim_series *series;
	struct sim_plot *next;
};

struct sim_report {
	struct sim_table *tables;
	struct sim_plot *plots;
	struct sim_fact *facts;
	size_t fact_count, fact_capacity;
	char **notes;
	size_t note_count, note_capacity;
};

/* A cell as it prints in text and CSV; empty for NONE. */
void sim_cell_text(const struct sim_cell *cell, char *text, size_t text_bytes);

#endif
