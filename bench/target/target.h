/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.h - the system under load, as the bench sees it: a database one asks, kills statements of,
 * and reads gauges from. bench/target/target_engine.c is demo-db's engine; tests link a fake.
 *
 * Times are nanoseconds of target_now_ns(), which is CLOCK_MONOTONIC. Unless said otherwise a
 * call may come from any thread.
 */
#ifndef BENCH_TARGET_H
#define BENCH_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TARGET_ARGS_MAX	  16
#define TARGET_ERROR_MAX  256
#define TARGET_WHY_MAX	  320
#define TARGET_BACKUP_KEY UINT64_MAX /* names the backup in decisions and kills */

struct target;
struct target_client; /* one session; one statement at a time */

enum target_control {
	TARGET_OFF,	/* the library is not started */
	TARGET_MONITOR, /* it watches, and acts on nothing */
	TARGET_ACT,
};

/* What the library decided, or learned about an earlier decision; or a statement timeout. From a
 * thread of the target's. */
struct target_decision {
	uint64_t serial, key; /* the same serial again: the times grew; 0: a timeout */
	bool acted;
	uint64_t suspected_ns, decided_ns, delivered_ns, acknowledged_ns, released_ns, rerun_ns;
	uint64_t wasted_ns;
	char why[TARGET_WHY_MAX];
};

struct target_options { /* zero = default */
	size_t struct_size;
	const char *data_dir;
	uint32_t pool_mb;	       /* [64] */
	uint32_t workers;	       /* [8] */
	uint32_t queue_limit;	       /* [16384] questions of the load waiting at once */
	uint32_t concurrency_limit;    /* questions at once beyond which new ones are refused */
	uint32_t statement_timeout_ms; /* from the arrival of any statement; 0: none */
	enum target_control control;
	const char *policy, *estimator; /* of the library; NULL: its default */
	uint64_t slo_ns;		/* of the load's class */
	bool precise_off, precise_always;
	bool no_checkpoint; /* in the background: they come at their own times */
	void (*on_decision)(void *arg, const struct target_decision *decision);
	void *on_decision_arg;
};

enum target_status {
	TARGET_OK,
	TARGET_REJECTED,
	TARGET_CANCELLED,
	TARGET_FAILED,
};

struct target_answer {
	enum target_status status;
	uint64_t rows;		      /* sent or changed */
	uint32_t reruns;	      /* times it was cancelled and run again */
	char error[TARGET_ERROR_MAX]; /* SQLSTATE and text; "" if none */
};

/* From a worker thread; short, and never back into the target but for target_submit. */
typedef void (*target_callback)(void *arg, uint64_t token, const struct target_answer *answer);

struct target_request {
	const char *sql; /* of static lifetime: prepared once */
	int64_t args[TARGET_ARGS_MAX];
	uint32_t arg_count;
	uint64_t due_ns; /* its episode opens there, not when it was sent */
	target_callback callback;
	void *arg;
	uint64_t token;
};

/* One statement that runs or waits inside the target. */
struct target_running {
	uint64_t key;
	uint64_t since_ns; /* its transaction's start, or its own */
};

struct target_gauges {
	uint64_t evictions, pool_misses, pool_hits; /* since the target opened */
	uint64_t resource_overloads, regular_overloads, reruns;
	double contention;  /* of the most contended resource, last window */
	char contended[16]; /* its name */
	uint32_t active;    /* statements inside */
};

uint64_t target_now_ns(void);
/* 0, or -1 with one clear line in error. */
int target_open(const struct target_options *options, struct target **target,
	char error[TARGET_ERROR_MAX]) __attribute__((warn_unused_result));
/* From now on the statement timeout and the concurrency limit hold; before, the target is warmed.
 */
void target_arm(struct target *target);
/* Stops everything still running; every callback has returned when it does. */
void target_close(struct target *target);
/* "O_DIRECT", or what it fell back to; static. */
const char *target_io(struct target *target);

/* Asks one short question of the load, as an autocommit statement of some idle session. The answer
 * comes by callback, always exactly once. */
void target_submit(struct target *target, const struct target_request *request);

/* A client of its own, for the case's tasks. One thread at a time uses it. */
int target_client_open(struct target *target, struct target_client **client)
	__attribute__((warn_unused_result));
void target_client_close(struct target_client *client);
/* Runs one statement and waits for its end. `row_pause_us` > 0: the client takes so long over each
 * row; `rows_out` false: the rows are only counted and none leaves the target. */
void target_client_run(struct target_client *client, const char *sql, bool rows_out,
	uint32_t row_pause_us, struct target_answer *answer);
/* Asks a question of the load and waits for its answer, on this thread. */
void target_client_ask(struct target_client *client, const struct target_request *question,
	struct target_answer *answer);
/* Takes a backup into the data folder and waits for its end. */
void target_backup(struct target *target, struct target_answer *answer);
/* The key under which decisions and target_oldest name what this client runs. */
uint64_t target_client_key(const struct target_client *client);

/* What an operator's kill does: stop the statement this key runs now, roll back its transaction.
 * False: there is nothing of that key. */
bool target_kill(struct target *target, uint64_t key);
/* Makes clients wait at their next row, or go on. */
void target_hold_rows(struct target *target, bool hold);
/* The run's time is up: stops all clients' statements and the backup, and takes no new ones. */
void target_stop_clients(struct target *target);
/* Whatever has been inside longest, a transaction from its start. False: nothing is. */
bool target_oldest(struct target *target, struct target_running *oldest);
void target_read_gauges(struct target *target, struct target_gauges *gauges);

#endif
