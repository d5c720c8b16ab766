/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything at once on a small pool: point reads, scans with read-ahead, gentle scans, transfers,
 * a file that grows and shrinks, checkpoints; and all the while every frame equals the file, every
 * sum is right, and in the end the database is intact.
 */
#include "pool_fake.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define ROWS	     3000
#define TRANSFERS    300
#define TRANSFER_SUM ((int64_t)ROWS * (ROWS + 1) / 2)

struct world {
	const char *path;
	sem_t committed, checkpointed; /* transfers run at most one checkpoint ahead */
	_Atomic bool stop;
	_Atomic uint32_t failures, reads, scans, checkpoints;
	char first_failure[256]; /* written by whoever makes failures 1 */
};

static void report(struct world *world, const char *what, const char *detail)
{
	if (atomic_fetch_add(&world->failures, 1) == 0)
		snprintf(
			world->first_failure, sizeof(world->first_failure), "%s: %s", what, detail);
	atomic_store(&world->stop, true);
	sem_post(&world->committed);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u; /* Numerical Recipes */
	return *seed >> 8;
}

/* cmocka's asserts belong to the main thread; these threads report. */
static sqlite3 *connect_here(struct world *world)
{
	sqlite3 *db = NULL;
	if (sqlite3_open_v2(world->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
		    FAKE_VFS) != SQLITE_OK ||
		sqlite3_exec(db,
			DB_VFS_PRAGMA "; PRAGMA synchronous=OFF; PRAGMA cache_size=8;"
				      "PRAGMA wal_autocheckpoint=0",
			NULL, NULL, NULL) != SQLITE_OK)
		report(world, "open", sqlite3_errmsg(db));
	/* Readers may never leave a TRUNCATE its moment: it is tried, not waited for. */
	sqlite3_busy_timeout(db, 20);
	return db;
}

static void run(struct world *world, sqlite3 *db, const char *sql)
{
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	if (rc != SQLITE_OK && rc != SQLITE_BUSY && rc != SQLITE_LOCKED)
		report(world, sql, sqlite3_errmsg(db));
}

static void *read_points(void *arg)
{
	struct world *world = arg;
	sqlite3 *db = connect_here(world);
	sqlite3_stmt *statement = NULL;
	sqlite3_prepare_v2(db, "SELECT v FROM t WHERE id = ?", -1, &statement, NULL);
	uint32_t seed = (uint32_t)(uintptr_t)db;
	while (!atomic_load(&world->stop)) {
		int id = 1 + (int)(next_random(&seed) % ROWS);
		char expected[32];
		snprintf(expected, sizeof(expected), "row %08d", id);
		sqlite3_bind_int(statement, 1, id);
		if (sqlite3_step(statement) != SQLITE_ROW)
			report(world, "point read", sqlite3_errmsg(db));
		else if (strncmp((const char *)sqlite3_column_text(statement, 0), expected,
				 strlen(expected)) != 0)
			report(world, "wrong row", expected);
		sqlite3_reset(statement);
		atomic_fetch_add(&world->reads, 1);
	}
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return NULL;
}

static void scan_until_stopped(struct world *world)
{
	sqlite3 *db = connect_here(world);
	sqlite3_stmt *statement = NULL;
	sqlite3_prepare_v2(db, "SELECT sum(n) FROM t", -1, &statement, NULL);
	while (!atomic_load(&world->stop)) {
		if (sqlite3_step(statement) != SQLITE_ROW)
			report(world, "scan", sqlite3_errmsg(db));
		else if (sqlite3_column_int64(statement, 0) != TRANSFER_SUM)
			report(world, "the sum is wrong",
				(const char *)sqlite3_column_text(statement, 0));
		sqlite3_reset(statement);
		atomic_fetch_add(&world->scans, 1);
	}
	sqlite3_finalize(statement);
	sqlite3_close(db);
}

static void *scan(void *arg)
{
	scan_until_stopped(arg);
	return NULL;
}

static void *scan_gently(void *arg)
{
	db_pool_gentle(true);
	scan_until_stopped(arg);
	db_pool_gentle(false);
	return NULL;
}

/* After each transfer, while the next one and all the readers go on. */
static void *checkpoint(void *arg)
{
	struct world *world = arg;
	sqlite3 *db = connect_here(world);
	for (sem_wait(&world->committed); !atomic_load(&world->stop); sem_wait(&world->committed)) {
		run(world, db, "PRAGMA wal_checkpoint(PASSIVE)");
		atomic_fetch_add(&world->checkpoints, 1);
		sem_post(&world->checkpointed);
	}
	sem_post(&world->checkpointed);
	sqlite3_close(db);
	return NULL;
}

