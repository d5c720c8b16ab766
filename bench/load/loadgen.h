/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loadgen.h - asks the questions of a schedule when they are due, whatever became of the earlier
 * ones.
 */
#ifndef BENCH_LOADGEN_H
#define BENCH_LOADGEN_H

#include <pthread.h>

#include "bench/load/live.h"
#include "bench/load/samples.h"
#include "bench/target/target.h"

/* Turns the random draw of an arrival into a question. */
typedef void (*loadgen_ask)(const void *arg, uint64_t draw, struct target_request *request);

struct loadgen {
	struct target *target;
	struct samples *data;
	struct live *live;
	loadgen_ask ask;
	const void *ask_arg;
	uint64_t start_ns; /* of target_now_ns(): when the schedule's time 0 is */
	/* inside */
	_Atomic uint64_t unanswered;
	_Atomic bool stop;
	pthread_t thread;
};

/* Starts the one thread that sends; returns at once. 0, or -1: no thread. */
int loadgen_start(struct loadgen *loadgen) __attribute__((warn_unused_result));
/* Waits until all is sent, then up to drain_ns for answers; returns how many are missing. The
 * target must be closed before `loadgen` and its run_data go: answers may still come. */
uint64_t loadgen_finish(struct loadgen *loadgen, uint64_t drain_ns);
/* Sends nothing more. */
void loadgen_stop(struct loadgen *loadgen);

/* A closed loop: `depth` questions in flight for `length_ns`. */
struct saturation {
	struct target *target;
	loadgen_ask ask;
	const void *ask_arg;
	uint64_t seed, length_ns;
	uint32_t depth;
	void (*on_latency)(void *arg, uint64_t latency_ns); /* from workers; NULL: none */
	void *latency_arg;
	struct live *live; /* only its failure is used; NULL: none */
	/* results */
	_Atomic uint64_t answered; /* grows while it runs */
	double answers_per_s;
	/* inside */
	_Atomic uint64_t in_flight;
};
/* Returns when the time is up and all is answered. */
void loadgen_saturate(struct saturation *saturation);

#endif
