/* SPDX-License-Identifier: Apache-2.0 */
/* Frames never differ from the file: writes, truncations and loads that meet, one order at a time.
 * (pool_race.c meets them all at once.) */
#include "pool_fake.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGES 300u

struct fixture {
	struct db_pool *pool;
	struct pool_reader reader, writer;
};

static struct fixture open_fixture(void **state)
{
	struct fixture fixture = { .pool = fake_pool(NULL) };
	fake_raw_file(fake_path(state, "raw"), PAGES);
	fake_reader_open(&fixture.reader, fixture.pool, fake_path(state, "raw"));
	fake_reader_open(&fixture.writer, fixture.pool, fake_path(state, "raw"));
	return fixture;
}

static void close_fixture(struct fixture *fixture)
{
	db_pool_inject(fixture->pool, NULL);
	assert_int_equal(db_pool_verify(fixture->pool), 0);
	fake_reader_close(&fixture->writer);
	fake_reader_close(&fixture->reader);
	fake_pool_close(fixture->pool);
}

static void write_number(struct pool_reader *writer, uint32_t page, uint32_t number)
{
	uint32_t numbers[DB_POOL_PAGE_BYTES / sizeof(uint32_t)];
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		numbers[i] = number;
	assert_int_equal(pool_write(writer, page, numbers), 0);
}

static uint32_t copied_number(struct pool_reader *reader, uint32_t page)
{
	uint32_t number = 0;
	assert_int_equal(pool_copy(reader, page, 2048, sizeof(number), &number), sizeof(number));
	return number;
}

static void cut(struct pool_reader *writer, uint32_t pages)
{
	pthread_mutex_lock(&writer->file->writing);
	assert_int_equal(ftruncate(writer->file->fd, (off_t)pages * DB_POOL_PAGE_BYTES), 0);
	pool_drop(writer->pool, writer->file, pages);
	pthread_mutex_unlock(&writer->file->writing);
}

static void a_write_changes_the_resident_frame_and_inserts_none(void **state)
{
	struct fixture f = open_fixture(state);
	assert_int_equal(fake_visit(&f.reader, 10), 10);
	write_number(&f.writer, 10, 1010);
	write_number(&f.writer, 20, 2020);
	assert_true(fake_resident(&f.reader, 10));
	assert_false(fake_resident(&f.reader, 20));
	assert_int_equal(fake_visit(&f.reader, 10), 1010);
	assert_int_equal(fake_visit(&f.reader, 20), 2020);
	close_fixture(&f);
}

/* ---- While a load is on its way ----------------------------------------------------------------
 */

struct meddler {
	struct pool_reader *writer;
	uint32_t page, number; /* written, or cut there if number is 0 */
	int times;
};

static void meddle(void *arg, uint32_t page, uint32_t count)
{
	struct meddler *meddler = arg;
	(void)page;
	(void)count;
	if (meddler->times-- <= 0)
		return;
	if (meddler->number == 0)
		cut(meddler->writer, meddler->page);
	else
		write_number(meddler->writer, meddler->page, meddler->number);
}

static void a_write_during_a_load_makes_it_load_again(void **state)
{
	struct fixture f = open_fixture(state);
	struct meddler meddler = { .writer = &f.writer, .page = 10, .number = 1010, .times = 1 };
	struct db_pool_faults faults = { .after_read = meddle, .arg = &meddler };
	db_pool_inject(f.pool, &faults);
	assert_int_equal(fake_visit(&f.reader, 10), 1010);
	assert_int_equal(fake_stats(f.pool).discards, 1);
	assert_int_equal(fake_stats(f.pool).misses, 2);
	close_fixture(&f);
}

static void a_page_written_at_every_load_is_read_past_the_pool(void **state)
{
	struct fixture f = open_fixture(state);
	struct meddler meddler = { .writer = &f.writer, .page = 10, .number = 1010, .times = 3 };
	struct db_pool_faults faults = { .after_read = meddle, .arg = &meddler };
	db_pool_inject(f.pool, &faults);
	assert_int_equal(copied_number(&f.reader, 10), 1010);
	assert_int_equal(fake_stats(f.pool).discards, 3);
	assert_int_equal(fake_stats(f.pool).bypasses, 1);
	assert_int_equal(fake_stats(f.pool).resident, 0);
	close_fixture(&f);
}

