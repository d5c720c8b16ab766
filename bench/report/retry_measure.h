/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry_measure.h - from what a run left behind to the figures of clients that time out and retry. Pure:
 * no clock, no I/O.
 */
#ifndef BENCH_RETRY_MEASURE_H
#define BENCH_RETRY_MEASURE_H

#include "bench/report/measure.h"

#define RETRY_BIN_NS	  250000000u
#define RETRY_GOOD_SHARE  0.9 /* healthy: of the requests due in a bin so many succeed */
#define RETRY_HEALED_BINS 4   /* … to the end, which is at least so many bins away */

struct retry_record {
	const struct samples *data;
	uint64_t onset_ns;   /* of the trigger, or from where on the run is measured */
	uint64_t settled_ns; /* what was due before has had its time to end */
	const char *trigger; /* the name of its task; NULL: there is nothing to heal from */
	uint32_t priorities, resends;
	double saturation_qps;
};

/* Fills every figure of clients that leave, but query_cpu_us and what the machine did. */
void retry_measure(const struct retry_record *record, struct measures *measures);
/* The instant from which a run is well to its end; UINT64_MAX: it is not. */
uint64_t retry_heals_ns(const struct retry_record *record);

#endif
