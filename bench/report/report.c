/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the three forms of a summary. What is printed was measured elsewhere. */
#include "bench/report/report.h"

#include <jansson.h>

#include "bench/report/range_output.h"

/* ---- Table ----------------------------------------------------------------------------------- */

void report_row_name(
	const struct summary *summary, const struct summary_row *row, char name[REPORT_NAME_MAX])
{
	snprintf(name, REPORT_NAME_MAX, "%s", row->policy);
	if (summary->rows[0].load_pct != summary->rows[summary->row_count - 1].load_pct)
		snprintf(name, REPORT_NAME_MAX, "%s %u %%", row->policy, row->load_pct);
}

static void print_disturbance(FILE *file, const struct summary *summary)
{
	char name[REPORT_NAME_MAX];
	for (uint32_t i = 0; i < summary->row_count; i++) {
		report_row_name(summary, &summary->rows[i], name);
		range_note_left_out(file, name, &summary->rows[i].choice);
	}
	if (!summary_is_disturbed(summary))
		return;
	for (uint32_t i = 0; i < summary->row_count; i++) {
		report_row_name(summary, &summary->rows[i], name);
		range_note_taken(
			file, i == 0, name, &summary->rows[i].figures[FIGURE_taken_ms_per_s]);
	}
	fputc('\n', file);
}

static void print_table(FILE *file, const struct summary *summary)
{
	table_print(file, summary);
	print_disturbance(file, summary);
}

/* ---- Figures --------------------------------------------------------------------------------- */

static bool is_reported(const struct summary *summary, int figure)
{
	return figure_infos[figure].when & summary_when(summary);
}

static bool is_range(const struct summary *summary, int figure)
{
	return summary->plan || figure_infos[figure].kind == FIGURE_TIME;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void csv_range_names(FILE *file, const char *name)
{
	fprintf(file, ",%s_median,%s_min,%s_max", name, name, name);
}

static void csv_head(FILE *file, const struct summary *summary)
{
	fputs(summary->plan ? "case,policy,rho,rate_qps"
			    : "case,policy,setting,load_pct,rate_qps,slo_ms",
		file);
	for (int f = 0; f < FIGURE_COUNT; f++)
		if (is_reported(summary, f) && is_range(summary, f))
			csv_range_names(file, figure_infos[f].name);
		else if (is_reported(summary, f))
			fprintf(file, ",%s", figure_infos[f].name);
	for (uint32_t p = 0; summary->plan && p < TARGET_PRIORITIES; p++) {
		char name[32];
		snprintf(name, sizeof name, "success_pct_p%u", p);
		csv_range_names(file, name);
	}
	fputs(",disturbed,left_out\n", file);
}

static void csv_row(FILE *file, const struct summary *summary, const struct summary_row *row)
{
	fprintf(file, "%s,%s,", summary->case_name, row->policy);
	if (summary->plan)
		fprintf(file, "%.6g,%.6g", row->rho, row->rate_qps);
	else
		fprintf(file, "%s,%u,%.6g,%.6g", row->setting, row->load_pct, row->rate_qps,
			row->slo_ms);
	for (int f = 0; f < FIGURE_COUNT; f++)
		if (!is_reported(summary, f))
			continue;
		else if (is_range(summary, f))
			range_csv(file, &row->figures[f]);
		else if (row->figures[f].count)
			fprintf(file, ",%.6g", summary_value(row, (enum figure)f));
		else
			fputc(',', file);
	for (uint32_t p = 0; summary->plan && p < TARGET_PRIORITIES; p++)
		range_csv(file, &row->success_pct_by_priority[p]);
	range_csv_disturbed(file, row->disturbed, &row->choice);
	fputc('\n', file);
}

static void print_csv(FILE *file, const struct summary *summary)
{
	csv_head(file, summary);
	for (uint32_t i = 0; i < summary->row_count; i++)
		csv_row(file, summary, &summary->rows[i]);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *json_row_head(const struct summary *summary, const struct summary_row *row)
{
	if (summary->plan)
		return json_pack("{s:s, s:s, s:o, s:o}", "policy", row->policy, "what", row->what,
			"rho", range_json_number(row->rho), "rate_qps",
			range_json_number(row->rate_qps));
	return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o}", "policy", row->policy, "setting",
		row->setting, "load_pct", (int)row->load_pct, "rate_qps",
		range_json_number(row->rate_qps), "slo_ms", range_json_number(row->slo_ms),
		"share_pct", range_json_number(row->share_pct));
}

static json_t *json_row(const struct summary *summary, const struct summary_row *row)
{
	json_t *object = json_row_head(summary, row);
	for (int f = 0; f < FIGURE_COUNT; f++)
		if (is_reported(summary, f))
			json_object_set_new(
				object, figure_infos[f].name, range_json(&row->figures[f]));
	if (summary->plan) {
		json_t *priorities = json_array();
		for (uint32_t p = 0; p < summary->plan->priorities; p++)
			json_array_append_new(
				priorities, range_json(&row->success_pct_by_priority[p]));
		json_object_set_new(object, "success_pct_by_priority", priorities);
	}
	range_json_disturbed(object, row->disturbed, &row->choice);
	return object;
}

static json_t *engine_json_head(const struct summary *summary)
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

static json_t *server_json_head(const struct summary *summary)
{
	const struct case_plan *plan = summary->plan;
	const struct bench_options *options = summary->options;
	return json_pack(
		"{s:s, s:b, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:i, s:s, s:o, s:i, s:i, s:i, s:i, "
		"s:o, s:i, s:s, s:b}",
		"case", summary->case_name, "wire", (int)summary->wire, "what", summary->what,
		"seed", (json_int_t)options->seed, "rho", range_json_number(summary->rho),
		"rate_qps", range_json_number(summary->rate_qps), "saturation_qps",
		range_json_number(summary->saturation_qps), "slo_ms",
		range_json_number((double)plan->slo_ns / 1e6), "timeout_ms",
		range_json_number((double)plan->timeout_ns / 1e6), "retries", (int)plan->retries,
		"trigger", plan->trigger ? plan->trigger : "none", "trigger_s",
		range_json_number((double)plan->hold_ns / 1e9), "culprit_retries",
		(int)options->resends, "workers", (int)plan->workers, "service_ms",
		(int)plan->service_ms, "pool_mb", (int)plan->pool_mb, "seconds",
		range_json_number((double)plan->length_ns / 1e9), "reps", (int)options->reps,
		"arrivals", options->poisson ? "poisson" : "fixed", "disturbed",
		(int)summary_is_disturbed(summary));
}

static int print_json(FILE *file, const struct summary *summary)
{
	json_t *rows = json_array();
	for (uint32_t i = 0; i < summary->row_count; i++)
		json_array_append_new(rows, json_row(summary, &summary->rows[i]));
	return range_json_write(
		file, summary->plan ? server_json_head(summary) : engine_json_head(summary), rows);
}

int report_write(FILE *file, const struct summary *summary, enum report_format format)
{
	switch (format) {
	case FORMAT_TABLE:
		print_table(file, summary);
		break;
	case FORMAT_CSV:
		print_csv(file, summary);
		break;
	case FORMAT_JSON:
		return print_json(file, summary);
	}
	return ferror(file) ? -1 : 0;
}
