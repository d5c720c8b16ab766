/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - what a policy of the bench is: how the target is set up under it, how it is tuned, and
 * what it does while a run goes on. One file per policy in bench/policies/, one row in
 * bench/policies/policies.c.
 */
#ifndef BENCH_POLICY_H
#define BENCH_POLICY_H

#include "bench/base/options.h"
#include "bench/load/live.h"
#include "bench/load/samples.h"
#include "bench/target/target.h"

#define POLICY_CANDIDATES_MAX 4

/* What a policy may look at and touch during a run; called every POLICY_TICK_MS. */
#define POLICY_TICK_MS 50
struct policy_moment {
	struct target *target;
	uint64_t now_ns, start_ns; /* of target_now_ns() */
	struct live_view window;   /* since the previous tick */
	uint64_t *state;	   /* POLICY_STATE words of the policy's own, zero at the start */
	/* Notes a kill for the report; `key` as target_kill took it. */
	void (*note_kill)(void *arg, uint64_t key, uint64_t since_ns, const char *why);
	void *arg;
};
#define POLICY_STATE 4

/* What the reference run showed, for a policy that is tuned from it. */
struct policy_basis {
	double slo_ms, reference_p99_ms, reference_max_ms;
	double rate_qps, saturation_qps, reference_mean_ms;
};

struct bench_policy {
	const char *name, *what;
	enum target_control control;
	bool takes_variant; /* cancel:greedy */
	/* Values worth trying, best guess first; the bench runs a short trial of each and keeps the
	 * one with the most goodput. NULL: nothing to tune. */
	uint32_t (*candidates)(const struct policy_basis *basis, double *values);
	void (*apply)(double value, struct target_options *options);
	void (*describe)(double value, char *text, size_t bytes); /* for the report */
	void (*tick)(const struct policy_moment *moment);
};

extern const struct bench_policy *const bench_policies[]; /* ends with NULL */
/* By "name" or "name:variant[/estimator]"; NULL: there is none. */
const struct bench_policy *bench_policy_find(const char *text);
/* Splits a list at its commas into options->policies; ends with status 2 on an unknown one. */
void options_policies(struct bench_options *options, const char *list);

extern const struct bench_policy policy_none, policy_timeout, policy_longest, policy_limit,
	policy_monitor, policy_cancel;

#endif
