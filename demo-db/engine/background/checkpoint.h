/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - keeps SQLite's log short: a thread of its own, writers in need, and the operator.
 */
#ifndef DEMO_DB_CHECKPOINT_H
#define DEMO_DB_CHECKPOINT_H

#include "demo-db/engine/statement/connection.h"

struct checkpoints {
	/* set before checkpoints_start */
	struct lock_space *locks;
	struct lock *write_lock;
	uint64_t limit_bytes; /* the log should stay below */
	bool on_request_only; /* no thread: checkpoints are made by checkpoints_run alone */

	pthread_mutex_t mutex;
	pthread_cond_t wake;	/* stop, or the log has grown */
	bool stopping, running; /* the thread */
	_Atomic bool asleep;	/* the thread waits for the log to grow */
	pthread_t thread;
	struct lock_owner owner; /* of the thread */
	struct connection *connection;
	pthread_mutex_t one_at_a_time;		    /* checkpoints of this connection */
	_Atomic uint64_t wal_bytes, wal_bytes_peak; /* the log at the last commit */
	_Atomic uint64_t uncopied_bytes;   /* the same, 0 once a checkpoint has copied it all */
	_Atomic uint64_t growing_since_ns; /* it was 0 before */
	_Atomic uint64_t copy_page_ns;
	_Atomic uint64_t copied_bytes; /* of the log, by the last checkpoint */
	uint64_t owed_ns;	       /* what the last commit added takes to copy; with the lock */
	uint64_t forced_bytes; /* the log when a writer last copied it in vain; with the lock */
	_Atomic uint64_t count, gated_count, total_ns;
	_Atomic uint64_t gated_bytes_peak, throttle_ns;
};

int checkpoints_start(
	struct checkpoints *checkpoints, struct connections *connections, struct failure *failure);
void checkpoints_stop(struct checkpoints *checkpoints);
/* A writer holds the write lock and is about to begin. */
void checkpoints_before_write(struct checkpoints *checkpoints);
/* The log's length after a commit; on the committing thread. `checkpoints` is one of these. */
void checkpoints_on_commit(void *checkpoints, uint32_t wal_pages);
/* One checkpoint, on the calling thread. 0 or a db_error. */
int checkpoints_run(struct checkpoints *checkpoints, enum db_checkpoint_mode mode);

#endif
