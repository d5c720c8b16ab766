/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry_measure.h - from what a run left behind to the figures of clients that time out and retry. Pure:
 * no clock, no I/O.
 */
#ifndef BENCH_RETRY_MEASURE_H
#define BENCH_RETRY_MEASURE_H

#include "bench/load/samples.h"

#define MEASURE_BIN_NS 100000000u /* a bin is bad when over 1 % of its requests are late */

struct span {
	uint64_t from_ns, to_ns;
};

/* Requests by when they were due, in bins; late: they did not succeed in time. */
struct trace {
	uint32_t *due, *late;
	uint32_t bin_count;
};

/* name in JSON and CSV. A figure that was not measured, or does not apply, is null. */
#define RETRY_FIGURES(X)                                                                           \
	X(heals)                                                                                   \
	X(heal_s)                                                                                  \
	X(goodput_ratio)                                                                           \
	X(end_goodput_ratio)                                                                       \
	X(success_pct)                                                                             \
	X(goodput_qps)                                                                             \
	X(p50_ms)                                                                                  \
	X(p99_ms)                                                                                  \
	X(late_s)                                                                                  \
	X(decided_ms)                                                                              \
	X(trigger_ms)                                                                              \
	X(resends)                                                                                 \
	X(cancels)                                                                                 \
	X(wrong_cancels)                                                                           \
	X(company_cancelled)                                                                       \
	X(offered)                                                                                 \
	X(attempts)                                                                                \
	X(retries)                                                                                 \
	X(retries_denied)                                                                          \
	X(timeouts)                                                                                \
	X(rejected)                                                                                \
	X(failed)                                                                                  \
	X(unsent)                                                                                  \
	X(in_flight_max)                                                                           \
	X(lag_max_ms)                                                                              \
	X(server_cpu_pct)                                                                          \
	X(client_cpu_pct)                                                                          \
	X(reject_ms)                                                                               \
	X(reject_cpu_us)                                                                           \
	X(query_cpu_us)                                                                            \
	X(own_ms_per_s)                                                                            \
	X(others_ms_per_s)                                                                         \
	X(run_queue_ms_per_s)                                                                      \
	X(taken_ms_per_s)                                                                          \
	X(disturbed_seconds)

enum retry_figure {
#define X(name) RETRY_##name,
	RETRY_FIGURES(X)
#undef X
		RETRY_FIGURE_COUNT
};

/* Of one run. NAN: null. */
struct retry_measures {
	double figures[RETRY_FIGURE_COUNT];
	double success_pct_by_priority[TARGET_PRIORITIES];
};

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

/* 0, or -1: memory is out. Free it in both cases. */
int retry_trace_fill(struct trace *trace, const struct retry_record *record)
	__attribute__((warn_unused_result));
void trace_free(struct trace *trace);

/* Fills every figure but query_cpu_us and what the machine did. */
void retry_measure(const struct retry_record *record, struct retry_measures *measures);
/* The instant from which a run is well to its end; UINT64_MAX: it is not. */
uint64_t retry_heals_ns(const struct retry_record *record);
/* Share of the requests due in a span that succeeded; NAN: none was due. */
double retry_success(const struct retry_record *record, struct span span);

#endif
