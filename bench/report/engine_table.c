/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of a run on the engine. */
#include <inttypes.h>

#include "bench/report/range_output.h"
#include "bench/report/report.h"

static void print_time(FILE *file, const struct range *range)
{
	if (range->count)
		fprintf(file, " %8.0f", range->median);
	else
		fprintf(file, " %8s", "-");
}

static void print_row(FILE *file, const struct summary *summary, const struct summary_row *row)
{
	char name[REPORT_NAME_MAX];
	report_row_name(summary, row, name);
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

void engine_table(FILE *file, const struct summary *summary)
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
}
