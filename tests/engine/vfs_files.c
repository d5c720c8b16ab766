/* SPDX-License-Identifier: Apache-2.0 */
/* Files under the layer: other processes kept out, no O_DIRECT, the WAL counted, who goes where. */
#include "pool_fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define IN_MEMORY "/dev/shm"

/* ---- Other processes ----------------------------------------------------------------------------
 */

/* Runs in a process of its own (this binary with two arguments): may it write to the database? */
static int probe(const char *path)
{
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, "unix");
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(
			db, "BEGIN IMMEDIATE; UPDATE t SET n = n; COMMIT", NULL, NULL, NULL);
	sqlite3_close(db);
	return rc;
}

static int probe_from_outside(const char *path)
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		execl("/proc/self/exe", "vfs_files", "probe", path, (char *)NULL);
		_exit(127);
	}
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void other_processes_stay_out_until_the_last_connection_closes(void **state)
{
	const char *path = fake_path(state, "db");
	fake_fill(path, 500);
	struct db_pool *pool = fake_pool(NULL);
	assert_int_equal(probe_from_outside(path), SQLITE_OK);
	sqlite3 *connections[4];
	for (int i = 0; i < 4; i++) {
		connections[i] = fake_connect(path, FAKE_VFS);
		assert_int_equal(fake_number(connections[i], "SELECT count(v) FROM t"), 500);
	}
	assert_int_equal(probe_from_outside(path), SQLITE_BUSY);
	/* Closing any descriptor of the file would drop the locks the others hold. */
	for (int i = 0; i < 3; i++) {
		sqlite3_close(connections[i]);
		assert_int_equal(probe_from_outside(path), SQLITE_BUSY);
	}
	sqlite3_close(connections[3]);
	assert_int_equal(probe_from_outside(path), SQLITE_OK);
	fake_pool_close(pool);
}

static void an_open_that_is_refused_drops_no_lock(void **state)
{
	const char *path = fake_path(state, "db");
	fake_fill(path, 500);
	struct db_pool *pool = fake_pool(NULL);
	struct db_pool_options options = { .struct_size = sizeof(options), .pool_bytes = 1 << 20 };
	struct db_pool *other = NULL;
	assert_int_equal(db_pool_open(&other, &options), 0);
	assert_int_equal(db_vfs_register(other, "other"), 0);
	sqlite3 *db = fake_connect(path, FAKE_VFS);
	assert_int_equal(fake_number(db, "SELECT count(v) FROM t"), 500);
	sqlite3 *refused = NULL;
	assert_int_equal(
		sqlite3_open_v2(path, &refused, SQLITE_OPEN_READWRITE, "other"), SQLITE_CANTOPEN);
	sqlite3_close(refused);
	assert_int_equal(probe_from_outside(path), SQLITE_BUSY);
	sqlite3_close(db);
	db_vfs_unregister("other");
	db_pool_close(other);
	fake_pool_close(pool);
}

/* ---- O_DIRECT and without -----------------------------------------------------------------------
 */

static void use_database(const char *path)
{
	sqlite3 *db = fake_connect(path, FAKE_VFS);
	fake_exec(db,
		"CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, v BLOB);"
		"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 2000)"
		"INSERT INTO t SELECT i, i, randomblob(180) FROM c;"
		"PRAGMA wal_checkpoint(TRUNCATE)");
	assert_int_equal(fake_number(db, "SELECT sum(n) FROM t"), 2000LL * 2001 / 2);
	fake_assert_intact(db);
	sqlite3_close(db);
}

static void what_reads_cost_is_said(void **state)
{
	struct db_pool_options options = { .struct_size = sizeof(options),
		.pool_bytes = 1 << 20,
		.io = DB_POOL_IO_BUFFERED,
		.latency_us = 20 };
	struct db_pool *pool = fake_pool(&options);
	assert_string_equal(fake_stats(pool).io, "none");
	use_database(fake_path(state, "db"));
	assert_string_equal(fake_stats(pool).io, "buffered + 20 us");
	assert_false(fake_stats(pool).direct_io);
	fake_pool_close(pool);
}

static void a_file_system_in_memory_is_not_called_direct(void **state)
{
	if (access(IN_MEMORY, W_OK) != 0)
		skip();
	char path[] = IN_MEMORY "/pool-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	struct db_pool *pool = fake_pool(NULL);
	use_database(path);
	assert_string_equal(fake_stats(pool).io, "buffered + 0 us");
	fake_pool_close(pool);

	struct db_pool_options options = {
		.struct_size = sizeof(options), .pool_bytes = 1 << 20, .io = DB_POOL_IO_DIRECT
	};
	pool = fake_pool(&options);
	sqlite3 *db = NULL;
	assert_int_equal(
		sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, FAKE_VFS), SQLITE_CANTOPEN);
	assert_non_null(strstr(db_pool_refusal(), "no O_DIRECT on this file system"));
	sqlite3_close(db);
	fake_pool_close(pool);
	unlink(path);
	(void)state;
}

static void a_database_that_is_not_there_is_refused_with_its_name(void **state)
{
	struct db_pool *pool = fake_pool(NULL);
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open_v2(fake_path(state, "none/db"), &db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, FAKE_VFS),
		SQLITE_CANTOPEN);
	sqlite3_close(db);
	assert_non_null(strstr(db_pool_refusal(), "none/db: No such file or directory"));
	/* An open that succeeds leaves no old refusal behind. */
	sqlite3_close(fake_connect(fake_path(state, "db"), FAKE_VFS));
	assert_string_equal(db_pool_refusal(), "");
	fake_pool_close(pool);
}

