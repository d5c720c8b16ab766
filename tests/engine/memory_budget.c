/* SPDX-License-Identifier: Apache-2.0 */
/* A budget for all statements: plans that do not fit are refused, clean pages go first, and who
 * outgrows its grant is cancelled. */
#include "demo-db/engine/engine.h"

#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MIB (1024ull * 1024ull)

static struct db_engine *engine;
static char dir[64];

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	(void)status;
	(void)kind;
	(void)at;
	return remove(path);
}

static int run(struct db_session *session, const char *sql, struct db_result *result)
{
	const struct db_request request = { .struct_size = sizeof request, .sql = sql };
	return db_execute(session, &request, result);
}

static struct db_session *open_session(void)
{
	struct db_session *session;
	assert_int_equal(db_session_open(engine, NULL, &session), 0);
	return session;
}

/* Rows enough that sorting them wants the largest grant. */
static void start(uint64_t budget_bytes, uint64_t statement_bytes, uint32_t factor)
{
	char message[DB_MESSAGE_MAX];
	struct db_result result;
	snprintf(dir, sizeof dir, "/tmp/demo-memory-XXXXXX");
	assert_non_null(mkdtemp(dir));
	const struct db_options options = { .struct_size = sizeof options,
		.data_dir = dir,
		.workers = 4,
		.memory_budget_bytes = budget_bytes,
		.statement_memory_max = statement_bytes,
		.outgrown_factor = factor };
	if (db_open(&engine, &options, message))
		fail_msg("%s", message);
	struct db_session *session = open_session();
	assert_int_equal(run(session, "create table t(a integer primary key, b text)", &result), 0);
	assert_int_equal(run(session,
				 "insert into t with recursive n(i) as (select 1 union all select "
				 "i+1 from n where i < 100000) select i, hex(i*7919) from n",
				 &result),
		0);
	db_session_close(session);
}

static int stop(void **state)
{
	(void)state;
	db_close(engine);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return 0;
}

struct held { /* a statement that stands still inside its first row */
	struct db_session *session;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	bool in_row, go_on, done;
	int status;
};

static int stand_still(void *arg, const struct db_row *row)
{
	struct held *held = arg;
	(void)row;
	pthread_mutex_lock(&held->lock);
	held->in_row = true;
	pthread_cond_broadcast(&held->moved);
	while (!held->go_on)
		pthread_cond_wait(&held->moved, &held->lock);
	pthread_mutex_unlock(&held->lock);
	return 0;
}

static void on_done(void *arg, const struct db_result *result)
{
	struct held *held = arg;
	pthread_mutex_lock(&held->lock);
	held->status = result->status;
	held->done = true;
	pthread_cond_broadcast(&held->moved);
	pthread_mutex_unlock(&held->lock);
}

static void hold(struct held *held)
{
	const struct db_request request = { .struct_size = sizeof request,
		.sql = "select a, b from t order by b",
		.on_row = stand_still,
		.on_done = on_done,
		.arg = held };
	memset(held, 0, sizeof *held);
	pthread_mutex_init(&held->lock, NULL);
	pthread_cond_init(&held->moved, NULL);
	held->session = open_session();
	assert_int_equal(db_submit(held->session, &request), 0);
	pthread_mutex_lock(&held->lock);
	while (!held->in_row)
		pthread_cond_wait(&held->moved, &held->lock);
	pthread_mutex_unlock(&held->lock);
}

static void let_go(struct held *held)
{
	pthread_mutex_lock(&held->lock);
	held->go_on = true;
	pthread_cond_broadcast(&held->moved);
	while (!held->done)
		pthread_cond_wait(&held->moved, &held->lock);
	pthread_mutex_unlock(&held->lock);
	assert_int_equal(held->status, 0);
	db_session_close(held->session);
}

static void a_plan_beyond_what_is_left_is_refused_before_it_runs(void **state)
{
	struct held held;
	struct db_result result;
	struct db_stats stats;
	(void)state;
	start(3 * MIB, 2 * MIB, 0);
	hold(&held);
	struct db_session *session = open_session();
	assert_int_equal(run(session, "select a, b from t order by b", &result), DB_ENOMEM);
	assert_string_equal(result.sqlstate, "53200");
	assert_non_null(strstr(result.message, "2048 of 3072 KiB are granted"));
	/* what grows no memory goes on */
	assert_int_equal(run(session, "select b from t where a = 7", &result), 0);
	assert_int_equal(run(session, "update t set b = 'x' where a = 7", &result), 0);
	db_stats(engine, &stats);
	assert_int_equal(stats.memory_refused, 1);
	let_go(&held);
	assert_int_equal(run(session, "select a, b from t order by b", &result), 0);
	db_session_close(session);
}

