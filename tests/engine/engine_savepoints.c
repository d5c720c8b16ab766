/* SPDX-License-Identifier: Apache-2.0 */
/* Savepoints: what ROLLBACK TO brings back, what it keeps, and what nothing brings back. */
#include "engine_fixture.h"

#include <stdio.h>
#include <string.h>

static struct fixture fixture;
static struct db_session *a, *b, *impatient;

static int set_up(void **state)
{
	(void)state;
	fixture_open(&fixture, NULL);
	a = open_session(&fixture);
	b = open_session(&fixture);
	const struct db_session_options options = { .struct_size = sizeof(options),
		.lock_timeout_ns = 50000000 };
	assert_int_equal(db_session_open(fixture.engine, &options, &impatient), 0);
	must(a, "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER)");
	must(a, "INSERT INTO t VALUES (1, 0)");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	db_session_close(a);
	db_session_close(b);
	db_session_close(impatient);
	fixture_close(&fixture);
	return 0;
}

#define assert_n(session, n) assert_int_equal(ask(session, "SELECT n FROM t WHERE id = 1"), n)

static void only_what_came_after_it_is_undone(void **state)
{
	(void)state;
	must(a, "BEGIN");
	must(a, "UPDATE t SET n = 1");
	must(a, "SAVEPOINT s");
	assert_string_equal(last_result.tag, "SAVEPOINT");
	must(a, "UPDATE t SET n = 2");
	must(a, "ROLLBACK TO SAVEPOINT s");
	assert_string_equal(last_result.tag, "ROLLBACK");
	assert_n(a, 1);
	must(a, "COMMIT");
	assert_n(b, 1);
}

static void a_savepoint_before_the_first_write_counts_too(void **state)
{
	(void)state;
	must(a, "BEGIN");
	must(a, "SAVEPOINT early");
	must(a, "SAVEPOINT later");
	must(a, "UPDATE t SET n = 1");
	must(a, "ROLLBACK TO later");
	assert_n(a, 0);
	must(a, "UPDATE t SET n = 2");
	must(a, "ROLLBACK TO early");
	assert_n(a, 0);
	must_fail(a, "ROLLBACK TO later", DB_ENOSAVEPOINT);
	must(a, "ROLLBACK TO early");
	must(a, "COMMIT");
	assert_n(b, 0);
}

static void it_stays_after_rolling_back_to_it(void **state)
{
	(void)state;
	must(a, "BEGIN");
	must(a, "SAVEPOINT s");
	for (int i = 1; i < 4; i++) {
		must(a, "UPDATE t SET n = n + 7");
		must(a, "ROLLBACK TO s");
		assert_n(a, 0);
	}
	must(a, "RELEASE s");
	assert_string_equal(last_result.tag, "RELEASE");
	must_fail(a, "ROLLBACK TO s", DB_ENOSAVEPOINT);
	assert_string_equal(last_result.sqlstate, "3B001");
	must(a, "ROLLBACK");
}

static void the_newest_of_a_name_is_meant_and_case_is_folded(void **state)
{
	(void)state;
	must(a, "BEGIN");
	must(a, "SAVEPOINT s");
	must(a, "UPDATE t SET n = 1");
	must(a, "SAVEPOINT \"S\"");
	must(a, "SAVEPOINT S");
	must(a, "UPDATE t SET n = 2");
	must(a, "ROLLBACK TO s");
	assert_n(a, 1);
	must(a, "RELEASE s");
	must(a, "ROLLBACK TO \"S\"");
	must(a, "ROLLBACK TO s");
	assert_n(a, 0);
	must(a, "COMMIT");
}

static void an_error_is_undone_by_rolling_back_to_it(void **state)
{
	(void)state;
	must(a, "BEGIN");
	must(a, "UPDATE t SET n = 1");
	must(a, "SAVEPOINT s");
	must_fail(a, "INSERT INTO t VALUES (2, 2), (1, 1)", DB_EUNIQUE);
	assert_int_equal(last_result.transaction, 'E');
	must_fail(a, "SELECT 1", DB_EFAILED);
	must_fail(a, "SAVEPOINT another", DB_EFAILED);
	must_fail(a, "RELEASE s", DB_EFAILED);
	must(a, "ROLLBACK TO s");
	assert_int_equal(last_result.transaction, 'T');
	assert_n(a, 1);
	must(a, "COMMIT");
	assert_n(b, 1);
	assert_int_equal(ask(b, "SELECT count(*) FROM t"), 1);
}

