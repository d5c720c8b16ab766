/* SPDX-License-Identifier: Apache-2.0 */
/* Plots of a report, drawn by gnuplot from a script with the data inline. */
#include "sim/report/report.h"

#include <string.h>

#include "sim/report/options.h"
#include "sim/report/parts.h"
#include "common/gnuplot.h"

#define WIDTH_PIXELS  960
#define HEIGHT_PIXELS 440 /* of each stacked plot */
#define COLOURS	      8	  /* of gnuplot's own; from there on they come again, dashed */

static const char *style_of(enum sim_style style)
{
	switch (style) {
	case SIM_STEPS:
		return "steps lw 1.5";
	case SIM_POINTS:
		return "points pt 7 ps 0.5";
	case SIM_LINES_POINTS:
		return "linespoints pt 7 ps 0.6 lw 1.5";
	case SIM_MAP:
		return "points pt 5 ps 1.4 palette";
	case SIM_LINES:
		break;
	}
	return "lines lw 1.5";
}

static void write_data(const struct sim_series *series, FILE *script, int index)
{
	fprintf(script, "$data%d << END\n", index);
	for (size_t i = 0; i < series->count; i++)
		fprintf(script, "%.10g %.10g %.10g\n", series->points[i].x, series->points[i].y,
			series->points[i].value);
	fputs("END\n", script);
}

static void write_labels(const struct sim_plot *plot, FILE *script)
{
	fputs("set title ", script);
	gnuplot_quote(script, plot->title);
	fputs("\nset xlabel ", script);
	gnuplot_quote(script, plot->x_label);
	fputs("\nset ylabel ", script);
	gnuplot_quote(script, plot->y_label);
	fprintf(script, "\nunset logscale\n%s%s",
		plot->axes & SIM_AXIS_LOG_X ? "set logscale x\n" : "",
		plot->axes & SIM_AXIS_LOG_Y ? "set logscale y\n" : "");
}

static int write_plot(const struct sim_plot *plot, FILE *script, int index)
{
	int first = index, drawn = 0;
	write_labels(plot, script);
	for (const struct sim_series *s = plot->series; s; s = s->next)
		write_data(s, script, index++);
	index = first;
	for (const struct sim_series *s = plot->series; s; s = s->next, index++) {
		if (s->count == 0)
			continue;
		fprintf(script, "%s$data%d using %s with %s%s title ", drawn ? ", " : "plot ",
			index, s->style == SIM_MAP ? "1:2:3" : "1:2", style_of(s->style),
			drawn < COLOURS ? "" : " dt 2");
		gnuplot_quote(script, s->label);
		drawn++;
	}
	fputs("\n", script);
	return index;
}

static void write_script(
	const struct sim_report *report, const char *path, const char *kind, FILE *script)
{
	int plots = 0, index = 0;
	for (const struct sim_plot *plot = report->plots; plot; plot = plot->next)
		plots++;
	fprintf(script,
		"set encoding utf8\nset terminal %s size %d,%d %s font 'Sans,11' noenhanced "
		"background 'white'\nset output ",
		strcmp(kind, "svg") == 0 ? "svg" : "pngcairo", WIDTH_PIXELS, HEIGHT_PIXELS * plots,
		strcmp(kind, "svg") == 0 ? "dynamic" : "");
	gnuplot_quote(script, path);
	fputs("\nset grid\nset key outside right top\nset palette defined "
	      "(0 '#2a7f3f', 0.5 '#e0b030', 1 '#b02020')\n",
		script);
	fprintf(script, "set multiplot layout %d,1\n", plots);
	for (const struct sim_plot *plot = report->plots; plot; plot = plot->next)
		index = write_plot(plot, script, index);
	fputs("unset multiplot\nset output\n", script);
}

int sim_report_draw(
	const struct sim_report *report, const char *path, const char *kind, char *error)
{
	if (!report->plots) {
		snprintf(error, SIM_ERROR_MAX, "this run has nothing to plot");
		return -1;
	}
	struct gnuplot gnuplot;
	gnuplot_open(&gnuplot);
	if (gnuplot.script)
		write_script(report, path, kind, gnuplot.script);
	int status = gnuplot_close(&gnuplot);
	if (status == 0)
		return 0;
	snprintf(error, SIM_ERROR_MAX,
		"gnuplot failed (status %d); is the package gnuplot-nox installed?", status);
	return -1;
}