static void clean_pages_of_idle_connections_go_before_anybody_is_refused(void **state)
{
	struct held held;
	struct db_result result;
	struct db_stats stats;
	(void)state;
	start(3 * MIB, 2 * MIB, 0);
	/* two connections at once; the sorter's is returned first and is idle with its grant */
	struct db_session *other = open_session(), *session = open_session();
	assert_int_equal(run(other, "begin", &result), 0);
	assert_int_equal(run(session, "select a, b from t order by b", &result), 0);
	/* this one pins a connection: the idle one, with the grant */
	assert_int_equal(run(other, "update t set b = 'y' where a = 9", &result), 0);
	assert_int_equal(run(session, "select a, b from t order by b", &result), 0);
	assert_int_equal(run(other, "rollback", &result), 0);
	db_stats(engine, &stats);
	assert_true(stats.memory_granted_bytes <= 3 * MIB);
	hold(&held);
	db_stats(engine, &stats);
	assert_int_equal(stats.memory_refused, 0);
	assert_true(stats.memory_evicted_bytes >= 2 * MIB);
	let_go(&held);
	db_session_close(other);
	db_session_close(session);
}

static void who_outgrows_its_grant_is_cancelled(void **state)
{
	struct db_result result;
	struct db_stats stats;
	(void)state;
	start(16 * MIB, 1 * MIB, 2);
	struct db_session *session = open_session();
	/* no plan tells how long the text will be */
	assert_int_equal(run(session,
				 "select length(group_concat(b || hex(zeroblob(200)), ',')) from t "
				 "where a > 0",
				 &result),
		DB_ENOMEM);
	const char *used = strstr(result.message, "memory culprit: ");
	assert_non_null(used);
	/* what it had then, not what is left of it */
	assert_true(strtoull(used + strlen("memory culprit: "), NULL, 10) >= 8 * MIB / 1024);
	assert_string_equal(result.sqlstate, "53200");
	db_stats(engine, &stats);
	assert_int_equal(stats.memory_cancelled, 1);
	assert_int_equal(run(session, "select count(*) from t", &result), 0);
	db_session_close(session);
}

/* In a single operation, where nothing looks at what the statement uses. */
static void one_value_larger_than_the_budget_is_refused(void **state)
{
	struct db_result result;
	(void)state;
	start(64 * MIB, 1 * MIB, 4);
	struct db_session *session = open_session();
	assert_int_equal(run(session, "begin", &result), 0);
	assert_int_equal(run(session, "insert into t values (-1, 'kept?')", &result), 0);
	assert_int_equal(
		run(session, "select length(hex(zeroblob(100000000)))", &result), DB_ENOMEM);
	assert_string_equal(result.sqlstate, "53200");
	assert_non_null(strstr(result.message, "the whole budget has 65536 KiB"));
	assert_int_equal(run(session, "rollback", &result), 0);
	assert_int_equal(
		run(session, "update t set b = hex(zeroblob(50000000)) where a = 1", &result),
		DB_ENOMEM);
	assert_int_equal(run(session, "select length(zeroblob(20000000))", &result), 0);
	assert_int_equal(run(session, "select 1 / (a > 0) from t where a < 2", &result), 0);
	assert_int_equal(result.rows, 1); /* neither change is there */
	db_session_close(session);
}

static void without_a_budget_nothing_is_refused_or_cancelled(void **state)
{
	struct db_result result;
	struct db_stats stats;
	(void)state;
	start(0, 1 * MIB, 0);
	struct db_session *session = open_session();
	assert_int_equal(run(session,
				 "select length(group_concat(b || hex(zeroblob(200)), ',')) from t "
				 "where a > 0",
				 &result),
		0);
	db_stats(engine, &stats);
	assert_int_equal(stats.memory_refused + stats.memory_cancelled, 0);
	db_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			a_plan_beyond_what_is_left_is_refused_before_it_runs, stop),
		cmocka_unit_test_teardown(
			clean_pages_of_idle_connections_go_before_anybody_is_refused, stop),
		cmocka_unit_test_teardown(who_outgrows_its_grant_is_cancelled, stop),
		cmocka_unit_test_teardown(one_value_larger_than_the_budget_is_refused, stop),
		cmocka_unit_test_teardown(without_a_budget_nothing_is_refused_or_cancelled, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
