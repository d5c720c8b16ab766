/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.h - the figures of the report, by policy, over repetitions: what tables, CSV and JSON print.
 */
#ifndef BENCH_SUMMARY_H
#define BENCH_SUMMARY_H

#include "bench/report/measure.h"
#include "bench/base/options.h"
#include "bench/cases/case.h"
#include "bench/report/retry_measure.h"

#define SUMMARY_ROWS_MAX 64

/* name in JSON and CSV, kind, how repetitions become one number. Order of the report. */
#define SUMMARY_FIGURES(X)                                                                         \
	X(throughput_ratio, NUMBER, MEDIAN)                                                        \
	X(goodput_ratio, NUMBER, MEDIAN)                                                           \
	X(p99_ratio, NUMBER, MEDIAN)                                                               \
	X(late_share_during, NUMBER, MEDIAN)                                                       \
	X(late_s_per_culprit, NUMBER, MEDIAN)                                                      \
	X(late_s_rerun, NUMBER, MEDIAN)                                                            \
	X(drop_rate, NUMBER, MEDIAN)                                                               \
	X(victims_dropped, COUNT, WORST)                                                           \
	X(cancels, COUNT, MEDIAN)                                                                  \
	X(wrong_cancels, COUNT, WORST)                                                             \
	X(decisions, COUNT, MEDIAN)                                                                \
	X(culprits, COUNT, MEDIAN)                                                                 \
	X(culprits_completed, COUNT, MEDIAN)                                                       \
	X(reruns, COUNT, MEDIAN)                                                                   \
	X(wasted_ms, NUMBER, MEDIAN)                                                               \
	X(time_to_detect_ms, TIME, MEDIAN)                                                         \
	X(time_to_cancel_ms, TIME, MEDIAN)                                                         \
	X(time_to_release_ms, TIME, MEDIAN)                                                        \
	X(time_to_recover_ms, TIME, MEDIAN)                                                        \
	X(resource_overloads, COUNT, WORST)                                                        \
	X(regular_overloads, COUNT, WORST)                                                         \
	X(throughput_qps, NUMBER, MEDIAN)                                                          \
	X(goodput_qps, NUMBER, MEDIAN)                                                             \
	X(p50_ms, NUMBER, MEDIAN)                                                                  \
	X(p99_ms, NUMBER, MEDIAN)                                                                  \
	X(p999_ms, NUMBER, MEDIAN)                                                                 \
	X(max_ms, NUMBER, MEDIAN)                                                                  \
	X(uncorrected_p50_ms, NUMBER, MEDIAN)                                                      \
	X(uncorrected_p99_ms, NUMBER, MEDIAN)                                                      \
	X(lag_p50_ms, NUMBER, MEDIAN)                                                              \
	X(lag_p99_ms, NUMBER, MEDIAN)                                                              \
	X(lag_max_ms, NUMBER, MEDIAN)                                                              \
	X(offered, COUNT, MEDIAN)                                                                  \
	X(sent, COUNT, MEDIAN)                                                                     \
	X(ok, COUNT, MEDIAN)                                                                       \
	X(late, COUNT, MEDIAN)                                                                     \
	X(skipped, COUNT, MEDIAN)                                                                  \
	X(rejected, COUNT, MEDIAN)                                                                 \
	X(cancelled, COUNT, MEDIAN)                                                                \
	X(failed, COUNT, MEDIAN)                                                                   \
	X(unanswered, COUNT, MEDIAN)                                                               \
	X(own_ms_per_s, NUMBER, MEDIAN)                                                            \
	X(others_ms_per_s, NUMBER, MEDIAN)                                                         \
	X(run_queue_ms_per_s, NUMBER, MEDIAN)                                                      \
	X(taken_ms_per_s, NUMBER, WORST)                                                           \
	X(disturbed_seconds, COUNT, WORST)

enum figure {
#define X(name, kind, pick) FIGURE_##name,
	SUMMARY_FIGURES(X)
#undef X
		FIGURE_COUNT
};

enum figure_kind { FIGURE_NUMBER, FIGURE_COUNT_OF, FIGURE_TIME };

struct figure_info {
	const char *name;
	enum figure_kind kind; /* TIME: a range over culprits, printed as such */
	bool worst;	       /* the one number is the largest, so that no repetition hides */
};
/* Those of clients that wait, and those of clients that time out. */
extern const struct figure_info summary_figures[FIGURE_COUNT], retry_figures[RETRY_FIGURE_COUNT];
_Static_assert((int)RETRY_FIGURE_COUNT <= (int)FIGURE_COUNT, "a row has room for either");

struct summary_row {
	char policy[OPTIONS_POLICY_BYTES];
	const char *what; /* the policy, on this target; static */
	char setting[64]; /* what it was tuned to, "" if nothing */
	uint32_t load_pct;
	double rho, rate_qps, slo_ms;
	double share_pct;		    /* of the requests that are dumps; --saturate only */
	struct range figures[FIGURE_COUNT]; /* where clients time out: by enum retry_figure */
	struct range success_pct_by_priority[TARGET_PRIORITIES];
	bool disturbed; /* every repetition was, or what they rest on */
	struct repetition_choice choice;
};

/* The row of one policy: `own` and `reference` have one entry per repetition. Those in which one of
 * the two was disturbed are left out, unless there are no others. `reference` NULL: there is none,
 * since clients time out. */
void summary_fill(struct summary_row *row, const struct measures *own,
	const struct measures *reference, uint32_t reps);
/* The one number a figure is reported as. */
double summary_value(const struct summary_row *row, enum figure figure);

/* Everything a report prints. */
struct summary {
	const char *case_name, *what;
	const struct bench_options *options;
	const struct case_plan *plan; /* of clients that time out; NULL: they wait */
	bool wire;		      /* a case that the engine has too, on a server */
	const char *io;
	double saturation_qps; /* 0: not measured, the rate was given */
	double rho, slo_ms, rate_qps;
	uint32_t seconds;
	struct summary_row rows[SUMMARY_ROWS_MAX];
	uint32_t row_count;
};
/* Is any row? */
bool summary_is_disturbed(const struct summary *summary);

#endif
