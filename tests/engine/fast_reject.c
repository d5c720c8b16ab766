/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's early answer, DB_EQUEUE, beside a full query: it needs no worker, and what it costs
 * is printed (docs/questions.md, exercise 6).
 */
#include "engine_fixture.h"

#include <stdio.h>

#define ROUNDS 20000

static struct fixture fixture;

/* Nanoseconds a call of `what` takes, ROUNDS of them. */
static double cost_ns(struct db_session *s, int (*what)(struct db_session *s))
{
	uint64_t start_ns = cancel_now_ns();
	for (int i = 0; i < ROUNDS; i++)
		assert_int_equal(what(s), 0);
	return (double)(cancel_now_ns() - start_ns) / ROUNDS;
}

static struct db_statement point;

static int refused(struct db_session *s)
{
	struct db_request request = { .struct_size = sizeof request, .statement = point };
	return db_submit(s, &request) == DB_EQUEUE ? 0 : -1;
}

static int answered(struct db_session *s)
{
	struct db_request request = { .struct_size = sizeof request, .statement = point };
	struct db_result result;
	return db_execute(s, &request, &result);
}

static void a_full_queue_refuses_without_a_worker(void **state)
{
	(void)state;
	struct db_options options = { .workers = 1, .queue_limit = 1, .pool_bytes = 4u << 20 };
	struct db_session *busy, *queued, *late;
	struct pending running, waiting;
	struct db_stats before, after;
	fixture_open(&fixture, &options);
	busy = open_session(&fixture);
	queued = open_session(&fixture);
	late = open_session(&fixture);
	must(busy, "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER)");
	must(busy, "INSERT INTO t VALUES (1, 0)");
	assert_int_equal(
		db_prepare(fixture.engine, "SELECT n FROM t WHERE id = 1", &point, NULL), 0);
	double query_ns = cost_ns(late, answered);
	begin(&running, busy, ENDLESS);
	await_wait(&fixture, busy, DB_WAIT_NONE);
	begin(&waiting, queued, "SELECT * FROM t");
	await_wait(&fixture, queued, DB_WAIT_QUEUE);
	db_stats(fixture.engine, &before);
	double reject_ns = cost_ns(late, refused);
	db_stats(fixture.engine, &after);
	assert_int_equal(after.statements, before.statements);
	assert_int_equal(after.queued, 1);
	print_message("reject %.0f ns, point query %.0f ns, ratio %.0f\n", reject_ns, query_ns,
		query_ns / reject_ns);
	assert_true(db_cancel_session(busy));
	assert_int_equal(await(&running), DB_ECANCELLED);
	assert_int_equal(await(&waiting), DB_OK);
	assert_int_equal(answered(late), 0);
	db_session_close(busy);
	db_session_close(queued);
	db_session_close(late);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_queue_refuses_without_a_worker),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
