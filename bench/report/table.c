/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table: its head, a row for each policy, and the words that explain it. */
#include <inttypes.h>

#include "bench/report/range_output.h"
#include "bench/report/report.h"

struct column {
	enum figure figure;
	int width, digits;
	double scale;
	const char *top, *below;
};

static const struct column wait_columns[] = {
	{ FIGURE_goodput_ratio, 7, 3, 1, "goodput", "ratio" },
	{ FIGURE_throughput_ratio, 7, 3, 1, "thruput", "ratio" },
	{ FIGURE_p99_ratio, 8, 2, 1, "p99", "ratio" },
	{ FIGURE_late_share_during, 7, 1, 100, "late %", "during" },
	{ FIGURE_late_s_per_culprit, 7, 2, 1, "late s", "/culpr" },
	{ FIGURE_drop_rate, 6, 2, 100, "drop %", "" },
	{ FIGURE_victims_dropped, 8, 0, 1, "victims", "dropped" },
	{ FIGURE_cancels, 7, 0, 1, "cancels", "" },
	{ FIGURE_wrong_cancels, 6, 0, 1, "wrong", "" },
	{ FIGURE_culprits_completed, 5, 0, 1, "done", "" },
	{ FIGURE_time_to_cancel_ms, 8, 0, 1, "cancel", "ms" },
	{ FIGURE_time_to_release_ms, 8, 0, 1, "release", "ms" },
	{ FIGURE_time_to_recover_ms, 8, 0, 1, "recover", "ms" },
};

static const struct column leave_columns[] = {
	{ FIGURE_heal_s, 8, 1, 1, "heals", "after" },
	{ FIGURE_goodput_ratio, 8, 3, 1, "goodput", "ratio" },
	{ FIGURE_end_goodput_ratio, 8, 3, 1, "at end", "ratio" },
	{ FIGURE_p99_ms, 8, 0, 1, "p99", "ms" },
	{ FIGURE_trigger_ms, 8, 0, 1, "trigger", "ms" },
	{ FIGURE_attempts, 8, 0, 1, "attempts", "" },
	{ FIGURE_retries_denied, 8, 0, 1, "retries", "denied" },
	{ FIGURE_rejected, 8, 0, 1, "refused", "" },
	{ FIGURE_in_flight_max, 8, 0, 1, "in", "flight" },
	{ FIGURE_cancels, 7, 0, 1, "cancels", "" },
	{ FIGURE_server_cpu_pct, 6, 0, 1, "server", "CPU %" },
};

struct columns {
	const struct column *list;
	size_t count;
	int name_width;
};

static struct columns columns_of(const struct summary *summary)
{
	return summary->plan ? (struct columns){ leave_columns,
		sizeof leave_columns / sizeof *leave_columns, 18 }
			     : (struct columns){ wait_columns,
				       sizeof wait_columns / sizeof *wait_columns, 16 };
}

static void print_number(FILE *file, const struct range *range, double value, int width, int digits)
{
	if (range->count)
		fprintf(file, " %*.*f", width, digits, value);
	else
		fprintf(file, " %*s", width, "-");
}

/* With repetitions that differ: how many of them healed. */
static void print_heals(FILE *file, const struct summary_row *row)
{
	const struct range *heals = &row->figures[FIGURE_heals];
	if (!heals->count)
		fprintf(file, " %8s", "-");
	else if (heals->max <= 0)
		fprintf(file, " %8s", "no");
	else if (heals->min <= 0)
		fprintf(file, " %8s", "at times");
	else
		fprintf(file, " %6.1f s", row->figures[FIGURE_heal_s].median);
}

static void print_row(FILE *file, const struct summary *summary, const struct summary_row *row)
{
	struct columns columns = columns_of(summary);
	char name[REPORT_NAME_MAX];
	report_row_name(summary, row, name);
	fprintf(file, "%-*s", columns.name_width, name);
	if (summary->plan)
		fprintf(file, " %5.0f", row->rate_qps);
	for (size_t i = 0; i < columns.count; i++) {
		const struct column *column = &columns.list[i];
		const struct range *range = &row->figures[column->figure];
		if (column->figure == FIGURE_heal_s)
			print_heals(file, row);
		else
			print_number(file, range,
				column->scale *
					(summary->plan ? range->median
						       : summary_value(row, column->figure)),
				column->width, column->digits);
	}
	for (uint32_t p = 0; summary->plan && p < summary->plan->priorities; p++) {
		const struct range *range = &row->success_pct_by_priority[p];
		print_number(file, range, range->median, 6, 1);
	}
	if (!summary->plan)
		fprintf(file, "  %s%s", row->setting, row->setting[0] && row->disturbed ? " " : "");
	fprintf(file, "%s%s\n", summary->plan && row->disturbed ? "  " : "",
		row->disturbed ? RANGE_DISTURBED : "");
}

