/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case.h - what a case is: the questions its load asks, and the tasks that run beside it, for every
 * target. One file per case in bench/cases/, one row per case in bench/cases/cases.def.
 */
#ifndef BENCH_CASE_H
#define BENCH_CASE_H

#include "bench/base/options.h"
#include "bench/load/samples.h"
#include "bench/target/data.h"
#include "bench/target/target.h"

#define CASE_ACTORS_MAX	    16
#define CASE_STATEMENTS_MAX 16
#define CASE_LEVELS_MAX	    4
#define CASE_STEPS_MAX	    64
#define CASE_PREPARE_MAX    4
#define CASE_NS_PER_S	    1000000000u
#define CASE_NS_PER_MS	    1000000u

/* A task of the case's own, and its script: what opens it, its statements one after the other, and
 * what closes it. In a statement ?1 and ?2 are the first and last row of its next page. */
struct actor {
	const char *name;
	enum task_label label;
	uint64_t start_ns;
	uint64_t every_ns;     /* again so long after the last start, if it has ended; 0: once */
	bool forever;	       /* again as soon as it ends, also when it is stopped (a bystander) */
	uint64_t hold_ns;      /* its statements again and again until then; 0: each of them once */
	uint32_t resends;      /* when it is cancelled it begins anew, so often */
	bool operates;	       /* needs the operator's rights, and is not what may be cancelled */
	bool rows_out;	       /* the client receives the rows */
	uint32_t row_pause_us; /* a client that is slow to read */
	uint32_t think_ms;     /* between its statements */
	uint32_t page_rows;
	const char *begin, *end;		     /* NULL: nothing opens or closes it */
	const char *statements[CASE_STATEMENTS_MAX]; /* ends with NULL */
};

/* How a case is run; filled by the case from the options. */
struct case_plan {
	struct actor actors[CASE_ACTORS_MAX];
	uint32_t actor_count;
	struct schedule_step steps[CASE_STEPS_MAX];
	uint32_t step_count;
	struct case_data data;
	double rho;	  /* load, of the measured saturation */
	double rate_qps;  /* offered; 0 while it is not known yet */
	const char *what; /* in place of the case's, NULL: none */
	/* `plan` is this plan; void, since the load knows no case. */
	void (*ask)(const void *plan, uint64_t draw, struct target_request *request);
	const char *prepare[CASE_PREPARE_MAX]; /* an operator's statements before the run */
	uint64_t length_ns;
	/* Clients. */
	uint64_t
		timeout_ns; /* they leave and try again; 0: they wait, and the SLO is the measure */
	uint32_t retries, priorities;
	uint32_t rows; /* each request reads so many random items */
	/* The target. */
	uint32_t workers, service_ms;	  /* 0: statements take what they take */
	uint32_t pool_mb, archive_pools;  /* cold tables, in pools; 0: none are needed */
	uint32_t log_mb;		  /* how long the log may grow; 0: the target's own limit */
	uint32_t window_ms, threshold_ms; /* of the gate */
	uint64_t slo_ns;		  /* 0: from the reference */
	/* What is measured, of clients with a timeout. */
	uint64_t onset_ns, hold_ns; /* of the trigger; what comes before the onset is no part */
	const char *trigger;	    /* its name, NULL: there is none to heal from */
	bool reject_cost;	    /* what a refusal costs, after a run with the gate */
};

/* Seconds as nanoseconds. */
uint64_t case_ns(double seconds);
struct actor *case_add(struct case_plan *plan, const struct actor *actor);

/* What differs among the cases whose clients time out; times follow from how long the trigger lasts.
 */
struct case_shape {
	double rho;
	double before_s, hold_s;
	double after_s;	 /* 0: the slowest cure, and a little more */
	double patience; /* of a client, in parts of the trigger; at most a second */
	uint32_t workers, service_ms, pool_mb;
	uint32_t rows, cpu_rows; /* with --cpu: so many, and no service time */
	uint32_t window_part, threshold_part, slo_part; /* of the timeout; 0: none */
};
void case_shape_plan(const struct bench_options *options, const struct case_shape *shape,
	struct case_plan *plan);
