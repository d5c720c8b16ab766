/* SPDX-License-Identifier: Apache-2.0 */
/* backup.h - a copy of the database while it is in use, as a cancellable background task. */
#ifndef DEMO_DB_BACKUP_H
#define DEMO_DB_BACKUP_H

#include "demo-db/engine/statement/connection.h"

struct storage;

struct backup { /* one at a time */
	/* set before backup_init */
	struct storage *storage;
	struct connections *connections;
	struct lock_space *locks;
	struct lock *global;
	struct table_catalog *tables;
	bool no_action; /* the task can't be cancelled by the library */

	pthread_mutex_t mutex; /* leaf but for the locks' space */
	bool running;	       /* one is asked for or being made */
	bool living, joinable; /* the thread may still take another; it is to be joined */
	pthread_t thread;
	struct db_backup_options options; /* path is a copy */
	struct lock_owner owner;	  /* alive while running */
	_Atomic bool requested;		  /* by the library */
	_Atomic bool cancelled;		  /* by the host: for good */
	_Atomic uint64_t done, failed;
};

int backup_init(struct backup *backup);
/* Waits for a backup that runs. */
void backup_destroy(struct backup *backup);
/* Starts one on a thread of its own. 0 or a db_error; DB_EBUSY: one is running. */
int backup_begin(struct backup *backup, const struct db_backup_options *options);
/* False: none is running. */
bool backup_abort(struct backup *backup);

#endif
