/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry_plan.h - how a case is run against a server process: clients with timeouts and retries, a
 * trigger, and what is left when the trigger is gone.
 */
#ifndef BENCH_RETRY_PLAN_H
#define BENCH_RETRY_PLAN_H

#include "bench/base/options.h"
#include "bench/target/data.h"

#define BENCH_NS_PER_S	1000000000u
#define BENCH_NS_PER_MS 1000000u

/* What runs beside the load: bench/cases/scripts.c has the statements. */
enum script_id {
	SCRIPT_NONE,
	SCRIPT_PAUSE,	    /* PAUSE and RESUME: an outage that is nobody's fault */
	SCRIPT_LOCK,	    /* a transaction that locks the table and takes its time */
	SCRIPT_DUMP,	    /* one that reads all cold tables */
	SCRIPT_CHECKPOINT,  /* a long log is copied into the database, and writers wait */
	SCRIPT_ROWS,	    /* as SCRIPT_DUMP, and its client takes the rows away */
	SCRIPT_UPDATE,	    /* a transaction that writes a cold table page by page */
	SCRIPT_SCAN,	    /* one that reads the hot table page by page, and its client thinks */
	SCRIPT_BACKUP,	    /* a backup: it waits for all transactions, and all wait behind it */
	SCRIPT_REPORT,	    /* harmless: one long statement whose client is slow to read */
	SCRIPT_SHORT_SCANS, /* harmless: they come and go */
};

#define BACKGROUND_MAX	   2
#define SCRIPT_BACKUP_NAME "lane-backup" /* in the data folder, for the length of a run */
struct background {
	enum script_id script; /* SCRIPT_NONE: nobody */
	uint64_t onset_ns;
};

/* Filled by the case, from the options. */
struct retry_plan {
	double rho; /* load, of the measured saturation */
	enum script_id trigger;
	uint64_t onset_ns, hold_ns; /* the trigger: when, and how long if left alone */
	uint64_t lead_ns;	    /* it begins so long before the onset, and harms nobody yet */
	uint32_t resends;	    /* it is sent again after a cancel, so often */
	struct background background[BACKGROUND_MAX];
	uint64_t length_ns;
	uint64_t timeout_ns;
	uint32_t retries, priorities;
	uint32_t workers, service_ms; /* 0: statements take what they take */
	uint32_t pool_mb;
	uint32_t archive_pools;		  /* cold tables, in pools; 0: none are needed */
	uint32_t rows;			  /* each request reads so many random items */
	bool writes;			  /* … or writes one */
	uint32_t log_mb;		  /* how long the log may grow; 0: the server's */
	uint32_t window_ms, threshold_ms; /* of the gate */
	uint32_t slo_ms;		  /* of libcancel */
	bool reject_cost; /* measure what a refusal costs, after a run with the gate */
};

/* What differs among the cases; times follow from how long the trigger lasts. */
struct retry_shape {
	double rho;
	double before_s, hold_s;
	double after_s;	 /* 0: the slowest cure, and a little more */
	double patience; /* of a client, in parts of the trigger; at most a second */
	uint32_t workers, service_ms, pool_mb;
	uint32_t rows, cpu_rows; /* with --cpu: so many, and no service time */
	uint32_t window_part, threshold_part, slo_part; /* of the timeout; 0: none */
};
void retry_plan_shape(const struct bench_options *options, const struct retry_shape *shape,
	struct retry_plan *plan);
/* Of a case with a culprit that harms while it holds what it has. */
void retry_plan_culprit(const struct bench_options *options, struct retry_plan *plan);
/* The same for one that harms because a backup waits for it with all behind. */
void retry_plan_backup(
	const struct bench_options *options, enum script_id culprit, struct retry_plan *plan);
uint64_t retry_ns(double seconds);

#endif
