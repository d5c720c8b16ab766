/* SPDX-License-Identifier: Apache-2.0 */
/* Worker slots and their queues, and deadlocks through locks, gate, global lock and slots. */
#include "engine_fixture.h"

#include <stdio.h>
#include <string.h>

#define CLIENTS 12
#define WORKERS 2

static struct fixture fixture;
static struct db_session *s[CLIENTS];
static struct pending p[CLIENTS];

static void open_engine(uint32_t queue_limit)
{
	struct db_options options = fixture_options(&fixture);
	options.workers = WORKERS;
	options.queue_limit = queue_limit;
	fixture_open(&fixture, &options);
	for (int i = 0; i < CLIENTS; i++)
		s[i] = open_session(&fixture);
	must(s[0], "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER)");
	must(s[0], "CREATE TABLE u(id INTEGER PRIMARY KEY, n INTEGER)");
	must(s[0], "INSERT INTO t VALUES (1, 0)");
	must(s[0], "INSERT INTO u VALUES (1, 0)");
}

static int set_up(void **state)
{
	(void)state;
	open_engine(100);
	return 0;
}

static int set_up_short_queue(void **state)
{
	(void)state;
	open_engine(2);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < CLIENTS; i++)
		db_session_close(s[i]);
	fixture_close(&fixture);
	return 0;
}

static void occupy_workers(void)
{
	for (int i = 0; i < WORKERS; i++) {
		begin(&p[i], s[i], ENDLESS);
		await_wait(&fixture, s[i], DB_WAIT_NONE);
	}
}

static void free_workers(void)
{
	for (int i = 0; i < WORKERS; i++) {
		db_cancel_session(s[i]);
		assert_int_equal(await(&p[i]), DB_ECANCELLED);
	}
}

static void a_full_queue_refuses_and_forgets(void **state)
{
	(void)state;
	occupy_workers();
	begin(&p[3], s[3], "SELECT 1");
	begin(&p[4], s[4], "SELECT 1");
	const struct db_request request = { .struct_size = sizeof(request), .sql = "SELECT 1" };
	assert_int_equal(db_submit(s[5], &request), DB_EQUEUE);
	assert_int_equal(db_execute(s[5], &request, &last_result), DB_EQUEUE);
	assert_string_equal(last_result.sqlstate, "53000");
	free_workers();
	assert_int_equal(await(&p[3]), DB_OK);
	assert_int_equal(await(&p[4]), DB_OK);
	must(s[5], "SELECT 1");
}

static void waiting_statements_run_by_priority_then_by_arrival(void **state)
{
	(void)state;
	static const struct {
		int client, digit;
		uint8_t priority;
	} order[] = { { 3, 4, 3 }, { 4, 2, 1 }, { 5, 3, 1 }, { 6, 1, 0 } };
	char sql[4][64];
	occupy_workers();
	for (size_t i = 0; i < 4; i++) {
		snprintf(sql[i], sizeof(sql[i]), "UPDATE t SET n = n * 10 + %d", order[i].digit);
		begin_request(&p[order[i].client], s[order[i].client],
			(struct db_request){ .sql = sql[i], .priority = order[i].priority });
	}
	await_queued(&fixture, 4);
	db_cancel_session(s[0]); /* one slot serves them one by one */
	assert_int_equal(await(&p[0]), DB_ECANCELLED);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(await(&p[order[i].client]), DB_OK);
	db_cancel_session(s[1]);
	assert_int_equal(await(&p[1]), DB_ECANCELLED);
	assert_int_equal(ask(s[7], "SELECT n FROM t"), 1234);
	assert_true(p[3].result.queue_ns > 0);
}

