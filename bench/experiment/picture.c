/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the words around the picture. */
#include "bench/experiment/picture.h"

#include <stdio.h>

#include "bench/report/retry_measure.h"
#include "bench/report/plot.h"
#include "bench/report/range_output.h"

#define NAME_BYTES  32
#define TITLE_BYTES 160

static void describe_engine(const struct summary *summary, struct plot *plot, char *title)
{
	snprintf(title, TITLE_BYTES, "%s: %.0f requests/s offered, SLO %.1f ms%s", plot->name,
		summary->rate_qps, summary->slo_ms,
		summary_is_disturbed(summary) ? " " RANGE_DISTURBED : "");
	plot->goodput = "answers within SLO /s";
	plot->shade = "the culprit runs if nobody stops it";
	plot->bin_s = MEASURE_BIN_NS / 1e9;
}

static void describe_server(const struct summary *summary, struct plot *plot, char *title)
{
	const struct case_plan *plan = summary->plan;
	snprintf(title, TITLE_BYTES, "%s: load %.0f/s of %.0f/s, timeout %.0f ms, %u retr%s%s",
		plot->name, summary->rate_qps, summary->saturation_qps,
		(double)plan->timeout_ns / 1e6, plan->retries, plan->retries == 1 ? "y" : "ies",
		summary_is_disturbed(summary) ? " " RANGE_DISTURBED : "");
	plot->goodput = "answers in time /s";
	plot->shade = plan->trigger ? "the trigger, if nobody stops it" : NULL;
	plot->bin_s = RETRY_BIN_NS / 1e9;
}

int picture_draw(
	const struct suite_result *result, const char *folder, char error[TARGET_ERROR_MAX])
{
	static struct plot plot;
	char name[NAME_BYTES], title[TITLE_BYTES];
	const struct summary *summary = &result->summary;
	snprintf(name, sizeof name, "%s%s", summary->case_name, summary->wire ? "-wire" : "");
	plot = (struct plot){ .name = name,
		.title = title,
		.series_count = result->trace_count,
		.spans = result->spans };
	if (summary->plan)
		describe_server(summary, &plot, title);
	else
		describe_engine(summary, &plot, title);
	for (uint32_t i = 0; i < result->trace_count; i++)
		plot.series[i] = (struct plot_series){ .name = result->traces[i].policy,
			.disturbed = result->traces[i].disturbed,
			.bins = &result->traces[i].bins };
	return plot_write(&plot, folder, error);
}
