/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the three forms of a result on a server. Must not compute: what is printed was measured before.
 */
#include "bench/report/retry_report.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "bench/cases/scripts.h"
#include "bench/report/range_output.h"

static void fill_range(struct range *range, const struct retry_measures *measures,
	const struct repetition_choice *choice, size_t offset)
{
	double values[OPTIONS_REPS_MAX];
	uint32_t count = 0;
	for (uint32_t i = 0; i < choice->used_count; i++) {
		double value = *(const double *)((const char *)&measures[choice->used[i]] + offset);
		if (!isnan(value))
			values[count++] = value;
	}
	*range = (struct range){ 0 };
	if (count)
		measure_range(values, count, range);
}

void retry_row_fill(struct retry_row *row, const struct retry_measures *measures, uint32_t reps)
{
	enum repetition_state states[OPTIONS_REPS_MAX];
	for (uint32_t i = 0; i < reps; i++)
		states[i] =
			measures[i].disturbance.disturbed ? REPETITION_DISTURBED : REPETITION_GOOD;
	disturbance_choose(states, reps, &row->choice);
	row->disturbed |= row->choice.disturbed;
	for (size_t f = 0; f < RETRY_FIGURE_COUNT; f++)
		fill_range(&row->figures[f], measures, &row->choice,
			offsetof(struct retry_measures, figures) + f * sizeof(double));
	for (size_t p = 0; p < CLIENTS_PRIORITIES; p++)
		fill_range(&row->success_pct_by_priority[p], measures, &row->choice,
			offsetof(struct retry_measures, success_pct_by_priority) +
				p * sizeof(double));
}

bool retry_summary_is_disturbed(const struct retry_summary *summary)
{
	for (uint32_t i = 0; i < summary->row_count; i++)
		if (summary->rows[i].disturbed)
			return true;
	return false;
}

/* ---- Table ----------------------------------------------------------------------------------- */

static void print_figure(FILE *file, const struct range *range, int width, int digits)
{
	if (range->count)
		fprintf(file, " %*.*f", width, digits, range->median);
	else
		fprintf(file, " %*s", width, "-");
}

/* With repetitions that differ: how many of them healed. */
static void print_heals(FILE *file, const struct retry_row *row)
{
	const struct range *heals = &row->figures[RETRY_heals],
			   *after = &row->figures[RETRY_heal_s];
	if (!heals->count)
		fprintf(file, " %8s", "-");
	else if (heals->max == 0)
		fprintf(file, " %8s", "no");
	else if (heals->min == 0)
		fprintf(file, " %8s", "at times");
	else
		fprintf(file, " %6.1f s", after->median);
}

static void print_priorities(FILE *file, const struct retry_row *row, uint32_t priorities)
{
	for (uint32_t p = 0; p < priorities; p++)
		print_figure(file, &row->success_pct_by_priority[p], 6, 1);
}

static void print_row(FILE *file, const struct retry_summary *summary, const struct retry_row *row)
{
	static const struct {
		enum retry_figure figure;
		int width, digits;
	} columns[] = { { RETRY_goodput_ratio, 8, 3 }, { RETRY_end_goodput_ratio, 8, 3 },
		{ RETRY_p99_ms, 8, 0 }, { RETRY_trigger_ms, 8, 0 }, { RETRY_attempts, 8, 0 },
		{ RETRY_retries_denied, 8, 0 }, { RETRY_rejected, 8, 0 },
		{ RETRY_in_flight_max, 8, 0 }, { RETRY_cancels, 7, 0 },
		{ RETRY_server_cpu_pct, 6, 0 } };
	fprintf(file, "%-18s %5.0f", row->policy->name, row->rate_qps);
	print_heals(file, row);
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		print_figure(file, &row->figures[columns[i].figure], columns[i].width,
			columns[i].digits);
	print_priorities(file, row, summary->plan->priorities);
	fprintf(file, "%s\n", row->disturbed ? "  " RANGE_DISTURBED : "");
}