static void a_write_during_read_ahead_costs_that_page_only(void **state)
{
	struct fixture f = open_fixture(state);
	struct meddler meddler = { .writer = &f.writer, .page = 110, .number = 1, .times = 9 };
	struct db_pool_faults faults = { .after_read = meddle, .arg = &meddler };
	db_pool_inject(f.pool, &faults);
	for (uint32_t page = 100; page < 104; page++)
		assert_int_equal(fake_visit(&f.reader, page), page);
	assert_true(fake_resident(&f.reader, 109));
	assert_false(fake_resident(&f.reader, 110));
	assert_true(fake_resident(&f.reader, 111));
	assert_int_equal(fake_stats(f.pool).discards, 1);
	db_pool_inject(f.pool, NULL);
	assert_int_equal(fake_visit(&f.reader, 110), 1);
	close_fixture(&f);
}

static void a_truncation_during_a_load_leaves_no_frame(void **state)
{
	struct fixture f = open_fixture(state);
	struct meddler meddler = { .writer = &f.writer, .page = 50, .times = 1 };
	struct db_pool_faults faults = { .after_read = meddle, .arg = &meddler };
	db_pool_inject(f.pool, &faults);
	assert_int_equal(fake_visit(&f.reader, 60), UINT32_MAX);
	assert_int_equal(fake_stats(f.pool).resident, 0);
	close_fixture(&f);
}

/* ---- Truncation ---------------------------------------------------------------------------------
 */

static void truncation_drops_what_lies_past_the_end_and_keeps_the_rest(void **state)
{
	struct fixture f = open_fixture(state);
	for (uint32_t page = 0; page < PAGES; page += 30)
		assert_int_equal(fake_visit(&f.reader, page), page);
	cut(&f.writer, 150);
	assert_int_equal(fake_stats(f.pool).resident, 5);
	assert_true(fake_resident(&f.reader, 120));
	assert_int_equal(fake_visit(&f.reader, 150), UINT32_MAX);
	write_number(&f.writer, 150, 7); /* the file grows again: nothing old may show */
	assert_int_equal(fake_visit(&f.reader, 150), 7);
	close_fixture(&f);
}

static void a_pinned_page_survives_truncation_until_it_is_given_back(void **state)
{
	struct fixture f = open_fixture(state);
	void *data = NULL;
	assert_int_equal(pool_fetch(&f.reader, 200, &data), 0);
	cut(&f.writer, 100);
	assert_false(fake_resident(&f.reader, 200));
	assert_int_equal(fake_page_number(data), 200);
	write_number(&f.writer, 200, 7);
	assert_int_equal(fake_visit(&f.reader, 200), 7);
	assert_int_equal(fake_page_number(data), 200);
	pool_unfetch(f.pool, data);
	/* Its frame is free again: as many pages as the pool has frames find room. */
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(fake_visit(&f.reader, i), i);
	assert_int_equal(fake_stats(f.pool).evictions, 0);
	close_fixture(&f);
}

static void reads_beyond_the_end_are_short_and_leave_no_frame(void **state)
{
	struct fixture f = open_fixture(state);
	assert_int_equal(fake_visit(&f.reader, PAGES + 5), UINT32_MAX);
	char byte = 1;
	assert_int_equal(pool_copy(&f.reader, PAGES + 5, 0, 1, &byte), 0);
	assert_int_equal(ftruncate(f.reader.file->fd, 10 * 4096 + 100), 0);
	char tail[200];
	assert_int_equal(pool_copy(&f.reader, 10, 50, sizeof(tail), tail), 50);
	assert_int_equal(fake_stats(f.pool).resident, 0);
	close_fixture(&f);
}

/* ---- Through SQLite -----------------------------------------------------------------------------
 */

static int64_t file_bytes(const char *path)
{
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	return status.st_size;
}

