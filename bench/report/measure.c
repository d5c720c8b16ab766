/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the arithmetic of the report: who was late, when a culprit's harm began and ended, what a
 * canceller cost. Latency counts from the scheduled start, so a stalled generator hides nothing.
 *
 * Late seconds per culprit: a stall of d at load rho disturbs d/(1-rho), drain included, so the
 * time in which clients suffer is the honest measure of a canceller, not the time until it acts.
 */
#include "bench/report/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/quantile.h"

#define NS_PER_US 1000u
#define NS_PER_MS 1e6
#define NS_PER_S  1e9

static enum outcome_kind kind_of(const struct outcome *outcome)
{
	return (enum outcome_kind)atomic_load_explicit(&outcome->kind, memory_order_acquire);
}

bool measure_is_good(const struct samples *data, size_t i)
{
	const struct outcome *outcome = &data->outcomes[i];
	return kind_of(outcome) == OUTCOME_OK &&
	       (uint64_t)outcome->done_us * NS_PER_US <= data->slo_ns;
}

static bool is_dropped(enum outcome_kind kind)
{
	return kind == OUTCOME_CANCELLED || kind == OUTCOME_REJECTED || kind == OUTCOME_FAILED ||
	       kind == OUTCOME_SKIPPED;
}

static uint64_t end_of(const struct task_record *task, uint64_t length_ns)
{
	return task->end_ns && task->end_ns < length_ns ? task->end_ns : length_ns;
}

void measure_spans(const struct samples *data, struct spans *spans)
{
	*spans = (struct spans){ 0 };
	for (uint32_t i = 0; i < data->task_count; i++) { /* by start: actors append in order */
		const struct task_record *task = &data->tasks[i];
		if (task->label != LABEL_CULPRIT || task->start_ns >= data->length_ns)
			continue;
		struct span span = { task->start_ns, end_of(task, data->length_ns) };
		struct span *last = spans->count ? &spans->list[spans->count - 1] : NULL;
		if (last && span.from_ns <= last->to_ns) {
			last->to_ns = span.to_ns > last->to_ns ? span.to_ns : last->to_ns;
		} else if (spans->count < MEASURE_SPANS_MAX) {
			spans->list[spans->count++] = span;
		}
	}
}

static bool in_spans(const struct spans *spans, uint64_t at_ns)
{
	for (uint32_t i = 0; i < spans->count; i++)
		if (at_ns >= spans->list[i].from_ns && at_ns < spans->list[i].to_ns)
			return true;
	return spans->count == 0;
}

static double spans_seconds(const struct spans *spans, uint64_t length_ns)
{
	uint64_t total_ns = 0;
	for (uint32_t i = 0; i < spans->count; i++)
		total_ns += spans->list[i].to_ns - spans->list[i].from_ns;
	return (double)(spans->count ? total_ns : length_ns) / NS_PER_S;
}

static void count_outcomes(const struct samples *data, struct measures *m)
{
	uint64_t counts[OUTCOME_KINDS] = { 0 };
	m->offered = (double)data->schedule->count;
	for (size_t i = 0; i < data->schedule->count; i++) {
		enum outcome_kind kind = kind_of(&data->outcomes[i]);
		counts[kind]++;
		m->late += (kind == OUTCOME_OK && !measure_is_good(data, i)) ||
			   kind == OUTCOME_PENDING;
		m->victims_dropped += is_dropped(kind);
	}
	m->ok = (double)counts[OUTCOME_OK];
	m->cancelled = (double)counts[OUTCOME_CANCELLED];
	m->rejected = (double)counts[OUTCOME_REJECTED];
	m->failed = (double)counts[OUTCOME_FAILED];
	m->skipped = (double)counts[OUTCOME_SKIPPED];
	m->unanswered = (double)counts[OUTCOME_PENDING];
	m->sent = m->offered - m->skipped;
	m->drop_rate = m->offered > 0 ? m->victims_dropped / m->offered : 0;
}

