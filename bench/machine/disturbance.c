/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the judgement whether a run was disturbed, and its repetition if it was.
 */
#include "bench/machine/disturbance.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define MS_PER_S 1e3

double disturbance_taken(const struct machine_second *second)
{
	return second->stolen + fmin(second->others, second->waited);
}

/* A lag that threads of ours explain, who waited for each other, is not the machine's. */
static bool lags(const struct machine_second *second, double lag_ms, double limit_ms)
{
	return lag_ms > limit_ms && (!second->known || second->waited * MS_PER_S < lag_ms);
}

/* Of a run that is judged as one stretch there is no second to name. */
static void explain(struct disturbance *disturbance, uint32_t at,
	const struct machine_second *second, double lag_ms)
{
	char when[32] = "";
	if (disturbance->seconds > 1)
		snprintf(when, sizeof when, "in second %u ", at + 1);
	if (disturbance_taken(second) > DISTURBANCE_TAKEN_CPUS)
		disturbance_mark(disturbance,
			"%sothers had %.2f of %.0f CPUs while %.2f threads of the bench waited for "
			"one",
			when, second->others + second->stolen, second->cpus, second->waited);
	else
		disturbance_mark(disturbance, "%sthe generator lagged by %.0f ms", when, lag_ms);
}

void disturbance_mark(struct disturbance *disturbance, const char *format, ...)
{
	va_list arguments;
	if (disturbance->disturbed)
		return;
	disturbance->disturbed = true;
	va_start(arguments, format);
	vsnprintf(disturbance->why, sizeof disturbance->why, format, arguments);
	va_end(arguments);
}

/* Sums of the seconds that are known become means. */
static void average(struct disturbance *disturbance, uint32_t known)
{
	double *const sums[] = { &disturbance->own_ms, &disturbance->others_ms,
		&disturbance->run_queue_ms, &disturbance->taken_ms };
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
		*sums[i] = known ? *sums[i] * MS_PER_S / known : NAN;
}

static void add(struct disturbance *disturbance, const struct machine_second *second, double lag_ms)
{
	disturbance->own_ms += second->own;
	disturbance->others_ms += second->others + second->stolen;
	disturbance->run_queue_ms += second->waited;
	disturbance->taken_ms += disturbance_taken(second);
	disturbance->lag_ms = fmax(disturbance->lag_ms, lag_ms);
}

/* How far a second is over its limits; up to 1 it is within them. */
static double excess_of(const struct machine_second *second, double lag_ms, double limit_ms)
{
	double taken = disturbance_taken(second) / DISTURBANCE_TAKEN_CPUS;
	return lags(second, lag_ms, limit_ms) ? fmax(taken, lag_ms / limit_ms) : taken;
}

void disturbance_judge(const struct machine_second *seconds, const double *lag_ms, uint32_t count,
	double lag_limit_ms, struct disturbance *disturbance)
{
	uint32_t known = 0, worst = 0;
	double worst_excess = 0;
	*disturbance = (struct disturbance){ .seconds = count };
	for (uint32_t i = 0; i < count; i++) {
		double excess = excess_of(&seconds[i], lag_ms[i], lag_limit_ms);
		known += seconds[i].known;
		add(disturbance, &seconds[i], lag_ms[i]);
		disturbance->disturbed_seconds += excess > 1;
		if (excess > worst_excess) {
			worst_excess = excess;
			worst = i;
		}
	}
	average(disturbance, known);
	if (disturbance->disturbed_seconds > count * DISTURBANCE_SECONDS)
		explain(disturbance, worst, &seconds[worst], lag_ms[worst]);
}

int disturbance_retry(const struct disturbance_retry *retry, struct disturbance *last)
{
	for (uint32_t run = 1;; run++) {
		int status = retry->run(retry->arg, last);
		if (status != 0 || !last->disturbed || run >= retry->runs)
			return status;
		if (!retry->quiet)
			fprintf(stderr, "%s was disturbed: %s; it is run again\n", retry->title,
				last->why);
	}
}

static uint32_t choose(const enum repetition_state *states, uint32_t reps,
	enum repetition_state worst, struct repetition_choice *choice)
{
	choice->used_count = choice->left_out_count = 0;
	for (uint32_t i = 0; i < reps; i++)
		if (states[i] <= worst)
			choice->used[choice->used_count++] = i;
		else
			choice->left_out[choice->left_out_count++] = i;
	return choice->used_count;
}

void disturbance_choose(
	const enum repetition_state *states, uint32_t reps, struct repetition_choice *choice)
{
	choice->disturbed = choose(states, reps, REPETITION_GOOD, choice) == 0;
	if (choice->disturbed)
		(void)choose(states, reps, REPETITION_DISTURBED, choice);
}

int disturbance_refuse(
	const char *title, const struct disturbance *disturbance, char *error, size_t size)
{
	snprintf(error, size,
		"the %s is not credible: %s; try a quiet machine, or --allow-disturbed", title,
		disturbance->why);
	return DISTURBANCE_EXIT_STATUS;
}
