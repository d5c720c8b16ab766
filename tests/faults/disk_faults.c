/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_faults.c - each input and output of the engine and of SQLite fails once: with EIO, with a
 * full disk, or half done. Work is done as a whole or not at all and the error is a clear one;
 * everything goes on afterwards, and is there when the files are opened anew.
 */
#include "bank.h"
#include "disk.h"
#include "moments.h"
#include "tries.h"

#include "demo-db/engine/session/state.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHORT_STRIDE 7

static const char *const fault_names[] = { "EIO", "a full disk", "half done" };

static struct bank bank;

static struct db_options options(void)
{
	return (struct db_options){ .workers = 2,
		.pool_bytes = 1u << 20,
		.io = DB_IO_BUFFERED,
		.read_latency_ns = 1,
		.read_ahead_pages = 4,
		.sync_commits = true,
		.no_checkpoint = true,
		.on_connection = fixture_functions };
}

static int set_up(void **state)
{
	struct db_options wanted = options();
	(void)state;
	bank_open(&bank, &wanted);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	bank_close(&bank);
	return 0;
}

static bool is_disk_error(int status)
{
	return status == DB_EIO || status == DB_EFULL || status == DB_EOPEN ||
	       status == DB_EROLLEDBACK;
}

static void tell(const char *what, enum disk_fault fault, uint64_t tried, uint64_t refused)
{
	print_message("tried: %llu operations of the disk, %s, at %s; %llu refused it\n",
		(unsigned long long)tried, fault_names[fault], what, (unsigned long long)refused);
}

/* ---- Work ------------------------------------------------------------------------------------- */

static bool run_work(const struct work *work)
{
	for (const char *const *sql = work->statements; *sql; sql++) {
		int rc = run_sql(bank.session, *sql);
		if (rc == 0)
			continue;
		if (!is_disk_error(rc))
			fail_msg("%s: %d %s, moment %llu", *sql, rc, last_result.message,
				(unsigned long long)moments_disarm());
		assert_true(last_result.message[0]);
		if (db_session_transaction(bank.session) != 'I')
			must(bank.session, "ROLLBACK");
		return false;
	}
	return true;
}

static bool in_log; /* or all pages have been copied into the database */

/* Nothing is in memory: every page is read, and every connection opened. */
static void forget_pages(void)
{
	struct db_options wanted = options();
	if (!in_log)
		assert_int_equal(db_checkpoint(bank.fixture.engine, DB_CHECKPOINT_TRUNCATE), DB_OK);
	bank_close_sessions(&bank);
	fixture_reopen(&bank.fixture, &wanted);
	bank_open_sessions(&bank);
	connections_close_idle(&bank.fixture.engine->connections);
	bank.fixture.engine->connections.count = 0;
}

static bool try_work(
	const struct work *work, uint64_t k, uint64_t before, uint64_t after, uint64_t *refused)
{
	forget_pages();
	moments_arm(k);
	bool done = run_work(work);
	bool reached = moments_disarm() >= k;
	bank_check_quiet(&bank);
	bank_check(bank.other);
	uint64_t found = bank_state(bank.other);
	if (found != (done ? after : before))
		fail_msg("moment %llu: the work is %s, the state that of %s", (unsigned long long)k,
			done ? "done" : "refused",
			found == after	  ? "after it"
			: found == before ? "before it"
					  : "neither");
	if (done)
		bank_run(bank.session, work->undo);
	*refused += !done;
	return reached;
}

static void try_all_work(void)
{
	uint64_t tried[DISK_FAULTS] = { 0 }, refused[DISK_FAULTS] = { 0 };
	for (uint32_t i = 0; i < work_count; i++) {
		uint64_t before = bank_state(bank.other);
		bank_run(bank.session, works[i].statements);
		uint64_t after = bank_state(bank.other);
		bank_run(bank.session, works[i].undo);
		for (enum disk_fault fault = 0; fault < DISK_FAULTS; fault++) {
			uint64_t k = tries_first(i + (uint64_t)fault);
			print_message("%s, %s\n", works[i].name, fault_names[fault]);
			disk_fails_with(fault);
			for (; try_work(&works[i], k, before, after, &refused[fault]);
				k += tries_stride)
				tried[fault]++;
		}
	}
	for (enum disk_fault fault = 0; fault < DISK_FAULTS; fault++)
		tell(in_log ? "work on what is in the log" : "work on what is in the database",
			fault, tried[fault], refused[fault]);
}

