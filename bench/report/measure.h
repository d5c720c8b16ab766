/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.h - from what a run left behind to the figures of the report. Pure: no clock, no I/O.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "bench/machine/disturbance.h"
#include "bench/load/samples.h"
#include "bench/report/figures.h"

#define MEASURE_BIN_NS	  100000000u /* a bin is bad when over 1 % of its requests are late */
#define MEASURE_CALM_BINS 10	     /* recovered: so many clean bins in a row */
#define MEASURE_SPANS_MAX 64
#define MEASURE_TIMES_MAX 64

struct span {
	uint64_t from_ns, to_ns;
};

struct spans {
	struct span list[MEASURE_SPANS_MAX];
	uint32_t count;
};

/* A time a case measures once per culprit. */
struct times {
	double ms[MEASURE_TIMES_MAX];
	uint32_t count;
};

/* Of one run. A figure that was not measured, or does not apply, is NAN. */
struct measures {
	union {
		double figures[FIGURE_COUNT];
		struct {
#define X(name, kind, pick, when) double name;
			FIGURES(X)
#undef X
		};
	};
	double success_pct_by_priority[TARGET_PRIORITIES]; /* where clients leave */
	struct times detect_ms, cancel_ms, release_ms, recover_ms;
	/* Filled by whoever made the run. */
	bool missing; /* it was not made: its reference was disturbed */
	struct disturbance disturbance;
};

/* The spans in which tasks labelled culprit ran; overlapping ones are joined. */
void measure_spans(const struct samples *data, struct spans *spans);
/* `spans` may be empty: then the ratios' figures cover the whole run. */
void measure_run(const struct samples *data, const struct spans *spans, struct measures *measures);
/* The p99 of what was due in each whole second, in ms. Returns how many seconds, at most limit. */
uint32_t measure_seconds(const struct samples *data, double *p99_ms, uint32_t limit);
/* The same of the generator's lag: how long after it was due a request was sent. */
uint32_t measure_lags(const struct samples *data, double *p99_ms, uint32_t limit);

/* Requests by when they were due, in bins; late: they did not succeed in time. */
struct trace {
	uint32_t *due, *late;
	uint32_t bin_count;
};
/* Was it answered within the SLO? Where clients leave there is none: was it answered in time? */
bool measure_is_good(const struct samples *data, size_t i);
/* Those due in the span; a last bin that is not whole is left out. 0, or -1: memory is out. */
int measure_trace(const struct samples *data, struct span span, uint64_t bin_ns,
	struct trace *trace) __attribute__((warn_unused_result));
void trace_free(struct trace *trace);
/* Over 1 % of its requests were late. */
bool trace_is_bad(const struct trace *trace, uint32_t bin);
/* All of a run, the last bin made whole. */
struct span measure_whole_bins(const struct samples *data);

/* A figure over repetitions. */
struct range {
	double median, min, max;
	double ci_low, ci_high; /* 95 % interval of the median; only with has_ci */
	bool has_ci;		/* six values or more */
	uint32_t count;		/* 0: nothing was measured */
};
void measure_range(const double *values, uint32_t count, struct range *range);

#endif