/* The shape of a culprit that harms while it holds what it has. */
extern const struct case_shape case_culprit_shape;
/* What harm begins with: added to the plan, there at the onset, for as long as the shape says. */
void case_trigger(
	const struct bench_options *options, const struct actor *actor, struct case_plan *plan);
/* The same, and then a backup that waits for it with all behind: that is what harms. */
void case_trigger_backup(
	const struct bench_options *options, const struct actor *actor, struct case_plan *plan);

struct bench_case {
	const char *name;
	const char *what[BENCH_TARGETS];     /* by target; NULL: the case is none there */
	const char *policies[BENCH_TARGETS]; /* the default list */
	uint32_t seconds;		     /* of a run, by default */
	uint32_t rerun_seconds; /* the same with --rerun: time for the second attempt */
	uint32_t levels_pct[CASE_LEVELS_MAX]; /* loads to run at; all zero: the plan's rho */
	bool has_culprit;
	/* The control run: the culprit without what it collides with; its row's name, or NULL. */
	const char *control;
	/* Fills the plan, in which data, length, workers and the like are there already. Called again
	 * once plan->rate_qps is known. */
	void (*plan)(const struct bench_options *options, struct case_plan *plan);
};

/* What the cases with a culprit compare. */
#define CASE_ENGINE_POLICIES "none,timeout,longest,limit,cancel"
#define CASE_SERVER_POLICIES                                                                       \
	"none,timeout,longest,limit,budget,gate,cancel,cancel+budget,cancel+gate"

extern const struct bench_case *const bench_cases[]; /* ends with NULL */
const struct bench_case *bench_case_find(const char *name);
/* The plan as these options want it. */
void bench_case_plan(const struct bench_case *bench_case, const struct bench_options *options,
	struct case_plan *plan);

#define CASE(name) extern const struct bench_case case_##name;
#include "bench/cases/cases.def"
#undef CASE

/* A slow report that reads the hot table row by row, and is harmless. */
extern const struct actor case_report_actor;
/* A backup: it waits for all transactions, and all wait behind it. It comes as often as the culprit
 * it waits for. */
#define CASE_BACKUP_EVERY_NS 25000000000u
extern const struct actor case_backup_actor;
/* A transaction that locks the hot table and goes on working. */
extern const struct actor case_lock_actor;

/* The dump of the case dump, for --saturate. */
#define CASE_DUMPS_MAX 4 /* at once */
extern const struct actor case_dump_actor;

/* Cold rows in random order, one page read each: long, but light on CPU and on the pool. The keys
 * are those of a linear congruential generator. */
#define CASE_RANDOM_KEYS(seed, count)                                                              \
	"WITH RECURSIVE k(i, x) AS (SELECT 1, " seed " UNION ALL "                                 \
	"SELECT i + 1, (x * 1103515245 + 12345) & 1073741823 FROM k WHERE i < " count ") "
#define CASE_RANDOM_ID(table) "1 + k.x % (SELECT max(id) FROM " table ")"
/* Reads all of them, writes one in fifty. */
#define CASE_RANDOM_UPDATE(table, seed, count)                                                     \
	CASE_RANDOM_KEYS(seed, count)                                                              \
	"UPDATE " table " SET amount = amount + 1 FROM k WHERE " table                             \
	".id = " CASE_RANDOM_ID(table) " AND " table ".amount % 50 = 0"
#define CASE_RANDOM_SCAN(table, seed, count)                                                       \
	CASE_RANDOM_KEYS(seed, count)                                                              \
	"SELECT sum(amount) FROM k CROSS JOIN " table " a WHERE a.id = " CASE_RANDOM_ID(table)

/* Reads of CASE_READ_ROWS random items: most cases' questions. */
#define CASE_READ_ROWS 16
void case_ask_read(const void *plan, uint64_t draw, struct target_request *request);
/* Reads plan->rows random items, by their keys alone: the questions where capacity is pinned. */
void case_ask_items(const void *plan, uint64_t draw, struct target_request *request);
/* Writes one. */
void case_ask_write(const void *plan, uint64_t draw, struct target_request *request);

#endif
