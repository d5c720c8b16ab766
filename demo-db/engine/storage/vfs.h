/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfs.h - the file layer of demo-db: a SQLite VFS stacked on "unix-excl" that sends the main
 * database file through a page pool and everything else straight through.
 *
 * Each connection needs `PRAGMA mmap_size` > 0 once (DB_VFS_PRAGMA): only then does SQLite ask for
 * pages by xFetch, which pins a frame without a copy. Nothing is ever mapped: the layer keeps that
 * file control to itself. Databases have 4 KiB pages; others are refused (db_pool_refusal()).
 *
 * Within one process a database must be opened through one layer only: "unix-excl" keeps other
 * processes out, but a connection of another VFS would write under the pool, and closing it would
 * drop SQLite's POSIX locks.
 */
#ifndef DEMO_DB_VFS_H
#define DEMO_DB_VFS_H

#include "demo-db/engine/storage/pool.h"

#define DB_VFS_PRAGMA "PRAGMA mmap_size=2147418112"

/* Makes `vfs_name` usable in sqlite3_open_v2; never the default. -EEXIST, -ENOENT, -ENOMEM. */
int db_vfs_register(struct db_pool *pool, const char *vfs_name) CANCEL_MUST_CHECK;
/* After the last connection. Unknown names and layers that are not ours are left alone. */
void db_vfs_unregister(const char *vfs_name);

#endif