static void locks_and_gate_stay_until_the_block_ends(void **state)
{
	(void)state;
	must(a, "BEGIN");
	must(a, "SAVEPOINT s");
	must(a, "UPDATE t SET n = 1");
	must_fail(a, "SELECT * FROM nowhere", DB_ENOTABLE);
	must_fail(impatient, "UPDATE t SET n = 5", DB_ELOCKTIMEOUT);
	must(a, "ROLLBACK TO s");
	must_fail(impatient, "UPDATE t SET n = 5", DB_ELOCKTIMEOUT);
	must(a, "COMMIT");
	must(b, "UPDATE t SET n = 5");
}

static void a_failed_block_lets_go_when_it_ends(void **state)
{
	(void)state;
	static const char *const ends[] = { "COMMIT", "ROLLBACK" };
	for (int i = 0; i < 2; i++) {
		must(a, "BEGIN");
		must(a, "SAVEPOINT s");
		must(a, "UPDATE t SET n = 1");
		must_fail(a, "SELECT * FROM nowhere", DB_ENOTABLE);
		must(a, ends[i]);
		assert_string_equal(last_result.tag, "ROLLBACK");
		must(b, "UPDATE t SET n = 0");
	}
	must(a, "BEGIN");
	must(a, "SAVEPOINT s");
	must(a, "UPDATE t SET n = 1");
	must_fail(a, "SELECT * FROM nowhere", DB_ENOTABLE);
	db_session_close(a);
	must(b, "UPDATE t SET n = n + 3");
	assert_n(b, 3);
	a = open_session(&fixture);
}

static void a_failed_block_can_be_aborted_while_it_is_idle(void **state)
{
	(void)state;
	must(a, "BEGIN");
	must(a, "SAVEPOINT s");
	must(a, "UPDATE t SET n = 1");
	must_fail(a, "SELECT * FROM nowhere", DB_ENOTABLE);
	assert_true(db_abort_session(a));
	must(b, "UPDATE t SET n = 5"); /* waits for the rollback, if need be */
	must_fail(a, "ROLLBACK TO s", DB_ECANCELLED);
	must_fail(a, "ROLLBACK TO s", DB_ENOSAVEPOINT);
	must(a, "ROLLBACK");
	assert_n(a, 5);
}

static void a_cancelled_read_can_be_rolled_back_to_a_savepoint(void **state)
{
	(void)state;
	struct pending pending;
	must(a, "BEGIN");
	must(a, "UPDATE t SET n = 1");
	must(a, "SAVEPOINT s");
	begin(&pending, a, ENDLESS);
	await_wait(&fixture, a, DB_WAIT_NONE);
	while (!db_cancel_session(a) && !is_done(&pending))
		;
	assert_int_equal(await(&pending), DB_ECANCELLED);
	must_fail(a, "SELECT 1", DB_EFAILED);
	must(a, "ROLLBACK TO s");
	must(a, "COMMIT");
	assert_n(b, 1);
}

static void a_syntax_error_leaves_it(void **state)
{
	(void)state;
	must(a, "BEGIN");
	must(a, "UPDATE t SET n = 1");
	must(a, "SAVEPOINT s");
	must_fail(a, "INSERT INTO t " ENDLESS ", 1", DB_ESYNTAX);
	must(a, "ROLLBACK TO s");
	must(a, "COMMIT");
	assert_n(b, 1);
}

/* Calls moment(i) for its i-th row, before it writes that. */
#define ENDLESS_INSERT                                                                             \
	"INSERT INTO t(n) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "         \
	"WHERE i < 10000000000) SELECT moment(i) FROM n"

/* It waits for a lock: SQLite knows nothing of it yet. */
static void a_write_that_is_cancelled_before_it_began_leaves_the_savepoint(void **state)
{
	(void)state;
	struct pending pending;
	must(b, "CREATE TABLE u(n)");
	must(b, "BEGIN");
	must(b, "LOCK TABLE u");
	must(a, "BEGIN");
	must(a, "UPDATE t SET n = 1");
	must(a, "SAVEPOINT s");
	begin(&pending, a, "INSERT INTO u VALUES (1)");
	await_waiters(&fixture, 1, 0);
	assert_true(db_cancel_session(a));
	assert_int_equal(await(&pending), DB_ECANCELLED);
	assert_int_equal(pending.result.transaction, 'E');
	must(b, "COMMIT");
	/* The block keeps what it has until its client reacts. */
	must_fail(impatient, "UPDATE t SET n = 7", DB_ELOCKTIMEOUT);
	must_fail(a, "SELECT 1", DB_EFAILED);
	must(a, "ROLLBACK TO s");
	assert_n(a, 1);
	must(a, "COMMIT");
	assert_n(b, 1);
}

