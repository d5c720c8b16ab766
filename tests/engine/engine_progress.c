/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress by phases: half way through a statement's operations the estimate says about half, for
 * plans whose scan counter alone says nearly all or nothing; what is unknown is not reported. And
 * the memory a plan could use.
 */
#include "engine_fake.h"
#include "engine_fixture.h"

#include "demo-db/engine/statement/plan.h"
#include "demo-db/engine/statement/progress.h"

#include <stdio.h>

#define ROWS	 60000
#define POINTS	 8192
#define PPM_EDGE 200000 /* how far from a half the estimate may be half way */

static struct fixture fixture;
static struct db_session *session;
static uint32_t ppm[POINTS];

static int set_up(void **state)
{
	(void)state;
	fake_reset();
	fixture_open(&fixture, NULL);
	session = open_session(&fixture);
	must(session, "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, filler TEXT)");
	must(session, "CREATE TABLE log(id INTEGER PRIMARY KEY, n INTEGER)");
	char sql[256];
	snprintf(sql, sizeof(sql),
		"INSERT INTO t WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i "
		"WHERE x < %d) SELECT x, x * 7919 %% 10007, 'some filler' FROM i",
		ROWS);
	must(session, sql);
	fake_progress_forget();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	db_session_close(session);
	fixture_close(&fixture);
	return 0;
}

static uint32_t progress_of(const char *sql)
{
	fake_progress_forget();
	must(session, sql);
	uint32_t count = fake_progress(ppm, POINTS);
	assert_true(count < POINTS);
	return count;
}

static void must_be_honest(const char *sql)
{
	uint32_t count = progress_of(sql);
	assert_true(count > 50);
	for (uint32_t i = 1; i < count; i++)
		assert_true(ppm[i] >= ppm[i - 1]);
	assert_in_range(ppm[count / 2], 500000 - PPM_EDGE, 500000 + PPM_EDGE);
	assert_in_range(ppm[count / 4], 250000 - PPM_EDGE, 250000 + PPM_EDGE);
	assert_in_range(ppm[count - 1], 700000, 1000000);
}

static void a_scan_is_measured_by_its_rows(void **state)
{
	(void)state;
	must_be_honest("SELECT sum(n) FROM t");
	must_be_honest("SELECT max(length(filler) + n) FROM t");
}

static void an_update_with_a_trigger_is_measured_through_both_passes(void **state)
{
	(void)state;
	must(session, "CREATE TRIGGER g AFTER UPDATE ON t BEGIN INSERT INTO log(n) VALUES (new.n); "
		      "END");
	must_be_honest("UPDATE t SET n = n + 1");
}

static void a_sort_is_measured_to_its_last_row(void **state)
{
	(void)state;
	must_be_honest("SELECT n, filler FROM t ORDER BY n, filler");
}

static void create_index_is_measured_though_its_scan_counts_no_steps(void **state)
{
	(void)state;
	must_be_honest("CREATE INDEX i ON t(n)");
}

static void an_unfiltered_delete_is_measured(void **state)
{
	(void)state;
	must_be_honest("DELETE FROM t");
}

static void two_scans_in_a_row_are_measured_together(void **state)
{
	(void)state;
	must_be_honest("SELECT sum(n) FROM t UNION ALL SELECT sum(id) FROM t");
}

static void a_range_of_rowids_is_measured_by_its_bounds(void **state)
{
	(void)state;
	must_be_honest("SELECT sum(n) FROM t WHERE id > 10");
	must_be_honest("SELECT sum(n) FROM t WHERE id BETWEEN 100 AND 40000");
	must_be_honest("SELECT sum(n) FROM t WHERE id <= 40000");
	must_be_honest("UPDATE t SET n = n + 1 WHERE id >= 1000 AND id < 90000000000");
}

static void the_bounds_of_a_range_may_be_parameters(void **state)
{
	(void)state;
	const struct db_value bounds[] = { { .type = DB_INTEGER, .integer = 1000 },
		{ .type = DB_INTEGER, .integer = 50000 } };
	const struct db_request request = { .struct_size = sizeof(request),
		.sql = "SELECT sum(n) FROM t WHERE id BETWEEN ?1 AND ?2",
		.parameters = bounds,
		.parameter_count = 2 };
	fake_progress_forget();
	assert_int_equal(db_execute(session, &request, &last_result), DB_OK);
	uint32_t count = fake_progress(ppm, POINTS);
	assert_true(count > 50);
	assert_in_range(ppm[count / 2], 500000 - PPM_EDGE, 500000 + PPM_EDGE);
	assert_in_range(ppm[count - 1], 900000, 1000000);
}

