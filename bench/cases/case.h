/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case.h - what a case is: the questions its load asks, and the tasks that run beside it. One file
 * per case in bench/cases/, one row per case in bench/cases/cases.c.
 */
#ifndef BENCH_CASE_H
#define BENCH_CASE_H

#include "bench/base/options.h"
#include "bench/cases/retry_plan.h"
#include "bench/load/samples.h"
#include "bench/target/data.h"
#include "bench/target/target.h"

#define CASE_ACTORS_MAX	    16
#define CASE_STATEMENTS_MAX 16
#define CASE_LEVELS_MAX	    4
#define CASE_STEPS_MAX	    64

/* A task of the case's own. It runs its statements one after the other, then ends. */
struct actor {
	const char *name;
	enum task_label label;
	uint64_t start_ns;
	uint64_t every_ns;     /* again so long after the last start, if it has ended; 0: once */
	bool forever;	       /* again as soon as it ends (a bystander) */
	bool in_transaction;   /* an explicit one: not rerunnable */
	bool rows_out;	       /* the client receives the rows */
	bool backup;	       /* a backup in place of statements */
	uint32_t row_pause_us; /* a client that is slow to read */
	const char *statements[CASE_STATEMENTS_MAX]; /* ends with NULL */
};

struct case_plan {
	struct actor actors[CASE_ACTORS_MAX];
	uint32_t actor_count;
	struct schedule_step steps[CASE_STEPS_MAX];
	uint32_t step_count;
	struct case_data data;
	double rate_qps;  /* offered; 0 while it is not known yet */
	const char *what; /* in place of the case's, NULL: none */
	/* `plan` is this plan; void, since the generator knows no case. */
	void (*ask)(const void *plan, uint64_t draw, struct target_request *request);
};

struct bench_case {
	const char *name, *what;
	const char *policies;	/* the default list */
	uint32_t seconds;	/* of a run, by default */
	uint32_t rerun_seconds; /* the same with --rerun: time for the second attempt */
	uint32_t levels_pct[CASE_LEVELS_MAX]; /* loads to run at; all zero: options.rho */
	bool has_culprit;
	/* The control run: the culprit without what it collides with; its row's name, or NULL. */
	const char *control;
	/* Fills plan->actors, steps and ask for runs of `seconds`; plan->data is there already.
	 * Called again once plan->rate_qps is known.
	 * NULL: the case is none of the engine's. */
	void (*plan)(const struct bench_options *options, uint32_t seconds, struct case_plan *plan);
	/* On a server process; retry_plan NULL: the case is none there. */
	const char *server_what, *server_policies;
	void (*retry_plan)(const struct bench_options *options, struct retry_plan *plan);
};

/* What the cases with a culprit compare on a server. */
#define CASE_SERVER_POLICIES                                                                       \
	"none,timeout,longest,limit,budget,gate,cancel,cancel+budget,cancel+gate"

extern const struct bench_case *const bench_cases[]; /* ends with NULL */
const struct bench_case *bench_case_find(const char *name);

/* What it is on this target; NULL: it is none there. */
const char *bench_case_what(const struct bench_case *bench_case, enum bench_target target);

#define CASE(name) extern const struct bench_case case_##name;
#include "bench/cases/cases.def"
#undef CASE

/* A slow report that reads the hot table row by row, and is harmless. */
extern const struct actor case_report_actor;
/* A backup: it waits for all transactions, and all wait behind it. It comes as often as the culprit
 * it waits for. */
#define CASE_BACKUP_EVERY_NS 25000000000u
extern const struct actor case_backup_actor;

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

#endif
