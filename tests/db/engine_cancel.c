/* SPDX-License-Identifier: Apache-2.0 */
/* How a cancel reaches a statement wherever it is, and what becomes of it; the library is faked. */
#include "engine_fake.h"
#include "engine_fixture.h"

#include "demo-db/engine/session.h"

#include <stdio.h>
#include <string.h>

#define CLIENTS	    6
#define QUEUE_LIMIT 3

static struct fixture fixture;
static struct db_session *s[CLIENTS];
static struct pending p[CLIENTS];

static int set_up(void **state)
{
	(void)state;
	fake_reset();
	struct db_options options = { .workers = 2,
		.queue_limit = QUEUE_LIMIT,
		.pool_bytes = 4u << 20,
		.io = DB_IO_BUFFERED,
		.read_latency_ns = 1000,
		.deadlock_check_ns = 20000000 };
	fixture_open(&fixture, &options);
	for (int i = 0; i < CLIENTS; i++)
		s[i] = open_session(&fixture);
	must(s[0], "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER)");
	must(s[0], "INSERT INTO t VALUES (1, 0)");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < CLIENTS; i++)
		db_session_close(s[i]);
	fixture_close(&fixture);
	assert_int_equal(fake_misuse(), 0);
	assert_int_equal(fake_live_tasks(), 0);
	return 0;
}

static uint64_t key(int client)
{
	return db_session_number(s[client]);
}

static bool cancel_culprit(int client)
{
	return fake_deliver(key(client), CANCEL_REASON_CULPRIT);
}

static void hold_table(void)
{
	must(s[0], "BEGIN");
	must(s[0], "LOCK TABLE t");
}

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
		   "WHERE i < 60000) SELECT i, i FROM n");
	begin(&p[1], s[1], "DELETE FROM t");
	while (!db_cancel_session(s[1]) && !is_done(&p[1]))
		;
	int rc = await(&p[1]);
	assert_int_equal(rc, DB_ECANCELLED);
	assert_int_equal(ask(s[0], "SELECT count(*) FROM t"), 60000);
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

static void a_culprit_lets_go_of_everything_whatever_savepoints_it_has(void **state)
{
	(void)state;
	must(s[1], "BEGIN");
	must(s[1], "SAVEPOINT a");
	must(s[1], "UPDATE t SET n = 5");
	begin(&p[1], s[1], ENDLESS);
	await_wait(&fixture, s[1], DB_WAIT_NONE);
	assert_true(cancel_culprit(1));
	assert_int_equal(await(&p[1]), DB_ECANCELLED);
	must(s[2], "UPDATE t SET n = 6");
	must_fail(s[1], "ROLLBACK TO a", DB_ENOSAVEPOINT);
	must(s[1], "ROLLBACK");
	assert_int_equal(ask(s[2], "SELECT min(n) FROM t"), 6);
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

/* The statement saw its request and went aside before the action had the fence. */
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
	int rows;
};

