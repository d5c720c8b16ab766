/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_engine.h - what only the engine in this process can do: statements on the caller's own
 * thread, whose instructions are counted, and clients that stand still between two measured slices.
 */
#ifndef BENCH_TARGET_ENGINE_H
#define BENCH_TARGET_ENGINE_H

#include "bench/target/target.h"

/* Makes clients wait at their next row, or go on. */
void target_engine_hold_rows(struct target *target, bool hold);
/* Runs a client's statement on this thread. */
void target_engine_execute(struct target_client *client, const struct target_request *request,
	struct target_answer *answer);

#endif
