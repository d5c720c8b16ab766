/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of a run on a server. */
#include <inttypes.h>

#include "bench/report/range_output.h"
#include "bench/report/report.h"

static void print_figure(FILE *file, const struct range *range, int width, int digits)
{
	if (range->count)
		fprintf(file, " %*.*f", width, digits, range->median);
	else
		fprintf(file, " %*s", width, "-");
}

/* With repetitions that differ: how many of them healed. */
static void print_heals(FILE *file, const struct summary_row *row)
{
	const struct range *heals = &row->figures[FIGURE_heals],
			   *after = &row->figures[FIGURE_heal_s];
	if (!heals->count)
		fprintf(file, " %8s", "-");
	else if (heals->max == 0)
		fprintf(file, " %8s", "no");
	else if (heals->min == 0)
		fprintf(file, " %8s", "at times");
	else
		fprintf(file, " %6.1f s", after->median);
}

static void print_priorities(FILE *file, const struct summary_row *row, uint32_t priorities)
{
	for (uint32_t p = 0; p < priorities; p++)
		print_figure(file, &row->success_pct_by_priority[p], 6, 1);
}

static void print_row(FILE *file, const struct summary *summary, const struct summary_row *row)
{
	static const struct {
		enum figure figure;
		int width, digits;
	} columns[] = { { FIGURE_goodput_ratio, 8, 3 }, { FIGURE_end_goodput_ratio, 8, 3 },
		{ FIGURE_p99_ms, 8, 0 }, { FIGURE_trigger_ms, 8, 0 }, { FIGURE_attempts, 8, 0 },
		{ FIGURE_retries_denied, 8, 0 }, { FIGURE_rejected, 8, 0 },
		{ FIGURE_in_flight_max, 8, 0 }, { FIGURE_cancels, 7, 0 },
		{ FIGURE_server_cpu_pct, 6, 0 } };
	fprintf(file, "%-18s %5.0f", row->policy, row->rate_qps);
	print_heals(file, row);
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		print_figure(file, &row->figures[columns[i].figure], columns[i].width,
			columns[i].digits);
	print_priorities(file, row, summary->plan->priorities);
	fprintf(file, "%s\n", row->disturbed ? "  " RANGE_DISTURBED : "");
}

static void print_head(FILE *file, const struct summary *summary)
{
	const struct case_plan *plan = summary->plan;
	const struct bench_options *options = summary->options;
	fprintf(file, "%s%s: %s\n", summary->case_name, summary->wire ? " over the wire" : "",
		summary->what);
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
	if (options->resends)
		fprintf(file, "a cancelled culprit is sent again, at most %u times; ",
			options->resends);
	fprintf(file, "runs of %.1f s, seed %" PRIu64 ", %u repetition%s\n\n",
		(double)plan->length_ns / 1e9, options->seed, options->reps,
		options->reps == 1 ? "" : "s");
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
			"query "
			"%u ms of a worker and %.0f us\n",
			figures[FIGURE_reject_ms].median, figures[FIGURE_reject_cpu_us].median,
			summary->rows[i].policy, summary->plan->service_ms,
			figures[FIGURE_query_cpu_us].median);
		return;
	}
}

void server_table(FILE *file, const struct summary *summary)
{
	const struct case_plan *plan = summary->plan;
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
		plan->trigger ? "from the onset on" : "once the gate had time to close");
	print_refusal(file, summary);
}