static void a_tenant_with_fewer_slots_goes_before_the_others_queue(void **state)
{
	(void)state;
	static const struct {
		int client, digit;
		uint8_t tenant;
	} order[] = { { 3, 2, 0 }, { 4, 3, 0 }, { 5, 4, 0 }, { 6, 1, 5 } };
	char sql[4][64];
	occupy_workers(); /* both by tenant 0 */
	for (size_t i = 0; i < 4; i++) {
		snprintf(sql[i], sizeof(sql[i]), "UPDATE t SET n = n * 10 + %d", order[i].digit);
		begin_request(&p[order[i].client], s[order[i].client],
			(struct db_request){ .sql = sql[i], .tenant = order[i].tenant });
	}
	await_queued(&fixture, 4);
	db_cancel_session(s[0]); /* one slot serves them one by one */
	assert_int_equal(await(&p[0]), DB_ECANCELLED);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(await(&p[order[i].client]), DB_OK);
	db_cancel_session(s[1]);
	assert_int_equal(await(&p[1]), DB_ECANCELLED);
	assert_int_equal(ask(s[7], "SELECT n FROM t"), 1234);
}

static void an_idle_transaction_costs_no_worker(void **state)
{
	(void)state;
	for (int i = 4; i < CLIENTS; i++) {
		must(s[i], "BEGIN");
		must(s[i], "SELECT * FROM t");
	}
	struct db_stats stats;
	db_stats(fixture.engine, &stats);
	assert_int_equal(stats.slots_used, 0);
	assert_int_equal(stats.idle_in_transaction, CLIENTS - 4);
	must(s[0], "SELECT 1");
	for (int i = 4; i < CLIENTS; i++)
		must(s[i], "COMMIT");
}

/* All workers wait for a lock whose holder's COMMIT would queue behind them. */
static void commit_passes_the_queue_when_all_workers_wait_for_it(void **state)
{
	(void)state;
	must(s[0], "BEGIN");
	must(s[0], "LOCK TABLE t");
	for (int i = 1; i <= WORKERS + 3; i++)
		begin(&p[i], s[i], "SELECT * FROM t");
	await_waiters(&fixture, WORKERS, 0);
	await_queued(&fixture, 3);
	begin(&p[0], s[0], "COMMIT");
	assert_int_equal(await(&p[0]), DB_OK);
	for (int i = 1; i <= WORKERS + 3; i++)
		assert_int_equal(await(&p[i]), DB_OK);
	struct db_stats stats;
	db_stats(fixture.engine, &stats);
	assert_int_equal(stats.deadlocks, 0);
}

static void a_holder_of_locks_runs_its_next_statement_on_a_reserved_slot(void **state)
{
	(void)state;
	must(s[0], "BEGIN");
	must(s[0], "LOCK TABLE t");
	for (int i = 1; i <= WORKERS + 1; i++)
		begin(&p[i], s[i], "SELECT * FROM t");
	await_waiters(&fixture, WORKERS, 0);
	begin(&p[0], s[0], "UPDATE t SET n = 1");
	assert_int_equal(await(&p[0]), DB_OK);
	must(s[0], "COMMIT");
	for (int i = 1; i <= WORKERS + 1; i++)
		assert_int_equal(await(&p[i]), DB_OK);
}

/* Every slot that a lock holder's statement may use is held by somebody who waits for its lock: no
 * cycle among locks, and yet nobody can go on. */
static void waiting_for_a_worker_is_part_of_the_deadlock_graph(void **state)
{
	(void)state;
	must(s[0], "BEGIN");
	must(s[0], "LOCK TABLE t");
	must(s[1], "BEGIN");
	must(s[1], "LOCK TABLE u");
	for (int i = 2; i < 2 + WORKERS; i++)
		begin(&p[i], s[i], "SELECT * FROM t");
	await_waiters(&fixture, WORKERS, 0);
	begin(&p[1], s[1], "SELECT * FROM t"); /* holds a lock: gets the reserved slot */
	await_waiters(&fixture, WORKERS + 1, 0);
	begin(&p[0], s[0], "SELECT 1"); /* waits for nobody's lock, but for a slot */
	assert_int_equal(await(&p[0]), DB_OK);
	int victims = 0;
	must(s[0], "COMMIT");
	for (int i = 1; i < 2 + WORKERS; i++)
		victims += await(&p[i]) == DB_EDEADLOCK;
	assert_int_equal(victims, 1);
	run_sql(s[1], "ROLLBACK");
	struct db_stats stats;
	db_stats(fixture.engine, &stats);
	assert_int_equal(stats.deadlocks, 1);
}

