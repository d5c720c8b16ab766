/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel_points.c - each piece of work is cancelled at its first checkpoint, its second, and so on,
 * until it comes to its end. Whatever happens, it is done as a whole or not at all, and nothing of
 * it stays behind. The library is faked: a cancel comes at its moment, on the thread it hits.
 */
#include "bank.h"
#include "moments.h"
#include "points.h"
#include "tries.h"

#include "tests/engine/engine_fake.h"

#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#define BACKUP_KEY   77
#define SHORT_STRIDE 31

static struct bank bank;
static bool hit;

/* ---- Who cancels ------------------------------------------------------------------------------ */

static void client(void *arg)
{
	(void)arg;
	hit = db_cancel_session(bank.session);
}

static void operator(void *arg)
{
	(void)arg;
	hit = db_abort_session(bank.session);
}

static void library(void *arg)
{
	(void)arg;
	hit = fake_deliver(db_session_number(bank.session), CANCEL_REASON_CULPRIT);
}

static const struct canceller {
	const char *name;
	void (*cancel)(void *arg);
	enum cancel_rerun_answer answer;
} cancellers[] = { { "the client", client, CANCEL_DROP },
	{
		"an operator",
		operator,
		CANCEL_DROP },
		{ "the library, for good", library, CANCEL_DROP },
		{ "the library, to run again", library, CANCEL_RERUN },
};
#define CANCELLERS (sizeof(cancellers) / sizeof(cancellers[0]))

static struct {
	uint64_t tried, hit, cancelled;
} counts[CANCELLERS];

/* ---- One try ---------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	struct db_options options = { .workers = 2,
		.pool_bytes = 4u << 20,
		.io = DB_IO_BUFFERED,
		.read_latency_ns = 1,
		.no_checkpoint = true };
	(void)state;
	fake_reset();
	bank_open(&bank, &options);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	bank_close(&bank);
	assert_int_equal(fake_misuse(), 0);
	assert_int_equal(fake_live_tasks(), 0);
	return 0;
}

/* Up to the first error, which must be the cancel; true: to its end. */
static bool run_work(const struct work *work)
{
	for (const char *const *sql = work->statements; *sql; sql++) {
		if (sql != work->statements)
			points_pass();
		int rc = run_sql(bank.session, *sql);
		if (rc == 0)
			continue;
		if (rc != DB_ECANCELLED || !hit)
			fail_msg("%s: %d %s", *sql, rc, last_result.message);
		assert_string_equal(last_result.sqlstate, "57014");
		if (db_session_transaction(bank.session) != 'I')
			must(bank.session, "ROLLBACK");
		return false;
	}
	return true;
}

struct expected {
	uint64_t before, after;
};

static struct expected learn(const struct work *work)
{
	struct expected expected = { .before = bank_state(bank.other) };
	bank_run(bank.session, work->statements);
	expected.after = bank_state(bank.other);
	bank_run(bank.session, work->undo);
	assert_int_equal(bank_state(bank.other), expected.before);
	return expected;
}

/* False: there is no `k`th checkpoint. */
static bool try_one(const struct work *work, size_t by, uint64_t k, const struct expected *expected)
{
	hit = false;
	fake_answer(cancellers[by].answer);
	points_arm(k, cancellers[by].cancel, NULL);
	bool done = run_work(work);
	bool reached = moments_disarm() >= k;
	bank_check_quiet(&bank);
	bank_check(bank.other);
	assert_int_equal(bank_state(bank.other), done ? expected->after : expected->before);
	if (done)
		bank_run(bank.session, work->undo);
	counts[by].tried += reached;
	counts[by].hit += hit;
	counts[by].cancelled += !done;
	return reached;
}

static void work_cancelled_at_any_checkpoint_is_done_whole_or_not_at_all(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < work_count; i++) {
		struct expected expected = learn(&works[i]);
		for (size_t by = 0; by < CANCELLERS; by++) {
			uint64_t k = tries_first(i * CANCELLERS + by);
			print_message("%s, cancelled by %s\n", works[i].name, cancellers[by].name);
			while (try_one(&works[i], by, k, &expected))
				k += tries_stride;
		}
	}
	for (size_t by = 0; by < CANCELLERS; by++) {
		print_message("tried: %llu checkpoints, cancelled by %s; %llu in time, %llu works "
			      "undone\n",
			(unsigned long long)counts[by].tried, cancellers[by].name,
			(unsigned long long)counts[by].hit,
			(unsigned long long)counts[by].cancelled);
		assert_true(counts[by].hit > 0);
	}
}

/* ---- Back to a savepoint ---------------------------------------------------------------------- */

