/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the picture: a data file and a script beside it, so that anybody can draw it again, and
 * gnuplot to draw it. Must not compute anything but the share of a bin.
 */
#include "bench/report/plot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/base/options.h"
#include "common/gnuplot.h"

#define PATH_BYTES 512

/* Colours told apart by people who see few: eight after Okabe and Ito (2008), and two more. */
static const char *const colours[] = { "#000000", "#D55E00", "#E69F00", "#CC79A7", "#56B4E9",
	"#009E73", "#0072B2", "#F0E442", "#999999", "#882255" };
#define COLOURS (sizeof colours / sizeof *colours)

static FILE *open_beside(const char *folder, const char *name, const char *suffix)
{
	char path[PATH_BYTES];
	if (snprintf(path, sizeof path, "%s/%s.%s", folder, name, suffix) >= (int)sizeof path)
		return NULL;
	return fopen(path, "w");
}

static int close_written(FILE *file)
{
	int bad = ferror(file);
	return fclose(file) == 0 && !bad ? 0 : -1;
}

static int write_data(const struct plot *plot, const char *folder)
{
	FILE *file = open_beside(folder, plot->name, "csv");
	if (!file)
		return -1;
	fprintf(file, "policy,second,offered_qps,goodput_qps,late_pct\n");
	for (uint32_t s = 0; s < plot->series_count; s++) {
		const struct plot_series *series = &plot->series[s];
		if (s)
			fputs("\n\n", file); /* gnuplot's mark between data sets */
		for (uint32_t i = 0; i < series->bins->bin_count; i++) {
			double due = series->bins->due[i], late = series->bins->late[i];
			fprintf(file, "%s,%.2f,%.0f,%.0f,%.3f\n", series->name, i * plot->bin_s,
				due / plot->bin_s, (due - late) / plot->bin_s,
				due > 0 ? 100 * late / due : 0);
		}
	}
	return close_written(file);
}

static void write_lines(FILE *file, const struct plot *plot, int column)
{
	for (uint32_t s = 0; s < plot->series_count; s++)
		fprintf(file,
			"%s'%s.csv' index %u using 2:%d with lines lw %d lc rgb '%s' title '%s%s'",
			s ? ", \\\n     " : "plot ", plot->name, s, column, s ? 2 : 3,
			colours[s % COLOURS], plot->series[s].name,
			plot->series[s].disturbed ? " [disturbed]" : "");
	fputs("\n", file);
}

static void write_panels(FILE *file, const struct plot *plot)
{
	fprintf(file, "set multiplot layout 2,1 title '%s'\n", plot->title);
	for (uint32_t i = 0; i < plot->spans.count; i++)
		fprintf(file,
			"set object %u rectangle from %.3f, graph 0 to %.3f, graph 1 behind fc rgb "
			"'#f2f2f2' fs solid noborder\n",
			i + 1, (double)plot->spans.list[i].from_ns / 1e9,
			(double)plot->spans.list[i].to_ns / 1e9);
	fprintf(file,
		"set ylabel 'goodput, %s'\nset yrange [0:*]\n"
		"set key outside right top\n",
		plot->goodput);
	write_lines(file, plot, 4);
	fputs("set ylabel 'late share, %'\nset yrange [0:105]\n", file);
	if (plot->shade)
		fprintf(file, "set xlabel 'seconds (grey: %s)'\n", plot->shade);
	else
		fputs("set xlabel 'seconds'\n", file);
	write_lines(file, plot, 5);
	fputs("unset multiplot\n", file);
}

static int write_script(const struct plot *plot, const char *folder)
{
	const char *name = plot->name;
	FILE *file = open_beside(folder, name, "gp");
	if (!file)
		return -1;
	fprintf(file, "# gnuplot %s.gp, in this folder\nset datafile separator ','\nset grid\n",
		name);
	fprintf(file, "set terminal svg size 960,720 background 'white'\nset output '%s.svg'\n",
		name);
	write_panels(file, plot);
	fprintf(file, "set terminal pngcairo size 960,720\nset output '%s.png'\n", name);
	write_panels(file, plot);
	fputs("set output\n", file);
	return close_written(file);
}

static int draw(const char *folder, const char *name)
{
	struct gnuplot gnuplot;
	gnuplot_open(&gnuplot);
	if (gnuplot.script) {
		fputs("cd ", gnuplot.script);
		gnuplot_quote(gnuplot.script, folder);
		fprintf(gnuplot.script, "\nload '%s.gp'\n", name);
	}
	return gnuplot_close(&gnuplot);
}

void plot_check(const char *folder)
{
	if ((mkdir(folder, 0777) != 0 && errno != EEXIST) || access(folder, W_OK | X_OK) != 0)
		bench_refuse("--plot: cannot write into '%s': %s", folder, strerror(errno));
}

int plot_write(const struct plot *plot, const char *folder, char error[PLOT_ERROR_MAX])
{
	if (write_data(plot, folder) != 0 || write_script(plot, folder) != 0) {
		snprintf(error, PLOT_ERROR_MAX, "cannot write into '%.150s': %s", folder,
			strerror(errno));
		return -1;
	}
	if (draw(folder, plot->name) == 0)
		return 0;
	snprintf(error, PLOT_ERROR_MAX,
		"gnuplot (Debian package gnuplot-nox) could not draw %.100s/%.32s.gp", folder,
		plot->name);
	return -1;
}