static void print_head(FILE *file, const struct retry_summary *summary)
{
	const struct retry_plan *plan = summary->plan;
	const struct bench_options *options = summary->options;
	fprintf(file, "%s%s: %s\n", summary->bench_case->name,
		summary->bench_case->plan ? " over the wire" : "",
		summary->bench_case->server_what);
	if (plan->service_ms)
		fprintf(file, "pinned: %u workers, %u ms a statement", plan->workers,
			plan->service_ms);
	else
		fprintf(file, "not pinned: %u workers", plan->workers);
	fprintf(file, "; saturation %.1f/s, load %.1f/s (rho %.2f), timeout %.0f ms, %u retr%s\n",
		summary->saturation_qps, summary->rate_qps, plan->rho,
		(double)plan->timeout_ns / 1e6, plan->retries, plan->retries == 1 ? "y" : "ies");
	if (plan->trigger != SCRIPT_NONE)
		fprintf(file, "trigger: %s of %.1f s at %.1f s; ", script_find(plan->trigger)->name,
			(double)plan->hold_ns / 1e9, (double)plan->onset_ns / 1e9);
	if (plan->resends)
		fprintf(file, "a cancelled culprit is sent again, at most %u times; ",
			plan->resends);
	fprintf(file, "runs of %.1f s, seed %" PRIu64 ", %u repetition%s\n\n",
		(double)plan->length_ns / 1e9, options->seed, options->reps,
		options->reps == 1 ? "" : "s");
}

/* What the first row that was refused anything says about the price of it. */
static void print_refusal(FILE *file, const struct retry_summary *summary)
{
	for (uint32_t i = 0; i < summary->row_count; i++) {
		const struct range *figures = summary->rows[i].figures;
		if (!figures[RETRY_reject_cpu_us].count)
			continue;
		fprintf(file,
			"a refusal takes %.2f ms and %.0f us of the server's CPU (%s); a full "
			"query "
			"%u ms of a worker and %.0f us\n",
			figures[RETRY_reject_ms].median, figures[RETRY_reject_cpu_us].median,
			summary->rows[i].policy->name, summary->plan->service_ms,
			figures[RETRY_query_cpu_us].median);
		return;
	}
}

static void print_disturbance(FILE *file, const struct retry_summary *summary)
{
	const struct retry_row *rows = summary->rows;
	for (uint32_t i = 0; i < summary->row_count; i++)
		range_note_left_out(file, rows[i].policy->name, &rows[i].choice);
	if (!retry_summary_is_disturbed(summary))
		return;
	for (uint32_t i = 0; i < summary->row_count; i++)
		range_note_taken(
			file, i == 0, rows[i].policy->name, &rows[i].figures[RETRY_taken_ms_per_s]);
	fputc('\n', file);
}

