/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole way, nothing faked: readers with an SLO, a transaction that holds their table, and the
 * library in act mode finds it and cancels it. No reader is cancelled, and none fails.
 */
#include "engine_fixture.h"

#include <cancel/observe.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define READERS	   3
#define SLO_NS	   50000000ull
#define HEALTHY_NS 3500000000ull /* the library judges nothing in its first two seconds */

static struct fixture fixture;
static _Atomic bool stop;
static _Atomic uint64_t reads, failures, cancelled;

struct reader {
	pthread_t thread;
	struct db_session *session;
};

static void *read_on(void *arg)
{
	struct reader *reader = arg;
	const struct timespec pause = { .tv_nsec = 2000000 };
	const struct db_request request = { .struct_size = sizeof(request),
		.sql = "SELECT n FROM t WHERE id = 7",
		.slo_ns = SLO_NS };
	while (!stop) {
		struct db_result result;
		failures += db_execute(reader->session, &request, &result) != 0;
		cancelled += result.cancelled;
		reads++;
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void stay_healthy(void)
{
	const struct timespec tick = { .tv_nsec = 10000000 };
	uint64_t end_ns = cancel_now_ns() + HEALTHY_NS;
	while (cancel_now_ns() < end_ns || reads <= 100)
		nanosleep(&tick, NULL);
}

static void the_holder_of_the_readers_table_is_cancelled_and_nobody_else(void **state)
{
	(void)state;
	static const struct cancel_class classes[] = { { .name = "reads", .slo_ns = SLO_NS },
		{ .name = "reports" } };
	const struct cancel_config config = { .struct_size = sizeof(config),
		.mode = CANCEL_ACT,
		.classes = classes,
		.class_count = 2 };
	assert_int_equal(cancel_start(&config), 0);
	fixture_open(&fixture, NULL);
	fixture.library = true;
	struct db_session *culprit = open_session(&fixture);
	must(culprit, "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER)");
	must(culprit,
		"INSERT INTO t WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i "
		"WHERE x < 1000) SELECT x, 0 FROM i");
	struct reader readers[READERS];
	for (int i = 0; i < READERS; i++) {
		readers[i].session = open_session(&fixture);
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
	}
	stay_healthy();
	struct pending report;
	must(culprit, "BEGIN");
	must(culprit, "UPDATE t SET n = 1");
	must(culprit, "LOCK TABLE t IN ACCESS EXCLUSIVE MODE");
	begin_request(&report, culprit,
		(struct db_request){ .sql = ENDLESS, .class_index = 1, .key = 4711 });
	assert_int_equal(await(&report), DB_ECANCELLED);
	assert_true(report.result.by_library);
	stop = true;
	for (int i = 0; i < READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		db_session_close(readers[i].session);
	}
	must(culprit, "ROLLBACK");
	assert_int_equal(ask(culprit, "SELECT sum(n) FROM t"), 0);
	assert_int_equal(failures, 0);
	assert_int_equal(cancelled, 0);
	struct cancel_decision_record record;
	assert_int_equal(cancel_recent_decisions(&record, 1), 1);
	print_message("%s\n", record.text);
	assert_non_null(strstr(record.text, "table_locks"));
	db_session_close(culprit);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		the_holder_of_the_readers_table_is_cancelled_and_nobody_else) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