static void a_vacuum_leaves_no_frame_past_the_end(void **state)
{
	fake_fill(fake_path(state, "db"), 4000);
	struct db_pool *pool = fake_pool(NULL);
	sqlite3 *db = fake_connect(fake_path(state, "db"), FAKE_VFS);
	assert_int_equal(fake_number(db, "SELECT count(v) FROM t"), 4000);
	int64_t before = file_bytes(fake_path(state, "db"));
	fake_exec(db, "DELETE FROM t WHERE id > 400; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
	int64_t after = file_bytes(fake_path(state, "db"));
	assert_true(after < before / 4);
	assert_true(fake_stats(pool).resident <= after / DB_POOL_PAGE_BYTES);
	assert_int_equal(db_pool_verify(pool), 0);
	fake_exec(
		db, "INSERT INTO t SELECT id + 1000, n, v FROM t; PRAGMA wal_checkpoint(TRUNCATE)");
	assert_int_equal(fake_number(db, "SELECT count(v) FROM t"), 800);
	fake_assert_intact(db);
	assert_int_equal(db_pool_verify(pool), 0);
	sqlite3_close(db);
	fake_pool_close(pool);
}

static void a_checkpoint_reaches_frames_others_have_read(void **state)
{
	fake_fill(fake_path(state, "db"), 2000);
	struct db_pool *pool = fake_pool(NULL);
	sqlite3 *reader = fake_connect(fake_path(state, "db"), FAKE_VFS);
	sqlite3 *writer = fake_connect(fake_path(state, "db"), FAKE_VFS);
	int64_t sum = 2000LL * 2001 / 2;
	for (int round = 0; round < 5; round++) {
		assert_int_equal(fake_number(reader, "SELECT sum(n) FROM t"), sum);
		fake_exec(writer, "UPDATE t SET n = n + 1");
		sum += 2000;
		assert_int_equal(fake_number(reader, "SELECT sum(n) FROM t"), sum);
		fake_exec(writer, "PRAGMA wal_checkpoint(TRUNCATE)");
		assert_int_equal(db_pool_verify(pool), 0);
	}
	fake_assert_intact(reader);
	sqlite3_close(reader);
	sqlite3_close(writer);
	fake_pool_close(pool);
}

static void a_rollback_journal_works_too(void **state)
{
	struct db_pool *pool = fake_pool(NULL);
	sqlite3 *db = fake_connect(fake_path(state, "db"), FAKE_VFS);
	fake_exec(db,
		"PRAGMA journal_mode=DELETE; CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB);"
		"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 3000)"
		"INSERT INTO t SELECT i, randomblob(180) FROM c;"
		"BEGIN; UPDATE t SET v = zeroblob(180)");
	assert_int_equal(fake_number(db, "SELECT count(*) FROM t WHERE v = zeroblob(180)"), 3000);
	fake_exec(db, "ROLLBACK");
	assert_int_equal(fake_number(db, "SELECT count(*) FROM t WHERE v = zeroblob(180)"), 0);
	assert_int_equal(db_pool_verify(pool), 0);
	fake_assert_intact(db);
	sqlite3_close(db);
	fake_pool_close(pool);
}

static void the_last_connection_takes_its_frames_along(void **state)
{
	fake_fill(fake_path(state, "db"), 1000);
	struct db_pool *pool = fake_pool(NULL);
	sqlite3 *first = fake_connect(fake_path(state, "db"), FAKE_VFS);
	sqlite3 *second = fake_connect(fake_path(state, "db"), FAKE_VFS);
	assert_int_equal(fake_number(first, "SELECT count(v) FROM t"), 1000);
	sqlite3_close(first);
	assert_true(fake_stats(pool).resident > 0);
	sqlite3_close(second);
	assert_int_equal(fake_stats(pool).resident, 0);
	/* What another writer does to the file now is seen by the next connection. */
	assert_int_equal(sqlite3_open(fake_path(state, "db"), &first), SQLITE_OK);
	fake_exec(first, "UPDATE t SET n = 5");
	sqlite3_close(first);
	second = fake_connect(fake_path(state, "db"), FAKE_VFS);
	assert_int_equal(fake_number(second, "SELECT sum(n) FROM t"), 5000);
	sqlite3_close(second);
	fake_pool_close(pool);
}

static void giving_back_no_page_changes_nothing(void **state)
{
	fake_fill(fake_path(state, "db"), 100);
	struct db_pool *pool = fake_pool(NULL);
	sqlite3 *db = fake_connect(fake_path(state, "db"), FAKE_VFS);
	sqlite3_file *file = NULL;
	sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
	void *page = NULL;
	assert_int_equal(file->pMethods->xFetch(file, 4096, 4096, &page), SQLITE_OK);
	assert_non_null(page);
	uint8_t before[4096];
	memcpy(before, page, sizeof(before));
	assert_int_equal(file->pMethods->xUnfetch(file, 0, NULL), SQLITE_OK);
	assert_memory_equal(page, before, sizeof(before));
	assert_int_equal(file->pMethods->xUnfetch(file, 4096, page), SQLITE_OK);
	sqlite3_close(db);
	fake_pool_close(pool);
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, fake_folder, fake_folder_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_write_changes_the_resident_frame_and_inserts_none),
		in_folder(a_write_during_a_load_makes_it_load_again),
		in_folder(a_page_written_at_every_load_is_read_past_the_pool),
		in_folder(a_write_during_read_ahead_costs_that_page_only),
		in_folder(a_truncation_during_a_load_leaves_no_frame),
		in_folder(truncation_drops_what_lies_past_the_end_and_keeps_the_rest),
		in_folder(a_pinned_page_survives_truncation_until_it_is_given_back),
		in_folder(reads_beyond_the_end_are_short_and_leave_no_frame),
		in_folder(a_vacuum_leaves_no_frame_past_the_end),
		in_folder(a_checkpoint_reaches_frames_others_have_read),
		in_folder(a_rollback_journal_works_too),
		in_folder(the_last_connection_takes_its_frames_along),
		in_folder(giving_back_no_page_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
