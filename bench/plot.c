/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the picture: a data file and a script beside it, so that anybody can draw it again, and
 * gnuplot to draw it. Must not compute anything but the share of a bin.
 */
#include "plot.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES 512

extern char **environ;

/* Colours told apart by people who see few, after Okabe and Ito (2008). */
static const char *const colours[] = { "#000000", "#D55E00", "#E69F00", "#CC79A7", "#56B4E9",
	"#009E73", "#0072B2", "#F0E442" };
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

static int write_data(const struct suite_result *result, const char *folder)
{
	FILE *file = open_beside(folder, result->summary.case_name, "csv");
	if (!file)
		return -1;
	fprintf(file, "policy,second,offered_qps,goodput_qps,late_pct\n");
	for (uint32_t t = 0; t < result->trace_count; t++) {
		const struct suite_trace *trace = &result->traces[t];
		if (t)
			fputs("\n\n", file); /* gnuplot's mark between data sets */
		for (uint32_t i = 0; i < trace->bin_count; i++) {
			double per_s = 1e9 / MEASURE_BIN_NS, due = trace->due[i];
			fprintf(file, "%s,%.1f,%.0f,%.0f,%.3f\n", trace->policy, i / per_s,
				due * per_s, (due - trace->late[i]) * per_s,
				due > 0 ? 100.0 * trace->late[i] / due : 0);
		}
	}
	return close_written(file);
}

static void write_lines(FILE *file, const struct suite_result *result, int column)
{
	for (uint32_t t = 0; t < result->trace_count; t++)
		fprintf(file,
			"%s'%s.csv' index %u using 2:%d with lines lw %d lc rgb '%s' title '%s'",
			t ? ", \\\n     " : "plot ", result->summary.case_name, t, column,
			t ? 2 : 3, colours[t % COLOURS], result->traces[t].policy);
	fputs("\n", file);
}

static void write_panels(FILE *file, const struct suite_result *result)
{
	const struct summary *summary = &result->summary;
	fprintf(file, "set multiplot layout 2,1 title '%s: %.0f requests/s offered, SLO %.1f ms'\n",
		summary->case_name, summary->rate_qps, summary->slo_ms);
	for (uint32_t i = 0; i < result->spans.count; i++)
		fprintf(file,
			"set object %u rectangle from %.3f, graph 0 to %.3f, graph 1 behind fc rgb "
			"'#f2f2f2' fs solid noborder\n",
			i + 1, (double)result->spans.list[i].from_ns / 1e9,
			(double)result->spans.list[i].to_ns / 1e9);
	fputs("set ylabel 'goodput, answers within SLO /s'\nset yrange [0:*]\n"
	      "set key outside right top\n",
		file);
	write_lines(file, result, 4);
	fputs("set ylabel 'late share, %'\nset yrange [0:105]\n"
	      "set xlabel 'seconds (grey: the culprit runs if nobody stops it)'\n",
		file);
	write_lines(file, result, 5);
	fputs("unset multiplot\n", file);
}

static int write_script(const struct suite_result *result, const char *folder)
{
	const char *name = result->summary.case_name;
	FILE *file = open_beside(folder, name, "gp");
	if (!file)
		return -1;
	fprintf(file, "# gnuplot %s.gp, in this folder\nset datafile separator ','\nset grid\n",
		name);
	fprintf(file, "set terminal svg size 960,720 background 'white'\nset output '%s.svg'\n",
		name);
	write_panels(file, result);
	fprintf(file, "set terminal pngcairo size 960,720\nset output '%s.png'\n", name);
	write_panels(file, result);
	fputs("set output\n", file);
	return close_written(file);
}

static int draw(const char *folder, const char *name)
{
	char script[PATH_BYTES];
	snprintf(script, sizeof script, "%s.gp", name);
	char *const arguments[] = { (char[]){ "gnuplot" }, script, NULL };
	posix_spawn_file_actions_t actions;
	pid_t child;
	int status;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addchdir_np(&actions, folder);
	int error = posix_spawnp(&child, "gnuplot", &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error != 0 || waitpid(child, &status, 0) != child)
		return -1;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

void plot_check(const char *folder)
{
	if ((mkdir(folder, 0777) != 0 && errno != EEXIST) || access(folder, W_OK | X_OK) != 0)
		bench_refuse("--plot: cannot write into '%s': %s", folder, strerror(errno));
}

int plot_write(const struct suite_result *result, const char *folder, char error[TARGET_ERROR_MAX])
{
	if (write_data(result, folder) != 0 || write_script(result, folder) != 0) {
		snprintf(error, TARGET_ERROR_MAX, "cannot write into '%.150s': %s", folder,
			strerror(errno));
		return -1;
	}
	if (draw(folder, result->summary.case_name) == 0)
		return 0;
	snprintf(error, TARGET_ERROR_MAX,
		"gnuplot (Debian package gnuplot-nox) could not draw %.100s/%s.gp", folder,
		result->summary.case_name);
	return -1;
}