static int count_row(void *arg, const struct db_row *row)
{
	(void)row;
	((struct counted *)arg)->rows++;
	return 0;
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
	await_wait(&fixture, s[1], DB_WAIT_NONE);
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

/* The end of a task is a completion: a flood of refusals would look like good throughput. */
static void a_refused_statement_is_no_task(void **state)
{
	(void)state;
	const struct db_request request = { .struct_size = sizeof(request), .sql = "SELECT 1" };
	for (int i = 0; i < 2; i++) {
		begin(&p[i], s[i], ENDLESS);
		await_wait(&fixture, s[i], DB_WAIT_NONE);
	}
	for (int i = 2; i < 2 + QUEUE_LIMIT; i++)
		begin(&p[i], s[i], "SELECT 1");
	uint64_t created = fake_created();
	assert_int_equal(db_submit(s[5], &request), DB_EQUEUE);
	assert_int_equal(db_execute(s[5], &request, &last_result), DB_EQUEUE);
	assert_int_equal(last_result.transaction, 'I');
	assert_int_equal(fake_created(), created);
	for (int i = 0; i < 2; i++) {
		db_cancel_session(s[i]);
		assert_int_equal(await(&p[i]), DB_ECANCELLED);
	}
	for (int i = 2; i < 2 + QUEUE_LIMIT; i++)
		assert_int_equal(await(&p[i]), DB_OK);
	must(s[5], "SELECT 1");
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

/* ---- What is shown ----------------------------------------------------------------------------
 */

static struct db_request look_up_by_key(void)
{
	static const struct db_value one = { .type = DB_INTEGER, .integer = 1 };
	struct db_request request = {
		.struct_size = sizeof(request), .parameters = &one, .parameter_count = 1
	};
	assert_int_equal(db_prepare(fixture.engine, "SELECT n FROM t WHERE id = ?1",
				 &request.statement, NULL),
		DB_OK);
	return request;
}

struct seen {
	uint32_t tasks, slots;
};

static int note_seen(void *arg, const struct db_row *row)
{
	struct seen *seen = arg;
	(void)row;
	seen->tasks = fake_live_tasks();
	seen->slots = fake_holds(key(1), CANCEL_QUEUE);
	return 0;
}

static struct seen run_brief(void)
{
	struct seen seen = { 99, 99 };
	struct db_request request = look_up_by_key();
	request.on_row = note_seen;
	request.arg = &seen;
	assert_int_equal(db_execute(s[1], &request, &last_result), DB_OK);
	return seen;
}

static void a_brief_statement_is_counted_and_is_no_task(void **state)
{
	(void)state;
	uint64_t before = fake_counted();
	assert_int_equal(run_brief().tasks, 0);
	assert_int_equal(fake_counted(), before + 1);
}

/* Somebody may have evicted that page, and the stall is to be charged to them. */
static void a_brief_statement_that_misses_a_page_becomes_a_task(void **state)
{
	(void)state;
	assert_int_equal(db_checkpoint(fixture.engine, DB_CHECKPOINT_TRUNCATE), DB_OK);
	uint64_t before = fake_counted();
	struct seen seen = run_brief(); /* the page is in the file, and not in the pool */
	assert_int_equal(seen.tasks, 1);
	assert_int_equal(seen.slots, 1);
	assert_int_equal(fake_counted(), before);
	assert_int_equal(run_brief().tasks, 0);
}

static void a_brief_change_is_no_task_either(void **state)
{
	(void)state;
	static const struct db_value one = { .type = DB_INTEGER, .integer = 1 };
	struct db_request request = {
		.struct_size = sizeof(request), .parameters = &one, .parameter_count = 1
	};
	assert_int_equal(db_prepare(fixture.engine, "UPDATE t SET n = n + 1 WHERE id = ?1",
				 &request.statement, NULL),
		DB_OK);
	uint64_t blocks = fake_blocks(), before = fake_counted();
	assert_int_equal(db_execute(s[1], &request, &last_result), DB_OK);
	assert_int_equal(fake_blocks(), blocks);
	assert_int_equal(fake_counted(), before + 1);
	assert_int_equal(last_result.changes, 1);
}

/* It tells nothing while it takes microseconds; but a waiter must be seen with all it holds, or
 * those who wait for its slot would have nobody to blame. */
static void a_brief_statement_shows_what_it_holds_once_it_waits(void **state)
{
	(void)state;
	hold_table();
	begin_request(&p[1], s[1], look_up_by_key());
	await_waiters(&fixture, 1, 0);
	assert_int_equal(fake_holds(key(1), CANCEL_QUEUE), 1);
	assert_int_equal(fake_holds(key(1), CANCEL_LOCK), 1);
	assert_int_equal(fake_holds(key(0), CANCEL_LOCK), 2);
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[1]), DB_OK);
}

static void *execute_look_up(void *arg)
{
	(void)arg;
	struct db_request request = look_up_by_key();
	struct db_result result;
	db_execute(s[1], &request, &result);
	return NULL;
}

static void a_brief_statement_on_its_own_thread_shows_them_too(void **state)
{
	(void)state;
	pthread_t thread;
	hold_table();
	assert_int_equal(pthread_create(&thread, NULL, execute_look_up, NULL), 0);
	await_waiters(&fixture, 1, 0);
	assert_int_equal(fake_holds(key(1), CANCEL_QUEUE), 1);
	assert_int_equal(fake_holds(key(1), CANCEL_LOCK), 1);
	must(s[0], "COMMIT");
	pthread_join(thread, NULL);
}

static int note_holds(void *arg, const struct db_row *row)
{
	(void)row;
	*(uint32_t *)arg = fake_holds(key(1), CANCEL_LOCK);
	return 0;
}

