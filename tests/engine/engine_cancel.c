/* SPDX-License-Identifier: Apache-2.0 */
/* How a cancel reaches a statement wherever it is, and what becomes of it; the library is faked. */
#include "engine_clients.h"

#include <stdio.h>
#include <string.h>

/* ---- The client's cancel ----------------------------------------------------------------------
 */

static void a_running_statement_ends_with_57014(void **state)
{
	(void)state;
	begin(&p[1], s[1], ENDLESS);
	await_wait(&fixture, s[1], DB_WAIT_NONE);
	assert_true(db_cancel_session(s[1]));
	assert_int_equal(await(&p[1]), DB_ECANCELLED);
	assert_string_equal(p[1].result.sqlstate, "57014");
	assert_true(p[1].result.cancelled);
	assert_false(p[1].result.by_library);
}

static void a_waiter_for_a_table_lock_wakes_on_cancel(void **state)
{
	(void)state;
	hold_table();
	begin(&p[1], s[1], "SELECT * FROM t");
	begin(&p[2], s[2], "SELECT * FROM t");
	await_waiters(&fixture, 2, 0);
	assert_true(db_cancel_session(s[1]));
	assert_int_equal(await(&p[1]), DB_ECANCELLED);
	assert_false(is_done(&p[2]));
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[2]), DB_OK);
}

static void a_waiter_in_the_gate_wakes_on_cancel(void **state)
{
	(void)state;
	must(s[0], "CREATE TABLE u(n)");
	must(s[0], "BEGIN");
	must(s[0], "UPDATE t SET n = 1");
	begin(&p[1], s[1], "INSERT INTO u VALUES (1)");
	await_waiters(&fixture, 0, 1);
	assert_true(db_cancel_session(s[1]));
	assert_int_equal(await(&p[1]), DB_ECANCELLED);
	must(s[0], "COMMIT");
	must(s[1], "INSERT INTO u VALUES (2)");
}

static void a_waiter_for_the_global_lock_wakes_on_cancel(void **state)
{
	(void)state;
	char path[160];
	snprintf(path, sizeof(path), "%s/copy.db", fixture.dir);
	const struct db_backup_options backup = { .struct_size = sizeof(backup), .path = path };
	must(s[0], "BEGIN");
	must(s[0], "SELECT * FROM t");
	assert_int_equal(db_backup(fixture.engine, &backup), DB_OK);
	await_waiters(&fixture, 1, 0);
	begin(&p[1], s[1], "SELECT * FROM t");
	await_wait(&fixture, s[1], DB_WAIT_GLOBAL);
	assert_true(db_cancel_session(s[1]));
	assert_int_equal(await(&p[1]), DB_ECANCELLED);
	assert_true(db_cancel_backup(fixture.engine)); /* it waits too */
	must(s[0], "COMMIT");
	must(s[1], "SELECT * FROM t");
}

/* A backup that waits for the global lock. */
#define BACKUP_KEY 77

static bool has_ended(void *arg)
{
	struct db_stats stats;
	(void)arg;
	db_stats(fixture.engine, &stats);
	return stats.backups + stats.backup_failures > 0;
}

static void begin_waiting_backup(void)
{
	char path[160];
	snprintf(path, sizeof(path), "%s/copy.db", fixture.dir);
	const struct db_backup_options backup = {
		.struct_size = sizeof(backup), .path = path, .key = BACKUP_KEY
	};
	must(s[0], "BEGIN");
	must(s[0], "SELECT * FROM t");
	assert_int_equal(db_backup(fixture.engine, &backup), DB_OK);
	await_waiters(&fixture, 1, 0);
}