static void print_table(FILE *file, const struct retry_summary *summary)
{
	const struct retry_plan *plan = summary->plan;
	print_head(file, summary);
	fprintf(file, "%-18s %5s %8s %8s %8s %8s %8s %8s %8s %8s %8s %7s %6s  %s\n", "policy",
		"load", "heals", "goodput", "at end", "p99", "trigger", "attempts", "retries",
		"refused", "in", "cancels", "server", "success %");
	fprintf(file, "%-18s %5s %8s %8s %8s %8s %8s %8s %8s %8s %8s %7s %6s  %s\n", "", "/s",
		"after", "ratio", "ratio", "ms", "ms", "", "denied", "", "flight", "", "CPU %",
		plan->priorities > 1 ? "by priority" : "");
	for (uint32_t i = 0; i < summary->row_count; i++)
		print_row(file, summary, &summary->rows[i]);
	fprintf(file,
		"\ngoodput: answers in time of what was due %s, against the load or, if that "
		"is less, saturation;\nat end: the same over the last fifth; heals: from the "
		"onset until 90 %% succeed to the end\n",
		plan->trigger == SCRIPT_NONE ? "once the gate had time to close"
					     : "from the onset on");
	print_refusal(file, summary);
	print_disturbance(file, summary);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void csv_names(FILE *file, const char *name)
{
	fprintf(file, ",%s_median,%s_min,%s_max", name, name, name);
}

static void print_csv(FILE *file, const struct retry_summary *summary)
{
	fputs("case,policy,rho,rate_qps", file);
	for (int f = 0; f < RETRY_FIGURE_COUNT; f++)
		csv_names(file, retry_figure_names[f]);
	for (uint32_t p = 0; p < CLIENTS_PRIORITIES; p++) {
		char name[32];
		snprintf(name, sizeof name, "success_pct_p%u", p);
		csv_names(file, name);
	}
	fputs(",disturbed,left_out\n", file);
	for (uint32_t i = 0; i < summary->row_count; i++) {
		const struct retry_row *row = &summary->rows[i];
		fprintf(file, "%s,%s,%.6g,%.6g", summary->bench_case->name, row->policy->name,
			row->rho, row->rate_qps);
		for (int f = 0; f < RETRY_FIGURE_COUNT; f++)
			range_csv(file, &row->figures[f]);
		for (int p = 0; p < CLIENTS_PRIORITIES; p++)
			range_csv(file, &row->success_pct_by_priority[p]);
		range_csv_disturbed(file, row->disturbed, &row->choice);
		fputc('\n', file);
	}
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *json_row(const struct retry_summary *summary, const struct retry_row *row)
{
	json_t *object = json_pack("{s:s, s:s, s:o, s:o}", "policy", row->policy->name, "what",
		row->policy->server_what, "rho", range_json_number(row->rho), "rate_qps",
		range_json_number(row->rate_qps));
	json_t *priorities = json_array();
	for (int f = 0; f < RETRY_FIGURE_COUNT; f++)
		json_object_set_new(object, retry_figure_names[f], range_json(&row->figures[f]));
	for (uint32_t p = 0; p < summary->plan->priorities; p++)
		json_array_append_new(priorities, range_json(&row->success_pct_by_priority[p]));
	json_object_set_new(object, "success_pct_by_priority", priorities);
	range_json_disturbed(object, row->disturbed, &row->choice);
	return object;
}

static json_t *json_head(const struct retry_summary *summary)
{
	const struct retry_plan *plan = summary->plan;
	const struct bench_options *options = summary->options;
	return json_pack(
		"{s:s, s:b, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:i, s:s, s:o, s:i, s:i, s:i, s:i, "
		"s:o, s:i, s:s, s:b}",
		"case", summary->bench_case->name, "wire", summary->bench_case->plan != NULL,
		"what", summary->bench_case->server_what, "seed", (json_int_t)options->seed, "rho",
		range_json_number(plan->rho), "rate_qps", range_json_number(summary->rate_qps),
		"saturation_qps", range_json_number(summary->saturation_qps), "slo_ms",
		range_json_number(plan->slo_ms), "timeout_ms",
		range_json_number((double)plan->timeout_ns / 1e6), "retries", (int)plan->retries,
		"trigger", script_find(plan->trigger)->name, "trigger_s",
		range_json_number((double)plan->hold_ns / 1e9), "culprit_retries",
		(int)plan->resends, "workers", (int)plan->workers, "service_ms",
		(int)plan->service_ms, "pool_mb", (int)plan->pool_mb, "seconds",
		range_json_number((double)plan->length_ns / 1e9), "reps", (int)options->reps,
		"arrivals", options->poisson ? "poisson" : "fixed", "disturbed",
		(int)retry_summary_is_disturbed(summary));
}

static int print_json(FILE *file, const struct retry_summary *summary)
{
	json_t *rows = json_array();
	for (uint32_t i = 0; i < summary->row_count; i++)
		json_array_append_new(rows, json_row(summary, &summary->rows[i]));
	return range_json_write(file, json_head(summary), rows);
}

int retry_report(FILE *file, const struct retry_summary *summary, enum report_format format)
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
