/* SPDX-License-Identifier: Apache-2.0 */
/* What the library is told of a statement: when it becomes a task, what it shows; the library is
 * faked. */
#include "engine_clients.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_refused_statement_is_no_task),
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
