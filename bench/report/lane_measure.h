/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane_measure.h - from the requests of a run to the figures of a lane. Pure: no clock, no I/O.
 */
#ifndef BENCH_LANE_MEASURE_H
#define BENCH_LANE_MEASURE_H

#include "bench/cases/lane.h"
#include "bench/load/clients.h"
#include "bench/machine/disturbance.h"

/* name in JSON and CSV. A figure that was not measured, or does not apply, is null. */
#define LANE_FIGURES(X)                                                                            \
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

enum lane_figure {
#define X(name) LANE_##name,
	LANE_FIGURES(X)
#undef X
		LANE_FIGURE_COUNT
};
extern const char *const lane_figure_names[LANE_FIGURE_COUNT];

/* Of one run. NAN: null. */
struct lane_measures {
	double figures[LANE_FIGURE_COUNT];
	double success_pct_by_priority[CROWD_PRIORITIES];
	struct disturbance disturbance;
};

#define LANE_BIN_NS	 (LANE_NS_PER_S / 4)
#define LANE_GOOD_SHARE	 0.9 /* healthy: of the requests due in a bin so many succeed */
#define LANE_HEALED_BINS 4   /* … to the end, which is at least so many bins away */

struct lane_span {
	uint64_t from_ns, to_ns;
};

struct lane_record {
	const struct crowd_request *requests; /* by due_ns */
	size_t count;
	uint64_t onset_ns;   /* of the trigger, or from where on the run is measured */
	uint64_t settled_ns; /* what was due before has had its time to end */
	bool triggered;	     /* else there is nothing to heal from */
	double saturation_qps;
};

/* Requests by when they were due, from the start of the run, in bins of LANE_BIN_NS. */
struct lane_trace {
	uint32_t *due, *late; /* late: they did not succeed */
	uint32_t bin_count;
};
/* 0, or -1: memory is out. Free it in both cases. */
int lane_trace_fill(struct lane_trace *trace, const struct lane_record *record)
	__attribute__((warn_unused_result));
void lane_trace_free(struct lane_trace *trace);

/* Fills what follows from the requests; every other figure stays as it is. */
void lane_measure(const struct lane_record *record, struct lane_measures *measures);
/* The instant from which a run is well to its end; UINT64_MAX: it is not. */
uint64_t lane_heals_ns(const struct lane_record *record);
/* Share of the requests due in a span that succeeded; NAN: none was due. */
double lane_success(const struct lane_record *record, struct lane_span span);

#endif
