/* SPDX-License-Identifier: Apache-2.0 */
/* background.h - the housekeeper, and the checkpoints that keep the log short. */
#ifndef DEMO_DB_BACKGROUND_H
#define DEMO_DB_BACKGROUND_H

#include "demo-db/engine/connection.h"

struct db_engine;

struct background {
	pthread_mutex_t mutex;
	pthread_cond_t wake;			    /* stop, or the log has grown */
	bool stopping, housekeeping, checkpointing; /* threads that run */
	_Atomic bool asleep;			    /* the checkpointer waits for the log to grow */
	pthread_t housekeeper, checkpointer;
	struct lock_owner owner; /* of the checkpointer */
	struct connection *connection;
	pthread_mutex_t one_at_a_time;		    /* checkpoints of this connection */
	_Atomic uint64_t wal_bytes, wal_bytes_peak; /* the log at the last commit */
	_Atomic uint64_t uncopied_bytes;   /* the same, 0 once a checkpoint has copied it all */
	_Atomic uint64_t growing_since_ns; /* it was 0 before */
	_Atomic uint64_t copy_page_ns;
	uint64_t forced_bytes; /* the log when a writer last copied it in vain; with the gate */
	_Atomic uint64_t checkpoints, checkpoints_gated, checkpoint_ns;
};

int background_start(struct db_engine *engine, struct failure *failure);
void background_stop(struct db_engine *engine);
/* A writer got the gate and is about to begin. */
void background_before_write(struct db_engine *engine);
/* The log's length after a commit; on the committing thread. */
void background_on_commit(void *engine, uint32_t wal_pages);

#endif
