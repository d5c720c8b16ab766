/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes that fail: the error reaches SQLite, no stale frame stays, life goes on. */
#include "pool_fake.h"

#include <errno.h>

#define PAGES 300u

static int run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static void a_read_that_fails_leaves_no_frame(void **state)
{
	struct db_pool *pool = fake_pool(NULL);
	struct pool_reader reader;
	fake_raw_file(fake_path(state, "raw"), PAGES);
	fake_reader_open(&reader, pool, fake_path(state, "raw"));
	struct db_pool_faults faults = { .read_fails_at = 1, .error = EIO };
	db_pool_inject(pool, &faults);
	void *data = NULL;
	fake_become(1);
	assert_int_equal(pool_fetch(&reader, 10, &data), -EIO);
	assert_null(data);
	assert_false(fake_resident(&reader, 10));
	assert_int_equal(fake_tasks[1].gave_up, 1);
	assert_int_equal(fake_visit(&reader, 10), 10);
	assert_int_equal(fake_tasks[1].got, 1);
	fake_become(0);
	db_pool_inject(pool, NULL);
	fake_reader_close(&reader);
	fake_pool_close(pool);
}

static void read_ahead_that_fails_frees_the_whole_window(void **state)
{
	struct db_pool *pool = fake_pool(NULL);
	struct pool_reader reader;
	fake_raw_file(fake_path(state, "raw"), PAGES);
	fake_reader_open(&reader, pool, fake_path(state, "raw"));
	struct db_pool_faults faults = { .read_fails_at = 4, .error = EIO };
	db_pool_inject(pool, &faults);
	void *data = NULL;
	for (uint32_t page = 100; page < 103; page++)
		assert_int_equal(fake_visit(&reader, page), page);
	assert_int_equal(pool_fetch(&reader, 103, &data), -EIO);
	assert_int_equal(fake_stats(pool).resident, 3);
	db_pool_inject(pool, NULL);
	for (uint32_t page = 103; page < 250; page++)
		assert_int_equal(fake_visit(&reader, page), page);
	assert_int_equal(fake_stats(pool).evictions, 0);
	assert_int_equal(db_pool_verify(pool), 0);
	fake_reader_close(&reader);
	fake_pool_close(pool);
}

static void sqlite_hears_of_a_read_error_and_recovers(void **state)
{
	fake_fill(fake_path(state, "db"), 2000);
	struct db_pool *pool = fake_pool(NULL);
	for (uint64_t nth = 1; nth <= 4; nth++) {
		sqlite3 *db = fake_connect(fake_path(state, "db"), FAKE_VFS); /* nothing resident */
		fake_number(db, "SELECT count(*) FROM sqlite_schema");
		struct db_pool_faults faults = { .read_fails_at = nth, .error = EIO };
		db_pool_inject(pool, &faults);
		assert_int_equal(run(db, "SELECT sum(n) FROM t"), SQLITE_IOERR);
		db_pool_inject(pool, NULL);
		assert_int_equal(fake_number(db, "SELECT sum(n) FROM t"), 2000LL * 2001 / 2);
		assert_int_equal(db_pool_verify(pool), 0);
		sqlite3_close(db);
	}
	fake_pool_close(pool);
}

static void a_checkpoint_that_fails_midway_loses_nothing(void **state)
{
	fake_fill(fake_path(state, "db"), 2000);
	struct db_pool *pool = fake_pool(NULL);
	sqlite3 *db = fake_connect(fake_path(state, "db"), FAKE_VFS);
	const int errors[] = { ENOSPC, EIO };
	int64_t sum = fake_number(db, "SELECT sum(n) FROM t");
	for (size_t i = 0; i < 2; i++) {
		fake_exec(db, "UPDATE t SET n = n + 1");
		sum += 2000;
		struct db_pool_faults faults = { .write_fails_at = 20, .error = errors[i] };
		db_pool_inject(pool, &faults);
		assert_int_equal(run(db, "PRAGMA wal_checkpoint(TRUNCATE)"),
			errors[i] == ENOSPC ? SQLITE_FULL : SQLITE_IOERR);
		db_pool_inject(pool, NULL);
		assert_int_equal(db_pool_verify(pool), 0);
		assert_int_equal(fake_number(db, "SELECT sum(n) FROM t"), sum);
		fake_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)");
		assert_int_equal(fake_number(db, "SELECT sum(n) FROM t"), sum);
		assert_int_equal(db_pool_verify(pool), 0);
	}
	fake_assert_intact(db);
	sqlite3_close(db);
	fake_pool_close(pool);
}

static void a_write_that_fails_takes_its_frame_along(void **state)
{
	struct db_pool *pool = fake_pool(NULL);
	struct pool_reader reader;
	fake_raw_file(fake_path(state, "raw"), PAGES);
	fake_reader_open(&reader, pool, fake_path(state, "raw"));
	assert_int_equal(fake_visit(&reader, 10), 10);
	struct db_pool_faults faults = { .write_fails_at = 1, .error = ENOSPC };
	db_pool_inject(pool, &faults);
	uint8_t page[DB_POOL_PAGE_BYTES] = { 0 };
	assert_int_equal(pool_write(&reader, 10, page), -ENOSPC);
	assert_false(fake_resident(&reader, 10));
	assert_int_equal(fake_visit(&reader, 10), 10);
	db_pool_inject(pool, NULL);
	fake_reader_close(&reader);
	fake_pool_close(pool);
}

static void a_transaction_on_a_full_disk_rolls_back(void **state)
{
	struct db_pool *pool = fake_pool(NULL);
	sqlite3 *db = fake_connect(fake_path(state, "db"), FAKE_VFS);
	fake_exec(
		db, "PRAGMA journal_mode=DELETE; CREATE TABLE t(a, v); INSERT INTO t VALUES(1, 2)");
	struct db_pool_faults faults = { .write_fails_at = 3, .error = ENOSPC };
	db_pool_inject(pool, &faults);
	assert_int_equal(run(db, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c "
				 "WHERE i < 500) INSERT INTO t SELECT i, randomblob(500) FROM c"),
		SQLITE_FULL);
	db_pool_inject(pool, NULL);
	assert_int_equal(fake_number(db, "SELECT count(*) FROM t"), 1);
	assert_int_equal(db_pool_verify(pool), 0);
	fake_assert_intact(db);
	sqlite3_close(db);
	fake_pool_close(pool);
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, fake_folder, fake_folder_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_read_that_fails_leaves_no_frame),
		in_folder(read_ahead_that_fails_frees_the_whole_window),
		in_folder(sqlite_hears_of_a_read_error_and_recovers),
		in_folder(a_checkpoint_that_fails_midway_loses_nothing),
		in_folder(a_write_that_fails_takes_its_frame_along),
		in_folder(a_transaction_on_a_full_disk_rolls_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
