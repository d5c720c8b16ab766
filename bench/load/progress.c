/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the wording of the lines a run prints while it goes on. */
#include "bench/load/progress.h"

#include <stdio.h>

static double late_pct(const struct clients_counts *diff)
{
	uint64_t judged = diff->ok + diff->dropped, bad = diff->late + diff->dropped;
	/* Nothing came back although much was asked: all of it is late. */
	return judged ? 100.0 * (double)bad / (double)judged : diff->offered ? 100 : 0;
}

void progress_line(struct progress *progress, double at_s, uint64_t now_ns,
	const struct clients_counts *counts, const struct target_gauges *gauges)
{
	struct clients_counts diff;
	clients_since(counts, &progress->last, &diff);
	double seconds = (double)(now_ns - progress->last_ns) / 1e9;
	uint64_t evictions = gauges->evictions - progress->last_gauges.evictions;
	progress->last = *counts;
	progress->last_gauges = *gauges;
	progress->last_ns = now_ns;
	if (progress->quiet || seconds <= 0)
		return;
	fprintf(stderr, "%-14s %5.1f s  offered %6.0f/s  goodput %6.0f/s  ", progress->title, at_s,
		(double)diff.offered / seconds,
		(double)(progress->retries ? diff.ok : diff.good) / seconds);
	if (progress->retries)
		fprintf(stderr, "sent %5.0f/s  refused %5.0f/s  in flight %5u\n",
			(double)diff.attempts / seconds, (double)diff.refused / seconds,
			gauges->active);
	else
		fprintf(stderr,
			"late %5.1f %%  p99 %8.2f ms  evictions %6.0f/s  contention %3.0f %% %s\n",
			late_pct(&diff), (double)clients_quantile_ns(&diff, 0.99) / 1e6,
			(double)evictions / seconds, 100 * gauges->contention, gauges->contended);
}

void progress_event(const struct progress *progress, double at_s, const char *what,
	const char *name, const char *why)
{
	if (!progress->quiet)
		fprintf(stderr, "%-14s %5.1f s  %s %s%s%s\n", progress->title, at_s, what, name,
			why[0] ? ": " : "", why);
}
