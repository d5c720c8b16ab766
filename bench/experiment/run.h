/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - one run: a target opened under a policy, the load, the case's tasks, progress lines.
 */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "bench/cases/case.h"
#include "bench/load/samples.h"
#include "bench/machine/disturbance.h"
#include "bench/policies/policy.h"

struct run_setup {
	const char *title; /* of its progress lines */
	const struct bench_options *options;
	const struct case_plan *plan;
	const char *data_dir;
	const struct schedule *schedule;
	uint64_t slo_ns;
	double saturation_qps; /* a retry budget is a part of the headroom below it */
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
/* The target of such a run. */
struct target_options run_target_options(const struct run_setup *setup);

struct run_capacity {
	double qps;	     /* answers a second of a closed loop with the plan's requests */
	double query_cpu_us; /* the target's, for each; NAN: it is no process of its own */
	struct disturbance disturbance;
};
/* 0, or -1 with one line in error. */
int run_saturation(const struct run_setup *setup, struct run_capacity *capacity,
	char error[TARGET_ERROR_MAX]) __attribute__((warn_unused_result));
/* How many questions are in flight when this plan is saturated. */
uint32_t run_saturate_depth(const struct case_plan *plan);

#endif