static void a_cancelled_backup_waits_without_a_lock_and_is_made_again(void **state)
{
	struct db_stats stats;
	(void)state;
	begin_waiting_backup();
	fake_answer(CANCEL_WAIT);
	assert_true(fake_deliver(BACKUP_KEY, CANCEL_REASON_CULPRIT));
	await_waiters(&fixture, 0, 0);
	must(s[1], "SELECT * FROM t"); /* nobody waits behind it */
	fake_answer(CANCEL_RERUN);
	await_waiters(&fixture, 1, 0);
	must(s[0], "COMMIT");
	await_true(has_ended, NULL);
	db_stats(fixture.engine, &stats);
	assert_int_equal(stats.backups, 1);
}

static void the_host_can_cancel_a_backup_that_waits_to_be_made_again(void **state)
{
	struct db_stats stats;
	(void)state;
	begin_waiting_backup();
	fake_answer(CANCEL_WAIT);
	assert_true(fake_deliver(BACKUP_KEY, CANCEL_REASON_CULPRIT));
	await_waiters(&fixture, 0, 0);
	assert_true(db_cancel_backup(fixture.engine));
	await_true(has_ended, NULL);
	must(s[0], "COMMIT");
	db_stats(fixture.engine, &stats);
	assert_int_equal(stats.backups, 0);
	assert_int_equal(stats.backup_failures, 1);
}

static void a_statement_in_the_queue_ends_though_no_slot_is_free(void **state)
{
	(void)state;
	begin(&p[1], s[1], ENDLESS);
	begin(&p[2], s[2], ENDLESS);
	begin(&p[3], s[3], "SELECT 1");
	await_queued(&fixture, 1);
	assert_true(db_cancel_session(s[3]));
	assert_int_equal(await(&p[3]), DB_ECANCELLED);
	db_cancel_session(s[1]);
	db_cancel_session(s[2]);
	assert_int_equal(await(&p[1]), DB_ECANCELLED);
	assert_int_equal(await(&p[2]), DB_ECANCELLED);
}

static void a_cancel_between_statements_hits_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++) {
		assert_false(db_cancel_session(s[1]));
		must(s[1], "SELECT count(*) FROM t");
	}
	must(s[1], "BEGIN");
	must(s[1], "UPDATE t SET n = 1");
	assert_false(db_cancel_session(s[1]));
	must(s[1], "COMMIT");
	assert_int_equal(ask(s[1], "SELECT n FROM t"), 1);
}

static void an_unfiltered_delete_can_be_cancelled(void **state)
{
	(void)state;
	must(s[0], "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n "
		   "WHERE i < 6000) SELECT i, i FROM n");
	must(s[0], "CREATE INDEX stop ON t(moment(id))"); /* called for each row that goes */
	expect_moment(500);
	begin(&p[1], s[1], "DELETE FROM t");
	await_moment();
	assert_true(db_cancel_session(s[1]));
	pass_moment();
	assert_int_equal(await(&p[1]), DB_ECANCELLED);
	assert_int_equal(ask(s[0], "SELECT count(*) FROM t"), 6000);
}

/* ---- The library's cancel ---------------------------------------------------------------------
 */

static void a_block_is_rolled_back_and_not_run_again(void **state)
{
	(void)state;
	must(s[1], "BEGIN");
	must(s[1], "UPDATE t SET n = 5");
	begin(&p[1], s[1], ENDLESS);
	await_wait(&fixture, s[1], DB_WAIT_NONE);
	assert_true(cancel_culprit(1));
	assert_int_equal(await(&p[1]), DB_ECANCELLED);
	assert_true(p[1].result.by_library);
	assert_int_equal(p[1].result.transaction, 'E');
	assert_int_equal(p[1].result.reruns, 0);
	assert_int_equal(fake_acknowledged(), 1);
	assert_int_equal(ask(s[2], "SELECT n FROM t"), 0);
	must(s[1], "ROLLBACK");
}

/* Where the last statement of a block is when it is cancelled. */
struct place {
	const char *sql;
	bool waits; /* for a table that another client has locked; else it stands at moment(2) */
};

#define ROWS "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000000)"

static const struct place places[] = {
	{ "INSERT INTO u VALUES (1)", true },				/* before its first write */
	{ "INSERT INTO t(n) " ROWS " SELECT moment(i) FROM n", false }, /* after it */
	{ ROWS " SELECT count(moment(i)) FROM n", false },
};