static void print_names(FILE *file, const struct summary *summary)
{
	struct columns columns = columns_of(summary);
	bool many = summary->plan && summary->plan->priorities > 1;
	fprintf(file, "%-*s%s", columns.name_width, "policy", summary->plan ? "  load" : "");
	for (size_t i = 0; i < columns.count; i++)
		fprintf(file, " %*s", columns.list[i].width, columns.list[i].top);
	fprintf(file, "%s\n%-*s%s", summary->plan ? "  success %" : "", columns.name_width, "",
		summary->plan ? "    /s" : "");
	for (size_t i = 0; i < columns.count; i++)
		fprintf(file, " %*s", columns.list[i].width, columns.list[i].below);
	fprintf(file, "%s\n", !summary->plan ? "" : many ? "  by priority" : "  ");
}

static void print_wait_head(FILE *file, const struct summary *summary)
{
	const struct bench_options *options = summary->options;
	fprintf(file,
		"rate %.0f/s (rho %.2f of %.0f/s), %s arrivals, SLO %.1f ms, pool %u MiB, %s, %u "
		"s, ",
		summary->rate_qps, summary->rho, summary->saturation_qps,
		options->poisson ? "Poisson" : "fixed", summary->slo_ms, options->pool_mb,
		summary->io, summary->seconds);
}

static void print_leave_head(FILE *file, const struct summary *summary)
{
	const struct case_plan *plan = summary->plan;
	if (plan->service_ms)
		fprintf(file, "pinned: %u workers, %u ms a statement", plan->workers,
			plan->service_ms);
	else
		fprintf(file, "not pinned: %u workers", plan->workers);
	fprintf(file, "; saturation %.1f/s, load %.1f/s (rho %.2f), timeout %.0f ms, %u retr%s\n",
		summary->saturation_qps, summary->rate_qps, summary->rho,
		(double)plan->timeout_ns / 1e6, plan->retries, plan->retries == 1 ? "y" : "ies");
	if (plan->trigger)
		fprintf(file, "trigger: %s of %.1f s at %.1f s; ", plan->trigger,
			(double)plan->hold_ns / 1e9, (double)plan->onset_ns / 1e9);
	if (summary->options->resends)
		fprintf(file, "a cancelled culprit is sent again, at most %u times; ",
			summary->options->resends);
	fprintf(file, "runs of %.1f s, ", (double)plan->length_ns / 1e9);
}

/* What the first row that was refused anything says about the price of it. */
static void print_refusal(FILE *file, const struct summary *summary)
{
	for (uint32_t i = 0; i < summary->row_count; i++) {
		const struct range *figures = summary->rows[i].figures;
		if (!figures[FIGURE_reject_cpu_us].count)
			continue;
		fprintf(file,
			"a refusal takes %.2f ms and %.0f us of the server's CPU (%s); a full "
			"query %u ms of a worker and %.0f us\n",
			figures[FIGURE_reject_ms].median, figures[FIGURE_reject_cpu_us].median,
			summary->rows[i].policy, summary->plan->service_ms,
			figures[FIGURE_query_cpu_us].median);
		return;
	}
}

static void print_foot(FILE *file, const struct summary *summary)
{
	if (!summary->plan) {
		fprintf(file,
			"\ngoodput and throughput: over the time the culprit runs under `none`, "
			"against the reference;\np99: the whole run; late s: seconds in which "
			"over 1 %% were late, a culprit;\ndone: culprits that completed; times "
			"from the first missed SLO, medians\n");
		return;
	}
	fprintf(file,
		"\ngoodput: answers in time of what was due %s, against the load or, if that is "
		"less, saturation;\nat end: the same over the last fifth; heals: from the onset "
		"until 90 %% succeed to the end\n",
		summary->plan->trigger ? "from the onset on" : "once the gate had time to close");
	print_refusal(file, summary);
}

void table_print(FILE *file, const struct summary *summary)
{
	const struct bench_options *options = summary->options;
	fprintf(file, "%s%s: %s\n", summary->case_name, summary->wire ? " over the wire" : "",
		summary->what);
	(summary->plan ? print_leave_head : print_wait_head)(file, summary);
	fprintf(file, "seed %" PRIu64 ", %u repetition%s\n\n", options->seed, options->reps,
		options->reps == 1 ? "" : "s");
	print_names(file, summary);
	for (uint32_t i = 0; i < summary->row_count; i++)
		print_row(file, summary, &summary->rows[i]);
	print_foot(file, summary);
}
