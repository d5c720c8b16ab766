/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints and backups: the log stays short, copies are whole, nothing half-made is seen. */
#include "engine_fixture.h"
#include "patience.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WAL_LIMIT (512u << 10)

static struct fixture fixture;
static struct db_session *s[4];
static struct pending p[4];
static char copy[192];

static void open_with(bool no_checkpoint)
{
	struct db_options options = { .workers = 3,
		.pool_bytes = 4u << 20,
		.io = DB_IO_BUFFERED,
		.read_latency_ns = 1000,
		.wal_limit_bytes = WAL_LIMIT,
		.no_checkpoint = no_checkpoint };
	fixture_open(&fixture, &options);
	snprintf(copy, sizeof(copy), "%s/copy.db", fixture.dir);
	for (int i = 0; i < 4; i++)
		s[i] = open_session(&fixture);
	must(s[0], "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, filler TEXT)");
	must(s[0], "INSERT INTO t WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i "
		   "WHERE x < 600) SELECT x, 0, hex(zeroblob(500)) FROM i");
}

static int set_up(void **state)
{
	(void)state;
	open_with(false);
	return 0;
}

static int set_up_without_checkpoints(void **state)
{
	(void)state;
	open_with(true);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		db_session_close(s[i]);
	fixture_close(&fixture);
	return 0;
}

static struct db_stats stats(void)
{
	struct db_stats now;
	db_stats(fixture.engine, &now);
	return now;
}

static void write_much(struct db_session *session, int statements)
{
	char sql[96];
	for (int i = 0; i < statements; i++) {
		snprintf(sql, sizeof(sql), "UPDATE t SET n = n + 1 WHERE id %% 40 = %d", i % 40);
		must(session, sql);
	}
}

/* ---- Checkpoints ------------------------------------------------------------------------------
 */

static void the_log_stays_below_its_limit_while_writers_and_readers_go_on(void **state)
{
	(void)state;
	for (int round = 0; round < 30; round++) {
		write_much(s[0], 10);
		must(s[1], "SELECT count(*) FROM t WHERE n >= 0");
		assert_true(stats().wal_bytes <= WAL_LIMIT);
	}
	assert_true(stats().checkpoints > 0);
}

static void without_checkpoints_the_log_grows(void **state)
{
	(void)state;
	for (int round = 0; round < 10; round++)
		write_much(s[0], 20);
	assert_true(stats().wal_bytes > 2 * WAL_LIMIT);
	assert_int_equal(stats().checkpoints, 0);
}

static void a_reader_pins_the_log_and_it_is_emptied_afterwards(void **state)
{
	(void)state;
	must(s[1], "BEGIN ISOLATION LEVEL REPEATABLE READ");
	assert_int_equal(ask(s[1], "SELECT sum(n) FROM t"), 0);
	for (int round = 0; round < 10; round++)
		write_much(s[0], 20);
	assert_true(stats().wal_bytes > WAL_LIMIT);
	assert_int_equal(ask(s[1], "SELECT sum(n) FROM t"), 0);
	must(s[1], "COMMIT");
	assert_int_equal(db_checkpoint(fixture.engine, DB_CHECKPOINT_TRUNCATE), DB_OK);
	assert_int_equal(stats().wal_bytes, 0);
	char wal[192];
	struct stat info;
	snprintf(wal, sizeof(wal), "%s/demo.db-wal", fixture.dir);
	assert_int_equal(stat(wal, &info), 0);
	assert_int_equal(info.st_size, 0);
}

static void a_long_log_is_copied_beside_the_writers_and_paid_for_while_it_grows(void **state)
{
	(void)state;
	must(s[1], "BEGIN ISOLATION LEVEL REPEATABLE READ");
	assert_int_equal(ask(s[1], "SELECT sum(n) FROM t"), 0);
	while (stats().wal_bytes < 6 * WAL_LIMIT)
		write_much(s[0], 20);
	assert_true(stats().log_throttle_ns > 0);
	must(s[1], "COMMIT");
	/* writers go on, and are kept out only for what is short */
	WAIT_UNTIL((write_much(s[0], 1), stats().wal_bytes <= WAL_LIMIT));
	assert_true(stats().checkpoint_gated_bytes_peak <= 2 * WAL_LIMIT);
}