static void begin_at(const struct place *place, const char *savepoint)
{
	must(s[0], "BEGIN");
	must(s[0], "LOCK TABLE u");
	must(s[1], "BEGIN");
	must(s[1], savepoint);
	must(s[1], "UPDATE t SET n = 5");
	expect_moment(2);
	begin(&p[1], s[1], place->sql);
	if (place->waits)
		await_waiters(&fixture, 1, 0);
	else
		await_moment();
}

/* PostgreSQL would keep the locks of a block with a savepoint until its client reacts: here others
 * wait for them. */
static void a_culprit_lets_go_of_everything_wherever_it_is(void **state)
{
	(void)state;
	static const char *const savepoints[] = { "SAVEPOINT a", "SELECT 1" };
	static const enum cancel_reason reasons[] = { CANCEL_REASON_CULPRIT, CANCEL_REASON_MANUAL };
	must(s[0], "CREATE TABLE u(n)");
	for (int i = 0; i < 12; i++) {
		begin_at(&places[i % 3], savepoints[i / 3 % 2]);
		assert_true(fake_deliver(key(1), reasons[i / 6]));
		pass_moment();
		assert_int_equal(await(&p[1]), DB_ECANCELLED);
		assert_int_equal(p[1].result.transaction, 'E');
		must(s[2], "UPDATE t SET n = n + 1");
		must_fail(s[1], "ROLLBACK TO a", DB_ENOSAVEPOINT);
		must(s[1], "ROLLBACK");
		must(s[0], "COMMIT");
		assert_int_equal(ask(s[2], "SELECT sum(n) FROM t"), i + 1);
	}
}

static bool nothing_waits(void *arg)
{
	(void)arg;
	return is_done(&p[2]);
}

static void an_idle_block_is_rolled_back_at_once(void **state)
{
	(void)state;
	must(s[1], "BEGIN");
	must(s[1], "UPDATE t SET n = 5");
	must(s[1], "LOCK TABLE t");
	begin(&p[2], s[2], "SELECT * FROM t");
	await_waiters(&fixture, 1, 0);
	assert_true(cancel_culprit(1));
	await_true(nothing_waits, NULL); /* without a word from the client */
	assert_int_equal(await(&p[2]), DB_OK);
	must_fail(s[1], "UPDATE t SET n = 6", DB_ECANCELLED);
	assert_true(last_result.by_library);
	must_fail(s[1], "UPDATE t SET n = 6", DB_EFAILED);
	must(s[1], "COMMIT");
	assert_string_equal(last_result.tag, "ROLLBACK");
	assert_int_equal(ask(s[2], "SELECT n FROM t"), 0);
}

/* A COMMIT that succeeded as ROLLBACK would be taken for a commit by a client that was never told
 * of an error. */
static void commit_of_a_block_that_was_rolled_back_while_idle_is_an_error(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		must(s[1], "BEGIN");
		must(s[1], "UPDATE t SET n = 5");
		assert_true(cancel_culprit(1));
		must_fail(s[1], "COMMIT", DB_ECANCELLED);
		assert_int_equal(last_result.transaction, 'I');
	}
	assert_int_equal(ask(s[2], "SELECT n FROM t"), 0);
}

static void a_statement_that_meets_the_rollback_of_its_block_gets_an_error(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		must(s[1], "BEGIN");
		must(s[1], "UPDATE t SET n = 5");
		assert_true(cancel_culprit(1));
		must_fail(s[1], "UPDATE t SET n = 6", DB_ECANCELLED);
		must(s[1], "ROLLBACK");
	}
	assert_int_equal(ask(s[2], "SELECT n FROM t"), 0);
}

