/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns how repetitions become one row. Ratios are formed per repetition, own against the reference
 * of the same seed; times are pooled over all culprits.
 */
#include "bench/report/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER FIGURE_NUMBER
#define COUNT  FIGURE_COUNT_OF
#define TIME   FIGURE_TIME
#define MEDIAN false
#define WORST  true

const struct figure_info summary_figures[FIGURE_COUNT] = {
#define X(name, kind, pick) [FIGURE_##name] = { #name, kind, pick },
	SUMMARY_FIGURES(X)
#undef X
};

const struct figure_info retry_figures[RETRY_FIGURE_COUNT] = {
#define X(name) { #name, TIME, MEDIAN },
	RETRY_FIGURES(X)
#undef X
};

static double ratio(double own, double reference)
{
	return reference > 0 ? own / reference : 0;
}

static void fill_ratios(double *v, const struct measures *own, const struct measures *reference)
{
	v[FIGURE_throughput_ratio] = ratio(own->throughput_qps, reference->throughput_qps);
	v[FIGURE_goodput_ratio] = ratio(own->goodput_qps, reference->goodput_qps);
	v[FIGURE_p99_ratio] = ratio(own->corrected.p99_ms, reference->corrected.p99_ms);
}

static void fill_latencies(double *v, const struct measures *own)
{
	v[FIGURE_p50_ms] = own->corrected.p50_ms;
	v[FIGURE_p99_ms] = own->corrected.p99_ms;
	v[FIGURE_p999_ms] = own->corrected.p999_ms;
	v[FIGURE_max_ms] = own->corrected.max_ms;
	v[FIGURE_uncorrected_p50_ms] = own->uncorrected.p50_ms;
	v[FIGURE_uncorrected_p99_ms] = own->uncorrected.p99_ms;
	v[FIGURE_lag_p50_ms] = own->lag.p50_ms;
	v[FIGURE_lag_p99_ms] = own->lag.p99_ms;
	v[FIGURE_lag_max_ms] = own->lag.max_ms;
}

static void fill_machine(double *v, const struct disturbance *own)
{
	v[FIGURE_own_ms_per_s] = own->own_ms;
	v[FIGURE_others_ms_per_s] = own->others_ms;
	v[FIGURE_run_queue_ms_per_s] = own->run_queue_ms;
	v[FIGURE_taken_ms_per_s] = own->taken_ms;
	v[FIGURE_disturbed_seconds] = own->disturbed_seconds;
}

static void fill_own(double *v, const struct measures *own)
{
#define SAME(name) v[FIGURE_##name] = (double)own->name
	SAME(late_share_during);
	SAME(late_s_per_culprit);
	SAME(late_s_rerun);
	SAME(drop_rate);
	SAME(victims_dropped);
	SAME(cancels);
	SAME(wrong_cancels);
	SAME(decisions);
	SAME(culprits);
	SAME(culprits_completed);
	SAME(reruns);
	SAME(wasted_ms);
	SAME(resource_overloads);
	SAME(regular_overloads);
	SAME(throughput_qps);
	SAME(goodput_qps);
	SAME(offered);
	SAME(sent);
	SAME(ok);
	SAME(late);
	SAME(skipped);
	SAME(rejected);
	SAME(cancelled);
	SAME(failed);
#undef SAME
	v[FIGURE_unanswered] = (double)own->pending;
}

/* Of the repetitions that count. */
static void pool_times(
	struct range *range, const struct measures *const *own, uint32_t count, size_t offset)
{
	double *all = calloc((size_t)count * MEASURE_TIMES_MAX + 1, sizeof *all);
	uint32_t pooled = 0;
	for (uint32_t i = 0; all && i < count; i++) {
		const struct times *times = (const struct times *)((const char *)own[i] + offset);
		memcpy(all + pooled, times->ms, times->count * sizeof *all);
		pooled += times->count;
	}
	measure_range(all, all ? pooled : 0, range);
	free(all);
}

static enum repetition_state state_of(const struct measures *own, const struct measures *reference)
{
	if (own->missing)
		return REPETITION_MISSING;
	return own->disturbance.disturbed || (reference && reference->disturbance.disturbed)
		       ? REPETITION_DISTURBED
		       : REPETITION_GOOD;
}

