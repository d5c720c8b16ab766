/* SPDX-License-Identifier: Apache-2.0 */
/* Collects what a lane found. Owns every string and row until the report is freed. */
#include "sim/report/report.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/report/lane.h"
#include "sim/report/parts.h"

#define NOTE_MAX 2048

struct sim_report *sim_report_new(void)
{
	return sim_alloc(1, sizeof(struct sim_report));
}

static void cell_free(struct sim_cell *cell)
{
	if (cell->kind == SIM_CELL_TEXT)
		free((char *)cell->text);
}

static void table_free(struct sim_table *table)
{
	for (size_t i = 0; i < table->row_count * table->column_count; i++)
		cell_free(&table->cells[i]);
	for (size_t i = 0; i < table->column_count; i++) {
		free(table->columns[i].name);
		free(table->columns[i].note);
	}
	free(table->cells);
	free(table->columns);
	free(table->name);
	free(table->title);
	free(table);
}

static void plot_free(struct sim_plot *plot)
{
	for (struct sim_series *series = plot->series, *next; series; series = next) {
		next = series->next;
		free(series->label);
		free(series->points);
		free(series);
	}
	free(plot->title);
	free(plot->x_label);
	free(plot->y_label);
	free(plot);
}

void sim_report_free(struct sim_report *report)
{
	for (struct sim_table *table = report->tables, *next; table; table = next) {
		next = table->next;
		table_free(table);
	}
	for (struct sim_plot *plot = report->plots, *next; plot; plot = next) {
		next = plot->next;
		plot_free(plot);
	}
	for (size_t i = 0; i < report->fact_count; i++) {
		free(report->facts[i].name);
		cell_free(&report->facts[i].cell);
	}
	for (size_t i = 0; i < report->note_count; i++)
		free(report->notes[i]);
	free(report->facts);
	free(report->notes);
	free(report);
}

struct sim_table *sim_report_table(struct sim_report *report, const char *name, const char *title,
	enum sim_table_use use, const char *columns)
{
	struct sim_table *table = sim_alloc(1, sizeof(*table)), **end = &report->tables;
	*table = (struct sim_table){
		.name = sim_copy_text(name),
		.title = sim_copy_text(title),
		.use = use,
	};
	sim_columns(table, "%s", columns);
	while (*end)
		end = &(*end)->next;
	*end = table;
	return table;
}

struct sim_table *sim_table(
	struct sim_run *run, const char *name, const char *title, const char *columns)
{
	return sim_report_table(run->report, name, title, SIM_TABLE_ALL, columns);
}

/* "name:decimals~? note" */
static struct sim_head head_of(char *text)
{
	struct sim_head head = { .name = strsep(&text, " ") };
	char *colon = strchr(head.name, ':');
	head.note = text ? sim_copy_text(text) : NULL;
	if (colon) {
		*colon = '\0';
		head.decimals = colon[1] - '0';
		head.interval = strchr(colon + 1, '~');
		head.if_any = strchr(colon + 1, '?');
	}
	head.name = sim_copy_text(head.name);
	return head;
}

void sim_columns(struct sim_table *table, const char *format, ...)
{
	char text[NOTE_MAX], *rest = text, *column;
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	while ((column = strsep(&rest, "|"))) {
		if (!*column)
			continue;
		table->columns = sim_grow(table->columns, &table->column_capacity,
			table->column_count + 1, sizeof(*table->columns));
		table->columns[table->column_count++] = head_of(column);
	}
	table->next_column = table->column_count;
}

void sim_row(struct sim_table *table)
{
	size_t wanted = (table->row_count + 1) * table->column_count;
	table->cells = sim_grow(table->cells, &table->cell_capacity, wanted, sizeof(*table->cells));
	memset(&table->cells[table->row_count * table->column_count], 0,
		table->column_count * sizeof(*table->cells));
	table->row_count++;
	table->next_column = 0;
}

/* A cell of the report's own. */
static struct sim_cell own(struct sim_cell cell)
{
	if (cell.kind == SIM_CELL_TEXT)
		cell.text = sim_copy_text(cell.text);
	return cell;
}

void sim_put(struct sim_table *table, struct sim_cell cell)
{
	assert(table->row_count > 0 && table->next_column < table->column_count);
	cell.decimals = table->columns[table->next_column].decimals;
	table->cells[(table->row_count - 1) * table->column_count + table->next_column++] =
		own(cell);
}

void sim_put_row(struct sim_table *table, const struct sim_cell *cells, size_t count)
{
	sim_row(table);
	for (size_t i = 0; i < count; i++)
		sim_put(table, cells[i]);
}

void sim_put_figures(struct sim_table *table, const struct sim_stats *stats, size_t count)
{
	const struct sim_head *head = &table->columns[table->next_column];
	const struct sim_head *end = &table->columns[table->column_count];
	for (const struct sim_stats *last = stats + count; head < end; head++) {
		if (!head->interval && stats == last)
			return;
		stats += !head->interval;
		double value =
			head->interval ? sim_stats_ci95(stats - 1) : sim_stats_mean(stats - 1);
		bool known = !head->if_any || stats[-1].count > 0;
		sim_put(table, known ? SIM_REAL(value) : SIM_NONE);
	}
}

void sim_fact(struct sim_report *report, const char *name, struct sim_cell cell)
{
	report->facts = sim_grow(report->facts, &report->fact_capacity, report->fact_count + 1,
		sizeof(*report->facts));
	report->facts[report->fact_count++] =
		(struct sim_fact){ .name = sim_copy_text(name), .cell = own(cell) };
}

void sim_note(struct sim_report *report, const char *format, ...)
{
	char text[NOTE_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	report->notes = sim_grow(report->notes, &report->note_capacity, report->note_count + 1,
		sizeof(*report->notes));
	report->notes[report->note_count++] = sim_copy_text(text);
}

struct sim_plot *sim_report_plot(struct sim_report *report, const char *title, const char *x_label,
	const char *y_label, unsigned axes)
{
	struct sim_plot *plot = sim_alloc(1, sizeof(*plot)), **end = &report->plots;
	*plot = (struct sim_plot){
		.title = sim_copy_text(title),
		.x_label = sim_copy_text(x_label),
		.y_label = sim_copy_text(y_label),
		.axes = axes,
	};
	while (*end)
		end = &(*end)->next;
	*end = plot;
	return plot;
}

struct sim_series *sim_plot_series(struct sim_plot *plot, const char *label, enum sim_style style)
{
	struct sim_series *series = sim_alloc(1, sizeof(*series)), **end = &plot->series;
	series->label = sim_copy_text(label);
	series->style = style;
	while (*end)
		end = &(*end)->next;
	*end = series;
	return series;
}

void sim_plot_cell(struct sim_series *series, double x, double y, double value)
{
	series->points = sim_grow(
		series->points, &series->capacity, series->count + 1, sizeof(*series->points));
	series->points[series->count++] = (struct sim_point){ .x = x, .y = y, .value = value };
}

void sim_plot_point(struct sim_series *series, double x, double y)
{
	sim_plot_cell(series, x, y, 0.0);
}
