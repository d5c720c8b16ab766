/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figures.h - every figure of the bench: its name in JSON and CSV and its kind; how repetitions become
 * one number; and whether it says something where clients wait for their answers, where they time out
 * and leave, or both. In the order of the report.
 */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H

#include <stdbool.h>

#define FIGURES(X)                                                                                 \
	X(heals, TIME, MEDIAN, LEAVE)                                                              \
	X(heal_s, TIME, MEDIAN, LEAVE)                                                             \
	X(throughput_ratio, NUMBER, MEDIAN, WAIT)                                                  \
	X(goodput_ratio, NUMBER, MEDIAN, BOTH)                                                     \
	X(end_goodput_ratio, TIME, MEDIAN, LEAVE)                                                  \
	X(success_pct, TIME, MEDIAN, LEAVE)                                                        \
	X(p99_ratio, NUMBER, MEDIAN, WAIT)                                                         \
	X(late_share_during, NUMBER, MEDIAN, WAIT)                                                 \
	X(late_s_per_culprit, NUMBER, MEDIAN, WAIT)                                                \
	X(late_s_rerun, NUMBER, MEDIAN, WAIT)                                                      \
	X(late_s, TIME, MEDIAN, LEAVE)                                                             \
	X(decided_ms, TIME, MEDIAN, LEAVE)                                                         \
	X(trigger_ms, TIME, MEDIAN, LEAVE)                                                         \
	X(resends, TIME, MEDIAN, LEAVE)                                                            \
	X(drop_rate, NUMBER, MEDIAN, WAIT)                                                         \
	X(victims_dropped, COUNT, WORST, WAIT)                                                     \
	X(cancels, COUNT, MEDIAN, BOTH)                                                            \
	X(wrong_cancels, COUNT, WORST, BOTH)                                                       \
	X(company_cancelled, TIME, MEDIAN, LEAVE)                                                  \
	X(decisions, COUNT, MEDIAN, WAIT)                                                          \
	X(culprits, COUNT, MEDIAN, WAIT)                                                           \
	X(culprits_completed, COUNT, MEDIAN, WAIT)                                                 \
	X(reruns, COUNT, MEDIAN, WAIT)                                                             \
	X(wasted_ms, NUMBER, MEDIAN, WAIT)                                                         \
	X(time_to_detect_ms, TIME, MEDIAN, WAIT)                                                   \
	X(time_to_cancel_ms, TIME, MEDIAN, WAIT)                                                   \
	X(time_to_release_ms, TIME, MEDIAN, WAIT)                                                  \
	X(time_to_recover_ms, TIME, MEDIAN, WAIT)                                                  \
	X(resource_overloads, COUNT, WORST, WAIT)                                                  \
	X(regular_overloads, COUNT, WORST, WAIT)                                                   \
	X(throughput_qps, NUMBER, MEDIAN, WAIT)                                                    \
	X(goodput_qps, NUMBER, MEDIAN, BOTH)                                                       \
	X(p50_ms, NUMBER, MEDIAN, BOTH)                                                            \
	X(p99_ms, NUMBER, MEDIAN, BOTH)                                                            \
	X(p999_ms, NUMBER, MEDIAN, WAIT)                                                           \
	X(max_ms, NUMBER, MEDIAN, WAIT)                                                            \
	X(uncorrected_p50_ms, NUMBER, MEDIAN, WAIT)                                                \
	X(uncorrected_p99_ms, NUMBER, MEDIAN, WAIT)                                                \
	X(lag_p50_ms, NUMBER, MEDIAN, WAIT)                                                        \
	X(lag_p99_ms, NUMBER, MEDIAN, WAIT)                                                        \
	X(lag_max_ms, NUMBER, MEDIAN, BOTH)                                                        \
	X(offered, COUNT, MEDIAN, BOTH)                                                            \
	X(sent, COUNT, MEDIAN, WAIT)                                                               \
	X(ok, COUNT, MEDIAN, WAIT)                                                                 \
	X(late, COUNT, MEDIAN, WAIT)                                                               \
	X(skipped, COUNT, MEDIAN, WAIT)                                                            \
	X(rejected, COUNT, MEDIAN, BOTH)                                                           \
	X(cancelled, COUNT, MEDIAN, WAIT)                                                          \
	X(failed, COUNT, MEDIAN, BOTH)                                                             \
	X(unanswered, COUNT, MEDIAN, WAIT)                                                         \
	X(attempts, TIME, MEDIAN, LEAVE)                                                           \
	X(retries, TIME, MEDIAN, LEAVE)                                                            \
	X(retries_denied, TIME, MEDIAN, LEAVE)                                                     \
	X(timeouts, TIME, MEDIAN, LEAVE)                                                           \
	X(unsent, TIME, MEDIAN, LEAVE)                                                             \
	X(in_flight_max, TIME, MEDIAN, LEAVE)                                                      \
	X(server_cpu_pct, TIME, MEDIAN, LEAVE)                                                     \
	X(client_cpu_pct, TIME, MEDIAN, LEAVE)                                                     \
	X(reject_ms, TIME, MEDIAN, LEAVE)                                                          \
	X(reject_cpu_us, TIME, MEDIAN, LEAVE)                                                      \
	X(query_cpu_us, TIME, MEDIAN, LEAVE)                                                       \
	X(own_ms_per_s, NUMBER, MEDIAN, BOTH)                                                      \
	X(others_ms_per_s, NUMBER, MEDIAN, BOTH)                                                   \
	X(run_queue_ms_per_s, NUMBER, MEDIAN, BOTH)                                                \
	X(taken_ms_per_s, NUMBER, WORST, BOTH)                                                     \
	X(disturbed_seconds, COUNT, WORST, BOTH)

enum figure {
#define X(name, kind, pick, when) FIGURE_##name,
	FIGURES(X)
#undef X
		FIGURE_COUNT
};

enum figure_kind { FIGURE_NUMBER, FIGURE_COUNT_OF, FIGURE_TIME };
enum figure_when { FIGURE_WAIT = 1, FIGURE_LEAVE = 2, FIGURE_BOTH = 3 };

struct figure_info {
	const char *name;
	enum figure_kind kind; /* TIME: a range, printed as such; where clients leave all are */
	bool worst;	       /* the one number is the largest, so that no repetition hides */
	enum figure_when when;
};
extern const struct figure_info figure_infos[FIGURE_COUNT];

#endif