/* A TRUNCATE beside a writer would give that writer SQLITE_BUSY. */
static void a_restart_waits_for_the_writer_in_the_gate(void **state)
{
	(void)state;
	must(s[0], "BEGIN");
	must(s[0], "UPDATE t SET n = 1 WHERE id = 1");
	assert_int_equal(db_checkpoint(fixture.engine, DB_CHECKPOINT_PASSIVE), DB_OK);
	begin(&p[1], s[1], "UPDATE t SET n = 2 WHERE id = 2");
	await_waiters(&fixture, 0, 1);
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[1]), DB_OK);
	for (int i = 0; i < 50; i++) {
		begin(&p[1], s[1], "UPDATE t SET n = 3 WHERE id = 3");
		assert_int_equal(db_checkpoint(fixture.engine, DB_CHECKPOINT_TRUNCATE), DB_OK);
		assert_int_equal(await(&p[1]), DB_OK);
	}
}

static void a_closed_engine_leaves_no_log(void **state)
{
	(void)state;
	char wal[192];
	snprintf(wal, sizeof(wal), "%s/demo.db-wal", fixture.dir);
	write_much(s[0], 5);
	assert_int_equal(access(wal, F_OK), 0);
	for (int i = 0; i < 4; i++)
		db_session_close(s[i]);
	db_close(fixture.engine);
	assert_int_equal(access(wal, F_OK), -1);
	struct db_options options = fixture_options(&fixture);
	assert_int_equal(db_open(&fixture.engine, &options, NULL), DB_OK);
	for (int i = 0; i < 4; i++)
		s[i] = open_session(&fixture);
	assert_int_equal(ask(s[0], "SELECT sum(n) FROM t"), 5 * 15);
}

/* ---- Backup ------------------------------------------------------------------------------------
 */

struct told {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	_Atomic bool done;
	int status;
	char message[DB_MESSAGE_MAX];
};

static struct told told = { .mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };

static void on_backup(void *arg, int status, const char *message)
{
	struct told *result = arg;
	pthread_mutex_lock(&result->mutex);
	result->done = true;
	result->status = status;
	snprintf(result->message, sizeof(result->message), "%s", message);
	pthread_cond_broadcast(&result->cond);
	pthread_mutex_unlock(&result->mutex);
}

static void start_backup(struct db_backup_options options)
{
	options.struct_size = sizeof(options);
	options.path = options.path ? options.path : copy;
	options.on_done = on_backup;
	options.arg = &told;
	told.done = false;
	assert_int_equal(db_backup(fixture.engine, &options), DB_OK);
}

/* Of the 160 pages: not done before the test's patience ends. */
#define SLOW_COPY .pages_per_step = 1, .step_pause_ns = patience_s() * 10000000ull

static int await_backup(void)
{
	pthread_mutex_lock(&told.mutex);
	while (!told.done)
		pthread_cond_wait(&told.cond, &told.mutex);
	pthread_mutex_unlock(&told.mutex);
	return told.status;
}

