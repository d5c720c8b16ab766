/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - what the command line of `cancel-bench run` says, checked.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/machine/disturbance.h"

#define OPTIONS_POLICIES_MAX 16
#define OPTIONS_POLICY_BYTES 48
#define OPTIONS_REPS_MAX     DISTURBANCE_REPS_MAX

enum report_format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV };

/* What is put under load. */
enum bench_target {
	ENGINE_TARGET, /* the engine, in this process */
	SERVER_TARGET, /* a server process, whose clients time out and retry */
	BENCH_TARGETS
};

struct bench_options {
	char policies[OPTIONS_POLICIES_MAX]
		     [OPTIONS_POLICY_BYTES];	   /* as given; `reference` left out */
	uint32_t policy_count;			   /* 0: the case's own list */
	double rate_qps;			   /* 0: rho of the measured saturation */
	double rho;				   /* [0.6] */
	bool rho_given, workers_given, pool_given; /* on a server a case has defaults of its own */
	bool slo_ratio_given;			   /* on a server there is no reference */
	uint32_t seconds;			   /* 0: the case's */
	uint32_t reps;				   /* [1] */
	uint64_t seed;				   /* [1] */
	double slo_ms; /* 0: slo_ratio times the p99 of the reference's median second, at least 5 */
	double slo_ratio;     /* [10] */
	uint32_t pool_mb;     /* [64] */
	uint32_t workers;     /* [8] */
	const char *data_dir; /* [build/data] */
	enum report_format format;
	const char *out_path; /* NULL: standard output */
	const char *plot_dir; /* NULL: no plot */
	bool poisson;
	bool rerun, batch, saturate;
	double share_pct;     /* of the load that is dumps; negative: the case's own schedule */
	bool quiet;	      /* no progress lines */
	bool allow_disturbed; /* take what was disturbed as it is, with its mark */
	enum bench_target target;
	/* On a server. */
	double stall_s;	     /* 0: the case's */
	double timeout_ms;   /* 0: from stall_s */
	uint32_t retries;    /* UINT32_MAX: the case's */
	uint32_t service_ms; /* 0: the case's */
	uint32_t connections;
	uint32_t resends;	       /* a cancelled culprit is sent again, so often */
	const char *trigger;	       /* NULL: the case's */
	bool cpu;		       /* reads that cost CPU in place of a pinned service time */
	const char *server_only_given; /* the last of them that was; NULL: none */
};

#define OPTIONS_SLO_FLOOR_MS 5.0

void options_defaults(struct bench_options *options);
/* Parses one number of the command line; on nonsense prints one line and ends with status 2. */
double options_number(const char *name, const char *text, double low, double high);
uint64_t options_integer(const char *name, const char *text, uint64_t low, uint64_t high);
/* Prints "cancel-bench: …" to standard error and ends with status 2. */
void bench_refuse(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
