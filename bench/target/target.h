/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.h - the system under load, as the bench sees it: a database one asks, kills statements of,
 * and reads gauges from. Each target is a table of functions (struct target_api) in a file of its
 * own: target_engine.c is demo-db's engine in this process, target_server.c a server process. A
 * third one is a file, a name in enum bench_target and a row in target.c.
 *
 * Times are nanoseconds of target_now_ns(), which is CLOCK_MONOTONIC. One thread drives a target: it
 * makes every call below, and target_wait is where it spends its time. Answers and decisions come
 * from threads of the target's own, or from within target_wait.
 */
#ifndef BENCH_TARGET_H
#define BENCH_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bench/base/options.h"

#define TARGET_ARGS_MAX	  16
#define TARGET_ERROR_MAX  256
#define TARGET_WHY_MAX	  320
#define TARGET_PRIORITIES 4 /* as the server's */

/* As a statement of a client: a backup into the data folder. */
#define TARGET_BACKUP_NAME "bench-backup"
#define TARGET_BACKUP	   "BACKUP TO '" TARGET_BACKUP_NAME "'"

enum target_control {
	TARGET_OFF,	/* the library is not started */
	TARGET_MONITOR, /* it watches, and acts on nothing */
	TARGET_ACT,
};

/* What was cancelled, or what the library decided or learned about an earlier decision. */
struct target_decision {
	uint64_t serial, key; /* the same serial again: the times grew; 0: a timeout or a kill */
	bool acted;
	uint64_t suspected_ns, decided_ns, delivered_ns, acknowledged_ns, released_ns, rerun_ns;
	uint64_t wasted_ns;
	char why[TARGET_WHY_MAX];
};

struct target_options { /* zero = default */
	size_t struct_size;
	enum bench_target kind;
	const char *data_dir;
	uint32_t pool_mb;	       /* [64] */
	uint32_t workers;	       /* [8] */
	uint32_t queue_limit;	       /* [16384] questions of the load waiting at once */
	uint32_t concurrency_limit;    /* questions at once beyond which new ones are refused */
	uint32_t statement_timeout_ms; /* from the arrival of any statement; 0: none */
	enum target_control control;
	const char *policy; /* of the library, "NAME[/ESTIMATOR]"; NULL: its default */
	uint64_t slo_ns;    /* of the load's class */
	bool precise_always;
	bool no_checkpoint; /* in the background: they come at their own times */
	void (*on_decision)(void *arg, const struct target_decision *decision);
	void *on_decision_arg;
	/* Of a server. */
	uint32_t service_ms; /* a statement keeps its worker so long; 0: what it takes */
	uint32_t connections;
	uint32_t log_mb; /* how long the log may grow; 0: the server's default */
	bool gate;	 /* its admission gate is on */
	uint32_t gate_window_ms, gate_threshold_ms;
	bool priorities; /* it is told the priority of each question */
};

enum target_status {
	TARGET_OK,
	TARGET_REJECTED,
	TARGET_CANCELLED,
	TARGET_FAILED,
	TARGET_UNSENT, /* no connection was to be had */
};

struct target_answer {
	enum target_status status;
	uint64_t rows;		      /* sent or changed */
	uint32_t reruns;	      /* times it was cancelled and run again */
	uint32_t retry_after_ms;      /* the hint of a refusal; 0: there was none */
	char error[TARGET_ERROR_MAX]; /* SQLSTATE and text; "" if none */
};

/* Short, and calls nothing of the target. Always exactly once, unless the target is closed. */
typedef void (*target_callback)(void *arg, uint64_t token, const struct target_answer *answer);

struct target_request {
	const char *sql; /* of static lifetime: prepared once */
	int64_t args[TARGET_ARGS_MAX];
	uint32_t arg_count;
	uint64_t due_ns; /* its episode opens there, not when it was sent */
	uint16_t user;
	uint8_t priority; /* of TARGET_PRIORITIES; 0 goes first */
	/* Of a client of its own: its rows leave the target, and it takes so long over each. */
	bool rows_out;
	uint32_t row_pause_us;
	target_callback callback;
	void *arg;
	uint64_t token;
};

