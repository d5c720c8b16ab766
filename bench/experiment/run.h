/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - one run: a target opened under a policy, the load, the case's tasks, progress lines.
 */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "bench/cases/case.h"
#include "bench/machine/disturbance.h"
#include "bench/policies/policy.h"
#include "bench/load/samples.h"

struct run_setup {
	const char *title; /* of its progress lines */
	const struct bench_options *options;
	const struct case_plan *plan;
	const struct schedule *schedule;
	uint64_t slo_ns;
	const struct bench_policy *policy;
	const char *variant; /* "greedy" of cancel:greedy; NULL */
	double value;	     /* what the policy was tuned to */
	bool culprits;	     /* false: the reference, without tasks labelled culprit or waiting */
	bool waiting;	     /* false: without those labelled waiting (the control run) */
	bool quiet;
};

/* 0 and *data to be freed with samples_free, or -1 with one line in error. */
int run_execute(const struct run_setup *setup, struct samples **data, char error[TARGET_ERROR_MAX])
	__attribute__((warn_unused_result));

#define RUN_SATURATE_DEPTH    64
#define RUN_SATURATE_WARM_QPS 500
/* Answers per second a closed loop gets out of the target with the case's questions: the median of
 * samples of sample_ns each that agree (stability.h). 0, or -1 with one line in error. */
int run_saturation(const struct bench_options *options, const struct case_plan *plan,
	uint64_t sample_ns, double *qps, struct disturbance *disturbance,
	char error[TARGET_ERROR_MAX]) __attribute__((warn_unused_result));

#endif
