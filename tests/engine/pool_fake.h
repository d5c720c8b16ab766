/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_fake.h - what the tests of the page pool share: a stand-in for the library that writes down
 * what it is told, a folder for databases, connections through the layer.
 */
#ifndef TESTS_DB_POOL_FAKE_H
#define TESTS_DB_POOL_FAKE_H

#include "demo-db/engine/storage/pool_pages.h"
#include "demo-db/engine/storage/vfs.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <cmocka.h>

#define FAKE_TASKS_MAX 16
#define FAKE_VFS       "pooled"

/* Figures of one task; index 0: of no task. Read them when the threads are done. */
struct fake_task {
	_Atomic uint64_t slow, got, gave_up; /* calls */
	_Atomic uint64_t evicted_from[FAKE_TASKS_MAX];
	_Atomic uint64_t stalled_by[FAKE_TASKS_MAX];
};
extern struct fake_task fake_tasks[FAKE_TASKS_MAX];

void fake_reset(void);
/* This thread works for task `id` (0: for none) from now on. */
void fake_become(uint64_t id);

/* A pool with its layer FAKE_VFS; options may be NULL for 256 frames. */
struct db_pool *fake_pool(const struct db_pool_options *options);
void fake_pool_close(struct db_pool *pool);
struct db_pool_stats fake_stats(const struct db_pool *pool);

/* A new empty folder below the working directory, and its removal with all that is in it. */
int fake_folder(void **state);
int fake_folder_remove(void **state);
/* The path of a file in it; the text lives until the test ends. */
const char *fake_path(void **state, const char *name);

/* A connection through `vfs` in WAL mode, small private cache, xFetch on, no automatic checkpoint.
 */
sqlite3 *fake_connect(const char *path, const char *vfs);
void fake_exec(sqlite3 *db, const char *sql);
int64_t fake_number(sqlite3 *db, const char *sql);
/* Rows t(id INTEGER PRIMARY KEY, n INTEGER, v BLOB) of about 200 bytes, in the database file. */
void fake_fill(const char *path, int rows);
void fake_assert_intact(sqlite3 *db);

/* ---- Below SQLite: raw pages ------------------------------------------------------------------
 */

/* A file of so many pages, each full of its number (fake_page_number reads it back). */
void fake_raw_file(const char *path, uint32_t pages);
uint32_t fake_page_number(const void *page);
void fake_reader_open(struct pool_reader *reader, struct db_pool *pool, const char *path);
void fake_reader_close(struct pool_reader *reader);
/* Fetches and gives back at once; the page's number, UINT32_MAX if it came from no frame. */
uint32_t fake_visit(struct pool_reader *reader, uint32_t page);
bool fake_resident(struct pool_reader *reader, uint32_t page);

#endif