static void count_in_spans(
	const struct samples *data, const struct spans *spans, struct measures *m)
{
	uint64_t due = 0, good = 0, done = 0;
	for (size_t i = 0; i < data->schedule->count; i++) {
		const struct outcome *outcome = &data->outcomes[i];
		uint64_t due_ns = data->schedule->arrivals[i].due_ns;
		if (kind_of(outcome) == OUTCOME_OK)
			done += in_spans(spans, due_ns + (uint64_t)outcome->done_us * NS_PER_US);
		if (!in_spans(spans, due_ns))
			continue;
		due++;
		good += measure_is_good(data, i);
	}
	double seconds = spans_seconds(spans, data->length_ns);
	m->throughput_qps = seconds > 0 ? (double)done / seconds : 0;
	m->goodput_qps = seconds > 0 ? (double)good / seconds : 0;
	m->late_share_during = due ? (double)(due - good) / (double)due : 0;
}

/* Of sorted values; 0 of none. */
static double rank_ms(const uint32_t *sorted_us, size_t count, double p)
{
	return count ? sorted_us[quantile_index(count, p)] / 1e3 : 0;
}

/* What never answered counts with the time it had waited when the run ended: a lower bound. */
static uint32_t latency_us(const struct samples *data, size_t i)
{
	const struct outcome *outcome = &data->outcomes[i];
	if (kind_of(outcome) != OUTCOME_PENDING)
		return outcome->done_us;
	return (uint32_t)((data->length_ns - data->schedule->arrivals[i].due_ns) / NS_PER_US);
}

static void rank_latencies(const struct samples *data, struct measures *m)
{
	size_t answered = 0, sent = 0, offered = data->schedule->count;
	uint32_t *values_us = calloc(offered + 1, 3 * sizeof *values_us);
	if (!values_us)
		return;
	uint32_t *uncorrected_us = values_us + offered, *lag_us = uncorrected_us + offered;
	for (size_t i = 0; i < offered; i++) {
		const struct outcome *outcome = &data->outcomes[i];
		enum outcome_kind kind = kind_of(outcome);
		if (kind == OUTCOME_OK || kind == OUTCOME_PENDING) {
			uint32_t us = latency_us(data, i);
			values_us[answered] = us;
			uncorrected_us[answered++] =
				us > outcome->sent_us ? us - outcome->sent_us : 0;
		}
		if (kind != OUTCOME_SKIPPED && kind != OUTCOME_PENDING)
			lag_us[sent++] = outcome->sent_us;
	}
	sort_u32(values_us, answered);
	sort_u32(uncorrected_us, answered);
	sort_u32(lag_us, sent);
	m->p50_ms = rank_ms(values_us, answered, 0.5);
	m->p99_ms = rank_ms(values_us, answered, 0.99);
	m->p999_ms = rank_ms(values_us, answered, 0.999);
	m->max_ms = rank_ms(values_us, answered, 1);
	m->uncorrected_p50_ms = rank_ms(uncorrected_us, answered, 0.5);
	m->uncorrected_p99_ms = rank_ms(uncorrected_us, answered, 0.99);
	m->lag_p50_ms = rank_ms(lag_us, sent, 0.5);
	m->lag_p99_ms = rank_ms(lag_us, sent, 0.99);
	m->lag_max_ms = rank_ms(lag_us, sent, 1);
	free(values_us);
}

/* What is ranked of each request that was answered or waited to the end. */
typedef uint32_t (*pick_us)(const struct samples *data, size_t i);

static uint32_t lag_us(const struct samples *data, size_t i)
{
	return data->outcomes[i].sent_us;
}

static uint32_t rank_seconds(
	const struct samples *data, pick_us pick, double *p99_ms, uint32_t limit)
{
	const uint64_t second_ns = (uint64_t)NS_PER_S;
	size_t offered = data->schedule->count, at = 0;
	uint32_t seconds = (uint32_t)(data->length_ns / second_ns), *values_us;
	seconds = seconds < limit ? seconds : limit;
	values_us = calloc(offered + 1, sizeof *values_us);
	for (uint32_t second = 0; values_us && second < seconds; second++) {
		size_t count = 0;
		for (; at < offered &&
			data->schedule->arrivals[at].due_ns < (second + 1) * second_ns;
			at++) {
			enum outcome_kind kind = kind_of(&data->outcomes[at]);
			if (kind == OUTCOME_OK || kind == OUTCOME_PENDING ||
				kind == OUTCOME_TIMED_OUT)
				values_us[count++] = pick(data, at);
		}
		sort_u32(values_us, count);
		p99_ms[second] = rank_ms(values_us, count, 0.99);
	}
	uint32_t measured = values_us ? seconds : 0;
	free(values_us);
	return measured;
}

