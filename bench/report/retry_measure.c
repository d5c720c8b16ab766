/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what "healed", goodput and success mean where clients time out. Requests count by the instant they
 * were due, so that a late answer does not make a later second look good.
 */
#include "bench/report/retry_measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/report/measure.h"
#include "common/quantile.h"

#define NS_PER_S 1000000000u

/* Of the requests due in a span, those of one priority; -1: of all. */
struct tally {
	uint64_t due, good;
};

static uint64_t due_of(const struct retry_record *record, size_t i)
{
	return record->data->schedule->arrivals[i].due_ns;
}

static int priority_of(const struct retry_record *record, size_t i)
{
	uint16_t user;
	uint8_t priority;
	clients_who(record->data->schedule->arrivals[i].draw, record->priorities, &user, &priority);
	return priority;
}

static struct tally tally_of(const struct retry_record *record, struct span span, int priority)
{
	struct tally tally = { 0 };
	for (size_t i = 0; i < record->data->schedule->count; i++) {
		uint64_t due_ns = due_of(record, i);
		if (due_ns < span.from_ns || due_ns >= span.to_ns ||
			(priority >= 0 && priority_of(record, i) != priority))
			continue;
		tally.due++;
		tally.good += measure_is_good(record->data, i);
	}
	return tally;
}

static double share_of(struct tally tally)
{
	return tally.due ? (double)tally.good / (double)tally.due : NAN;
}

/* ---- Healing --------------------------------------------------------------------------------- */

static int trace_from_onset(const struct retry_record *record, uint64_t bin_ns, struct trace *trace)
{
	return measure_trace(
		record->data, (struct span){ record->onset_ns, record->settled_ns }, bin_ns, trace);
}

static bool is_well(const struct trace *bins, uint32_t bin)
{
	return bins->due[bin] - bins->late[bin] >= RETRY_GOOD_SHARE * bins->due[bin];
}

uint64_t retry_heals_ns(const struct retry_record *record)
{
	struct trace bins;
	if (trace_from_onset(record, RETRY_BIN_NS, &bins) != 0)
		return UINT64_MAX;
	uint32_t count = bins.bin_count, well = count;
	while (well > 0 && is_well(&bins, well - 1))
		well--;
	trace_free(&bins);
	return count - well >= RETRY_HEALED_BINS ? record->onset_ns + well * (uint64_t)RETRY_BIN_NS
						 : UINT64_MAX;
}

static double late_seconds(const struct retry_record *record)
{
	struct trace bins;
	uint64_t late = 0;
	if (trace_from_onset(record, MEASURE_BIN_NS, &bins) != 0)
		return NAN;
	for (uint32_t i = 0; i < bins.bin_count; i++)
		late += trace_is_bad(&bins, i);
	trace_free(&bins);
	return (double)late * MEASURE_BIN_NS / NS_PER_S;
}

/* ---- The rest -------------------------------------------------------------------------------- */

/* Of the requests that succeeded, from the instant each was due. */
static void rank_latencies(
	const struct retry_record *record, struct span span, struct measures *measures)
{
	size_t requests = record->data->schedule->count;
	double *ms = calloc(requests + 1, sizeof *ms);
	uint32_t count = 0;
	for (size_t i = 0; ms && i < requests; i++)
		if (measure_is_good(record->data, i) && due_of(record, i) >= span.from_ns &&
			due_of(record, i) < span.to_ns)
			ms[count++] = record->data->outcomes[i].done_us / 1e3;
	if (count) {
		sort_doubles(ms, count);
		measures->p50_ms = quantile_of(ms, count, 0.5);
		measures->p99_ms = quantile_of(ms, count, 0.99);
	}
	free(ms);
}

static void measure_healing(const struct retry_record *record, struct measures *measures)
{
	uint64_t heals_ns = retry_heals_ns(record);
	measures->heals = heals_ns != UINT64_MAX;
	if (heals_ns != UINT64_MAX)
		measures->heal_s = (double)(heals_ns - record->onset_ns) / NS_PER_S;
	measures->late_s = late_seconds(record);
}

