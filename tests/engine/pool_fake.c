/* SPDX-License-Identifier: Apache-2.0 */
/* pool_fake.c - see pool_fake.h. Replaces the library's symbols, so nothing else of it is linked.
 */
#include "pool_fake.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fake_task fake_tasks[FAKE_TASKS_MAX];
static _Thread_local uint64_t self;

void fake_reset(void)
{
	memset(fake_tasks, 0, sizeof(fake_tasks));
}

void fake_become(uint64_t id)
{
	self = id;
}

struct cancel_task cancel_current(void)
{
	return (struct cancel_task){ self };
}

void cancel_wait_for(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	(void)r;
	(void)instance;
	(void)amount;
	fake_tasks[self].slow++;
}

void cancel_acquire(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	(void)r;
	(void)instance;
	(void)amount;
	fake_tasks[self].got++;
}

void cancel_give_up(struct cancel_resource r, uint32_t instance)
{
	(void)r;
	(void)instance;
	fake_tasks[self].gave_up++;
}

void cancel_evict(struct cancel_resource r, struct cancel_task owner, uint64_t units)
{
	(void)r;
	fake_tasks[self].evicted_from[owner.id % FAKE_TASKS_MAX] += units;
}

void cancel_miss(struct cancel_resource r, struct cancel_task evictor)
{
	(void)r;
	fake_tasks[self].stalled_by[evictor.id % FAKE_TASKS_MAX]++;
}

struct db_pool *fake_pool(const struct db_pool_options *options)
{
	struct db_pool_options small = { .struct_size = sizeof(small),
		.pool_bytes = (size_t)256 * DB_POOL_PAGE_BYTES };
	struct db_pool *pool = NULL;
	assert_int_equal(db_pool_open(&pool, options != NULL ? options : &small), 0);
	assert_int_equal(db_vfs_register(pool, FAKE_VFS), 0);
	return pool;
}

void fake_pool_close(struct db_pool *pool)
{
	db_vfs_unregister(FAKE_VFS);
	db_pool_close(pool);
}

struct db_pool_stats fake_stats(const struct db_pool *pool)
{
	struct db_pool_stats stats;
	db_pool_stats(pool, &stats);
	return stats;
}

/* ---- Files ----------------------------------------------------------------------------------- */

struct folder {
	char path[PATH_MAX / 2];
	char file[PATH_MAX];
};

int fake_folder(void **state)
{
	struct folder *folder = calloc(1, sizeof(*folder));
	if (folder == NULL)
		return -1;
	snprintf(folder->path, sizeof(folder->path), "pool-XXXXXX");
	*state = folder;
	fake_reset();
	fake_become(0);
	return mkdtemp(folder->path) != NULL ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

int fake_folder_remove(void **state)
{
	struct folder *folder = *state;
	int rc = nftw(folder->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	free(folder);
	return rc;
}

const char *fake_path(void **state, const char *name)
{
	struct folder *folder = *state;
	snprintf(folder->file, sizeof(folder->file), "%s/%s", folder->path, name);
	return folder->file;
}

/* ---- Connections ----------------------------------------------------------------------------- */

void fake_exec(sqlite3 *db, const char *sql)
{
	char *message = NULL;
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
}

sqlite3 *fake_connect(const char *path, const char *vfs)
{
	sqlite3 *db = NULL;
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
	if (sqlite3_open_v2(path, &db, flags, vfs) != SQLITE_OK)
		fail_msg("%s: %s (%s)", path, sqlite3_errmsg(db), db_pool_refusal());
	sqlite3_busy_timeout(db, 20000);
	fake_exec(db, DB_VFS_PRAGMA);
	fake_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA cache_size=8;"
		      "PRAGMA wal_autocheckpoint=0");
	return db;
}

int64_t fake_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	int64_t number = sqlite3_column_int64(statement, 0);
	assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
	return number;
}

void fake_fill(const char *path, int rows)
{
	sqlite3 *db = fake_connect(path, NULL);
	char sql[256];
	snprintf(sql, sizeof(sql),
		"CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, v BLOB);"
		"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d)"
		"INSERT INTO t SELECT i, i, randomblob(180) FROM c;",
		rows);
	fake_exec(db, sql);
	fake_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)");
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

void fake_assert_intact(sqlite3 *db)
{
	sqlite3_stmt *statement = NULL;
	assert_int_equal(
		sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	assert_string_equal(sqlite3_column_text(statement, 0), "ok");
	assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
}

/* ---- Raw pages ------------------------------------------------------------------------------- */

void fake_raw_file(const char *path, uint32_t pages)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	for (uint32_t page = 0; page < pages; page++) {
		uint32_t numbers[DB_POOL_PAGE_BYTES / sizeof(uint32_t)];
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			numbers[i] = page;
		assert_int_equal(fwrite(numbers, sizeof(numbers), 1, file), 1);
	}
	assert_int_equal(fclose(file), 0);
}

uint32_t fake_page_number(const void *page)
{
	uint32_t number;
	memcpy(&number, (const char *)page + DB_POOL_PAGE_BYTES / 2, sizeof(number));
	return number;
}

void fake_reader_open(struct pool_reader *reader, struct db_pool *pool, const char *path)
{
	*reader = (struct pool_reader){ .pool = pool };
	reader->bounce = aligned_alloc(DB_POOL_PAGE_BYTES, DB_POOL_PAGE_BYTES);
	assert_non_null(reader->bounce);
	if (page_file_open(&reader->file, path, &pool->io) != 0)
		fail_msg("%s", db_pool_refusal());
}

void fake_reader_close(struct pool_reader *reader)
{
	if (page_file_close(reader->file)) {
		pool_drop(reader->pool, reader->file, 0);
		page_file_destroy(reader->file);
	}
	free(reader->bounce);
}

uint32_t fake_visit(struct pool_reader *reader, uint32_t page)
{
	void *data = NULL;
	assert_int_equal(pool_fetch(reader, page, &data), 0);
	if (data == NULL)
		return UINT32_MAX;
	uint32_t number = fake_page_number(data);
	pool_unfetch(reader->pool, data);
	return number;
}

bool fake_resident(struct pool_reader *reader, uint32_t page)
{
	uint64_t key = pool_key(reader->file, page);
	struct shard *shard = pool_shard(reader->pool, key);
	pthread_mutex_lock(&shard->lock);
	bool resident = shard_find(shard, key) != NULL;
	pthread_mutex_unlock(&shard->lock);
	return resident;
}