static bool try_savepoint(uint64_t k, uint64_t between, uint64_t after)
{
	hit = false;
	must(bank.session, "BEGIN");
	must(bank.session, "INSERT INTO gone VALUES (1, 1)");
	must(bank.session, "SAVEPOINT a");
	points_arm(k, client, NULL);
	int rc = run_sql(bank.session, "UPDATE totals SET n = n + 1");
	bool reached = moments_disarm() >= k;
	assert_true(rc == 0 || (rc == DB_ECANCELLED && hit));
	uint64_t expected = after;
	if (rc)
		expected = run_sql(bank.session, "ROLLBACK TO a") ? 0 : between;
	must(bank.session, "COMMIT");
	bank_check_quiet(&bank);
	bank_check(bank.other);
	if (expected)
		assert_int_equal(bank_state(bank.other), expected);
	else
		assert_int_equal(ask(bank.other, "SELECT count(*) FROM gone"), 0);
	must(bank.session, "DELETE FROM gone");
	must(bank.session, "UPDATE totals SET n = 5");
	return reached;
}

static void a_block_cancelled_after_a_savepoint_goes_back_to_it_or_ends(void **state)
{
	(void)state;
	uint64_t k = tries_first(0), tried = 0;
	must(bank.session, "INSERT INTO gone VALUES (1, 1)");
	uint64_t between = bank_state(bank.other);
	must(bank.session, "UPDATE totals SET n = n + 1");
	uint64_t after = bank_state(bank.other);
	must(bank.session, "DELETE FROM gone");
	must(bank.session, "UPDATE totals SET n = 5");
	for (; try_savepoint(k, between, after); k += tries_stride)
		tried++;
	print_message("tried: %llu checkpoints after a savepoint\n", (unsigned long long)tried);
}

/* ---- Backup and checkpoint -------------------------------------------------------------------- */

static void host(void *arg)
{
	(void)arg;
	hit = db_cancel_backup(bank.fixture.engine);
}

static void library_backup(void *arg)
{
	(void)arg;
	hit = fake_deliver(BACKUP_KEY, CANCEL_REASON_CULPRIT);
}

static void check_copy(const char *path)
{
	sqlite3 *db;
	sqlite3_stmt *stmt;
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
				 "SELECT sum(balance) - 1000 * count(*), "
				 "(SELECT * FROM pragma_integrity_check) FROM accounts",
				 -1, &stmt, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(stmt, 0), 0);
	assert_string_equal((const char *)sqlite3_column_text(stmt, 1), "ok");
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

static bool try_backup(uint64_t k, void (*cancel)(void *arg))
{
	char path[192], partial[208];
	snprintf(path, sizeof(path), "%s/copy.db", bank.fixture.dir);
	snprintf(partial, sizeof(partial), "%s.partial", path);
	hit = false;
	points_arm(k, cancel, NULL);
	int status = bank_back_up(&bank, (struct db_backup_options){ .path = path,
						 .key = BACKUP_KEY,
						 .table_locks = true,
						 .pages_per_step = 1 });
	bool reached = moments_disarm() >= k;
	assert_true(status == 0 || (status == DB_ECANCELLED && hit));
	assert_int_equal(access(partial, F_OK), -1);
	assert_int_equal(access(path, F_OK), status ? -1 : 0);
	if (status == 0)
		check_copy(path);
	unlink(path);
	bank_check_quiet(&bank);
	return reached;
}

static void a_backup_cancelled_at_any_checkpoint_leaves_no_half_copy(void **state)
{
	(void)state;
	static const struct {
		void (*cancel)(void *arg);
		enum cancel_rerun_answer answer;
	} ways[] = { { host, CANCEL_DROP }, { library_backup, CANCEL_DROP },
		{ library_backup, CANCEL_RERUN } };
	uint64_t tried = 0;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		fake_answer(ways[i].answer);
		for (uint64_t k = tries_first(i); try_backup(k, ways[i].cancel); k += tries_stride)
			tried++;
	}
	print_message("tried: %llu checkpoints of a backup\n", (unsigned long long)tried);
}

static void cancel_all(void *arg)
{
	(void)arg;
	hit = fake_deliver_any(0, CANCEL_REASON_CULPRIT);
	hit = db_cancel_session(bank.session) || hit;
}

static void a_checkpoint_of_the_log_is_never_cancelled(void **state)
{
	(void)state;
	uint64_t reached = 1;
	for (uint64_t k = 1; reached >= k; k++) {
		bank_run(bank.session, works[0].statements);
		hit = false;
		points_arm(k, cancel_all, NULL);
		assert_int_equal(db_checkpoint(bank.fixture.engine, DB_CHECKPOINT_TRUNCATE), DB_OK);
		reached = moments_disarm();
		assert_false(hit);
		bank_run(bank.session, works[0].undo);
		bank_check(bank.other);
	}
	bank_check_quiet(&bank);
}

int main(int argc, char **argv)
{
	if (!tries_read(argc, argv, SHORT_STRIDE))
		return 2;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_cancelled_at_any_checkpoint_is_done_whole_or_not_at_all),
		cmocka_unit_test(a_block_cancelled_after_a_savepoint_goes_back_to_it_or_ends),
		cmocka_unit_test(a_backup_cancelled_at_any_checkpoint_leaves_no_half_copy),
		cmocka_unit_test(a_checkpoint_of_the_log_is_never_cancelled),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