static void a_file_that_is_no_database_is_sqlites_to_refuse(void **state)
{
	FILE *file = fopen(fake_path(state, "db"), "w");
	for (int i = 0; i < 3000; i++)
		fputs("no database ", file);
	fclose(file);
	struct db_pool *pool = fake_pool(NULL);
	sqlite3 *db = NULL;
	assert_int_equal(
		sqlite3_open_v2(fake_path(state, "db"), &db, SQLITE_OPEN_READWRITE, FAKE_VFS),
		SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, "SELECT * FROM sqlite_schema", NULL, NULL, NULL), SQLITE_NOTADB);
	sqlite3_close(db);
	fake_pool_close(pool);
}

static void a_read_only_file_can_be_read(void **state)
{
	const char *path = fake_path(state, "db");
	fake_fill(path, 500);
	struct db_pool *pool = fake_pool(NULL);
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, FAKE_VFS), SQLITE_OK);
	assert_int_equal(fake_number(db, "SELECT sum(n) FROM t"), 500 * 501 / 2);
	assert_int_equal(sqlite3_exec(db, "DELETE FROM t", NULL, NULL, NULL), SQLITE_READONLY);
	sqlite3_close(db);
	fake_pool_close(pool);
}

/* ---- Who goes where -----------------------------------------------------------------------------
 */

static void pages_in_the_wal_pass_the_pool_and_are_counted(void **state)
{
	fake_fill(fake_path(state, "db"), 1000);
	struct db_pool *pool = fake_pool(NULL);
	sqlite3 *writer = fake_connect(fake_path(state, "db"), FAKE_VFS);
	sqlite3 *reader = fake_connect(fake_path(state, "db"), FAKE_VFS);
	assert_int_equal(fake_number(reader, "SELECT sum(n) FROM t"), 1000 * 1001 / 2);
	assert_int_equal(fake_stats(pool).wal_reads, 0);
	fake_exec(writer, "UPDATE t SET n = 1 WHERE id <= 200");
	uint64_t before = fake_stats(pool).wal_reads;
	assert_int_equal(fake_number(reader, "SELECT sum(n) FROM t WHERE id <= 200"), 200);
	uint64_t counted = fake_stats(pool).wal_reads - before;
	assert_true(counted >= 10 && counted <= 20); /* 200 rows lie on about twelve pages */
	before = fake_stats(pool).wal_reads;
	fake_exec(writer, "PRAGMA wal_checkpoint(PASSIVE)");
	assert_int_equal(fake_stats(pool).wal_reads, before);
	assert_true(fake_stats(pool).writes >= 10);
	sqlite3_close(writer);
	sqlite3_close(reader);
	fake_pool_close(pool);
}

static void sorts_and_temporary_tables_pass_the_pool_by(void **state)
{
	fake_fill(fake_path(state, "db"), 3000);
	struct db_pool *pool = fake_pool(NULL);
	sqlite3 *db = fake_connect(fake_path(state, "db"), FAKE_VFS);
	fake_exec(db, "CREATE TEMP TABLE x AS SELECT * FROM t ORDER BY v");
	assert_int_equal(fake_number(db, "SELECT count(*) FROM x"), 3000);
	assert_int_equal(fake_stats(pool).writes, 0);
	sqlite3_close(db);
	fake_pool_close(pool);
}

static void two_databases_share_the_pool(void **state)
{
	fake_fill(fake_path(state, "a"), 1000);
	fake_fill(fake_path(state, "b"), 2000);
	struct db_pool *pool = fake_pool(NULL);
	sqlite3 *a = fake_connect(fake_path(state, "a"), FAKE_VFS);
	sqlite3 *b = fake_connect(fake_path(state, "b"), FAKE_VFS);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fake_number(a, "SELECT sum(n) FROM t"), 1000 * 1001 / 2);
		assert_int_equal(fake_number(b, "SELECT sum(n) FROM t"), 2000 * 2001 / 2);
	}
	assert_int_equal(db_pool_verify(pool), 0);
	sqlite3_close(b);
	assert_int_equal(fake_number(a, "SELECT sum(n) FROM t"), 1000 * 1001 / 2);
	sqlite3_close(a);
	fake_pool_close(pool);
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, fake_folder, fake_folder_remove)

int main(int count, char **arguments)
{
	if (count == 3 && strcmp(arguments[1], "probe") == 0)
		return probe(arguments[2]);
	const struct CMUnitTest tests[] = {
		in_folder(other_processes_stay_out_until_the_last_connection_closes),
		in_folder(an_open_that_is_refused_drops_no_lock),
		in_folder(what_reads_cost_is_said),
		in_folder(a_file_system_in_memory_is_not_called_direct),
		in_folder(a_database_that_is_not_there_is_refused_with_its_name),
		in_folder(a_file_that_is_no_database_is_sqlites_to_refuse),
		in_folder(a_read_only_file_can_be_read),
		in_folder(pages_in_the_wal_pass_the_pool_and_are_counted),
		in_folder(sorts_and_temporary_tables_pass_the_pool_by),
		in_folder(two_databases_share_the_pool),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