static void work_on_a_disk_that_fails_is_done_whole_or_not_at_all(void **state)
{
	(void)state;
	in_log = true;
	try_all_work();
}

static void so_is_work_on_what_a_checkpoint_has_copied(void **state)
{
	(void)state;
	in_log = false;
	try_all_work();
}

/* ---- Opening, checkpoints, closing ------------------------------------------------------------ */

/* It may be refused, and then nothing is lost. */
static int reopen(void)
{
	char message[DB_MESSAGE_MAX] = "";
	struct db_options wanted = options();
	wanted.struct_size = sizeof(wanted);
	wanted.data_dir = bank.fixture.dir;
	bank_close_sessions(&bank);
	db_close(bank.fixture.engine);
	int rc = db_open(&bank.fixture.engine, &wanted, message);
	uint64_t moment = moments_disarm();
	if (rc) {
		if (!is_disk_error(rc))
			fail_msg("moment %llu: %d %s", (unsigned long long)moment, rc, message);
		assert_true(message[0]);
		assert_int_equal(db_open(&bank.fixture.engine, &wanted, message), DB_OK);
	}
	bank_open_sessions(&bank);
	return rc;
}

static int truncate_log(void)
{
	return db_checkpoint(bank.fixture.engine, DB_CHECKPOINT_TRUNCATE);
}

static int copy_log(void)
{
	return db_checkpoint(bank.fixture.engine, DB_CHECKPOINT_PASSIVE);
}

static int back_up(void)
{
	char path[192], partial[208];
	snprintf(path, sizeof(path), "%s/copy.db", bank.fixture.dir);
	snprintf(partial, sizeof(partial), "%s.partial", path);
	int status = bank_back_up(&bank, (struct db_backup_options){ .path = path });
	if (status)
		assert_int_equal(access(path, F_OK), -1);
	else
		remove(path);
	remove(partial);
	return status;
}

static bool try_call(int (*call)(void), uint64_t k, uint64_t *refused)
{
	bank_run(bank.session, works[0].statements);
	uint64_t expected = bank_state(bank.other);
	moments_arm(k);
	int rc = call();
	bool reached = moments_disarm() >= k;
	if (rc && !is_disk_error(rc))
		fail_msg("moment %llu: %d", (unsigned long long)k, rc);
	*refused += rc != 0;
	bank_check(bank.other);
	assert_int_equal(bank_state(bank.other), expected);
	forget_pages();
	bank_check(bank.other);
	assert_int_equal(bank_state(bank.other), expected);
	bank_run(bank.session, works[0].undo);
	bank_check_quiet(&bank);
	return reached;
}

static void what_is_committed_outlives_a_disk_that_fails(void **state)
{
	static const struct {
		const char *name;
		int (*call)(void);
	} calls[] = { { "a checkpoint", copy_log }, { "a checkpoint that truncates", truncate_log },
		{ "a backup", back_up }, { "closing and opening", reopen } };
	(void)state;
	in_log = false;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		for (enum disk_fault fault = 0; fault < DISK_FAULTS; fault++) {
			uint64_t tried = 0, refused = 0;
			disk_fails_with(fault);
			while (try_call(calls[i].call, tried + 1, &refused))
				tried++;
			tell(calls[i].name, fault, tried, refused);
		}
	}
}

int main(int argc, char **argv)
{
	if (!tries_read(argc, argv, SHORT_STRIDE))
		return 2;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			work_on_a_disk_that_fails_is_done_whole_or_not_at_all, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			so_is_work_on_what_a_checkpoint_has_copied, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_committed_outlives_a_disk_that_fails, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
