/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocations.c - each allocation, and each start of a thread, fails once: of an engine that is
 * opened, works and is closed, and of the library below it. What cannot be done is refused in so
 * many words; nothing of it stays behind, and the next try succeeds.
 */
#include "bank.h"
#include "moments.h"
#include "shortage.h"
#include "tries.h"

#include "demo-db/engine/session/state.h"

#include <dirent.h>
#include <string.h>

#define SHORT_STRIDE 37

static bool is_shortage(int status)
{
	return status == DB_ENOMEM || status == DB_ETHREAD || status == DB_EROLLEDBACK;
}

static uint32_t open_descriptors(void)
{
	uint32_t count = 0;
	DIR *folder = opendir("/proc/self/fd");
	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void tell(const char *what, uint64_t tried, uint64_t refused)
{
	print_message("tried: %llu allocations of %s, %llu refused it\n", (unsigned long long)tried,
		what, (unsigned long long)refused);
	assert_true(refused > 0);
}

/* ---- Opening and closing --------------------------------------------------------------------- */

/* Opens, and closes if there is something to close. */
static bool try_open(uint64_t k, bool sqlite, uint64_t *refused)
{
	struct fixture fixture;
	char message[DB_MESSAGE_MAX] = "";
	fixture_make_folder(&fixture);
	struct db_options options = fixture_options(&fixture);
	shortage_of_sqlite(sqlite);
	moments_arm(k);
	int rc = db_open(&fixture.engine, &options, message);
	if (rc == 0)
		db_close(fixture.engine);
	bool reached = moments_disarm() >= k;
	if (rc) {
		if (!is_shortage(rc))
			fail_msg("moment %llu: %d %s", (unsigned long long)k, rc, message);
		assert_true(message[0]);
		*refused += 1;
	}
	assert_int_equal(db_open(&fixture.engine, &options, message), DB_OK);
	struct db_session *session = open_session(&fixture);
	must(session, "CREATE TABLE t(n)");
	db_session_close(session);
	db_close(fixture.engine);
	fixture_remove_folder(&fixture);
	return reached;
}

static void try_all_opens(bool sqlite)
{
	uint64_t tried = 0, refused = 0, k = sqlite ? tries_first(0) : 1;
	try_open(UINT64_MAX, sqlite, &refused); /* what SQLite keeps for ever is there now */
	uint32_t descriptors = open_descriptors();
	for (; try_open(k, sqlite, &refused); k += sqlite ? tries_stride : 1)
		tried++;
	assert_int_equal(open_descriptors(), descriptors);
	tell(sqlite ? "opening an engine, SQLite's included" : "opening an engine", tried, refused);
}

static void an_engine_short_of_memory_is_not_opened_and_leaves_nothing(void **state)
{
	(void)state;
	try_all_opens(false);
}

static void nor_is_one_when_sqlite_is_short_of_memory(void **state)
{
	(void)state;
	try_all_opens(true);
}

/* ---- Work ------------------------------------------------------------------------------------ */

static struct bank bank;

static int set_up(void **state)
{
	struct db_options options = { .workers = 2,
		.pool_bytes = 4u << 20,
		.io = DB_IO_BUFFERED,
		.read_latency_ns = 1,
		.no_checkpoint = true };
	(void)state;
	bank_open(&bank, &options);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	bank_close(&bank);
	return 0;
}

static bool run_work(const struct work *work)
{
	for (const char *const *sql = work->statements; *sql; sql++) {
		int rc = run_sql(bank.session, *sql);
		if (rc == 0)
			continue;
		if (!is_shortage(rc))
			fail_msg("%s: %d %s", *sql, rc, last_result.message);
		assert_true(last_result.message[0]);
		if (db_session_transaction(bank.session) != 'I')
			must(bank.session, "ROLLBACK");
		return false;
	}
	return true;
}

/* The next statement opens its own, and compiles what it runs. */
static void forget_connections(void)
{
	connections_close_idle(&bank.fixture.engine->connections);
	bank.fixture.engine->connections.count = 0;
}

static bool try_work(
	const struct work *work, uint64_t k, uint64_t before, uint64_t after, uint64_t *refused)
{
	forget_connections();
	moments_arm(k);
	bool done = run_work(work);
	bool reached = moments_disarm() >= k;
	bank_check_quiet(&bank);
	bank_check(bank.other);
	assert_int_equal(bank_state(bank.other), done ? after : before);
	if (done)
		bank_run(bank.session, work->undo);
	*refused += !done;
	return reached;
}

static void try_all_work(bool sqlite)
{
	uint64_t tried = 0, refused = 0;
	shortage_of_sqlite(sqlite);
	for (uint32_t i = 0; i < work_count; i++) {
		uint64_t before = bank_state(bank.other);
		bank_run(bank.session, works[i].statements);
		uint64_t after = bank_state(bank.other);
		bank_run(bank.session, works[i].undo);
		uint64_t k = sqlite ? tries_first(i) : 1;
		print_message("%s\n", works[i].name);
		for (; try_work(&works[i], k, before, after, &refused);
			k += sqlite ? tries_stride : 1)
			tried++;
	}
	tell(sqlite ? "work, SQLite's included" : "work", tried, refused);
}

static void work_short_of_memory_is_done_whole_or_not_at_all(void **state)
{
	(void)state;
	try_all_work(false);
}

static void so_is_work_when_sqlite_is_short_of_memory(void **state)
{
	(void)state;
	try_all_work(true);
}

/* ---- All else -------------------------------------------------------------------------------- */

static int call_session(void)
{
	struct db_session *session = NULL;
	int rc = db_session_open(bank.fixture.engine, NULL, &session);
	if (rc == 0)
		db_session_close(session);
	return rc;
}

static int call_prepare(void)
{
	struct db_statement statement;
	char message[DB_MESSAGE_MAX] = "";
	int rc = db_prepare(bank.fixture.engine,
		"SELECT note FROM accounts WHERE id = ?1 ORDER BY note", &statement, message);
	assert_int_equal(rc != 0, message[0] != 0);
	return rc;
}

static int call_describe(void)
{
	uint32_t parameters;
	char message[DB_MESSAGE_MAX] = "";
	int rc = db_describe(bank.other, "SELECT note FROM accounts WHERE balance = ?1", NULL,
		&parameters, NULL, NULL, message);
	assert_int_equal(rc != 0, message[0] != 0);
	return rc;
}

static int call_checkpoint(void)
{
	return db_checkpoint(bank.fixture.engine, DB_CHECKPOINT_TRUNCATE);
}

static int call_passive_checkpoint(void)
{
	return db_checkpoint(bank.fixture.engine, DB_CHECKPOINT_PASSIVE);
}

static int call_backup(void)
{
	char path[192];
	snprintf(path, sizeof(path), "%s/copy.db", bank.fixture.dir);
	return bank_back_up(&bank, (struct db_backup_options){ .path = path });
}

static bool try_call(int (*call)(void), uint64_t k, uint64_t *refused)
{
	bank_run(bank.session, works[0].statements);
	forget_connections();
	moments_arm(k);
	int rc = call();
	bool reached = moments_disarm() >= k;
	if (rc && !is_shortage(rc))
		fail_msg("moment %llu: %d", (unsigned long long)k, rc);
	*refused += rc != 0;
	bank_run(bank.session, works[0].undo);
	bank_check_quiet(&bank);
	return reached;
}

static void other_calls_short_of_memory_are_refused_and_leave_nothing(void **state)
{
	static const struct {
		const char *name;
		int (*call)(void);
	} calls[] = { { "opening a session", call_session }, { "preparing", call_prepare },
		{ "describing", call_describe }, { "a checkpoint", call_checkpoint },
		{ "a passive checkpoint", call_passive_checkpoint }, { "a backup", call_backup } };
	(void)state;
	shortage_of_sqlite(true);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		uint64_t tried = 0, refused = 0;
		while (try_call(calls[i].call, tried + 1, &refused))
			tried++;
		tell(calls[i].name, tried, refused);
	}
}

int main(int argc, char **argv)
{
	if (!tries_read(argc, argv, SHORT_STRIDE))
		return 2;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_engine_short_of_memory_is_not_opened_and_leaves_nothing),
		cmocka_unit_test(nor_is_one_when_sqlite_is_short_of_memory),
		cmocka_unit_test_setup_teardown(
			work_short_of_memory_is_done_whole_or_not_at_all, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			so_is_work_when_sqlite_is_short_of_memory, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			other_calls_short_of_memory_are_refused_and_leave_nothing, set_up,
			tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