uint32_t measure_seconds(const struct samples *data, double *p99_ms, uint32_t limit)
{
	return rank_seconds(data, latency_us, p99_ms, limit);
}

uint32_t measure_lags(const struct samples *data, double *p99_ms, uint32_t limit)
{
	return rank_seconds(data, lag_us, p99_ms, limit);
}

int measure_trace(
	const struct samples *data, struct span span, uint64_t bin_ns, struct trace *trace)
{
	uint64_t length_ns = span.to_ns > span.from_ns ? span.to_ns - span.from_ns : 0;
	uint32_t count = (uint32_t)(length_ns / bin_ns);
	*trace = (struct trace){ .due = calloc(count + 1, sizeof *trace->due),
		.late = calloc(count + 1, sizeof *trace->late) };
	if (!trace->due || !trace->late) {
		trace_free(trace);
		return -1;
	}
	trace->bin_count = count;
	for (size_t i = 0; i < data->schedule->count; i++) {
		uint64_t due_ns = data->schedule->arrivals[i].due_ns;
		if (due_ns < span.from_ns || (due_ns - span.from_ns) / bin_ns >= count)
			continue;
		trace->due[(due_ns - span.from_ns) / bin_ns]++;
		trace->late[(due_ns - span.from_ns) / bin_ns] += !measure_is_good(data, i);
	}
	return 0;
}

void trace_free(struct trace *trace)
{
	free(trace->due);
	free(trace->late);
	*trace = (struct trace){ 0 };
}

bool trace_is_bad(const struct trace *trace, uint32_t bin)
{
	return (uint64_t)trace->late[bin] * 100 > trace->due[bin];
}

struct span measure_whole_bins(const struct samples *data)
{
	uint64_t bins = (data->length_ns + MEASURE_BIN_NS - 1) / MEASURE_BIN_NS;
	return (struct span){ 0, bins * MEASURE_BIN_NS };
}

static double bad_seconds(const struct trace *bins, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t bad = 0;
	for (uint32_t i = (uint32_t)(from_ns / MEASURE_BIN_NS);
		i < bins->bin_count && (uint64_t)i * MEASURE_BIN_NS < to_ns; i++)
		bad += trace_is_bad(bins, i);
	return (double)bad * (MEASURE_BIN_NS / NS_PER_S);
}

/* The stretch in which culprit i is to blame for what happens: up to the next one's start. */
static struct span reign_of(const struct samples *data, uint32_t task)
{
	struct span reign = { data->tasks[task].start_ns, data->length_ns };
	for (uint32_t i = task + 1; i < data->task_count; i++) {
		if (data->tasks[i].label != LABEL_CULPRIT)
			continue;
		reign.to_ns = data->tasks[i].start_ns;
		break;
	}
	return reign;
}

/* The instant the first request passes its SLO while the culprit runs; 0: none did. */
static uint64_t onset_of(const struct samples *data, uint32_t task)
{
	uint64_t from_ns = data->tasks[task].start_ns;
	uint64_t to_ns = end_of(&data->tasks[task], data->length_ns) + data->slo_ns;
	for (size_t i = 0; i < data->schedule->count; i++) { /* due order is passing order */
		uint64_t passes_ns = data->schedule->arrivals[i].due_ns + data->slo_ns;
		if (passes_ns < from_ns || measure_is_good(data, i))
			continue;
		return passes_ns < to_ns ? passes_ns : 0;
	}
	return 0;
}

/* From the onset, the first bin after which a second passes without a bad one; 0: never. */
static uint64_t recovery_of(const struct trace *bins, uint64_t onset_ns)
{
	uint32_t calm = 0;
	for (uint32_t i = (uint32_t)(onset_ns / MEASURE_BIN_NS); i < bins->bin_count; i++) {
		calm = trace_is_bad(bins, i) ? 0 : calm + 1;
		if (calm == MEASURE_CALM_BINS)
			return (uint64_t)(i + 1 - MEASURE_CALM_BINS) * MEASURE_BIN_NS;
	}
	return 0;
}

static void times_add(struct times *times, uint64_t from_ns, uint64_t to_ns)
{
	if (!to_ns || times->count == MEASURE_TIMES_MAX)
		return;
	times->ms[times->count++] = to_ns > from_ns ? (double)(to_ns - from_ns) / NS_PER_MS : 0;
}

