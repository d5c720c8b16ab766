/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deaths.c - the process dies at each write. The files are copied as they are when a write is half
 * done, when it is done, and after each sync and change of size; an engine that opens such a copy
 * finds the database sound, and the work under way done as a whole or not at all. What was
 * acknowledged before is there.
 */
#include "bank.h"
#include "disk.h"
#include "tries.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHORT_STRIDE 7
#define COPY_BYTES   65536

static struct bank bank;
static char copies[sizeof(bank.fixture.dir) + 16];
static _Atomic uint64_t writes;
static uint64_t next_copy;  /* the number of the write to be copied */
static uint64_t first_copy; /* of the work under way */
static uint64_t checked;

/* ---- Copies ----------------------------------------------------------------------------------- */

static void copy_path(char *out, size_t bytes, uint64_t number)
{
	snprintf(out, bytes, "%s/%llu", copies, (unsigned long long)number);
}

static void copy_file(const char *from, const char *to)
{
	static char buffer[COPY_BYTES];
	ssize_t bytes;
	int in = open(from, O_RDONLY | O_CLOEXEC), out = creat(to, 0600);
	while (in >= 0 && out >= 0 && (bytes = read(in, buffer, sizeof(buffer))) > 0)
		if (write(out, buffer, (size_t)bytes) != bytes)
			abort();
	close(in);
	close(out);
}

/* Closing another descriptor of a database would drop the locks of the engine that has it open; no
 * other process is there to take them. */
static void copy_files(void)
{
	char folder[sizeof(copies) + 24], from[512], to[512];
	struct dirent *entry;
	uint64_t number = ++writes;
	if (number != next_copy)
		return;
	next_copy += tries_stride;
	copy_path(folder, sizeof(folder), number);
	mkdir(folder, 0700);
	DIR *files = opendir(bank.fixture.dir);
	while (files && (entry = readdir(files))) {
		snprintf(from, sizeof(from), "%s/%s", bank.fixture.dir, entry->d_name);
		snprintf(to, sizeof(to), "%s/%s", folder, entry->d_name);
		if (strncmp(entry->d_name, "demo.db", 7) == 0)
			copy_file(from, to);
	}
	closedir(files);
}

/* ---- After the death -------------------------------------------------------------------------- */

static struct db_options options(const char *folder)
{
	return (struct db_options){ .struct_size = sizeof(struct db_options),
		.data_dir = folder,
		.workers = 1,
		.pool_bytes = 1u << 20,
		.io = DB_IO_BUFFERED,
		.read_latency_ns = 1,
		.no_checkpoint = true,
		.on_connection = fixture_functions };
}

static void check_copy(uint64_t number, uint64_t before, uint64_t after)
{
	struct fixture dead = { 0 };
	char message[DB_MESSAGE_MAX] = "";
	copy_path(dead.dir, sizeof(dead.dir), number);
	struct db_options wanted = options(dead.dir);
	if (db_open(&dead.engine, &wanted, message))
		fail_msg("write %llu: %s", (unsigned long long)number, message);
	struct db_session *session = open_session(&dead);
	uint64_t found = bank_state(session);
	if (found != before && found != after)
		fail_msg("write %llu: the work is half done", (unsigned long long)number);
	bank_check(session);
	must(session, "UPDATE totals SET n = n + 1");
	db_session_close(session);
	db_close(dead.engine);
	fixture_remove_folder(&dead);
	checked++;
}

static void check_copies(uint64_t before, uint64_t after)
{
	disk_tell(NULL);
	for (uint64_t number = first_copy; number < next_copy; number += tries_stride)
		check_copy(number, before, after);
	first_copy = next_copy;
}

/* ---- The tests -------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	(void)state;
	struct db_options wanted = options(NULL);
	bank_open(&bank, &wanted);
	snprintf(copies, sizeof(copies), "%s-dead", bank.fixture.dir);
	assert_int_equal(mkdir(copies, 0700), 0);
	writes = checked = 0;
	first_copy = next_copy = tries_first(1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	disk_tell(NULL);
	rmdir(copies);
	bank_close(&bank);
	return 0;
}

static uint64_t die_in(const char *const *statements, uint64_t before, uint64_t after)
{
	disk_tell(copy_files);
	bank_run(bank.session, statements);
	check_copies(before, after);
	uint64_t found = bank_state(bank.other);
	return found;
}

static void copy_the_log(enum db_checkpoint_mode mode)
{
	uint64_t state = bank_state(bank.other);
	disk_tell(copy_files);
	assert_int_equal(db_checkpoint(bank.fixture.engine, mode), DB_OK);
	check_copies(state, state);
}

static void a_process_that_dies_at_any_write_has_done_its_work_whole_or_not_at_all(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < work_count; i++) {
		const struct work *work = &works[i];
		uint64_t before = bank_state(bank.other);
		bank_run(bank.session, work->statements);
		uint64_t after = bank_state(bank.other);
		bank_run(bank.session, work->undo);
		print_message("%s\n", work->name);
		assert_int_equal(die_in(work->statements, before, after), after);
		copy_the_log(i % 2 ? DB_CHECKPOINT_PASSIVE : DB_CHECKPOINT_TRUNCATE);
		assert_int_equal(die_in(work->undo, after, before), before);
		copy_the_log(i % 2 ? DB_CHECKPOINT_RESTART : DB_CHECKPOINT_PASSIVE);
	}
	print_message("tried: %llu deaths in %llu moments of writes; each database was sound\n",
		(unsigned long long)checked, (unsigned long long)writes);
	assert_true(checked > 0);
}

static void so_has_one_that_dies_while_it_opens_or_closes(void **state)
{
	(void)state;
	tries_stride = 1;
	first_copy = next_copy = 1;
	bank_run(bank.session, works[0].statements);
	uint64_t there = bank_state(bank.other);
	for (int i = 0; i < 2; i++) { /* the second leaves no log behind */
		struct db_options wanted = options(NULL);
		wanted.no_checkpoint = i == 0;
		bank_close_sessions(&bank);
		disk_tell(copy_files);
		fixture_reopen(&bank.fixture, &wanted);
		check_copies(there, there);
		bank_open_sessions(&bank);
		bank_run(bank.session, works[0].undo);
		bank_run(bank.session, works[0].statements);
	}
	bank_close_sessions(&bank);
	disk_tell(copy_files);
	struct db_options wanted = options(NULL);
	fixture_reopen(&bank.fixture, &wanted);
	check_copies(there, there);
	bank_open_sessions(&bank);
	bank_run(bank.session, works[0].undo);
	print_message(
		"tried: %llu deaths while opening and closing\n", (unsigned long long)checked);
}

int main(int argc, char **argv)
{
	if (!tries_read(argc, argv, SHORT_STRIDE))
		return 2;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_process_that_dies_at_any_write_has_done_its_work_whole_or_not_at_all,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			so_has_one_that_dies_while_it_opens_or_closes, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
