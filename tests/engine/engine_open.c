/* SPDX-License-Identifier: Apache-2.0 */
/* Opening what cannot be opened, running out of disk, coming back after a kill: one clear error,
 * nothing lost, nothing half-written left behind. */
#include "engine_fixture.h"

#include "demo-db/engine/dataset/dataset.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct fixture fixture;
static char path[192], message[DB_MESSAGE_MAX];

static int set_up(void **state)
{
	(void)state;
	fixture_make_folder(&fixture);
	snprintf(path, sizeof(path), "%s/demo.db", fixture.dir);
	message[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fixture_remove_folder(&fixture);
	return 0;
}

static int open_it(void)
{
	struct db_options options = fixture_options(&fixture);
	return db_open(&fixture.engine, &options, message);
}

static void write_file(const char *bytes, size_t length)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	fclose(file);
}

static void make_database(const char *sql)
{
	sqlite3 *db = NULL;
	assert_int_equal(
		sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void a_missing_folder_and_database_are_made(void **state)
{
	(void)state;
	char inner[200];
	snprintf(inner, sizeof(inner), "%s/inner", fixture.dir);
	struct db_options options = fixture_options(&fixture);
	options.data_dir = inner;
	assert_int_equal(db_open(&fixture.engine, &options, message), DB_OK);
	struct db_session *session = open_session(&fixture);
	must(session, "CREATE TABLE t(a)");
	assert_int_equal(ask(session, "PRAGMA page_size"), 4096);
	db_session_close(session);
	db_close(fixture.engine);
}

static void another_page_size_is_refused_with_its_number(void **state)
{
	(void)state;
	make_database("PRAGMA page_size=8192; CREATE TABLE t(a)");
	assert_int_equal(open_it(), DB_EPAGESIZE);
	assert_non_null(strstr(message, "8192"));
}

static void what_is_no_database_is_refused(void **state)
{
	(void)state;
	char nonsense[5000];
	memset(nonsense, 'x', sizeof(nonsense));
	write_file(nonsense, sizeof(nonsense));
	assert_int_equal(open_it(), DB_ENOTADB);
	write_file("short", 5);
	assert_int_equal(open_it(), DB_ENOTADB);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(open_it(), DB_EOPEN);
	assert_true(strlen(message) > 10);
}

static void a_database_cut_short_is_refused(void **state)
{
	(void)state;
	make_database("CREATE TABLE t(a); CREATE TABLE u(a); CREATE TABLE v(a)");
	assert_int_equal(truncate(path, 8192), 0);
	assert_int_equal(open_it(), DB_ECORRUPT);
	assert_non_null(strstr(message, "cut short"));
}

static void a_damaged_page_is_an_error_of_the_statement_that_meets_it(void **state)
{
	(void)state;
	make_database("CREATE TABLE t(a); CREATE TABLE u(a); INSERT INTO t VALUES (1); "
		      "INSERT INTO u VALUES (2)");
	int file = open(path, O_WRONLY);
	char damage[4096];
	memset(damage, 0xa5, sizeof(damage));
	assert_int_equal(pwrite(file, damage, sizeof(damage), 4096), sizeof(damage));
	close(file);
	assert_int_equal(open_it(), DB_OK);
	struct db_session *session = open_session(&fixture);
	must_fail(session, "SELECT * FROM t", DB_ECORRUPT);
	assert_string_equal(last_result.sqlstate, "XX001");
	assert_int_equal(ask(session, "SELECT a FROM u"), 2);
	db_session_close(session);
	db_close(fixture.engine);
}

static void one_engine_a_folder(void **state)
{
	(void)state;
	struct db_engine *second = NULL;
	assert_int_equal(open_it(), DB_OK);
	struct db_options options = fixture_options(&fixture);
	assert_int_equal(db_open(&second, &options, message), DB_EINUSE);
	assert_null(second);
	struct db_dataset dataset = { .struct_size = sizeof(dataset), .data_dir = fixture.dir };
	assert_int_equal(db_dataset_make(&dataset, message), DB_EINUSE);
	db_close(fixture.engine);
	assert_int_equal(open_it(), DB_OK);
	db_close(fixture.engine);
}

static void nonsense_numbers_are_refused(void **state)
{
	(void)state;
	struct db_options options = fixture_options(&fixture);
	options.workers = 100000;
	assert_int_equal(db_open(&fixture.engine, &options, message), DB_EINVAL);
	assert_non_null(strstr(message, "100000"));
	options = fixture_options(&fixture);
	options.pool_bytes = 4096;
	assert_int_equal(db_open(&fixture.engine, &options, message), DB_EINVAL);
	options = fixture_options(&fixture);
	options.data_dir = "";
	assert_int_equal(db_open(&fixture.engine, &options, message), DB_EINVAL);
	options = fixture_options(&fixture);
	options.struct_size = 1;
	assert_int_equal(db_open(&fixture.engine, &options, message), DB_EINVAL);
	options.struct_size = sizeof(options);
	options.data_dir = "/proc/no/such/place";
	assert_int_equal(db_open(&fixture.engine, &options, message), DB_EOPEN);
}

static void plain_io_needs_no_pool(void **state)
{
	(void)state;
	struct db_options options = fixture_options(&fixture);
	options.io = DB_IO_PLAIN;
	assert_int_equal(db_open(&fixture.engine, &options, message), DB_OK);
	struct db_session *session = open_session(&fixture);
	must(session, "CREATE TABLE t(a)");
	must(session, "INSERT INTO t VALUES (1)");
	struct db_stats stats;
	db_stats(fixture.engine, &stats);
	assert_int_equal(stats.pool_frames, 0);
	assert_string_equal(stats.io, "none");
	db_session_close(session);
	db_close(fixture.engine);
}

static void a_read_only_engine_writes_nothing(void **state)
{
	(void)state;
	make_database("CREATE TABLE t(a); INSERT INTO t VALUES (1)");
	struct db_options options = fixture_options(&fixture);
	options.read_only = true;
	assert_int_equal(db_open(&fixture.engine, &options, message), DB_OK);
	struct db_session *session = open_session(&fixture);
	assert_int_equal(ask(session, "SELECT a FROM t"), 1);
	must_fail(session, "INSERT INTO t VALUES (2)", DB_EREADONLY);
	must_fail(session, "CREATE TABLE u(a)", DB_EREADONLY);
	db_session_close(session);
	db_close(fixture.engine);
}

/* ---- Disk full ----------------------------------------------------------------------------------
 */

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk_is_53100_and_loses_nothing(void **state)
{
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(open_it(), DB_OK);
	struct db_session *session = open_session(&fixture);
	must(session, "CREATE TABLE t(id INTEGER PRIMARY KEY, a)");
	must(session, "INSERT INTO t VALUES (1, 'kept')");
	limit_files(200000);
	must_fail(session,
		"INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n "
		"WHERE i < 1000) SELECT i, hex(zeroblob(1000)) FROM n",
		DB_EFULL);
	assert_string_equal(last_result.sqlstate, "53100");
	assert_int_equal(ask(session, "SELECT count(*) FROM t"), 1);
	must(session, "BEGIN");
	must(session, "INSERT INTO t VALUES (2, 'lost')");
	must_fail(session,
		"INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n "
		"WHERE i < 1000) SELECT i, hex(zeroblob(1000)) FROM n",
		DB_EFULL);
	must(session, "ROLLBACK");
	limit_files(RLIM_INFINITY);
	must(session, "INSERT INTO t VALUES (3, 'kept')");
	assert_int_equal(ask(session, "SELECT sum(id) FROM t"), 4);
	assert_string_equal(ask_text(session, "PRAGMA integrity_check"), "ok");
	db_session_close(session);
	db_close(fixture.engine);
}

static void a_data_set_that_does_not_fit_leaves_nothing(void **state)
{
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	struct db_dataset dataset = { .struct_size = sizeof(dataset),
		.data_dir = fixture.dir,
		.items_bytes = 1u << 20,
		.archive_bytes = 1u << 20 };
	limit_files(500000);
	int rc = db_dataset_make(&dataset, message);
	limit_files(RLIM_INFINITY);
	assert_int_equal(rc, DB_EFULL);
	assert_int_equal(access(path, F_OK), -1);
	char partial[256];
	snprintf(partial, sizeof(partial), "%s.partial", path);
	assert_int_equal(access(partial, F_OK), -1);
}

/* ---- Kill
 * ----------------------------------------------------------------------------------------- */

#define KILLED_AFTER 200

/* The child writes the number of each acknowledged commit to the pipe and is killed at one. */
static void work_until_killed(int pipe_end)
{
	struct db_options options = fixture_options(&fixture);
	struct db_session *session = NULL;
	if (db_open(&fixture.engine, &options, message) ||
		db_session_open(fixture.engine, NULL, &session))
		_exit(1);
	run_sql(session, "CREATE TABLE t(id INTEGER PRIMARY KEY, a)");
	for (int i = 1; i < 100000; i++) {
		char sql[64];
		snprintf(sql, sizeof(sql), "INSERT INTO t VALUES (%d, hex(zeroblob(300)))", i);
		if (run_sql(session, sql) || write(pipe_end, &i, sizeof(i)) != sizeof(i))
			_exit(1);
	}
	_exit(1);
}

static void after_a_kill_every_acknowledged_commit_is_there(void **state)
{
	(void)state;
	int ends[2], last = 0, number;
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		close(ends[0]);
		work_until_killed(ends[1]);
	}
	close(ends[1]);
	while (last < KILLED_AFTER && read(ends[0], &number, sizeof(number)) == sizeof(number))
		last = number;
	kill(child, SIGKILL);
	while (read(ends[0], &number, sizeof(number)) == sizeof(number))
		last = number;
	close(ends[0]);
	waitpid(child, NULL, 0);
	assert_true(last >= KILLED_AFTER);
	assert_int_equal(open_it(), DB_OK);
	struct db_session *session = open_session(&fixture);
	assert_true(ask(session, "SELECT count(*) FROM t") >= last);
	assert_int_equal(ask(session, "SELECT count(*) - max(id) FROM t"), 0);
	assert_string_equal(ask_text(session, "PRAGMA integrity_check"), "ok");
	db_session_close(session);
	db_close(fixture.engine);
}

/* ---- The data set
 * --------------------------------------------------------------------------------- */

static uint64_t reports, last_done, last_total;

static void on_progress(void *arg, uint64_t done_bytes, uint64_t total_bytes)
{
	(void)arg;
	assert_true(done_bytes >= last_done && done_bytes <= total_bytes);
	reports++;
	last_done = done_bytes;
	last_total = total_bytes;
}

static struct db_dataset small_dataset(uint64_t seed)
{
	return (struct db_dataset){ .struct_size = sizeof(struct db_dataset),
		.data_dir = fixture.dir,
		.seed = seed,
		.items_bytes = 2u << 20,
		.archive_bytes = 2u << 20,
		.archives = 3,
		.accounts = 10,
		.on_progress = on_progress };
}

static int64_t ask_dataset(const char *sql)
{
	assert_int_equal(open_it(), DB_OK);
	struct db_session *session = open_session(&fixture);
	int64_t value = ask(session, sql);
	db_session_close(session);
	db_close(fixture.engine);
	return value;
}

#define FINGERPRINT                                                                                \
	"SELECT sum(price * 31 + stock + length(name) + unicode(substr(payload, id % 100, 1))) "   \
	"FROM items"

static void the_data_set_is_the_same_from_the_same_seed(void **state)
{
	(void)state;
	struct db_dataset dataset = small_dataset(5);
	reports = last_done = 0;
	assert_int_equal(db_dataset_make(&dataset, message), DB_OK);
	assert_false(dataset.reused);
	assert_true(reports > 1);
	assert_int_equal(last_done, last_total);
	int64_t first = ask_dataset(FINGERPRINT);
	assert_int_equal(ask_dataset("SELECT count(*) FROM items"), dataset.items);
	assert_int_equal(ask_dataset("SELECT count(*) FROM archive_3"), dataset.rows_per_archive);
	assert_int_equal(ask_dataset("SELECT sum(balance) FROM accounts"), 10 * DB_DATASET_BALANCE);
	last_done = 0;
	dataset.remake = true;
	assert_int_equal(db_dataset_make(&dataset, message), DB_OK);
	assert_int_equal(ask_dataset(FINGERPRINT), first);
	last_done = 0;
	dataset = small_dataset(6);
	assert_int_equal(db_dataset_make(&dataset, message), DB_OK);
	assert_false(dataset.reused);
	assert_int_not_equal(ask_dataset(FINGERPRINT), first);
}

static void a_complete_data_set_is_used_again_also_after_changes(void **state)
{
	(void)state;
	struct db_dataset dataset = small_dataset(5);
	last_done = 0;
	assert_int_equal(db_dataset_make(&dataset, message), DB_OK);
	assert_int_equal(open_it(), DB_OK);
	struct db_session *session = open_session(&fixture);
	must(session, "UPDATE items SET stock = 0 WHERE id = 1");
	db_session_close(session);
	db_close(fixture.engine);
	dataset = small_dataset(5);
	assert_int_equal(db_dataset_make(&dataset, message), DB_OK);
	assert_true(dataset.reused);
	assert_true(dataset.items > 0);
}

static void a_database_of_somebody_else_is_left_alone(void **state)
{
	(void)state;
	make_database("CREATE TABLE precious(id INTEGER PRIMARY KEY)");
	struct db_dataset dataset = small_dataset(5);
	last_done = 0;
	assert_int_equal(db_dataset_make(&dataset, message), DB_EEXISTS);
	assert_int_equal(ask_dataset("SELECT count(*) FROM precious"), 0);
}

static void the_data_set_has_about_the_size_asked_for(void **state)
{
	(void)state;
	struct db_dataset dataset = small_dataset(5);
	struct stat info;
	last_done = 0;
	assert_int_equal(db_dataset_make(&dataset, message), DB_OK);
	assert_int_equal(stat(path, &info), 0);
	assert_true(info.st_size > (4 << 20) * 9 / 10 && info.st_size < (4 << 20) * 12 / 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(after_a_kill_every_acknowledged_commit_is_there), /* forks: before any thread
									*/
		TEST(a_missing_folder_and_database_are_made),
		TEST(another_page_size_is_refused_with_its_number),
		TEST(what_is_no_database_is_refused),
		TEST(a_database_cut_short_is_refused),
		TEST(a_damaged_page_is_an_error_of_the_statement_that_meets_it),
		TEST(one_engine_a_folder),
		TEST(nonsense_numbers_are_refused),
		TEST(plain_io_needs_no_pool),
		TEST(a_read_only_engine_writes_nothing),
		TEST(a_full_disk_is_53100_and_loses_nothing),
		TEST(a_data_set_that_does_not_fit_leaves_nothing),
		TEST(the_data_set_is_the_same_from_the_same_seed),
		TEST(a_complete_data_set_is_used_again_also_after_changes),
		TEST(a_database_of_somebody_else_is_left_alone),
		TEST(the_data_set_has_about_the_size_asked_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
