/* SPDX-License-Identifier: Apache-2.0 */
/*
 * actors.h - the case's own tasks: a thread each, which waits for its time and then asks.
 */
#ifndef BENCH_ACTORS_H
#define BENCH_ACTORS_H

#include <pthread.h>

#include "bench/cases/case.h"
#include "bench/load/samples.h"
#include "bench/target/target.h"

struct cast;

struct cast_options {
	struct target *target;
	struct samples *data;
	const struct case_plan *plan;
	uint64_t start_ns;	    /* of target_now_ns() */
	bool culprits, waiting;	    /* who takes part beside the bystanders */
	pthread_mutex_t *data_lock; /* guards data->tasks */
};

int cast_start(const struct cast_options *options, struct cast **cast)
	__attribute__((warn_unused_result));
/* No new task begins; what runs is left to the target to stop. */
void cast_dismiss(struct cast *cast);
/* Waits for the threads, closes their clients. */
void cast_join(struct cast *cast);

/* Plays an actor's statements once, on the caller's thread; `sum` is all its answers together. */
void actor_play(const struct actor *actor, struct target_client *client, struct target_answer *sum);

#endif
