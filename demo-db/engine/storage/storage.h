/* SPDX-License-Identifier: Apache-2.0 */
/* storage.h - the data folder: its lock, its database file, the pool and file layer over it. */
#ifndef DEMO_DB_STORAGE_H
#define DEMO_DB_STORAGE_H

#include "demo-db/engine/base/failure.h"
#include "demo-db/engine/engine.h"
#include "demo-db/engine/storage/pool.h"

struct storage {
	char *folder, *path;  /* of the database file */
	int lock_file;	      /* -1: not held */
	struct db_pool *pool; /* NULL with DB_IO_PLAIN */
	struct cancel_resource resource;
	char vfs[32]; /* name of the layer for sqlite3_open_v2 */
};

/* Makes the folder if need be and takes its lock, looks at the database file's header, opens the
 * pool. Fails with one clear line and leaves nothing open. */
int storage_open(
	struct storage *storage, const struct db_options *options, struct failure *failure);
/* After the last connection. */
void storage_close(struct storage *storage);

/* Takes the folder's lock alone (the data set's maker). */
int storage_lock_folder(struct storage *storage, const char *folder, struct failure *failure);
/* 0 also for a file that is missing or empty. */
int storage_check_header(const char *path, struct failure *failure);

#endif