/* SQLite rolls an interrupted write's whole transaction back, whether it has written a row or not.
 */
static void a_write_that_is_cancelled_while_it_runs_takes_the_whole_block_with_it(void **state)
{
	(void)state;
	static const int rows_written[] = { 0, 1, 1000 };
	for (int i = 0; i < 3; i++) {
		struct pending pending;
		must(a, "BEGIN");
		must(a, "UPDATE t SET n = 1");
		must(a, "SAVEPOINT s");
		expect_moment(rows_written[i] + 1);
		begin(&pending, a, ENDLESS_INSERT);
		await_moment();
		assert_true(db_cancel_session(a));
		pass_moment();
		assert_int_equal(await(&pending), DB_ECANCELLED);
		assert_int_equal(pending.result.transaction, 'E');
		must(b, "UPDATE t SET n = 7"); /* locks and gate are free */
		must_fail(a, "ROLLBACK TO s", DB_ENOSAVEPOINT);
		must_fail(a, "SELECT 1", DB_EFAILED);
		must(a, "COMMIT");
		assert_string_equal(last_result.tag, "ROLLBACK");
		assert_n(a, 7);
		assert_int_equal(ask(a, "SELECT count(*) FROM t"), 1);
	}
}

static void a_snapshot_is_kept_across_it(void **state)
{
	(void)state;
	must(a, "BEGIN ISOLATION LEVEL REPEATABLE READ");
	must(a, "SAVEPOINT s");
	assert_n(a, 0);
	must(b, "UPDATE t SET n = 7");
	must_fail(a, "UPDATE t SET n = 8", DB_ESERIALIZE);
	must(a, "ROLLBACK TO s");
	assert_n(a, 0);
	must(a, "COMMIT");
	assert_n(a, 7);
}

static void definitions_are_undone_too(void **state)
{
	(void)state;
	must(a, "BEGIN");
	must(a, "SAVEPOINT s");
	must(a, "CREATE TABLE made(x)");
	must(a, "INSERT INTO made VALUES (1)");
	must(a, "ROLLBACK TO s");
	must_fail(a, "SELECT * FROM made", DB_ENOTABLE);
	must(a, "ROLLBACK TO s");
	must(a, "CREATE TABLE made(x)");
	must(a, "COMMIT");
	assert_int_equal(ask(b, "SELECT count(*) FROM made"), 0);
}

static void they_belong_to_a_block_and_are_bounded(void **state)
{
	(void)state;
	static const char *const outside[] = { "SAVEPOINT s", "RELEASE s", "ROLLBACK TO s" };
	static const char *const wrong[] = { "SAVEPOINT", "SAVEPOINT s t", "ROLLBACK TO",
		"RELEASE SAVEPOINT ;" };
	for (int i = 0; i < 3; i++)
		must_fail(a, outside[i], DB_ENOBLOCK);
	for (int i = 0; i < 4; i++)
		must_fail(a, wrong[i], DB_ESYNTAX);
	must(a, "BEGIN");
	int set = 0;
	while (run_sql(a, "SAVEPOINT s") == 0 && set < 1000)
		set++;
	assert_int_equal(last_result.status, DB_ETOOBIG);
	assert_true(set >= 32 && set < 1000);
	must(a, "ROLLBACK TO s");
	must(a, "UPDATE t SET n = 1"); /* all of them at once in SQLite */
	must(a, "COMMIT");
	must(a, "BEGIN");
	must_fail(a, "ROLLBACK TO s", DB_ENOSAVEPOINT); /* none of the former block */
	must(a, "ROLLBACK");
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(only_what_came_after_it_is_undone),
		test(a_savepoint_before_the_first_write_counts_too),
		test(it_stays_after_rolling_back_to_it),
		test(the_newest_of_a_name_is_meant_and_case_is_folded),
		test(an_error_is_undone_by_rolling_back_to_it),
		test(locks_and_gate_stay_until_the_block_ends),
		test(a_failed_block_lets_go_when_it_ends),
		test(a_failed_block_can_be_aborted_while_it_is_idle),
		test(a_cancelled_read_can_be_rolled_back_to_a_savepoint),
		test(a_syntax_error_leaves_it),
		test(a_write_that_is_cancelled_before_it_began_leaves_the_savepoint),
		test(a_write_that_is_cancelled_while_it_runs_takes_the_whole_block_with_it),
		test(a_snapshot_is_kept_across_it),
		test(definitions_are_undone_too),
		test(they_belong_to_a_block_and_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