static void the_operator_can_abort_an_idle_block(void **state)
{
	(void)state;
	must(s[1], "BEGIN");
	must(s[1], "LOCK TABLE t");
	assert_true(db_abort_session(s[1]));
	must(s[2], "SELECT * FROM t");
	must_fail(s[1], "SELECT 1", DB_ECANCELLED);
	must_fail(s[1], "SELECT 1", DB_EFAILED);
	must(s[1], "ROLLBACK");
	assert_false(db_abort_session(s[1]));
}

static void closing_a_session_waits_for_the_rollback_of_its_block(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct db_session *short_lived = open_session(&fixture);
		must(short_lived, "BEGIN");
		must(short_lived, "UPDATE t SET n = 5");
		fake_deliver(db_session_number(short_lived), CANCEL_REASON_CULPRIT);
		db_session_close(short_lived);
	}
	assert_int_equal(ask(s[2], "SELECT n FROM t"), 0);
}

static void deliver_to_client_1(void *arg)
{
	(void)arg;
	cancel_culprit(1);
}

static void a_cancel_that_comes_just_before_the_commit_wins(void **state)
{
	(void)state;
	fake_answer(CANCEL_DROP);
	fake_on_block(deliver_to_client_1, NULL);
	must_fail(s[1], "UPDATE t SET n = 5", DB_ECANCELLED);
	assert_true(last_result.by_library);
	must(s[1], "BEGIN");
	must(s[1], "UPDATE t SET n = 6");
	must_fail(s[1], "COMMIT", DB_ECANCELLED);
	assert_true(last_result.by_library);
	assert_int_equal(last_result.transaction, 'I');
	must(s[1], "BEGIN ISOLATION LEVEL REPEATABLE READ");
	must(s[1], "SELECT n FROM t");
	must(s[1], "UPDATE t SET n = 7");
	must_fail(s[1], "COMMIT", DB_ECANCELLED);
	fake_on_block(NULL, NULL);
	assert_int_equal(ask(s[2], "SELECT n FROM t"), 0);
}

static void a_commit_is_a_blocked_phase(void **state)
{
	(void)state;
	uint64_t before = fake_blocks();
	must(s[1], "UPDATE t SET n = 5");
	assert_int_equal(fake_blocks(), before + 1);
	must(s[1], "SELECT * FROM t");
	assert_int_equal(fake_blocks(), before + 1);
	assert_int_equal(db_checkpoint(fixture.engine, DB_CHECKPOINT_PASSIVE), DB_OK);
	assert_int_equal(fake_blocks(), before + 2);
	struct db_stats stats;
	db_stats(fixture.engine, &stats);
	uint64_t commits = stats.commits;
	must(s[1], "BEGIN ISOLATION LEVEL REPEATABLE READ");
	must(s[1], "SELECT n FROM t");
	must(s[1], "COMMIT"); /* of a read: nothing to protect */
	assert_int_equal(fake_blocks(), before + 2);
	must(s[1], "BEGIN ISOLATION LEVEL REPEATABLE READ");
	must(s[1], "SELECT n FROM t");
	must(s[1], "UPDATE t SET n = 6");
	must(s[1], "COMMIT");
	assert_int_equal(fake_blocks(), before + 3);
	db_stats(fixture.engine, &stats);
	assert_int_equal(stats.commits, commits + 1);
}

/* ---- Reruns -----------------------------------------------------------------------------------
 */

static void a_cancelled_statement_waits_without_a_worker_and_runs_again(void **state)
{
	(void)state;
	hold_table();
	fake_answer(CANCEL_WAIT);
	begin(&p[1], s[1], "UPDATE t SET n = n + 1");
	await_waiters(&fixture, 1, 0);
	assert_true(cancel_culprit(1));
	await_wait(&fixture, s[1], DB_WAIT_RERUN);
	struct db_stats stats;
	db_stats(fixture.engine, &stats);
	assert_int_equal(stats.slots_used, 0);
	assert_int_equal(stats.waiting_rerun, 1);
	assert_int_equal(stats.lock_waiters, 0);
	fake_answer(CANCEL_RERUN);
	await_wait(&fixture, s[1], DB_WAIT_TABLE);
	assert_false(cancel_culprit(1)); /* never twice */
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[1]), DB_OK);
	assert_int_equal(p[1].result.reruns, 1);
	assert_true(p[1].result.rerun_wait_ns > 0);
	assert_int_equal(ask(s[2], "SELECT n FROM t"), 1);
}

