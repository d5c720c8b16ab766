/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the arrival times of a run. Open loop: the times depend on the seed and the rate alone and
 * never on how the system under load behaves, so a slow answer delays no later question.
 * Knows nothing of requests, clocks or threads.
 */
#include "bench/load/schedule.h"

#include <math.h>
#include <stdlib.h>

#include "common/random.h"

#define NS_PER_S 1e9

static double load_at(const struct schedule_options *options, uint64_t at_ns)
{
	uint32_t load_pct = 100;
	for (uint32_t i = 0; i < options->step_count && options->steps[i].at_ns <= at_ns; i++)
		load_pct = options->steps[i].load_pct;
	return load_pct / 100.0;
}

static double gap_ns(const struct schedule_options *options, struct random *random, double at_ns)
{
	double rate_qps = options->rate_qps * load_at(options, (uint64_t)at_ns);
	double mean_ns = NS_PER_S / (rate_qps > 1e-3 ? rate_qps : 1e-3);
	return options->poisson ? -log(random_unit(random)) * mean_ns : mean_ns;
}

static double peak_load(const struct schedule_options *options)
{
	double peak = options->step_count ? 0 : 1;
	for (uint32_t i = 0; i < options->step_count; i++)
		peak = fmax(peak, options->steps[i].load_pct / 100.0);
	return fmax(peak, 1);
}

int schedule_make(
	const struct schedule_options *options, struct schedule *schedule, const char **error)
{
	double expected = options->rate_qps * ((double)options->length_ns / NS_PER_S);
	size_t room = (size_t)(expected * peak_load(options) * 1.2 + 1000);
	*schedule =
		(struct schedule){ .length_ns = options->length_ns, .rate_qps = options->rate_qps };
	if (room > SCHEDULE_ARRIVALS_MAX) {
		*error = "rate times seconds is over 33 million requests";
		return -1;
	}
	schedule->arrivals = calloc(room, sizeof *schedule->arrivals);
	if (!schedule->arrivals) {
		*error = "out of memory for the schedule";
		return -1;
	}
	struct random times, questions;
	random_seed(&times, options->seed);
	random_seed(&questions, options->seed ^ 0x6a09e667f3bcc908u);
	double at_ns = gap_ns(options, &times, 0);
	while (at_ns < (double)options->length_ns && schedule->count < room) {
		schedule->arrivals[schedule->count++] = (struct arrival){ .due_ns = (uint64_t)at_ns,
			.draw = random_next(&questions) };
		at_ns += gap_ns(options, &times, at_ns);
	}
	return 0;
}

void schedule_free(struct schedule *schedule)
{
	free(schedule->arrivals);
	*schedule = (struct schedule){ 0 };
}
