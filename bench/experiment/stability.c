/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the judgement whether the two figures everything rests on, saturation and reference, are
 * credible. A probe that was starved once gave 3,087/s where the next gave 44,365/s; a disturbed
 * reference raises the SLO until nothing is late. Hence the SLO is of the median second: half of a
 * run has to be disturbed before it moves.
 */
#include "bench/experiment/stability.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/report/measure.h"
#include "common/quantile.h"

#define SECONDS_TO_JUDGE 3

/* ---- Saturation ------------------------------------------------------------------------------ */

static bool agree(const double sorted[STEADY_SAMPLES], int count)
{
	return count < STEADY_SAMPLES ||
	       (sorted[1] > 0 && sorted[STEADY_SAMPLES - 2] <= STEADY_FACTOR * sorted[1]);
}

/* A sample is too short for the kernel's ticks: all are judged as one. */
static struct machine_second mean_of(const struct machine_second *seconds, int count)
{
	struct machine_second mean = seconds[0];
	mean.own = mean.others = mean.stolen = mean.waited = 0;
	for (int i = 0; i < count; i++) {
		mean.own += seconds[i].own / count;
		mean.others += seconds[i].others / count;
		mean.stolen += seconds[i].stolen / count;
		mean.waited += seconds[i].waited / count;
	}
	return mean;
}

static double take_round(const struct stability_probe *probe, struct disturbance *disturbance)
{
	double samples[STEADY_SAMPLES];
	const double no_lag = 0;
	struct machine_second seconds[STEADY_SAMPLES];
	for (int i = 0; i < probe->samples; i++)
		samples[i] = probe->take(probe->arg, &seconds[i]);
	sort_doubles(samples, (size_t)probe->samples);
	struct machine_second mean = mean_of(seconds, probe->samples);
	disturbance_judge(&mean, &no_lag, 1, 0, disturbance);
	if (!agree(samples, probe->samples))
		disturbance_mark(disturbance, "it wavered from %.0f/s to %.0f/s", samples[0],
			samples[STEADY_SAMPLES - 1]);
	return samples[probe->samples / 2];
}

struct rounds {
	const struct stability_probe *probe;
	double *qps;
};

static int next_round(void *arg, struct disturbance *disturbance)
{
	const struct rounds *rounds = arg;
	*rounds->qps = take_round(rounds->probe, disturbance);
	return 0;
}

int stability_saturation(
	const struct stability_probe *probe, double *qps, struct disturbance *disturbance)
{
	struct rounds rounds = { probe, qps };
	const struct disturbance_retry retry = { .title = "the saturation",
		.runs = probe->rounds,
		.quiet = probe->quiet,
		.run = next_round,
		.arg = &rounds };
	return disturbance_retry(&retry, disturbance);
}

/* ---- The reference --------------------------------------------------------------------------- */

static double lost_share(const struct samples *data)
{
	size_t lost = 0, offered = data->schedule->count;
	for (size_t i = 0; i < offered; i++)
		lost += atomic_load_explicit(&data->outcomes[i].kind, memory_order_acquire) !=
			OUTCOME_OK;
	return offered ? (double)lost / (double)offered : 0;
}

void stability_disturbance(
	const struct samples *data, double slo_ms, struct disturbance *disturbance)
{
	double lag_ms[WATCH_SECONDS_MAX];
	uint32_t count = measure_lags(data, lag_ms, WATCH_SECONDS_MAX);
	if (count > data->watch.count)
		count = data->watch.count;
	disturbance_judge(
		data->watch.seconds, lag_ms, count, DISTURBANCE_LAG_SHARE * slo_ms, disturbance);
}

static void rank_seconds(const struct samples *data, struct steadiness *s, uint32_t *count)
{
	double ms[WATCH_SECONDS_MAX];
	*count = measure_seconds(data, ms, WATCH_SECONDS_MAX);
	for (uint32_t i = 0; i < *count; i++)
		if (ms[i] > ms[s->worst_second])
			s->worst_second = i;
	sort_doubles(ms, *count);
	s->median_ms = quantile_of(ms, *count, 0.5);
	s->worst_ms = quantile_of(ms, *count, 1);
}

struct steadiness stability_judge(const struct samples *data, const struct stability_rules *rules)
{
	uint32_t count;
	struct steadiness s = { .lost = lost_share(data) };
	rank_seconds(data, &s, &count);
	s.slo_ms = fmax(rules->floor_ms, rules->slo_ratio * fmin(s.median_ms, STEADY_P99_MAX_MS));
	stability_disturbance(data, s.slo_ms, &s.disturbance);
	if (s.lost > STEADY_LOST_MAX)
		disturbance_mark(
			&s.disturbance, "%.1f %% of the requests were not answered", 100 * s.lost);
	if (s.median_ms > STEADY_P99_MAX_MS)
		disturbance_mark(&s.disturbance, "p99 was %.0f ms in the median second, over %d",
			s.median_ms, STEADY_P99_MAX_MS);
	if (rules->is_alike && count >= SECONDS_TO_JUDGE && s.worst_ms > rules->floor_ms &&
		s.worst_ms > STEADY_BURST_FACTOR * s.median_ms)
		disturbance_mark(&s.disturbance,
			"p99 was %.1f ms in second %u, %.1f in the median one", s.worst_ms,
			s.worst_second + 1, s.median_ms);
	return s;
}