static int64_t ask_copy(const char *sql)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *stmt = NULL;
	assert_int_equal(sqlite3_open_v2(copy, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	int64_t value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return value;
}

static bool partial_is_left(void)
{
	char partial[256];
	snprintf(partial, sizeof(partial), "%s.partial", copy);
	return access(partial, F_OK) == 0;
}

static void a_backup_is_one_instant_though_writers_go_on(void **state)
{
	(void)state;
	start_backup((struct db_backup_options){ .pages_per_step = 4, .step_pause_ns = 2000000 });
	for (int i = 0; !told.done && i < 1000; i++)
		must(s[0], "UPDATE t SET n = n + 1"); /* all rows at once */
	assert_int_equal(await_backup(), DB_OK);
	assert_int_equal(ask_copy("SELECT count(*) FROM t"), 600);
	assert_int_equal(ask_copy("SELECT max(n) - min(n) FROM t"), 0);
	assert_int_equal(ask_copy("SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
	assert_false(partial_is_left());
	assert_int_equal(stats().backups, 1);
}

static void a_backup_waits_for_open_transactions_and_others_wait_behind_it(void **state)
{
	(void)state;
	must(s[0], "BEGIN");
	must(s[0], "UPDATE t SET n = 1 WHERE id = 1");
	start_backup((struct db_backup_options){ 0 });
	await_waiters(&fixture, 1, 0);
	begin(&p[1], s[1], "SELECT count(*) FROM t");
	await_wait(&fixture, s[1], DB_WAIT_GLOBAL);
	must(s[0], "UPDATE t SET n = 2 WHERE id = 1"); /* it holds its share already */
	must(s[0], "COMMIT");
	assert_int_equal(await_backup(), DB_OK);
	assert_int_equal(await(&p[1]), DB_OK);
	assert_int_equal(ask_copy("SELECT n FROM t WHERE id = 1"), 2);
}

static void a_backup_that_keeps_the_lock_bars_everybody(void **state)
{
	(void)state;
	must(s[0], "BEGIN");
	must(s[0], "SELECT count(*) FROM t"); /* so that the backup has to wait for its lock */
	start_backup((struct db_backup_options){ SLOW_COPY, .keep_exclusive = true });
	await_waiters(&fixture, 1, 0);
	begin(&p[1], s[1], "SELECT count(*) FROM t");
	await_wait(&fixture, s[1], DB_WAIT_GLOBAL);
	must(s[0], "COMMIT");
	await_waiters(&fixture, 1, 0); /* the backup has it now */
	assert_true(db_cancel_backup(fixture.engine));
	assert_int_equal(await_backup(), DB_ECANCELLED);
	assert_int_equal(await(&p[1]), DB_OK);
}

static void a_cancelled_backup_leaves_nothing_and_keeps_the_old_copy(void **state)
{
	(void)state;
	start_backup((struct db_backup_options){ 0 });
	assert_int_equal(await_backup(), DB_OK);
	must(s[0], "UPDATE t SET n = 7");
	start_backup((struct db_backup_options){ SLOW_COPY });
	assert_true(db_cancel_backup(fixture.engine));
	assert_int_equal(await_backup(), DB_ECANCELLED);
	assert_false(partial_is_left());
	assert_int_equal(ask_copy("SELECT max(n) FROM t"), 0);
	assert_int_equal(stats().backup_failures, 1);
}

static void a_backup_to_nowhere_says_so(void **state)
{
	(void)state;
	start_backup((struct db_backup_options){ .path = "/no/such/folder/copy.db" });
	assert_int_equal(await_backup(), DB_EOPEN);
	assert_true(strlen(told.message) > 10);
	must(s[0], "UPDATE t SET n = 1");
}

/* Refused at once, though the lock is not to be had. */
static void a_backup_over_the_database_s_own_files_is_refused(void **state)
{
	static const char *const own[] = { "demo.db", "demo.db-wal", "demo.db-shm", "lock",
		"alias" };
	char path[256], alias[256];
	(void)state;
	snprintf(path, sizeof(path), "%s/demo.db", fixture.dir);
	snprintf(alias, sizeof(alias), "%s/alias", fixture.dir);
	assert_int_equal(link(path, alias), 0);
	must(s[0], "BEGIN");
	must(s[0], "SELECT count(*) FROM t");
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		snprintf(path, sizeof(path), "%s/%s", fixture.dir, own[i]);
		start_backup((struct db_backup_options){ .path = path });
		assert_int_equal(await_backup(), DB_EINVAL);
		assert_non_null(strstr(told.message, own[i]));
	}
	start_backup((struct db_backup_options){ .path = fixture.dir });
	assert_int_equal(await_backup(), DB_EINVAL);
	must(s[0], "UPDATE t SET n = 1");
	must(s[0], "COMMIT");
	unlink(alias);
}

/* SQLite would play the log into the new copy. */
static void a_backup_beside_another_database_s_log_is_refused(void **state)
{
	char log[256];
	(void)state;
	start_backup((struct db_backup_options){ 0 });
	assert_int_equal(await_backup(), DB_OK);
	snprintf(log, sizeof(log), "%s-wal", copy);
	FILE *file = fopen(log, "w");
	assert_non_null(file);
	fputs("a log", file);
	fclose(file);
	start_backup((struct db_backup_options){ 0 });
	assert_int_equal(await_backup(), DB_EINUSE);
	assert_false(partial_is_left());
	unlink(log);
	start_backup((struct db_backup_options){ 0 });
	assert_int_equal(await_backup(), DB_OK);
}

static int backups_left;
static pthread_t backup_threads[3];

static void on_backup_again(void *arg, int status, const char *message)
{
	backup_threads[--backups_left] = pthread_self();
	if (status == DB_OK && backups_left > 0) {
		const struct db_backup_options next = { .struct_size = sizeof(next),
			.path = copy,
			.on_done = on_backup_again,
			.arg = arg };
		status = db_backup(fixture.engine, &next);
		if (status == DB_OK)
			return;
	}
	on_backup(arg, status, message);
}

static void the_end_of_a_backup_may_start_the_next_on_the_same_thread(void **state)
{
	(void)state;
	backups_left = 3;
	told.done = false;
	const struct db_backup_options first = {
		.struct_size = sizeof(first), .path = copy, .on_done = on_backup_again, .arg = &told
	};
	assert_int_equal(db_backup(fixture.engine, &first), DB_OK);
	assert_int_equal(await_backup(), DB_OK);
	assert_int_equal(backups_left, 0);
	assert_int_equal(stats().backups, 3);
	assert_true(pthread_equal(backup_threads[2], backup_threads[1]));
	assert_true(pthread_equal(backup_threads[1], backup_threads[0]));
	start_backup((struct db_backup_options){ 0 });
	assert_int_equal(await_backup(), DB_OK);
}

static void one_backup_at_a_time(void **state)
{
	(void)state;
	const struct db_backup_options second = { .struct_size = sizeof(second), .path = copy };
	start_backup((struct db_backup_options){ SLOW_COPY });
	assert_int_equal(db_backup(fixture.engine, &second), DB_EBUSY);
	assert_true(db_cancel_backup(fixture.engine));
	assert_int_equal(await_backup(), DB_ECANCELLED);
	start_backup((struct db_backup_options){ .table_locks = true });
	assert_int_equal(await_backup(), DB_OK);
	assert_false(db_cancel_backup(fixture.engine));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_log_stays_below_its_limit_while_writers_and_readers_go_on),
		cmocka_unit_test_setup_teardown(
			without_checkpoints_the_log_grows, set_up_without_checkpoints, tear_down),
		TEST(a_reader_pins_the_log_and_it_is_emptied_afterwards),
		TEST(a_long_log_is_copied_beside_the_writers_and_paid_for_while_it_grows),
		TEST(a_restart_waits_for_the_writer_in_the_gate),
		TEST(a_closed_engine_leaves_no_log),
		TEST(a_backup_is_one_instant_though_writers_go_on),
		TEST(a_backup_waits_for_open_transactions_and_others_wait_behind_it),
		TEST(a_backup_that_keeps_the_lock_bars_everybody),
		TEST(a_cancelled_backup_leaves_nothing_and_keeps_the_old_copy),
		TEST(a_backup_to_nowhere_says_so),
		TEST(a_backup_over_the_database_s_own_files_is_refused),
		TEST(a_backup_beside_another_database_s_log_is_refused),
		TEST(one_backup_at_a_time),
		TEST(the_end_of_a_backup_may_start_the_next_on_the_same_thread),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
