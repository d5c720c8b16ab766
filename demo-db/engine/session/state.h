/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - the engine as one structure: each part belongs to the file that bears its name. */
#ifndef DEMO_DB_STATE_H
#define DEMO_DB_STATE_H

#include "demo-db/engine/background/backup.h"
#include "demo-db/engine/background/checkpoint.h"
#include "demo-db/engine/locks/deadlock.h"
#include "demo-db/engine/locks/global_lock.h"
#include "demo-db/engine/locks/write_lock.h"
#include "demo-db/engine/session/housekeeper.h"
#include "demo-db/engine/session/rerun.h"
#include "demo-db/engine/session/session.h"
#include "demo-db/engine/statement/budget.h"
#include "demo-db/engine/storage/pool.h"
#include "demo-db/engine/storage/storage.h"

struct db_engine {
	struct db_options options; /* defaults filled in; data_dir is a copy */
	struct storage storage;
	struct lock_space locks;
	struct table_catalog tables;
	struct lock global, write_lock;
	struct statement_registry statements;
	struct connections connections;
	struct workers workers;
	struct session_list sessions;
	struct reruns reruns;
	struct deadlock_search deadlock;
	struct checkpoints checkpoints;
	struct housekeeper housekeeper;
	struct backup backup;
	struct budget budget;
};

/* What opening, closing, preparing read through the pool is a task's work too: in the background,
 * not cancellable; none if the thread has one. */
struct cancel_task engine_task(const char *what);

/* One line to the host's log. */
void engine_log(struct db_engine *engine, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