static void two_sessions_that_lock_crosswise_get_40P01(void **state)
{
	(void)state;
	must(s[0], "BEGIN");
	must(s[0], "LOCK TABLE t");
	must(s[1], "BEGIN");
	must(s[1], "LOCK TABLE u");
	begin(&p[0], s[0], "LOCK TABLE u");
	await_waiters(&fixture, 1, 0);
	begin(&p[1], s[1], "LOCK TABLE t");
	assert_int_equal(await(&p[1]), DB_EDEADLOCK); /* the younger one */
	assert_string_equal(p[1].result.sqlstate, "40P01");
	assert_non_null(strstr(p[1].message, "ACCESS EXCLUSIVE on t"));
	assert_int_equal(p[1].result.transaction, 'E');
	assert_int_equal(await(&p[0]), DB_OK);
	must(s[0], "COMMIT");
	must(s[1], "ROLLBACK");
	struct db_stats stats;
	db_stats(fixture.engine, &stats);
	assert_int_equal(stats.deadlocks, 1);
}

static void two_upgrades_of_one_lock_deadlock(void **state)
{
	(void)state;
	must(s[0], "BEGIN");
	must(s[0], "LOCK TABLE t IN SHARE MODE");
	must(s[1], "BEGIN");
	must(s[1], "LOCK TABLE t IN SHARE MODE");
	begin(&p[0], s[0], "UPDATE t SET n = 1");
	await_waiters(&fixture, 1, 0);
	begin(&p[1], s[1], "UPDATE t SET n = 2");
	assert_int_equal(await(&p[1]), DB_EDEADLOCK);
	assert_int_equal(await(&p[0]), DB_OK);
	must(s[0], "COMMIT");
	must(s[1], "ROLLBACK");
}

static void a_cycle_through_the_gate_is_found(void **state)
{
	(void)state;
	must(s[0], "BEGIN");
	must(s[0], "UPDATE u SET n = 1"); /* the gate */
	must(s[1], "BEGIN");
	must(s[1], "LOCK TABLE t");
	begin(&p[0], s[0], "SELECT * FROM t");
	await_waiters(&fixture, 1, 0);
	begin(&p[1], s[1], "UPDATE t SET n = 2");
	assert_int_equal(await(&p[1]), DB_EDEADLOCK);
	assert_int_equal(await(&p[0]), DB_OK);
	must(s[0], "COMMIT");
	must(s[1], "ROLLBACK");
}

/* s[2] waits behind the backup, the backup waits for s[0], s[0] waits for s[2]'s table lock. */
static void a_cycle_through_the_global_lock_is_found(void **state)
{
	(void)state;
	char path[160];
	snprintf(path, sizeof(path), "%s/copy.db", fixture.dir);
	const struct db_backup_options backup = { .struct_size = sizeof(backup), .path = path };
	must(s[0], "BEGIN");
	must(s[0], "SELECT * FROM t");
	must(s[2], "BEGIN");
	assert_int_equal(db_backup(fixture.engine, &backup), DB_OK);
	await_waiters(&fixture, 1, 0);
	begin(&p[2], s[2], "SELECT * FROM u");
	await_waiters(&fixture, 2, 0);
	must(s[0], "SELECT * FROM u"); /* holds the global lock already: re-entrant */
	must(s[0], "COMMIT");
	assert_int_equal(await(&p[2]), DB_OK);
	must(s[2], "COMMIT");
	struct db_stats stats;
	db_stats(fixture.engine, &stats);
	assert_int_equal(stats.deadlocks, 0); /* it only looked like one */
}

