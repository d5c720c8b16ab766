/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the wording of the lines a run prints while it goes on. Must not know how it is measured. */
#include "bench/load/progress.h"

#include <stdio.h>

void ticker_begin(struct ticker *ticker, const char *title, bool quiet, uint64_t now_ns)
{
	*ticker = (struct ticker){ .title = title, .quiet = quiet, .last_ns = now_ns };
}

void ticker_line(struct ticker *ticker, double at_s, uint64_t now_ns, const struct live_view *live,
	const struct target_gauges *gauges)
{
	struct live_view diff;
	live_since(live, &ticker->last, &diff);
	double seconds = (double)(now_ns - ticker->last_ns) / 1e9;
	uint64_t evictions = gauges->evictions - ticker->last_gauges.evictions;
	uint64_t judged = diff.answered + diff.dropped, bad = diff.late + diff.dropped;
	/* Nothing came back although much was asked: all of it is late. */
	double late_pct = judged ? 100.0 * (double)bad / (double)judged : diff.offered ? 100 : 0;
	ticker->last = *live;
	ticker->last_gauges = *gauges;
	ticker->last_ns = now_ns;
	if (ticker->quiet || seconds <= 0)
		return;
	fprintf(stderr,
		"%-14s %5.1f s  offered %6.0f/s  goodput %6.0f/s  late %5.1f %%  p99 %8.2f ms  "
		"evictions %6.0f/s  contention %3.0f %% %s\n",
		ticker->title, at_s, (double)diff.offered / seconds, (double)diff.good / seconds,
		late_pct, (double)live_quantile_ns(&diff, 0.99) / 1e6, (double)evictions / seconds,
		100 * gauges->contention, gauges->contended);
}

void ticker_cancel(const struct ticker *ticker, double at_s, const char *what, const char *name,
	const char *why)
{
	if (!ticker->quiet)
		fprintf(stderr, "%-14s %5.1f s  %s %s: %s\n", ticker->title, at_s, what, name, why);
}
