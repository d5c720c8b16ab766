/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - what was cancelled in a run, and of what kind it was.
 */
#ifndef BENCH_RECORD_H
#define BENCH_RECORD_H

#include <pthread.h>
#include <stdatomic.h>

#include "bench/load/progress.h"
#include "bench/load/samples.h"
#include "bench/target/target.h"

struct record {
	struct samples *data;
	const struct progress *progress;
	_Atomic uint64_t start_ns; /* of target_now_ns(); UINT64_MAX while the target is warmed */
	_Atomic uint64_t last_kill_ns;
	uint64_t announced;		   /* serial of the last decision seen */
	pthread_mutex_t lock;		   /* data->tasks, data->cancels, lines */
	uint32_t lines[LABEL_WAITING + 1]; /* printed about each kind of task */
};

/* target_options.on_decision; `arg` is the record. */
void record_decision(void *arg, const struct target_decision *decision);
/* After the run: what was killed was released when its task ended. */
void record_settle(struct record *record);
bool record_was_cancelled(const struct record *record, const char *name);

#endif