struct target_gauges {
	uint64_t evictions; /* since the target opened, as the next three */
	uint64_t resource_overloads, regular_overloads, reruns;
	double contention;  /* of the most contended resource, last window */
	char contended[16]; /* its name */
	uint32_t active;    /* statements inside */
};

struct target {
	const struct target_api *api;
};

struct target_client { /* one session; one statement at a time */
	struct target *target;
};

struct target_api {
	/* How long target_wait may be deaf to answers; 0: it returns when one comes. */
	uint64_t deaf_ns;
	int (*open)(const struct target_options *options, struct target **target,
		char error[TARGET_ERROR_MAX]);
	void (*close)(struct target *target);
	void (*wait)(struct target *target, uint64_t until_ns);
	const char *(*io)(struct target *target);
	void (*submit)(struct target *target, const struct target_request *request);
	int (*client_open)(struct target *target, bool operates, struct target_client **client);
	void (*client_close)(struct target_client *client);
	void (*client_ask)(struct target_client *client, const struct target_request *request);
	uint64_t (*client_key)(const struct target_client *client);
	void (*kill_oldest)(struct target *target, uint64_t least_age_ns);
	void (*read_gauges)(struct target *target, struct target_gauges *gauges);
	/* NULL: there is nothing to do. */
	void (*arm)(struct target *target);
	int (*check)(struct target *target, char error[TARGET_ERROR_MAX]);
	pid_t (*process)(struct target *target);
	uint64_t (*cpu_ns)(struct target *target);
	void (*stop_clients)(struct target *target);
	int (*finish)(struct target *target, char error[TARGET_ERROR_MAX]);
};
extern const struct target_api target_engine, target_server;

uint64_t target_now_ns(void);
/* 0, or -1 with one clear line in error. */
int target_open(const struct target_options *options, struct target **target,
	char error[TARGET_ERROR_MAX]) __attribute__((warn_unused_result));
/* Stops everything still running; no callback comes after it. NULL is fine. */
void target_close(struct target *target);
/* From now on the statement timeout and the concurrency limit hold; before, the target is warmed.
 */
void target_arm(struct target *target);
/* Until that instant, or sooner. */
void target_wait(struct target *target, uint64_t until_ns);
/* 0, or -1 with a line: it has ended by itself, or the user wants an end. */
int target_check(struct target *target, char error[TARGET_ERROR_MAX])
	__attribute__((warn_unused_result));
/* How it reads its file; static. */
const char *target_io(struct target *target);
/* 0: it is no process of its own. */
pid_t target_process(struct target *target);
/* User and system time that process has used. */
uint64_t target_cpu_ns(struct target *target);

/* Asks one short question of the load, as an autocommit statement of some idle session. The answer
 * may come before it returns. */
void target_submit(struct target *target, const struct target_request *request);

/* A client of its own, for the case's tasks; `operates`: with an operator's rights. */
int target_client_open(struct target *target, bool operates, struct target_client **client)
	__attribute__((warn_unused_result));
void target_client_close(struct target_client *client);
/* One statement, or TARGET_BACKUP. */
void target_client_ask(struct target_client *client, const struct target_request *request);
/* The key under which decisions name what this client runs. */
uint64_t target_client_key(const struct target_client *client);
/* As a client, with nothing else to do: 0, or -1 with a line in error. */
int target_client_do(struct target_client *client, const char *sql, char error[TARGET_ERROR_MAX])
	__attribute__((warn_unused_result));

/* What an operator's script does: finds what has been inside longest, a transaction from its start,
 * and stops it if it is at least so old. A kill is told as a decision with serial 0, soon. */
void target_kill_oldest(struct target *target, uint64_t least_age_ns);
/* The run's time is up: stops all clients' statements and backups, and takes no new ones. */
void target_stop_clients(struct target *target);
/* Tells the decisions it has not told yet. */
int target_finish(struct target *target, char error[TARGET_ERROR_MAX])
	__attribute__((warn_unused_result));
void target_read_gauges(struct target *target, struct target_gauges *gauges);

#endif