/* Registered when a key served it; by the time it runs the table has none. */
static void a_statement_that_is_brief_no_more_shows_what_it_holds(void **state)
{
	(void)state;
	uint32_t holds = 99;
	struct db_request request = look_up_by_key();
	request.on_row = note_holds;
	request.arg = &holds;
	assert_int_equal(db_execute(s[1], &request, &last_result), DB_OK);
	assert_int_equal(holds, 0);
	must(s[0], "DROP TABLE t");
	must(s[0], "CREATE TABLE t(id INTEGER, n INTEGER)");
	must(s[0], "INSERT INTO t VALUES (1, 1)");
	assert_int_equal(db_execute(s[1], &request, &last_result), DB_OK); /* SQLite notices */
	assert_int_equal(db_execute(s[1], &request, &last_result), DB_OK); /* and we after it */
	assert_int_equal(last_result.rows, 1);
	assert_int_equal(holds, 2); /* global lock and table */
}

/* ---- Tasks -------------------------------------------------------------------------------------
 */

static void one_task_lives_as_long_as_its_transaction(void **state)
{
	(void)state;
	must(s[1], "SELECT 1");
	assert_int_equal(fake_live_tasks(), 0);
	must(s[1], "BEGIN");
	must(s[1], "SELECT * FROM t");
	assert_int_equal(fake_live_tasks(), 1);
	must(s[2], "SELECT 1");
	must(s[1], "COMMIT");
	assert_int_equal(fake_live_tasks(), 0);
	must(s[1], "BEGIN");
	must_fail(s[1], "SELEC", DB_ESYNTAX);
	assert_int_equal(fake_live_tasks(), 0);
	must(s[1], "ROLLBACK");
}

static void a_session_can_be_one_task(void **state)
{
	(void)state;
	const struct db_session_options options = {
		.struct_size = sizeof(options), .task_unit = DB_TASK_SESSION, .key = 4711
	};
	struct db_session *session;
	assert_int_equal(db_session_open(fixture.engine, &options, &session), DB_OK);
	must(session, "SELECT 1");
	must(session, "SELECT 2");
	assert_int_equal(fake_live_tasks(), 1);
	begin(&p[1], session, ENDLESS);
	await_wait(&fixture, session, DB_WAIT_NONE);
	assert_true(fake_deliver(4711, CANCEL_REASON_CULPRIT));
	fake_answer(CANCEL_DROP);
	db_cancel_session(session);
	assert_int_equal(await(&p[1]), DB_ECANCELLED);
	must(session, "SELECT 3");
	db_session_close(session);
	assert_int_equal(fake_live_tasks(), 0);
}

#define SOME_WORK                                                                                  \
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) "         \
	"SELECT count(*) FROM n"

/* Neither one that came while it was thinking, nor one that ended the statement before. */
static void a_cancel_of_a_session_reaches_no_later_statement(void **state)
{
	(void)state;
	const struct db_session_options options = {
		.struct_size = sizeof(options), .task_unit = DB_TASK_SESSION, .key = 4711
	};
	struct db_session *session;
	assert_int_equal(db_session_open(fixture.engine, &options, &session), DB_OK);
	must(session, "SELECT 1");
	assert_true(fake_deliver(4711, CANCEL_REASON_CULPRIT));
	must(session, SOME_WORK);
	begin(&p[1], session, ENDLESS);
	await_wait(&fixture, session, DB_WAIT_NONE);
	assert_true(fake_deliver(4711, CANCEL_REASON_MANUAL));
	assert_int_equal(await(&p[1]), DB_ECANCELLED);
	must(session, SOME_WORK);
	db_session_close(session);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_running_statement_ends_with_57014),
		TEST(a_waiter_for_a_table_lock_wakes_on_cancel),
		TEST(a_waiter_in_the_gate_wakes_on_cancel),
		TEST(a_waiter_for_the_global_lock_wakes_on_cancel),
		TEST(a_statement_in_the_queue_ends_though_no_slot_is_free),
		TEST(a_cancel_between_statements_hits_nothing),
		TEST(an_unfiltered_delete_can_be_cancelled),
		TEST(a_block_is_rolled_back_and_not_run_again),
		TEST(a_culprit_lets_go_of_everything_whatever_savepoints_it_has),
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
		TEST(a_refused_statement_is_no_task),
		TEST(an_exempt_statement_and_a_view_cannot_be_cancelled),
		TEST(a_brief_statement_is_counted_and_is_no_task),
		TEST(a_brief_statement_that_misses_a_page_becomes_a_task),
		TEST(a_brief_change_is_no_task_either),
		TEST(a_brief_statement_shows_what_it_holds_once_it_waits),
		TEST(a_brief_statement_on_its_own_thread_shows_them_too),
		TEST(a_statement_that_is_brief_no_more_shows_what_it_holds),
		TEST(one_task_lives_as_long_as_its_transaction),
		TEST(a_session_can_be_one_task),
		TEST(a_cancel_of_a_session_reaches_no_later_statement),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
