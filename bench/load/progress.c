/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the wording of the lines a run prints while it goes on. */
#include "bench/load/progress.h"

#include <stdio.h>

void progress_start(struct progress *progress, const char *title, bool quiet, uint64_t now_ns)
{
	*progress = (struct progress){ .title = title, .quiet = quiet, .last_ns = now_ns };
}

void progress_line(struct progress *progress, double at_s, uint64_t now_ns,
	const struct live_view *live, const struct target_gauges *gauges)
{
	struct live_view diff;
	live_since(live, &progress->last, &diff);
	double seconds = (double)(now_ns - progress->last_ns) / 1e9;
	uint64_t evictions = gauges->evictions - progress->last_gauges.evictions;
	uint64_t judged = diff.answered + diff.dropped, bad = diff.late + diff.dropped;
	/* Nothing came back although much was asked: all of it is late. */
	double late_pct = judged ? 100.0 * (double)bad / (double)judged : diff.offered ? 100 : 0;
	progress->last = *live;
	progress->last_gauges = *gauges;
	progress->last_ns = now_ns;
	if (progress->quiet || seconds <= 0)
		return;
	fprintf(stderr,
		"%-14s %5.1f s  offered %6.0f/s  goodput %6.0f/s  late %5.1f %%  p99 %8.2f ms  "
		"evictions %6.0f/s  contention %3.0f %% %s\n",
		progress->title, at_s, (double)diff.offered / seconds, (double)diff.good / seconds,
		late_pct, (double)live_quantile_ns(&diff, 0.99) / 1e6, (double)evictions / seconds,
		100 * gauges->contention, gauges->contended);
}

void progress_cancel(const struct progress *progress, double at_s, const char *what,
	const char *name, const char *why)
{
	if (!progress->quiet)
		fprintf(stderr, "%-14s %5.1f s  %s %s: %s\n", progress->title, at_s, what, name,
			why);
}