static void a_long_wait_is_no_deadlock(void **state)
{
	(void)state;
	must(s[0], "BEGIN");
	must(s[0], "LOCK TABLE t");
	begin(&p[1], s[1], "SELECT * FROM t");
	begin(&p[2], s[2], "SELECT * FROM t");
	await_waiters(&fixture, 2, 0);
	begin(&p[3], s[3], "SELECT 1"); /* no slot left */
	await_queued(&fixture, 1);
	/* several deadlock checks pass meanwhile */
	struct pending busy;
	begin_request(&busy, s[0],
		(struct db_request){
			.sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
			       "FROM n WHERE i < 500000) SELECT count(*) FROM n" });
	assert_int_equal(await(&busy), DB_OK);
	must(s[0], "COMMIT");
	for (int i = 1; i <= 3; i++)
		assert_int_equal(await(&p[i]), DB_OK);
}

static void db_execute_waits_for_a_slot_in_its_turn(void **state)
{
	(void)state;
	occupy_workers();
	begin(&p[3], s[3], "UPDATE t SET n = 1");
	await_queued(&fixture, 1);
	db_cancel_session(s[0]);
	must(s[4], "UPDATE t SET n = n * 10"); /* after s[3] */
	assert_int_equal(await(&p[3]), DB_OK);
	free_workers();
	assert_int_equal(ask(s[4], "SELECT n FROM t"), 10);
}

static void a_system_view_answers_while_every_worker_is_stuck(void **state)
{
	(void)state;
	occupy_workers();
	begin_request(&p[3], s[3],
		(struct db_request){ .sql = "SELECT count(*) FROM t", .flags = DB_VIEW });
	assert_int_equal(await(&p[3]), DB_OK);
	free_workers();
}

/* The slot beyond those of resumed statements belongs to those who never wait: a view that turns
 * out to read a table may wait for its lock only where another may. */
static void a_view_that_wants_a_lock_leaves_the_last_slot_to_commits(void **state)
{
	(void)state;
	const struct db_request view = { .sql = "SELECT count(*) FROM t", .flags = DB_VIEW };
	must(s[0], "BEGIN");
	must(s[0], "LOCK TABLE t");
	for (int i = 1; i <= WORKERS; i++)
		begin(&p[i], s[i], "SELECT * FROM t");
	begin_request(&p[3], s[3], view);
	await_waiters(&fixture, WORKERS + 1, 0);
	begin_request(&p[4], s[4], view);
	assert_int_equal(await(&p[4]), DB_ELOCKTIMEOUT);
	assert_string_equal(p[4].result.sqlstate, "55P03");
	assert_non_null(strstr(p[4].message, "ACCESS SHARE on t is not available"));
	begin(&p[0], s[0], "COMMIT");
	assert_int_equal(await(&p[0]), DB_OK);
	for (int i = 1; i <= 3; i++)
		assert_int_equal(await(&p[i]), DB_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_full_queue_refuses_and_forgets, set_up_short_queue, tear_down),
		TEST(waiting_statements_run_by_priority_then_by_arrival),
		TEST(a_tenant_with_fewer_slots_goes_before_the_others_queue),
		TEST(an_idle_transaction_costs_no_worker),
		TEST(commit_passes_the_queue_when_all_workers_wait_for_it),
		TEST(a_holder_of_locks_runs_its_next_statement_on_a_reserved_slot),
		TEST(waiting_for_a_worker_is_part_of_the_deadlock_graph),
		TEST(two_sessions_that_lock_crosswise_get_40P01),
		TEST(two_upgrades_of_one_lock_deadlock),
		TEST(a_cycle_through_the_gate_is_found),
		TEST(a_cycle_through_the_global_lock_is_found),
		TEST(a_long_wait_is_no_deadlock),
		TEST(db_execute_waits_for_a_slot_in_its_turn),
		TEST(a_system_view_answers_while_every_worker_is_stuck),
		TEST(a_view_that_wants_a_lock_leaves_the_last_slot_to_commits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