/* Whoever the scheduler favours, everyone has had a part. */
static bool enough(struct world *world, int transfers)
{
	return transfers >= TRANSFERS && atomic_load(&world->reads) >= 1000 &&
	       atomic_load(&world->scans) >= 50 && atomic_load(&world->checkpoints) >= 50;
}

/* Moves amounts between rows; every few transfers another table comes and goes, so that the file
 * grows and is cut. */
static void *transfer(void *arg)
{
	struct world *world = arg;
	sqlite3 *db = connect_here(world);
	uint32_t seed = 7;
	for (int i = 0; !enough(world, i) && !atomic_load(&world->stop); i++) {
		char sql[512];
		uint32_t from = next_random(&seed) % 1400 + 1;
		uint32_t to = next_random(&seed) % 1400 + 1500;
		snprintf(sql, sizeof(sql),
			"BEGIN IMMEDIATE;"
			"UPDATE t SET n = n - 5 WHERE id BETWEEN %u AND %u;"
			"UPDATE t SET n = n + 5 WHERE id BETWEEN %u AND %u; COMMIT",
			from, from + 9, to, to + 9);
		run(world, db, sql);
		sem_post(&world->committed);
		sem_wait(&world->checkpointed);
		if (i % 10 == 0)
			run(world, db, "INSERT INTO u SELECT NULL, v FROM t WHERE id <= 500");
		if (i % 10 == 5)
			run(world, db,
				"DELETE FROM u; PRAGMA incremental_vacuum;"
				"PRAGMA wal_checkpoint(TRUNCATE)");
	}
	atomic_store(&world->stop, true);
	sem_post(&world->committed);
	sqlite3_close(db);
	return NULL;
}

static void prepare(const char *path)
{
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	char sql[512];
	snprintf(sql, sizeof(sql),
		"PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;"
		"CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, v TEXT);"
		"CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT);"
		"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d)"
		"INSERT INTO t SELECT i, i, printf('row %%08d %%.*c', i, 400, 'x') FROM c",
		ROWS);
	fake_exec(db, sql);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Between the read and the publishing of its frames: where a write must not be missed. */
static void let_others_run(void *arg, uint32_t page, uint32_t count)
{
	(void)arg;
	(void)page;
	(void)count;
	sched_yield();
}

static void frames_equal_the_file_under_everything_at_once(void **state, uint32_t frames)
{
	prepare(fake_path(state, "db"));
	struct db_pool_options options = { .struct_size = sizeof(options),
		.pool_bytes = (size_t)frames * DB_POOL_PAGE_BYTES,
		.ring_frames = 16 };
	struct db_pool *pool = fake_pool(&options);
	const struct db_pool_faults faults = { .after_read = let_others_run };
	db_pool_inject(pool, &faults);
	struct world world = { .path = fake_path(state, "db") };
	sem_init(&world.committed, 0, 0);
	sem_init(&world.checkpointed, 0, 1);
	sqlite3 *db = fake_connect(world.path, FAKE_VFS);
	void *(*const roles[])(void *) = { read_points, read_points, scan, scan, scan_gently,
		checkpoint, transfer };
	pthread_t threads[sizeof(roles) / sizeof(roles[0])];
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, roles[i], &world), 0);
	uint32_t different = 0;
	while (!atomic_load(&world.stop))
		different += db_pool_verify(pool);
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		pthread_join(threads[i], NULL);
	if (world.failures != 0)
		fail_msg("%u failures, first: %s", world.failures, world.first_failure);
	assert_int_equal(different, 0);
	assert_int_equal(db_pool_verify(pool), 0);
	fake_assert_intact(db);
	assert_int_equal(fake_number(db, "SELECT sum(n) FROM t"), TRANSFER_SUM);
	struct db_pool_stats stats = fake_stats(pool);
	print_message(
		"%u frames: %u reads, %u scans, %u checkpoints; %lu evictions, %lu read ahead, "
		"%lu waits, %lu discards, %lu bypasses, %lu writes\n",
		frames, world.reads, world.scans, world.checkpoints, stats.evictions,
		stats.read_ahead, stats.waits, stats.discards, stats.bypasses, stats.writes);
	assert_true(stats.evictions > 0 && stats.read_ahead > 0 && stats.writes > 0);
	sqlite3_close(db);
	sem_destroy(&world.committed);
	sem_destroy(&world.checkpointed);
	assert_int_equal(fake_stats(pool).resident, 0);
	fake_pool_close(pool);
}

static void a_small_pool_equals_its_file_under_everything_at_once(void **state)
{
	frames_equal_the_file_under_everything_at_once(state, 200);
}

static void the_smallest_pool_equals_its_file_too(void **state)
{
	frames_equal_the_file_under_everything_at_once(state, DB_POOL_FRAMES_MIN);
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, fake_folder, fake_folder_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_small_pool_equals_its_file_under_everything_at_once),
		in_folder(the_smallest_pool_equals_its_file_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