static int headers; /* of the pending statement; awaited before it is read */

static int count_header(void *arg, const struct db_row *row)
{
	(void)arg;
	(void)row;
	headers++;
	return 0;
}

/* Its first attempt ended before it had told anything. */
static void a_rerun_tells_its_columns_once(void **state)
{
	(void)state;
	headers = 0;
	hold_table();
	begin_request(&p[1], s[1],
		(struct db_request){ .struct_size = sizeof(struct db_request),
			.sql = "SELECT id FROM t",
			.on_columns = count_header });
	await_waiters(&fixture, 1, 0);
	assert_true(cancel_culprit(1));
	await_wait(&fixture, s[1], DB_WAIT_TABLE);
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[1]), DB_OK);
	assert_int_equal(p[1].result.reruns, 1);
	assert_int_equal(headers, 1);
}

/* The statement saw its request and went aside before the action had the mutex. */
static void an_action_that_comes_late_leaves_the_rerun_alone(void **state)
{
	(void)state;
	hold_table();
	fake_answer(CANCEL_WAIT);
	begin(&p[1], s[1], "UPDATE t SET n = n + 1");
	await_waiters(&fixture, 1, 0);
	assert_true(cancel_culprit(1));
	await_wait(&fixture, s[1], DB_WAIT_RERUN);
	assert_false(session_cancel(s[1], BY_LIBRARY));
	must(s[0], "COMMIT");
	fake_answer(CANCEL_RERUN);
	assert_int_equal(await(&p[1]), DB_OK);
	assert_int_equal(p[1].result.reruns, 1);
}

static void a_rerun_runs_gently(void **state)
{
	(void)state;
	begin(&p[1], s[1], ENDLESS);
	await_wait(&fixture, s[1], DB_WAIT_NONE);
	assert_true(cancel_culprit(1));
	struct db_activity activity = { 0 };
	while (!activity.gentle)
		assert_int_equal(db_activities(fixture.engine, &activity, 1), 1);
	db_cancel_session(s[1]);
	assert_int_equal(await(&p[1]), DB_ECANCELLED);
	assert_int_equal(p[1].result.reruns, 1);
	assert_false(p[1].result.by_library);
}

static void db_execute_returns_after_the_rerun(void **state)
{
	(void)state;
	fake_on_block(deliver_to_client_1, NULL);
	must(s[1], "UPDATE t SET n = n + 1");
	assert_int_equal(last_result.reruns, 1);
	fake_on_block(NULL, NULL);
	assert_int_equal(ask(s[2], "SELECT n FROM t"), 1);
}

static void a_dropped_statement_ends_with_57014(void **state)
{
	(void)state;
	begin(&p[1], s[1], ENDLESS);
	await_wait(&fixture, s[1], DB_WAIT_NONE);
	fake_answer(CANCEL_WAIT);
	assert_true(cancel_culprit(1));
	await_wait(&fixture, s[1], DB_WAIT_RERUN);
	fake_answer(CANCEL_DROP);
	assert_int_equal(await(&p[1]), DB_ECANCELLED);
	assert_true(p[1].result.by_library);
	must(s[1], "SELECT 1");
}

static void the_client_can_cancel_a_statement_that_waits_for_its_rerun(void **state)
{
	(void)state;
	begin(&p[1], s[1], ENDLESS);
	await_wait(&fixture, s[1], DB_WAIT_NONE);
	fake_answer(CANCEL_WAIT);
	assert_true(cancel_culprit(1));
	await_wait(&fixture, s[1], DB_WAIT_RERUN);
	assert_true(db_cancel_session(s[1]));
	assert_int_equal(await(&p[1]), DB_ECANCELLED);
	assert_false(p[1].result.by_library);
}