static void count_attempts(const struct retry_record *record, struct measures *measures)
{
	const struct samples *data = record->data;
	const struct clients_counts *counts = &data->counts;
	double seconds = (double)data->length_ns / NS_PER_S, lag_max_us = 0;
	for (size_t i = 0; i < data->schedule->count; i++)
		lag_max_us = fmax(lag_max_us, data->outcomes[i].sent_us);
	measures->offered = (double)counts->offered;
	measures->attempts = (double)counts->attempts;
	measures->retries = (double)counts->retries;
	measures->retries_denied = (double)counts->denied;
	measures->timeouts = (double)counts->timeouts;
	measures->rejected = (double)counts->refused;
	measures->failed = (double)counts->errors;
	measures->unsent = (double)counts->unsent;
	measures->in_flight_max = data->in_flight_max;
	measures->lag_max_ms = lag_max_us / 1e3;
	measures->server_cpu_pct = 100 * data->target_cpu_s / seconds;
	measures->client_cpu_pct = 100 * data->own_cpu_s / seconds;
	measures->reject_ms = data->reject_ms;
	measures->reject_cpu_us = data->reject_cpu_us;
}

/* The tasks: the trigger, and the company the target keeps meanwhile. */
static void count_tasks(const struct retry_record *record, struct measures *measures)
{
	const struct samples *data = record->data;
	double held_ms = 0, stopped = 0, company = 0;
	bool alone = true;
	for (uint32_t i = 0; i < data->task_count; i++) {
		const struct task_record *task = &data->tasks[i];
		bool is_trigger = record->trigger && strcmp(task->name, record->trigger) == 0;
		alone = alone && is_trigger;
		*(is_trigger ? &stopped : &company) += task->cancelled;
		if (is_trigger && task->taken_ns)
			held_ms += (double)(task->end_ns ? task->held_ns
							 : data->length_ns - task->taken_ns) /
				   1e6;
	}
	if (held_ms > 0)
		measures->trigger_ms = held_ms;
	if (!alone)
		measures->company_cancelled = company;
	if (record->resends)
		measures->resends = fmin(stopped, record->resends);
}

/* The first instant of the trigger at which it can have harmed anybody; 0: it never came. */
static uint64_t harm_begins_ns(const struct retry_record *record)
{
	uint64_t first_ns = UINT64_MAX;
	for (uint32_t i = 0; i < record->data->task_count; i++) {
		const struct task_record *task = &record->data->tasks[i];
		if (record->trigger && strcmp(task->name, record->trigger) == 0 && task->taken_ns &&
			task->taken_ns < first_ns)
			first_ns = task->taken_ns;
	}
	if (first_ns == UINT64_MAX)
		return 0;
	return first_ns > record->onset_ns ? first_ns : record->onset_ns;
}

static void count_cancels(const struct retry_record *record, struct measures *measures)
{
	const struct samples *data = record->data;
	uint64_t decided_ns = UINT64_MAX, harm_ns = harm_begins_ns(record);
	uint64_t wrong = data->cancels_unrecorded;
	for (uint32_t i = 0; i < data->cancel_count; i++) {
		const struct cancel_record *cancel = &data->cancels[i];
		wrong += cancel->label != LABEL_CULPRIT;
		if (cancel->serial && cancel->label == LABEL_CULPRIT &&
			cancel->decided_ns < decided_ns)
			decided_ns = cancel->decided_ns;
	}
	measures->cancels = (double)(data->cancel_count + data->cancels_unrecorded);
	measures->wrong_cancels = (double)wrong;
	if (decided_ns != UINT64_MAX && harm_ns)
		measures->decided_ms = ((double)decided_ns - (double)harm_ns) / 1e6;
}

void retry_measure(const struct retry_record *record, struct measures *measures)
{
	for (int f = 0; f < FIGURE_COUNT; f++)
		measures->figures[f] = NAN;
	struct span all = { record->onset_ns, record->settled_ns };
	struct span last = { all.to_ns - (all.to_ns - all.from_ns) / 5, all.to_ns };
	struct tally tally = tally_of(record, all, -1);
	double seconds = (double)(all.to_ns - all.from_ns) / NS_PER_S;
	count_attempts(record, measures);
	count_tasks(record, measures);
	count_cancels(record, measures);
	if (record->trigger)
		measure_healing(record, measures);
	measures->goodput_qps = seconds > 0 ? (double)tally.good / seconds : NAN;
	measures->success_pct = 100 * share_of(tally);
	/* against what was offered, or against what the server can do if that is less */
	double able = fmin((double)tally.due, record->saturation_qps * seconds);
	measures->goodput_ratio = able > 0 ? (double)tally.good / able : NAN;
	struct tally end = tally_of(record, last, -1);
	able = fmin((double)end.due, record->saturation_qps * seconds / 5);
	measures->end_goodput_ratio = able > 0 ? (double)end.good / able : NAN;
	for (int p = 0; p < TARGET_PRIORITIES; p++)
		measures->success_pct_by_priority[p] = 100 * share_of(tally_of(record, all, p));
	rank_latencies(record, all, measures);
}