static void what_is_unknown_is_not_reported(void **state)
{
	(void)state;
	/* a range with a bound that is computed, or of an index; a scan inside a scan; a query that
	 * invents its rows; and count(*), one operation that never calls the handler */
	assert_int_equal(progress_of("SELECT sum(n) FROM t WHERE id > abs(-10)"), 0);
	assert_int_equal(progress_of("SELECT count(*) FROM t"), 0);
	must(session, "CREATE INDEX on_n ON t(n)");
	assert_int_equal(progress_of("SELECT sum(id) FROM t WHERE n > 10"), 0);
	must(session, "INSERT INTO log(n) SELECT id FROM t WHERE id <= 300");
	assert_int_equal(progress_of("SELECT count(a.n + b.n) FROM log a CROSS JOIN log b"), 0);
	assert_int_equal(progress_of("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM "
				     "n WHERE i < 100000) SELECT count(*) FROM n"),
		0);
}

static void the_host_may_say_how_many_rows_to_expect(void **state)
{
	(void)state;
	const struct db_request request = { .struct_size = sizeof(request),
		.sql = "SELECT sum(n) FROM t WHERE filler <> 'x'",
		.expected_rows = 2 * ROWS };
	fake_progress_forget();
	assert_int_equal(db_execute(session, &request, &last_result), DB_OK);
	uint32_t count = fake_progress(ppm, POINTS);
	assert_true(count > 50);
	assert_in_range(ppm[count - 1], 450000, 500000);
}

/* ---- The estimate alone -------------------------------------------------------------------------
 */

static void a_phase_never_exceeds_what_was_declared(void **state)
{
	(void)state;
	const struct plan plan = { .made = true,
		.scan_rows = 100,
		.scan_ops = 1000,
		.later_ops = 5000,
		.counts_steps = true };
	struct progress progress = { .plan = &plan, .calls = 1 };
	uint64_t done, expected;
	progress_estimate(&progress, 50, false, &done, &expected);
	assert_int_equal(done, 500);
	assert_int_equal(expected, 6000);
	progress.calls = 2;
	progress_estimate(&progress, 400, false, &done, &expected);
	assert_int_equal(done, 1000);
	progress.calls = 3;
	progress_estimate(&progress, 400, true, &done, &expected); /* the sorter gives out */
	progress.calls = 5;
	progress_estimate(&progress, 400, true, &done, &expected);
	assert_int_equal(done, 1000 + 2 * PROGRESS_OPS);
	progress.calls = 500;
	progress_estimate(&progress, 400, true, &done, &expected);
	assert_int_equal(done, 6000);
}

static struct plan plan_of(const char *sql)
{
	static sqlite3 *db;
	struct plan plan;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	sqlite3_exec(db,
		"CREATE TABLE t(id INTEGER PRIMARY KEY, n, m); INSERT INTO t VALUES (1000, 1, 2)",
		NULL, NULL, NULL);
	plan_make(&plan, db, sql);
	sqlite3_close(db);
	return plan;
}

static void memory_is_granted_for_sorters_by_rows_and_width(void **state)
{
	(void)state;
	struct plan narrow = plan_of("SELECT n FROM t ORDER BY n");
	struct plan wide = plan_of("SELECT n, m, id, n + 1, m + 1 FROM t ORDER BY n");
	assert_int_equal(narrow.scan_rows, 1000);
	assert_int_equal(narrow.sorters, 1);
	assert_true(narrow.grant_bytes >= 1000 * 16);
	assert_true(wide.grant_bytes > narrow.grant_bytes);
	assert_int_equal(plan_of("SELECT n FROM t WHERE id = 5").grant_bytes, 0);
	assert_true(plan_of("UPDATE t SET n = n + 1").grant_bytes > 0);
}

static void nonsense_has_an_unknown_plan(void **state)
{
	(void)state;
	struct plan plan = plan_of("SELECT FROM WHERE");
	assert_true(plan.made);
	assert_int_equal(plan.scan_rows, 0);
	assert_int_equal(plan.grant_bytes, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_scan_is_measured_by_its_rows),
		TEST(an_update_with_a_trigger_is_measured_through_both_passes),
		TEST(a_sort_is_measured_to_its_last_row),
		TEST(create_index_is_measured_though_its_scan_counts_no_steps),
		TEST(an_unfiltered_delete_is_measured),
		TEST(two_scans_in_a_row_are_measured_together),
		TEST(a_range_of_rowids_is_measured_by_its_bounds),
		TEST(the_bounds_of_a_range_may_be_parameters),
		TEST(what_is_unknown_is_not_reported),
		TEST(the_host_may_say_how_many_rows_to_expect),
		cmocka_unit_test(a_phase_never_exceeds_what_was_declared),
		cmocka_unit_test(memory_is_granted_for_sorters_by_rows_and_width),
		cmocka_unit_test(nonsense_has_an_unknown_plan),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
