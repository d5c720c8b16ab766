/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane.h - a live lane: real clients with timeouts and retries against a real server process, a
 * trigger, and what is left when the trigger is gone. One file a lane in bench/lanes/, one row in
 * bench/lanes.c.
 */
#ifndef BENCH_LANE_H
#define BENCH_LANE_H

#include "crowd.h"
#include "disturbance.h"
#include "options.h"
#include "server_process.h"

#define LANE_NS_PER_S  1000000000u
#define LANE_NS_PER_MS 1000000u
#define LANE_ARCHIVES  4 /* cold tables */

/* ---- Policies ------------------------------------------------------------------------------- */

enum lane_defence {	   /* bits */
	LANE_BUDGET = 1,   /* a retry budget common to all clients */
	LANE_GATE = 2,	   /* the server's admission gate */
	LANE_CANCEL = 4,   /* libcancel acts; else it only watches */
	LANE_QUEUE = 8,	   /* the server is told priorities without a gate; with one it always is */
	LANE_TIMEOUT = 16, /* the server gives a statement up when its client does */
	LANE_LIMIT = 32,   /* so many statements wait in the server as can be answered in time */
	LANE_LONGEST = 64, /* an operator's script kills what has run longest */
};

struct lane_policy {
	const char *name, *what;
	unsigned defences;
	uint32_t budget_pct; /* the budget, of the headroom: capacity minus load */
	uint32_t load_pct;   /* 0: the lane's own load */
	enum crowd_refusal on_refusal;
};

extern const struct lane_policy lane_policies[]; /* ends with a NULL name */
const struct lane_policy *lane_policy_find(const char *name);

#define LANE_BUDGET_PCT 30 /* of policy `budget`: well inside the headroom */
/* What the slowest cure takes after a stall: with a budget b the backlog, load x stall, drains by
 * headroom - b until waiting is below the timeout. All in parts of the capacity, with some slack.
 */
double lane_cure_s(double rho, double stall_s, double timeout_s);

/* ---- Lanes ---------------------------------------------------------------------------------- */

/* What runs beside the load: bench/lane_task.c has the statements. */
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

/* ---- Results -------------------------------------------------------------------------------- */

/* name in JSON and CSV. A figure that was not measured, or does not apply, is null. */
#define LANE_FIGURES(X)                                                                            \
	X(heals)                                                                                   \
	X(heal_s)                                                                                  \
	X(goodput_ratio)                                                                           \
	X(end_goodput_ratio)                                                                       \
	X(success_pct)                                                                             \
	X(goodput_qps)                                                                             \
	X(p50_ms)                                                                                  \
	X(p99_ms)                                                                                  \
	X(late_s)                                                                                  \
	X(decided_ms)                                                                              \
	X(trigger_ms)                                                                              \
	X(resends)                                                                                 \
	X(cancels)                                                                                 \
	X(wrong_cancels)                                                                           \
	X(company_cancelled)                                                                       \
	X(offered)                                                                                 \
	X(attempts)                                                                                \
	X(retries)                                                                                 \
	X(retries_denied)                                                                          \
	X(timeouts)                                                                                \
	X(rejected)                                                                                \
	X(failed)                                                                                  \
	X(unsent)                                                                                  \
	X(in_flight_max)                                                                           \
	X(lag_max_ms)                                                                              \
	X(server_cpu_pct)                                                                          \
	X(client_cpu_pct)                                                                          \
	X(reject_ms)                                                                               \
	X(reject_cpu_us)                                                                           \
	X(query_cpu_us)                                                                            \
	X(own_ms_per_s)                                                                            \
	X(others_ms_per_s)                                                                         \
	X(run_queue_ms_per_s)                                                                      \
	X(taken_ms_per_s)                                                                          \
	X(disturbed_seconds)

enum lane_figure {
#define X(name) LANE_##name,
	LANE_FIGURES(X)
#undef X
		LANE_FIGURE_COUNT
};
extern const char *const lane_figure_names[LANE_FIGURE_COUNT];

/* Of one run. NAN: null. */
struct lane_measures {
	double figures[LANE_FIGURE_COUNT];
	double success_pct_by_priority[CROWD_PRIORITIES];
	struct disturbance disturbance;
};

#endif
