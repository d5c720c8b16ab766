/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the three forms of a summary. Must not compute: what is printed was measured elsewhere. */
#include "bench/report/report.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "bench/report/range_output.h"

int report_write(FILE *file, const struct summary *summary, enum report_format format)
{
	switch (format) {
	case FORMAT_TABLE:
		report_table(file, summary);
		break;
	case FORMAT_CSV:
		report_csv(file, summary);
		break;
	case FORMAT_JSON:
		return report_json(file, summary);
	}
	return ferror(file) ? -1 : 0;
}

/* ---- Table ----------------------------------------------------------------------------------- */

static void print_time(FILE *file, const struct range *range)
{
	if (range->count)
		fprintf(file, " %8.0f", range->median);
	else
		fprintf(file, " %8s", "-");
}

#define ROW_NAME_MAX 80
static void name_row(
	const struct summary *summary, const struct summary_row *row, char name[ROW_NAME_MAX])
{
	snprintf(name, ROW_NAME_MAX, "%s", row->policy);
	if (summary->rows[0].load_pct != summary->rows[summary->row_count - 1].load_pct)
		snprintf(name, ROW_NAME_MAX, "%s %u %%", row->policy, row->load_pct);
}

static void print_row(FILE *file, const struct summary *summary, const struct summary_row *row)
{
	char name[ROW_NAME_MAX];
	name_row(summary, row, name);
#define VALUE(name) summary_value(row, FIGURE_##name)
	fprintf(file, "%-16s %7.3f %7.3f %8.2f %7.1f %7.2f %6.2f %8.0f %7.0f %6.0f %5.0f", name,
		VALUE(goodput_ratio), VALUE(throughput_ratio), VALUE(p99_ratio),
		100 * VALUE(late_share_during), VALUE(late_s_per_culprit), 100 * VALUE(drop_rate),
		VALUE(victims_dropped), VALUE(cancels), VALUE(wrong_cancels),
		VALUE(culprits_completed));
#undef VALUE
	print_time(file, &row->figures[FIGURE_time_to_cancel_ms]);
	print_time(file, &row->figures[FIGURE_time_to_release_ms]);
	print_time(file, &row->figures[FIGURE_time_to_recover_ms]);
	fprintf(file, "  %s%s%s\n", row->setting, row->setting[0] && row->disturbed ? " " : "",
		row->disturbed ? RANGE_DISTURBED : "");
}

static void print_disturbance(FILE *file, const struct summary *summary)
{
	char name[ROW_NAME_MAX];
	for (uint32_t i = 0; i < summary->row_count; i++) {
		name_row(summary, &summary->rows[i], name);
		range_note_left_out(file, name, &summary->rows[i].choice);
	}
	if (!summary_is_disturbed(summary))
		return;
	for (uint32_t i = 0; i < summary->row_count; i++) {
		name_row(summary, &summary->rows[i], name);
		range_note_taken(
			file, i == 0, name, &summary->rows[i].figures[FIGURE_taken_ms_per_s]);
	}
	fputc('\n', file);
}

