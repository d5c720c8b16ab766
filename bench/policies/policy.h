/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - what a policy of the bench is: how the target is set up under it, how it is tuned, and
 * what it does while a run goes on. A row in bench/policies/policies.c, and a file beside it for one
 * that does something in the engine.
 */
#ifndef BENCH_POLICY_H
#define BENCH_POLICY_H

#include "bench/base/options.h"
#include "bench/load/clients.h"
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

/* What may defend a server process. */
enum defence {		    /* bits */
	DEFENCE_BUDGET = 1, /* a retry budget common to all clients */
	DEFENCE_GATE = 2,   /* the server's admission gate */
	DEFENCE_CANCEL = 4, /* libcancel acts; else it only watches */
	DEFENCE_QUEUE = 8, /* the server is told priorities without a gate; with one it always is */
	DEFENCE_TIMEOUT = 16, /* the server gives a statement up when its client does */
	DEFENCE_LIMIT = 32,   /* so many statements wait in the server as can be answered in time */
	DEFENCE_LONGEST = 64, /* an operator's script kills what has run longest */
};

#define DEFENCE_BUDGET_PCT	 30  /* of policy `budget`: well inside the headroom */
#define DEFENCE_BUDGET_LARGE_PCT 200 /* of policy `budget-large`: twice the headroom */

struct bench_policy {
	const char *name;
	const char *what; /* in the engine; NULL: it is none there */
	enum target_control control;
	bool takes_variant; /* cancel:greedy */
	/* Values worth trying, best guess first; the bench runs a short trial of each and keeps the
	 * one with the most goodput. NULL: nothing to tune. */
	uint32_t (*candidates)(const struct policy_basis *basis, double *values);
	void (*apply)(double value, struct target_options *options);
	void (*describe)(double value, char *text, size_t bytes); /* for the report */
	void (*tick)(const struct policy_moment *moment);

	const char *server_what; /* on a server; NULL: it is none there */
	unsigned defences;
	uint32_t budget_pct; /* the budget, of the headroom: capacity minus load */
	uint32_t load_pct;   /* 0: the case's own load */
	enum clients_refusal on_refusal;
};

extern const struct bench_policy *const bench_policies[]; /* ends with NULL */
/* What it is on this target; NULL: it is none there. */
const char *bench_policy_what(const struct bench_policy *policy, enum bench_target target);
/* By "name" or, for the engine, "name:variant[/estimator]"; NULL: there is none. */
const struct bench_policy *bench_policy_find(const char *text, enum bench_target target);
/* Splits a list at its commas into options->policies; ends with status 2 on an unknown one. */
void options_policies(struct bench_options *options, const char *list);

#define POLICY(name) extern const struct bench_policy policy_##name;
#define DEFENCES(...)
#include "bench/policies/policies.def"
#undef POLICY
#undef DEFENCES

#endif
