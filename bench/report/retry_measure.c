/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what "healed", goodput and success mean on a server. Requests count by the instant they
 * were due, so that a late answer does not make a later second look good.
 */
#include "bench/report/retry_measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/report/measure.h"
#include "common/quantile.h"

#define LATE_SHARE 0.01

/* Of the requests due in a span, those of one priority; -1: of all. */
struct tally {
	uint64_t due, good;
};

static struct tally tally_of(const struct retry_record *record, struct span span, int priority)
{
	struct tally tally = { 0 };
	for (size_t i = 0; i < record->count; i++) {
		const struct clients_request *request = &record->requests[i];
		if (request->due_ns < span.from_ns || request->due_ns >= span.to_ns ||
			(priority >= 0 && request->priority != priority))
			continue;
		tally.due++;
		tally.good += request->outcome == CLIENTS_SUCCESS;
	}
	return tally;
}

static double share_of(struct tally tally)
{
	return tally.due ? (double)tally.good / (double)tally.due : NAN;
}

double retry_success(const struct retry_record *record, struct span span)
{
	return share_of(tally_of(record, span, -1));
}

/* ---- Healing --------------------------------------------------------------------------------- */

/* Tallies by bin from an instant on; the last, partial bin is left out. Free it. */
static struct tally *tally_bins(
	const struct retry_record *record, uint64_t from_ns, uint64_t bin_ns, size_t *count)
{
	uint64_t length_ns = record->settled_ns > from_ns ? record->settled_ns - from_ns : 0;
	*count = (size_t)(length_ns / bin_ns);
	struct tally *bins = calloc(*count + 1, sizeof *bins);
	for (size_t i = 0; bins && i < record->count; i++) {
		const struct clients_request *request = &record->requests[i];
		if (request->due_ns < from_ns)
			continue;
		size_t bin = (size_t)((request->due_ns - from_ns) / bin_ns);
		if (bin >= *count)
			continue;
		bins[bin].due++;
		bins[bin].good += request->outcome == CLIENTS_SUCCESS;
	}
	return bins;
}

uint64_t retry_heals_ns(const struct retry_record *record)
{
	size_t count, well;
	struct tally *bins = tally_bins(record, record->onset_ns, RETRY_BIN_NS, &count);
	if (!bins)
		return UINT64_MAX;
	for (well = count; well > 0; well--)
		if (share_of(bins[well - 1]) < RETRY_GOOD_SHARE)
			break;
	free(bins);
	return count - well >= RETRY_HEALED_BINS ? record->onset_ns + well * RETRY_BIN_NS
						 : UINT64_MAX;
}

static double late_seconds(const struct retry_record *record)
{
	size_t count, late = 0;
	struct tally *bins = tally_bins(record, record->onset_ns, MEASURE_BIN_NS, &count);
	for (size_t i = 0; bins && i < count; i++)
		late += 1 - share_of(bins[i]) > LATE_SHARE;
	free(bins);
	return (double)late * MEASURE_BIN_NS / BENCH_NS_PER_S;
}

int retry_trace_fill(struct trace *trace, const struct retry_record *record)
{
	size_t count;
	struct tally *bins = tally_bins(record, 0, RETRY_BIN_NS, &count);
	trace->due = calloc(count + 1, sizeof *trace->due);
	trace->late = calloc(count + 1, sizeof *trace->late);
	bool fine = bins && trace->due && trace->late;
	trace->bin_count = fine ? (uint32_t)count : 0;
	for (uint32_t i = 0; i < trace->bin_count; i++) {
		trace->due[i] = (uint32_t)bins[i].due;
		trace->late[i] = (uint32_t)(bins[i].due - bins[i].good);
	}
	free(bins);
	return fine ? 0 : -1;
}

void trace_free(struct trace *trace)
{
	free(trace->due);
	free(trace->late);
	*trace = (struct trace){ 0 };
}

/* ---- The rest -------------------------------------------------------------------------------- */

/* Of the requests that succeeded, from the instant each was due. */
static void rank_latencies(
	const struct retry_record *record, struct span span, struct retry_measures *measures)
{
	double *ms = calloc(record->count + 1, sizeof *ms);
	uint32_t count = 0;
	for (size_t i = 0; ms && i < record->count; i++) {
		const struct clients_request *request = &record->requests[i];
		if (request->outcome == CLIENTS_SUCCESS && request->due_ns >= span.from_ns &&
			request->due_ns < span.to_ns)
			ms[count++] = (double)(request->done_ns - request->due_ns) / 1e6;
	}
	if (count) {
		sort_doubles(ms, count);
		measures->figures[RETRY_p50_ms] = quantile_of(ms, count, 0.5);
		measures->figures[RETRY_p99_ms] = quantile_of(ms, count, 0.99);
	}
	free(ms);
}

static void measure_healing(const struct retry_record *record, struct retry_measures *measures)
{
	uint64_t heals_ns = retry_heals_ns(record);
	measures->figures[RETRY_heals] = heals_ns != UINT64_MAX;
	if (heals_ns != UINT64_MAX)
		measures->figures[RETRY_heal_s] =
			(double)(heals_ns - record->onset_ns) / BENCH_NS_PER_S;
	measures->figures[RETRY_late_s] = late_seconds(record);
}

void retry_measure(const struct retry_record *record, struct retry_measures *measures)
{
	struct span all = { record->onset_ns, record->settled_ns };
	struct span last = { all.to_ns - (all.to_ns - all.from_ns) / 5, all.to_ns };
	struct tally tally = tally_of(record, all, -1);
	double seconds = (double)(all.to_ns - all.from_ns) / BENCH_NS_PER_S;
	double *figures = measures->figures;
	if (record->triggered)
		measure_healing(record, measures);
	figures[RETRY_goodput_qps] = seconds > 0 ? (double)tally.good / seconds : NAN;
	figures[RETRY_success_pct] = 100 * share_of(tally);
	/* against what was offered, or against what the server can do if that is less */
	double able = fmin((double)tally.due, record->saturation_qps * seconds);
	figures[RETRY_goodput_ratio] = able > 0 ? (double)tally.good / able : NAN;
	struct tally end = tally_of(record, last, -1);
	able = fmin((double)end.due, record->saturation_qps * seconds / 5);
	figures[RETRY_end_goodput_ratio] = able > 0 ? (double)end.good / able : NAN;
	for (int p = 0; p < CLIENTS_PRIORITIES; p++)
		measures->success_pct_by_priority[p] = 100 * share_of(tally_of(record, all, p));
	rank_latencies(record, all, measures);
}