void report_table(FILE *file, const struct summary *summary)
{
	const struct bench_options *options = summary->options;
	fprintf(file, "%s: %s\n", summary->case_name, summary->what);
	fprintf(file,
		"rate %.0f/s (rho %.2f of %.0f/s), %s arrivals, SLO %.1f ms, pool %u MiB, %s, "
		"%u s, seed %" PRIu64 ", %u repetition%s\n\n",
		summary->rate_qps, summary->rho, summary->saturation_qps,
		options->poisson ? "Poisson" : "fixed", summary->slo_ms, options->pool_mb,
		summary->io, summary->seconds, options->seed, options->reps,
		options->reps == 1 ? "" : "s");
	fprintf(file, "%-16s %7s %7s %8s %7s %7s %6s %8s %7s %6s %5s %8s %8s %8s\n", "policy",
		"goodput", "thruput", "p99", "late %", "late s", "drop %", "victims", "cancels",
		"wrong", "done", "cancel", "release", "recover");
	fprintf(file, "%-16s %7s %7s %8s %7s %7s %6s %8s %7s %6s %5s %8s %8s %8s\n", "", "ratio",
		"ratio", "ratio", "during", "/culpr", "", "dropped", "", "", "", "ms", "ms", "ms");
	for (uint32_t i = 0; i < summary->row_count; i++)
		print_row(file, summary, &summary->rows[i]);
	fprintf(file,
		"\ngoodput and throughput: over the time the culprit runs under `none`, against "
		"the reference;\np99: the whole run; late s: seconds in which over 1 %% were late, "
		"a culprit;\ndone: culprits that completed; times from the first missed SLO, "
		"medians\n");
	print_disturbance(file, summary);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void csv_head(FILE *file)
{
	fprintf(file, "case,policy,setting,load_pct,rate_qps,slo_ms");
	for (int f = 0; f < FIGURE_COUNT; f++) {
		const struct figure_info *info = &summary_figures[f];
		fprintf(file, ",%s", info->name);
		if (info->kind == FIGURE_TIME)
			fprintf(file, "_median,%s_min,%s_max", info->name, info->name);
	}
	fputs(",disturbed,left_out\n", file);
}

static void csv_figure(FILE *file, const struct summary_row *row, enum figure f)
{
	const struct range *range = &row->figures[f];
	if (summary_figures[f].kind == FIGURE_TIME)
		range_csv(file, range);
	else if (range->count)
		fprintf(file, ",%.6g", summary_value(row, f));
	else
		fputc(',', file);
}

void report_csv(FILE *file, const struct summary *summary)
{
	csv_head(file);
	for (uint32_t i = 0; i < summary->row_count; i++) {
		const struct summary_row *row = &summary->rows[i];
		fprintf(file, "%s,%s,%s,%u,%.6g,%.6g", summary->case_name, row->policy,
			row->setting, row->load_pct, row->rate_qps, row->slo_ms);
		for (int f = 0; f < FIGURE_COUNT; f++)
			csv_figure(file, row, (enum figure)f);
		range_csv_disturbed(file, row->disturbed, &row->choice);
		fputc('\n', file);
	}
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *json_row(const struct summary_row *row)
{
	json_t *object = json_object();
	json_object_set_new(object, "policy", json_string(row->policy));
	json_object_set_new(object, "setting", json_string(row->setting));
	json_object_set_new(object, "load_pct", json_integer(row->load_pct));
	json_object_set_new(object, "rate_qps", range_json_number(row->rate_qps));
	json_object_set_new(object, "slo_ms", range_json_number(row->slo_ms));
	json_object_set_new(object, "share_pct", range_json_number(row->share_pct));
	for (int f = 0; f < FIGURE_COUNT; f++)
		json_object_set_new(object, summary_figures[f].name, range_json(&row->figures[f]));
	range_json_disturbed(object, row->disturbed, &row->choice);
	return object;
}

static json_t *json_head(const struct summary *summary)
{
	const struct bench_options *options = summary->options;
	return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:s, s:i, s:i, s:i, s:i, s:s, s:b}",
		"case", summary->case_name, "what", summary->what, "seed",
		(json_int_t)options->seed, "rho", range_json_number(summary->rho), "slo_ms",
		range_json_number(summary->slo_ms), "rate_qps",
		range_json_number(summary->rate_qps), "saturation_qps",
		range_json_number(summary->saturation_qps), "io", summary->io, "pool_mb",
		(int)options->pool_mb, "workers", (int)options->workers, "seconds",
		(int)summary->seconds, "reps", (int)options->reps, "arrivals",
		options->poisson ? "poisson" : "fixed", "disturbed",
		(int)summary_is_disturbed(summary));
}

int report_json(FILE *file, const struct summary *summary)
{
	json_t *rows = json_array();
	for (uint32_t i = 0; i < summary->row_count; i++)
		json_array_append_new(rows, json_row(&summary->rows[i]));
	return range_json_write(file, json_head(summary), rows);
}
