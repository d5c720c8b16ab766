/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as text, CSV and JSON. Formats only: what is in the report was decided by the lane. The
 * same report prints the same bytes on every machine.
 */
#include "sim/report/report.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "sim/report/lane.h"
#include "sim/report/parts.h"

#define CELL_MAX       256
#define NAME_MAX_BYTES 128

void sim_cell_text(const struct sim_cell *cell, char *text, size_t text_bytes)
{
	switch (cell->kind) {
	case SIM_CELL_INT:
		snprintf(text, text_bytes, "%" PRId64, cell->integer);
		return;
	case SIM_CELL_REAL:
		snprintf(text, text_bytes, "%.*f", cell->decimals, cell->real);
		return;
	case SIM_CELL_BOOL:
		snprintf(text, text_bytes, "%s", cell->integer ? "yes" : "no");
		return;
	case SIM_CELL_TEXT:
		snprintf(text, text_bytes, "%s", cell->text);
		return;
	case SIM_CELL_NONE:
		text[0] = '\0';
		return;
	}
}

/* ---- Text ---- */

/* Columns of a terminal: code points, not bytes. */
static size_t width_of(const char *text)
{
	size_t width = 0;
	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static void pad(FILE *out, const char *text, size_t width, bool left)
{
	size_t have = width_of(text);
	int fill = (int)(have < width ? width - have : 0);
	if (left)
		fprintf(out, "%s%*s", text, fill, "");
	else
		fprintf(out, "%*s%s", fill, "", text);
}

static const struct sim_cell *cell_at(const struct sim_table *table, size_t row, size_t column)
{
	return &table->cells[row * table->column_count + column];
}

static size_t column_width(const struct sim_table *table, size_t column)
{
	char text[CELL_MAX];
	const char *unit = table->columns[column].note;
	size_t width = width_of(table->columns[column].name);
	if (unit && width_of(unit) > width)
		width = width_of(unit);
	for (size_t row = 0; row < table->row_count; row++) {
		sim_cell_text(cell_at(table, row, column), text, sizeof(text));
		if (width_of(text) > width)
			width = width_of(text);
	}
	return width;
}

static bool is_text_column(const struct sim_table *table, size_t column)
{
	for (size_t row = 0; row < table->row_count; row++)
		if (cell_at(table, row, column)->kind == SIM_CELL_TEXT)
			return true;
	return false;
}

/* One printed line of a table: `row` -2 the names, -1 the units, else that row. */
static void print_line(
	const struct sim_table *table, const size_t *widths, const bool *left, long row, FILE *out)
{
	char text[CELL_MAX];
	for (size_t column = 0; column < table->column_count; column++) {
		const struct sim_head *head = &table->columns[column];
		const char *shown = text;
		if (row == -2)
			shown = head->name;
		else if (row == -1)
			shown = head->note ? head->note : "";
		else
			sim_cell_text(cell_at(table, (size_t)row, column), text, sizeof(text));
		fputs("  ", out);
		bool last = column + 1 == table->column_count;
		pad(out, shown, last && left[column] ? 0 : widths[column], left[column]);
	}
	fputc('\n', out);
}

static void print_table(const struct sim_table *table, FILE *out)
{
	size_t *widths = calloc(table->column_count, sizeof(*widths));
	bool *left = calloc(table->column_count, sizeof(*left)), units = false;
	if (!widths || !left)
		abort();
	for (size_t column = 0; column < table->column_count; column++) {
		widths[column] = column_width(table, column);
		left[column] = is_text_column(table, column);
		units = units || table->columns[column].note;
	}
	fprintf(out, "\n%s\n", table->title);
	print_line(table, widths, left, -2, out);
	if (units)
		print_line(table, widths, left, -1, out);
	for (size_t row = 0; row < table->row_count; row++)
		print_line(table, widths, left, (long)row, out);
	free(widths);
	free(left);
}

static void print_text(const struct sim_report *report, const struct sim_run *run, FILE *out)
{
	char text[CELL_MAX];
	fprintf(out, "%s: %s\n", run->lane->name, run->lane->what);
	for (const struct sim_table *table = report->tables; table; table = table->next)
		if (table->use != SIM_TABLE_DATA_ONLY)
			print_table(table, out);
	if (report->fact_count > 0)
		fputc('\n', out);
	for (size_t i = 0; i < report->fact_count; i++) {
		sim_cell_text(&report->facts[i].cell, text, sizeof(text));
		fprintf(out, "  %s: %s\n", report->facts[i].name, text[0] ? text : "never");
	}
	if (report->note_count > 0)
		fputc('\n', out);
	for (size_t i = 0; i < report->note_count; i++)
		fprintf(out, "  %s\n", report->notes[i]);
}

/* ---- CSV (RFC 4180, with plain line feeds) ---- */

static void print_csv_text(const char *text, FILE *out)
{
	if (!strpbrk(text, ",\"\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void print_csv(const struct sim_table *table, FILE *out)
{
	char text[CELL_MAX];
	for (size_t column = 0; column < table->column_count; column++)
		fprintf(out, "%s%s", column > 0 ? "," : "", table->columns[column].name);
	fputc('\n', out);
	for (size_t row = 0; row < table->row_count; row++) {
		for (size_t column = 0; column < table->column_count; column++) {
			sim_cell_text(cell_at(table, row, column), text, sizeof(text));
			fputs(column > 0 ? "," : "", out);
			print_csv_text(text, out);
		}
		fputc('\n', out);
	}
}

static int choose_csv(const struct sim_report *report, const char *name, FILE *out, char *error)
{
	size_t used;
	for (const struct sim_table *table = report->tables; table; table = table->next) {
		if (table->use == SIM_TABLE_TEXT_ONLY || (name && strcmp(name, table->name) != 0))
			continue;
		print_csv(table, out);
		return 0;
	}
	used = (size_t)snprintf(
		error, SIM_ERROR_MAX, "no table '%.60s'; this run has", name ? name : "");
	for (const struct sim_table *table = report->tables; table; table = table->next)
		if (table->use != SIM_TABLE_TEXT_ONLY && used < SIM_ERROR_MAX)
			used += (size_t)snprintf(
				error + used, SIM_ERROR_MAX - used, " %s", table->name);
	return -1;
}

/* ---- JSON ---- */

/* Rounded to the column's decimals, so that JSON and text tell the same number. */
static json_t *json_cell(const struct sim_cell *cell)
{
	char text[CELL_MAX];
	switch (cell->kind) {
	case SIM_CELL_INT:
		return json_integer(cell->integer);
	case SIM_CELL_REAL:
		sim_cell_text(cell, text, sizeof(text));
		return json_real(strtod(text, NULL));
	case SIM_CELL_BOOL:
		return json_boolean(cell->integer);
	case SIM_CELL_TEXT:
		return json_string(cell->text);
	case SIM_CELL_NONE:
		break;
	}
	return json_null();
}

static json_t *json_rows(const struct sim_table *table)
{
	json_t *rows = json_array();
	for (size_t row = 0; row < table->row_count; row++) {
		json_t *object = json_object();
		for (size_t column = 0; column < table->column_count; column++)
			json_object_set_new(object, table->columns[column].name,
				json_cell(cell_at(table, row, column)));
		json_array_append_new(rows, object);
	}
	return rows;
}

static void json_add_fact(json_t *root, const struct sim_fact *fact)
{
	char part[NAME_MAX_BYTES];
	const char *name = fact->name, *dot;
	while ((dot = strchr(name, '.'))) {
		snprintf(part, sizeof(part), "%.*s", (int)(dot - name), name);
		json_t *inner = json_object_get(root, part);
		if (!inner) {
			inner = json_object();
			json_object_set_new(root, part, inner);
		}
		root = inner;
		name = dot + 1;
	}
	json_object_set_new(root, name, json_cell(&fact->cell));
}

static json_t *json_settings(const struct sim_options *options)
{
	json_t *settings = json_object();
	for (size_t i = 0; i < options->count; i++) {
		const struct sim_setting *setting = &options->settings[i];
		json_t *value;
		if (setting->key->kind == SIM_KEY_INT)
			value = json_integer(setting->integer);
		else if (setting->key->kind == SIM_KEY_FLAG)
			value = json_boolean(setting->integer);
		else
			value = json_string(setting->text);
		json_object_set_new(settings, setting->key->name, value);
	}
	return settings;
}

static int print_json(const struct sim_report *report, const struct sim_run *run, FILE *out)
{
	json_t *root = json_object(), *tables = json_object(), *notes = json_array();
	json_object_set_new(root, "lane", json_string(run->lane->name));
	json_object_set_new(root, "seed", json_integer((json_int_t)run->seed));
	json_object_set_new(root, "seeds", json_integer((json_int_t)run->seeds));
	json_object_set_new(root, "settings", json_settings(&run->options));
	for (size_t i = 0; i < report->fact_count; i++)
		json_add_fact(root, &report->facts[i]);
	for (const struct sim_table *table = report->tables; table; table = table->next)
		if (table->use != SIM_TABLE_TEXT_ONLY)
			json_object_set_new(tables, table->name, json_rows(table));
	json_object_set_new(root, "tables", tables);
	for (size_t i = 0; i < report->note_count; i++)
		json_array_append_new(notes, json_string(report->notes[i]));
	json_object_set_new(root, "notes", notes);
	int failed = json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	fputc('\n', out);
	json_decref(root);
	return failed;
}

int sim_report_print(const struct sim_report *report, const struct sim_run *run,
	enum sim_format format, const char *table, FILE *out, char *error)
{
	switch (format) {
	case SIM_FORMAT_TABLE:
		print_text(report, run, out);
		return 0;
	case SIM_FORMAT_CSV:
		return choose_csv(report, table, out, error);
	case SIM_FORMAT_JSON:
		break;
	}
	if (print_json(report, run, out) == 0)
		return 0;
	snprintf(error, SIM_ERROR_MAX, "the result does not fit JSON (a text that is not UTF-8?)");
	return -1;
}
