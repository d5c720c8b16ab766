/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the memory of a run's record. */
#include "bench/load/samples.h"

#include <math.h>
#include <stdlib.h>

int samples_make(struct samples **data, const struct schedule *schedule, uint64_t slo_ns)
{
	struct samples *made = calloc(1, sizeof *made);
	if (!made)
		return -1;
	made->outcomes = calloc(schedule->count + 1, sizeof *made->outcomes);
	if (!made->outcomes) {
		free(made);
		return -1;
	}
	made->schedule = schedule;
	made->slo_ns = slo_ns;
	made->length_ns = schedule->length_ns;
	made->reject_ms = made->reject_cpu_us = NAN;
	*data = made;
	return 0;
}

void samples_free(struct samples *data)
{
	if (!data)
		return;
	free(data->outcomes);
	free(data);
}
