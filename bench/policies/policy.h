/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - what a policy of the bench is, for every target: flags, a value that is tuned, and what it
 * does while a run goes on. A row in bench/policies/policies.def, and a file beside it for one that is
 * more than flags.
 */
#ifndef BENCH_POLICY_H
#define BENCH_POLICY_H

#include "bench/base/options.h"
#include "bench/load/clients.h"
#include "bench/target/target.h"

#define POLICY_CANDIDATES_MAX 4

/* What a policy may look at and touch during a run; called every POLICY_TICK_MS. */
#define POLICY_TICK_MS 50
struct policy_moment {
	struct target *target;
	uint64_t now_ns;		     /* of target_now_ns() */
	const struct clients_counts *window; /* since the previous tick */
	uint64_t last_kill_ns;		     /* the target's last kill; 0: there was none */
	uint64_t *state; /* POLICY_STATE words of the policy's own, zero at the start */
};
#define POLICY_STATE 4

/* What the reference run showed, for a policy that is tuned from it; with clients that time out only
 * their timeout and the saturation. */
struct policy_basis {
	double slo_ms, saturation_qps;
	double timeout_ms; /* 0: they wait */
};

#define POLICY_BUDGET_PCT	30  /* of policy `budget`: well inside the headroom */
#define POLICY_BUDGET_LARGE_PCT 200 /* of policy `budget-large`: twice the headroom */

struct bench_policy {
	const char *name;
	const char *what[BENCH_TARGETS]; /* by target; NULL: it is none there */
	/* ---- Flags: what is switched on for the run ---- */
	enum target_control control;
	bool takes_variant; /* cancel:greedy */
	bool gate;	    /* the target's admission gate */
	bool priorities;    /* it is told priorities without a gate; with one it always is */
	uint32_t
		budget_pct; /* a retry budget of all clients, of the headroom: capacity less load */
	uint32_t load_pct;  /* 0: the case's own load */
	enum clients_refusal on_refusal;
	/* ---- A value: those worth trying, best guess first. Where there are several the bench runs a
	 * short trial of each and keeps the one with the most goodput. NULL: nothing to tune. ---- */
	uint32_t (*candidates)(const struct policy_basis *basis, double *values);
	void (*apply)(double value, struct target_options *options);
	void (*describe)(double value, char *text, size_t bytes); /* for the report */
	/* ---- What it does while a run goes on; NULL: nothing. ---- */
	void (*tick)(const struct policy_moment *moment);
};

extern const struct bench_policy *const bench_policies[]; /* ends with NULL */
/* By "name" or, for the engine, "name:variant[/estimator]"; NULL: there is none. */
const struct bench_policy *bench_policy_find(const char *text, enum bench_target target);
/* Splits a list at its commas into options->policies; ends with status 2 on an unknown one. */
void options_policies(struct bench_options *options, const char *list);

#define POLICY(name) extern const struct bench_policy policy_##name;
#define FLAGS(...)
#include "bench/policies/policies.def"
#undef POLICY
#undef FLAGS

#endif