static const struct cancel_record *cancel_within(const struct samples *data, struct span reign)
{
	for (uint32_t i = 0; i < data->cancel_count; i++) {
		const struct cancel_record *cancel = &data->cancels[i];
		if (cancel->label == LABEL_CULPRIT && cancel->delivered_ns >= reign.from_ns &&
			cancel->delivered_ns < reign.to_ns)
			return cancel;
	}
	return NULL;
}

static void time_culprit(
	const struct samples *data, uint32_t task, const struct trace *bins, struct measures *m)
{
	uint64_t onset_ns = onset_of(data, task);
	if (!onset_ns)
		return;
	const struct cancel_record *cancel = cancel_within(data, reign_of(data, task));
	times_add(&m->recover_ms, onset_ns, recovery_of(bins, onset_ns));
	if (!cancel)
		return;
	times_add(&m->detect_ms, onset_ns, cancel->suspected_ns);
	times_add(&m->cancel_ms, onset_ns, cancel->delivered_ns);
	times_add(&m->release_ms, onset_ns, cancel->released_ns);
}

static void judge_culprits(const struct samples *data, const struct trace *bins, struct measures *m)
{
	for (uint32_t i = 0; i < data->task_count; i++) {
		const struct task_record *task = &data->tasks[i];
		if (task->label != LABEL_CULPRIT)
			continue;
		struct span reign = reign_of(data, i);
		uint64_t rerun_ns = task->rerun_start_ns;
		m->culprits++;
		m->culprits_completed += task->completed;
		m->late_s += bad_seconds(bins, reign.from_ns, rerun_ns ? rerun_ns : reign.to_ns);
		if (rerun_ns)
			m->late_s_rerun += bad_seconds(bins, rerun_ns, reign.to_ns);
		time_culprit(data, i, bins, m);
	}
	if (m->culprits <= 0)
		m->late_s = bad_seconds(bins, 0, data->length_ns);
	m->late_s_per_culprit = m->culprits > 0 ? m->late_s / m->culprits : 0;
}

static void count_cancels(const struct samples *data, struct measures *m)
{
	m->cancels = (double)(data->cancel_count + data->cancels_unrecorded);
	m->wrong_cancels = (double)data->cancels_unrecorded;
	m->wasted_ms = (double)data->unrecorded_wasted_ns / NS_PER_MS;
	m->decisions = (double)data->decisions;
	for (uint32_t i = 0; i < data->cancel_count; i++) {
		m->wrong_cancels += data->cancels[i].label != LABEL_CULPRIT;
		m->wasted_ms += (double)data->cancels[i].wasted_ns / NS_PER_MS;
	}
}

void measure_run(const struct samples *data, const struct spans *spans, struct measures *measures)
{
	*measures = (struct measures){ .reruns = (double)data->reruns,
		.resource_overloads = (double)data->resource_overloads,
		.regular_overloads = (double)data->regular_overloads };
	count_outcomes(data, measures);
	count_in_spans(data, spans, measures);
	rank_latencies(data, measures);
	count_cancels(data, measures);
	struct trace bins;
	if (measure_trace(data, measure_whole_bins(data), MEASURE_BIN_NS, &bins) != 0)
		return;
	judge_culprits(data, &bins, measures);
	trace_free(&bins);
}

/* The closest pair of order statistics x(k), x(n+1-k) that covers the median with 95 %, where
 * coverage is 1 - 2 P(B < k), B ~ Binomial(n, 1/2): no shape is assumed. Six values are the fewest
 * with one. */
static uint32_t median_interval(uint32_t count)
{
	double term = pow(0.5, count), below = 0;
	uint32_t k = 0;
	while (k < count / 2 && below + term <= 0.025) {
		below += term;
		term = term * (count - k) / (k + 1);
		k++;
	}
	return k;
}

void measure_range(const double *values, uint32_t count, struct range *range)
{
	*range = (struct range){ .count = count };
	double *sorted = count ? calloc(count, sizeof *sorted) : NULL;
	if (!sorted)
		return;
	memcpy(sorted, values, count * sizeof *sorted);
	sort_doubles(sorted, count);
	range->median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
	range->min = sorted[0];
	range->max = sorted[count - 1];
	uint32_t k = median_interval(count);
	range->has_ci = k > 0;
	if (k) {
		range->ci_low = sorted[k - 1];
		range->ci_high = sorted[count - k];
	}
	free(sorted);
}
