/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the judgement whether the two figures everything rests on, saturation and reference, were
 * measured on a quiet machine. A probe that was starved once gave 3,087/s where the next gave
 * 44,365/s; a burst in the reference raises the SLO, which is ten times its p99, until the culprit
 * is no longer seen. Must not know how a sample or a run is made.
 */
#include "steady.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

#define SECONDS_MAX	 3600
#define SECONDS_TO_JUDGE 3

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static bool agree(const double sorted[STEADY_SAMPLES])
{
	return sorted[1] > 0 && sorted[STEADY_SAMPLES - 2] <= STEADY_FACTOR * sorted[1];
}

int steady_probe(
	steady_sample take, void *arg, bool quiet, double *qps, char error[TARGET_ERROR_MAX])
{
	double samples[STEADY_SAMPLES];
	for (int round = 0; round < STEADY_ROUNDS; round++) {
		for (int i = 0; i < STEADY_SAMPLES; i++)
			samples[i] = take(arg);
		qsort(samples, STEADY_SAMPLES, sizeof *samples, by_double);
		*qps = samples[STEADY_SAMPLES / 2];
		if (agree(samples))
			return 0;
		if (!quiet)
			fprintf(stderr, "the saturation wavers from %.0f/s to %.0f/s\n", samples[0],
				samples[STEADY_SAMPLES - 1]);
	}
	snprintf(error, TARGET_ERROR_MAX,
		"the saturation cannot be measured: %.0f/s to %.0f/s in the last of %d rounds; is "
		"the machine busy? (--rate sets the load without it)",
		samples[0], samples[STEADY_SAMPLES - 1], STEADY_ROUNDS);
	return -1;
}

static double lost_share(const struct run_data *data)
{
	size_t lost = 0, offered = data->schedule->count;
	for (size_t i = 0; i < offered; i++)
		lost += atomic_load_explicit(&data->outcomes[i].kind, memory_order_acquire) !=
			OUTCOME_OK;
	return offered ? (double)lost / (double)offered : 0;
}

struct steadiness steady_judge(const struct run_data *data, double floor_ms)
{
	double by_second_ms[SECONDS_MAX], sorted_ms[SECONDS_MAX];
	struct steadiness s = { .lost = lost_share(data) };
	uint32_t count = measure_seconds(data, by_second_ms, SECONDS_MAX);
	for (uint32_t i = 0; i < count; i++)
		if (by_second_ms[i] > by_second_ms[s.worst_second])
			s.worst_second = i;
	memcpy(sorted_ms, by_second_ms, count * sizeof *sorted_ms);
	qsort(sorted_ms, count, sizeof *sorted_ms, by_double);
	s.median_ms = measure_quantile(sorted_ms, count, 0.5);
	s.worst_ms = measure_quantile(sorted_ms, count, 1);
	bool burst = count >= SECONDS_TO_JUDGE && s.worst_ms > floor_ms &&
		     s.worst_ms > STEADY_BURST_FACTOR * s.median_ms;
	s.disturbed = burst || s.lost > STEADY_LOST_MAX || s.median_ms > STEADY_P99_MAX_MS;
	return s;
}

static bool is_better(const struct steadiness *a, const struct steadiness *b)
{
	if (fabs(a->lost - b->lost) > STEADY_LOST_MAX)
		return a->lost < b->lost;
	return a->worst_ms < b->worst_ms;
}

int steady_reference(steady_run run, void *arg, double floor_ms, struct run_data **data)
{
	struct run_data *best = NULL;
	struct steadiness best_is = { 0 };
	for (int i = 0; i < STEADY_REFERENCES; i++) {
		struct run_data *next;
		int status = run(arg, &next);
		if (status != 0) {
			run_data_free(best);
			return status;
		}
		struct steadiness s = steady_judge(next, floor_ms);
		bool better = !best || is_better(&s, &best_is);
		run_data_free(better ? best : next);
		best = better ? next : best;
		best_is = better ? s : best_is;
		if (!s.disturbed)
			break;
		fprintf(stderr,
			"the reference was disturbed: p99 %.1f ms in second %u, %.1f ms in the "
			"median one, %.1f %% not answered; %s\n",
			s.worst_ms, s.worst_second + 1, s.median_ms, s.lost * 100,
			i + 1 < STEADY_REFERENCES ? "it is run again"
						  : "the least disturbed is taken");
	}
	*data = best;
	return 0;
}
