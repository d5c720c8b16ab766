/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what "healed", goodput and success mean for a live lane. Requests count by the instant they
 * were due, so that a late answer does not make a later second look good.
 */
#include "bench/report/lane_measure.h"

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

const char *const lane_figure_names[LANE_FIGURE_COUNT] = {
#define X(name) #name,
	LANE_FIGURES(X)
#undef X
};

static struct tally tally_of(const struct lane_record *record, struct lane_span span, int priority)
{
	struct tally tally = { 0 };
	for (size_t i = 0; i < record->count; i++) {
		const struct crowd_request *request = &record->requests[i];
		if (request->due_ns < span.from_ns || request->due_ns >= span.to_ns ||
			(priority >= 0 && request->priority != priority))
			continue;
		tally.due++;
		tally.good += request->outcome == CROWD_SUCCESS;
	}
	return tally;
}

static double share_of(struct tally tally)
{
	return tally.due ? (double)tally.good / (double)tally.due : NAN;
}

double lane_success(const struct lane_record *record, struct lane_span span)
{
	return share_of(tally_of(record, span, -1));
}

/* ---- Healing --------------------------------------------------------------------------------- */

/* Tallies by bin from an instant on; the last, partial bin is left out. Free it. */
static struct tally *tally_bins(
	const struct lane_record *record, uint64_t from_ns, uint64_t bin_ns, size_t *count)
{
	uint64_t length_ns = record->settled_ns > from_ns ? record->settled_ns - from_ns : 0;
	*count = (size_t)(length_ns / bin_ns);
	struct tally *bins = calloc(*count + 1, sizeof *bins);
	for (size_t i = 0; bins && i < record->count; i++) {
		const struct crowd_request *request = &record->requests[i];
		if (request->due_ns < from_ns)
			continue;
		size_t bin = (size_t)((request->due_ns - from_ns) / bin_ns);
		if (bin >= *count)
			continue;
		bins[bin].due++;
		bins[bin].good += request->outcome == CROWD_SUCCESS;
	}
	return bins;
}

uint64_t lane_heals_ns(const struct lane_record *record)
{
	size_t count, well;
	struct tally *bins = tally_bins(record, record->onset_ns, LANE_BIN_NS, &count);
	if (!bins)
		return UINT64_MAX;
	for (well = count; well > 0; well--)
		if (share_of(bins[well - 1]) < LANE_GOOD_SHARE)
			break;
	free(bins);
	return count - well >= LANE_HEALED_BINS ? record->onset_ns + well * LANE_BIN_NS
						: UINT64_MAX;
}

static double late_seconds(const struct lane_record *record)
{
	size_t count, late = 0;
	struct tally *bins = tally_bins(record, record->onset_ns, MEASURE_BIN_NS, &count);
	for (size_t i = 0; bins && i < count; i++)
		late += 1 - share_of(bins[i]) > LATE_SHARE;
	free(bins);
	return (double)late * MEASURE_BIN_NS / LANE_NS_PER_S;
}

int lane_trace_fill(struct lane_trace *trace, const struct lane_record *record)
{
	size_t count;
	struct tally *bins = tally_bins(record, 0, LANE_BIN_NS, &count);
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

void lane_trace_free(struct lane_trace *trace)
{
	free(trace->due);
	free(trace->late);
	*trace = (struct lane_trace){ 0 };
}

/* ---- The rest -------------------------------------------------------------------------------- */

/* Of the requests that succeeded, from the instant each was due. */
static void rank_latencies(
	const struct lane_record *record, struct lane_span span, struct lane_measures *measures)
{
	double *ms = calloc(record->count + 1, sizeof *ms);
	uint32_t count = 0;
	for (size_t i = 0; ms && i < record->count; i++) {
		const struct crowd_request *request = &record->requests[i];
		if (request->outcome == CROWD_SUCCESS && request->due_ns >= span.from_ns &&
			request->due_ns < span.to_ns)
			ms[count++] = (double)(request->done_ns - request->due_ns) / 1e6;
	}
	if (count) {
		sort_doubles(ms, count);
		measures->figures[LANE_p50_ms] = quantile_of(ms, count, 0.5);
		measures->figures[LANE_p99_ms] = quantile_of(ms, count, 0.99);
	}
	free(ms);
}

static void measure_healing(const struct lane_record *record, struct lane_measures *measures)
{
	uint64_t heals_ns = lane_heals_ns(record);
	measures->figures[LANE_heals] = heals_ns != UINT64_MAX;
	if (heals_ns != UINT64_MAX)
		measures->figures[LANE_heal_s] =
			(double)(heals_ns - record->onset_ns) / LANE_NS_PER_S;
	measures->figures[LANE_late_s] = late_seconds(record);
}

void lane_measure(const struct lane_record *record, struct lane_measures *measures)
{
	struct lane_span all = { record->onset_ns, record->settled_ns };
	struct lane_span last = { all.to_ns - (all.to_ns - all.from_ns) / 5, all.to_ns };
	struct tally tally = tally_of(record, all, -1);
	double seconds = (double)(all.to_ns - all.from_ns) / LANE_NS_PER_S;
	double *figures = measures->figures;
	if (record->triggered)
		measure_healing(record, measures);
	figures[LANE_goodput_qps] = seconds > 0 ? (double)tally.good / seconds : NAN;
	figures[LANE_success_pct] = 100 * share_of(tally);
	/* against what was offered, or against what the server can do if that is less */
	double able = fmin((double)tally.due, record->saturation_qps * seconds);
	figures[LANE_goodput_ratio] = able > 0 ? (double)tally.good / able : NAN;
	struct tally end = tally_of(record, last, -1);
	able = fmin((double)end.due, record->saturation_qps * seconds / 5);
	figures[LANE_end_goodput_ratio] = able > 0 ? (double)end.good / able : NAN;
	for (int p = 0; p < CROWD_PRIORITIES; p++)
		measures->success_pct_by_priority[p] = 100 * share_of(tally_of(record, all, p));
	rank_latencies(record, all, measures);
}
