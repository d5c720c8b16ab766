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

const struct figure_info figure_infos[FIGURE_COUNT] = {
#define X(name, kind, pick, when) [FIGURE_##name] = { #name, kind, pick, FIGURE_##when },
	FIGURES(X)
#undef X
};

static double ratio(double own, double reference)
{
	return reference > 0 ? own / reference : 0;
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

/* Of one repetition, with what is known only beside its reference and of the machine. */
static struct measures completed(const struct measures *own, const struct measures *reference)
{
	const struct disturbance *machine = &own->disturbance;
	struct measures m = *own;
	if (reference) {
		m.throughput_ratio = ratio(own->throughput_qps, reference->throughput_qps);
		m.goodput_ratio = ratio(own->goodput_qps, reference->goodput_qps);
		m.p99_ratio = ratio(own->p99_ms, reference->p99_ms);
	}
	m.own_ms_per_s = machine->own_ms;
	m.others_ms_per_s = machine->others_ms;
	m.run_queue_ms_per_s = machine->run_queue_ms;
	m.taken_ms_per_s = machine->taken_ms;
	m.disturbed_seconds = machine->disturbed_seconds;
	return m;
}

static void pool_all_times(
	struct range *figures, const struct measures *const *kept, uint32_t count)
{
	pool_times(&figures[FIGURE_time_to_detect_ms], kept, count,
		offsetof(struct measures, detect_ms));
	pool_times(&figures[FIGURE_time_to_cancel_ms], kept, count,
		offsetof(struct measures, cancel_ms));
	pool_times(&figures[FIGURE_time_to_release_ms], kept, count,
		offsetof(struct measures, release_ms));
	pool_times(&figures[FIGURE_time_to_recover_ms], kept, count,
		offsetof(struct measures, recover_ms));
}

void summary_fill(struct summary_row *row, const struct measures *own,
	const struct measures *reference, uint32_t reps)
{
	static struct measures by_rep[OPTIONS_REPS_MAX];
	const size_t stride = sizeof *by_rep / sizeof(double);
	const struct measures *kept[OPTIONS_REPS_MAX];
	enum repetition_state states[OPTIONS_REPS_MAX];
	for (uint32_t i = 0; i < reps; i++)
		states[i] = state_of(&own[i], reference ? &reference[i] : NULL);
	disturbance_choose(states, reps, &row->choice);
	row->disturbed |= row->choice.disturbed;
	uint32_t count = row->choice.used_count;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t rep = row->choice.used[i];
		kept[i] = &own[rep];
		by_rep[i] = completed(kept[i], reference ? &reference[rep] : NULL);
	}
	for (int f = 0; f < FIGURE_COUNT; f++)
		fill_range(&row->figures[f], &by_rep[0].figures[f], stride, count);
	for (int p = 0; p < TARGET_PRIORITIES; p++)
		fill_range(&row->success_pct_by_priority[p], &by_rep[0].success_pct_by_priority[p],
			stride, count);
	if (reference)
		pool_all_times(row->figures, kept, count);
}

enum figure_when summary_when(const struct summary *summary)
{
	return summary->plan ? FIGURE_LEAVE : FIGURE_WAIT;
}

double summary_value(const struct summary_row *row, enum figure figure)
{
	const struct range *range = &row->figures[figure];
	return figure_infos[figure].worst ? range->max : range->median;
}

bool summary_is_disturbed(const struct summary *summary)
{
	for (uint32_t i = 0; i < summary->row_count; i++)
		if (summary->rows[i].disturbed)
			return true;
	return false;
}