/* Column f of the repetitions' values; what is NAN was not measured. */
static void fill_range(struct range *range, const double *first, size_t stride, uint32_t count)
{
	double column[OPTIONS_REPS_MAX];
	uint32_t known = 0;
	for (uint32_t i = 0; i < count; i++)
		if (!isnan(first[i * stride]))
			column[known++] = first[i * stride];
	measure_range(column, known, range);
}

static void fill_plain(struct summary_row *row, const struct measures *const *kept,
	const struct measures *reference)
{
	static double by_rep[OPTIONS_REPS_MAX][FIGURE_COUNT];
	uint32_t count = row->choice.used_count;
	memset(by_rep, 0, sizeof by_rep);
	for (uint32_t i = 0; i < count; i++) {
		fill_own(by_rep[i], kept[i]);
		fill_ratios(by_rep[i], kept[i], &reference[row->choice.used[i]]);
		fill_latencies(by_rep[i], kept[i]);
		fill_machine(by_rep[i], &kept[i]->disturbance);
	}
	for (int f = 0; f < FIGURE_COUNT; f++)
		fill_range(&row->figures[f], &by_rep[0][f], FIGURE_COUNT, count);
	struct range *figures = row->figures;
	pool_times(&figures[FIGURE_time_to_detect_ms], kept, count,
		offsetof(struct measures, detect_ms));
	pool_times(&figures[FIGURE_time_to_cancel_ms], kept, count,
		offsetof(struct measures, cancel_ms));
	pool_times(&figures[FIGURE_time_to_release_ms], kept, count,
		offsetof(struct measures, release_ms));
	pool_times(&figures[FIGURE_time_to_recover_ms], kept, count,
		offsetof(struct measures, recover_ms));
}

static void fill_retries(struct summary_row *row, const struct measures *const *kept)
{
	static struct retry_measures by_rep[OPTIONS_REPS_MAX];
	const size_t stride = sizeof *by_rep / sizeof(double);
	uint32_t count = row->choice.used_count;
	for (uint32_t i = 0; i < count; i++) {
		const struct disturbance *own = &kept[i]->disturbance;
		double *figures = by_rep[i].figures;
		by_rep[i] = kept[i]->retries;
		figures[RETRY_own_ms_per_s] = own->own_ms;
		figures[RETRY_others_ms_per_s] = own->others_ms;
		figures[RETRY_run_queue_ms_per_s] = own->run_queue_ms;
		figures[RETRY_taken_ms_per_s] = own->taken_ms;
		figures[RETRY_disturbed_seconds] = own->disturbed_seconds;
	}
	for (int f = 0; f < RETRY_FIGURE_COUNT; f++)
		fill_range(&row->figures[f], &by_rep[0].figures[f], stride, count);
	for (int p = 0; p < TARGET_PRIORITIES; p++)
		fill_range(&row->success_pct_by_priority[p], &by_rep[0].success_pct_by_priority[p],
			stride, count);
}

void summary_fill(struct summary_row *row, const struct measures *own,
	const struct measures *reference, uint32_t reps)
{
	const struct measures *kept[OPTIONS_REPS_MAX];
	enum repetition_state states[OPTIONS_REPS_MAX];
	for (uint32_t i = 0; i < reps; i++)
		states[i] = state_of(&own[i], reference ? &reference[i] : NULL);
	disturbance_choose(states, reps, &row->choice);
	row->disturbed |= row->choice.disturbed;
	for (uint32_t i = 0; i < row->choice.used_count; i++)
		kept[i] = &own[row->choice.used[i]];
	if (reference)
		fill_plain(row, kept, reference);
	else
		fill_retries(row, kept);
}

double summary_value(const struct summary_row *row, enum figure figure)
{
	const struct range *range = &row->figures[figure];
	return summary_figures[figure].worst ? range->max : range->median;
}

bool summary_is_disturbed(const struct summary *summary)
{
	for (uint32_t i = 0; i < summary->row_count; i++)
		if (summary->rows[i].disturbed)
			return true;
	return false;
}
