/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - how far a running statement is, and whether it should stop. */
#ifndef DEMO_DB_PROGRESS_H
#define DEMO_DB_PROGRESS_H

#include "demo-db/engine/statement/memory.h"
#include "demo-db/engine/statement/plan.h"

#include <stdatomic.h>

/* Operations between two calls of the handler: 2.5 % of a scan's time (measured); at 100 3 %. */
#define PROGRESS_OPS 1000

struct progress {		     /* all on the executing thread, but for *stop */
	const _Atomic uint8_t *stop; /* non-zero: end the statement */
	sqlite3_stmt *stmt;	     /* NULL: the engine's own statement, never stopped */
	const struct plan *plan;     /* may be NULL */
	uint64_t expected_rows;	     /* the host's word, or the plan's with these parameters */
	uint64_t calls;
	uint64_t steps; /* full-scan rows at the last call */
	/* Called at the handler's second call: its operations are counted over all runs of a
	 * statement, so the first may come after any number of them. */
	void (*on_long)(void *arg);
	void *long_arg;
	const struct memory_account *memory;
	uint64_t memory_limit; /* a statement over it is ended; 0 none */
	uint64_t outgrown;     /* … and that is why: it had so much */
	uint64_t scan_calls;   /* calls when the scan had ended; 0 = it has not */
};

void progress_install(struct progress *progress, sqlite3 *db);
/* expected_rows 0: unknown, whatever the plan says. */
void progress_begin(struct progress *progress, sqlite3_stmt *stmt, const struct plan *plan,
	uint64_t expected_rows, const _Atomic uint8_t *stop);
/* After progress_begin: who is told that the statement is no short one. */
void progress_tell_long(struct progress *progress, void (*on_long)(void *arg), void *arg);
/* After progress_begin: how much memory it may use. */
void progress_limit_memory(
	struct progress *progress, const struct memory_account *memory, uint64_t limit_bytes);
void progress_end(struct progress *progress);

/* Done and expected work of a plan after so many calls; pure, for the tests. */
void progress_estimate(struct progress *progress, uint64_t full_scan_steps, bool sorting,
	uint64_t *done, uint64_t *expected);

#endif
