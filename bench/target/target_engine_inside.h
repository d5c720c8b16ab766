/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_engine_inside.h - what the two source files of the engine's target share; nobody else includes
 * it.
 *
 * Lock order: target.lock is held around the engine's db_cancel_session, db_abort_session and
 * db_session_open, and taken in its callbacks, which the engine calls with no lock held.
 */
#ifndef BENCH_TARGET_ENGINE_INSIDE_H
#define BENCH_TARGET_ENGINE_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "demo-db/engine/engine.h"
#include "bench/target/target.h"
#include "bench/target/target_engine.h"

#define NS_PER_S       1000000000u
#define NS_PER_MS      1000000u
#define CLIENTS_MAX    64
#define STATEMENTS_MAX 16
#define STOP_POLL_NS   (5u * (uint64_t)NS_PER_MS)

enum { CLASS_LOAD, CLASS_BATCH }; /* indices of the classes libcancel is told of */

/* A session of the load. On the free stack, or in the list of the asked ones, oldest first. */
struct slot {
	struct engine_target *target;
	struct db_session *session; /* opened at the first use */
	struct db_value parameters[TARGET_ARGS_MAX];
	target_callback callback;
	void *arg;
	uint64_t token, due_ns;
	bool asked, timed_out;
	struct slot *next, *previous;
};

struct engine_client {
	struct target_client base;
	struct engine_target *target;
	struct db_session *session;
	_Atomic bool busy;
	uint64_t since_ns; /* of the statement; under target->lock; 0: none */
	bool backs_up;	   /* that statement is a backup; under target->lock, too */
	FILE *sink;	   /* where the rows of a dump go */
	uint32_t row_pause_us;
	struct db_value parameters[TARGET_ARGS_MAX];
	target_callback callback;
	void *arg;
	uint64_t token;
};

struct prepared {
	const char *sql; /* compared by address */
	struct db_statement statement;
};

struct engine_target {
	struct target base;
	struct target_options options;
	struct db_engine *engine;
	int64_t clock_offset_ns; /* the library's clock less target_now_ns() */
	pthread_mutex_t lock;	 /* the fields below */
	struct slot *slots, *free_slots, *oldest, *newest;
	uint32_t slot_count, asked_count;
	struct engine_client *clients[CLIENTS_MAX];
	uint32_t client_count;
	struct prepared prepared[STATEMENTS_MAX];
	uint32_t prepared_count;
	_Atomic bool armed, stopping, closing, hold_rows;
	bool has_timer;
	pthread_t timer;
	struct db_activity *activities;
};

/* The calls of struct target_api on a client, in target_engine_clients.c. */
int engine_client_open(struct target *target, bool operates, struct target_client **client);
void engine_client_close(struct target_client *client);
void engine_client_ask(struct target_client *client, const struct target_request *request);
uint64_t engine_client_key(const struct target_client *client);
void engine_stop_clients(struct target *target);

void engine_sleep_ns(uint64_t ns);
enum target_status engine_status(int status, bool cancelled);
void engine_fill_answer(struct target_answer *answer, const struct db_result *result);
void engine_parameters(const struct target_request *request, struct db_value *parameters);

#endif