struct counted {
	struct pending pending;
	_Atomic int rows;
};

static int count_row(void *arg, const struct db_row *row)
{
	(void)row;
	((struct counted *)arg)->rows++;
	return 0;
}

static bool has_sent_rows(void *arg)
{
	return ((struct counted *)arg)->rows > 0;
}

static void what_has_sent_rows_is_not_run_again(void **state)
{
	(void)state;
	struct counted counted = { 0 };
	begin_request(&counted.pending, s[1],
		(struct db_request){
			.sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
			       "FROM n) SELECT i FROM n",
			.on_row = count_row });
	await_true(has_sent_rows, &counted);
	assert_true(cancel_culprit(1));
	assert_int_equal(await(&counted.pending), DB_ECANCELLED);
	assert_int_equal(counted.pending.result.reruns, 0);
}

static void a_statement_can_ask_not_to_be_run_again(void **state)
{
	(void)state;
	begin_request(&p[1], s[1], (struct db_request){ .sql = ENDLESS, .flags = DB_NO_RERUN });
	await_wait(&fixture, s[1], DB_WAIT_NONE);
	assert_true(cancel_culprit(1));
	assert_int_equal(await(&p[1]), DB_ECANCELLED);
	assert_int_equal(p[1].result.reruns, 0);
}

static void an_exempt_statement_and_a_view_cannot_be_cancelled(void **state)
{
	(void)state;
	static const uint32_t flags[] = { DB_EXEMPT, DB_VIEW };
	for (int i = 0; i < 2; i++) {
		begin_request(
			&p[1], s[1], (struct db_request){ .sql = ENDLESS, .flags = flags[i] });
		await_wait(&fixture, s[1], DB_WAIT_NONE);
		assert_false(cancel_culprit(1));
		assert_true(db_cancel_session(s[1]));
		assert_int_equal(await(&p[1]), DB_ECANCELLED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_running_statement_ends_with_57014),
		TEST(a_waiter_for_a_table_lock_wakes_on_cancel),
		TEST(a_waiter_in_the_gate_wakes_on_cancel),
		TEST(a_waiter_for_the_global_lock_wakes_on_cancel),
		TEST(a_cancelled_backup_waits_without_a_lock_and_is_made_again),
		TEST(the_host_can_cancel_a_backup_that_waits_to_be_made_again),
		TEST(a_statement_in_the_queue_ends_though_no_slot_is_free),
		TEST(a_cancel_between_statements_hits_nothing),
		TEST(an_unfiltered_delete_can_be_cancelled),
		TEST(a_block_is_rolled_back_and_not_run_again),
		TEST(a_culprit_lets_go_of_everything_wherever_it_is),
		TEST(an_idle_block_is_rolled_back_at_once),
		TEST(commit_of_a_block_that_was_rolled_back_while_idle_is_an_error),
		TEST(a_statement_that_meets_the_rollback_of_its_block_gets_an_error),
		TEST(the_operator_can_abort_an_idle_block),
		TEST(closing_a_session_waits_for_the_rollback_of_its_block),
		TEST(a_cancel_that_comes_just_before_the_commit_wins),
		TEST(a_commit_is_a_blocked_phase),
		TEST(a_cancelled_statement_waits_without_a_worker_and_runs_again),
		TEST(a_rerun_tells_its_columns_once),
		TEST(an_action_that_comes_late_leaves_the_rerun_alone),
		TEST(a_rerun_runs_gently),
		TEST(db_execute_returns_after_the_rerun),
		TEST(a_dropped_statement_ends_with_57014),
		TEST(the_client_can_cancel_a_statement_that_waits_for_its_rerun),
		TEST(what_has_sent_rows_is_not_run_again),
		TEST(a_statement_can_ask_not_to_be_run_again),
		TEST(an_exempt_statement_and_a_view_cannot_be_cancelled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
