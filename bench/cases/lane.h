/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane.h - a live lane: real clients with timeouts and retries against a real server process, a
 * trigger, and what is left when the trigger is gone. One file a lane in bench/cases/, one row in
 * bench/cases/lanes.c.
 */
#ifndef BENCH_LANE_H
#define BENCH_LANE_H

#include "bench/base/options.h"

#define LANE_NS_PER_S  1000000000u
#define LANE_NS_PER_MS 1000000u
#define LANE_ARCHIVES  4 /* cold tables */

/* What the slowest cure takes after a stall: with a budget b the backlog, load x stall, drains by
 * headroom - b until waiting is below the timeout. All in parts of the capacity, with some slack.
 */
double lane_cure_s(double rho, double stall_s, double timeout_s);

/* What runs beside the load: bench/cases/scripts.c has the statements. */
enum lane_script {
	LANE_NO_SCRIPT,
	LANE_PAUSE,	  /* PAUSE and RESUME: an outage that is nobody's fault */
	LANE_LOCK,	  /* a transaction that locks the table and takes its time */
	LANE_DUMP,	  /* one that reads all cold tables */
	LANE_CHECKPOINT,  /* a long log is copied into the database, and writers wait */
	LANE_ROWS,	  /* as LANE_DUMP, and its client takes the rows away */
	LANE_UPDATE,	  /* a transaction that writes a cold table page by page */
	LANE_SCAN,	  /* one that reads the hot table page by page, and its client thinks */
	LANE_BACKUP,	  /* a backup: it waits for all transactions, and all wait behind it */
	LANE_REPORT,	  /* harmless: one long statement whose client is slow to read */
	LANE_SHORT_SCANS, /* harmless: they come and go */
};

/* What the command line says about lanes only. */
struct lane_options {
	double stall_s;	     /* 0: the lane's */
	double timeout_ms;   /* 0: from stall_s */
	uint32_t retries;    /* UINT32_MAX: the lane's */
	uint32_t service_ms; /* 0: the lane's */
	uint32_t connections;
	uint32_t resends;    /* a cancelled culprit is sent again, so often */
	const char *trigger; /* NULL: the lane's */
	bool cpu;
	bool wire;	   /* the case of that name as a lane */
	const char *given; /* the last of them that was; NULL: none */
};
void lane_options_defaults(struct lane_options *options);

#define LANE_COMPANY_MAX 2
#define LANE_BACKUP_NAME "lane-backup" /* in the data folder, for the length of a run */
struct lane_company {
	enum lane_script script; /* LANE_NO_SCRIPT: nobody */
	uint64_t onset_ns;
};

/* How a lane is run: filled by the lane, from the options. */
struct lane_plan {
	double rho; /* load, of the measured saturation */
	enum lane_script trigger;
	uint64_t onset_ns, hold_ns; /* the trigger: when, and how long if left alone */
	uint64_t lead_ns;	    /* it begins so long before the onset, and harms nobody yet */
	uint32_t resends;	    /* it is sent again after a cancel, so often */
	struct lane_company company[LANE_COMPANY_MAX];
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

struct lane {
	const char *name, *what;
	bool of_case;	      /* run with --wire: without it the name is a case's */
	const char *policies; /* the default list */
	void (*plan)(const struct bench_options *options, const struct lane_options *lane_options,
		struct lane_plan *plan);
};

extern const struct lane *const lanes[]; /* ends with NULL */
const struct lane *lane_find(const char *name, bool of_case);
extern const struct lane lane_stall, lane_culprit_storm, lane_dump_storm, lane_overload_2x;
extern const struct lane lane_dump, lane_backup_lock, lane_scan_backup;

#endif
