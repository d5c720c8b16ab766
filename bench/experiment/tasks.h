/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasks.h - the case's own tasks: each plays an actor's script on a client of its own. The driver of
 * the run steps them; nothing here waits.
 */
#ifndef BENCH_TASKS_H
#define BENCH_TASKS_H

#include <pthread.h>

#include "bench/cases/case.h"
#include "bench/load/progress.h"
#include "bench/load/samples.h"
#include "bench/target/target.h"

enum task_state {
	TASK_WAITS, /* for its time */
	TASK_BEGINS,
	TASK_WORKS,
	TASK_THINKS, /* it has what it wanted, and says nothing */
	TASK_ENDS,
	TASK_UNDOES, /* a ROLLBACK tidies up */
	TASK_OVER,
};

struct task {
	struct tasks *tasks;
	struct actor actor;
	struct target_client *client;
	enum task_state state;
	uint64_t next_ns;  /* when it goes on; UINT64_MAX: a statement is in hand, or it is over */
	uint64_t until_ns; /* its time, this time */
	uint64_t begun_ns; /* when it was due, this time */
	uint32_t said;	   /* statements of its script, this time */
	uint32_t pages;
	uint64_t again_ns; /* after a ROLLBACK: when it begins anew; UINT64_MAX: never */
	struct task_record *record;
	char error[TARGET_ERROR_MAX]; /* of a statement that failed, "" for none */
	_Atomic bool answered;
	struct target_answer answer;
};

struct tasks {
	struct target *target;
	struct samples *data;
	pthread_mutex_t *data_lock;	 /* guards data->tasks */
	const struct progress *progress; /* hears of culprits; NULL: nobody does */
	uint32_t count;
	struct task list[CASE_ACTORS_MAX];
};

/* A client for the actor, who waits for its time. 0, or -1: there is no client. */
int tasks_add(struct tasks *tasks, const struct actor *actor) __attribute__((warn_unused_result));
/* Does what is due; times are since the run's start. */
void tasks_step(struct tasks *tasks, uint64_t now_ns);
/* When something is due; UINT64_MAX: not before an answer. */
uint64_t tasks_next_ns(const struct tasks *tasks);
/* Is a statement in hand? */
bool tasks_busy(const struct tasks *tasks);
/* The run is over: closes the clients, of which none is busy that the target still answers. */
void tasks_end(struct tasks *tasks);
/* Begins an actor that is over, or has not begun; false: it is at it. */
bool task_begin(struct task *task, uint64_t now_ns);

#endif
