/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of cancel-bench, run as a user runs it: what it lists, refuses, writes and
 * leaves behind. Real runs are short and small; nothing is asserted about how fast they were.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/tool.h"

#define SMALL "--pool-mb 4 --rate 300 --slo-ms 50 --quiet --allow-disturbed"

static char folder[] = "/tmp/cancel-bench-XXXXXX";
static char text[1024];

static const char *command(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	return text;
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static void remove_all(const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	while (directory && (entry = readdir(directory))) {
		char inside[512];
		struct stat about;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(inside, sizeof inside, "%.200s/%.200s", path, entry->d_name);
		if (lstat(inside, &about) == 0 && S_ISDIR(about.st_mode))
			remove_all(inside);
		else
			unlink(inside);
	}
	if (directory)
		closedir(directory);
	rmdir(path);
}

static int remove_folder(void **state)
{
	(void)state;
	remove_all(folder);
	return 0;
}

static void the_list_names_every_case_and_policy(void **state)
{
	(void)state;
	static const char *const names[] = { "dump", "backup-lock", "scan-backup", "healthy",
		"none", "timeout", "longest", "limit", "monitor", "cancel", "multi-objective",
		"greedy", "proportional", "undo-aware" };
	struct tool_result result = tool_run("list");
	assert_int_equal(result.status, 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strstr(result.out, names[i]))
			fail_msg("list does not name %s", names[i]);
	tool_free(&result);
}

static void help_and_version_are_there(void **state)
{
	(void)state;
	static const char *const commands[] = { "--help", "run --help", "overhead --help",
		"micro --help", "list --help", "--version" };
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		struct tool_result result = tool_run(commands[i]);
		assert_int_equal(result.status, 0);
		assert_true(strlen(result.out) > 10);
		tool_free(&result);
	}
}

static void the_help_of_a_command_shows_how_it_is_called(void **state)
{
	(void)state;
	static const char *const commands[] = { "run", "overhead", "micro" };
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		char line[64], usage[64];
		snprintf(line, sizeof line, "%s --help", commands[i]);
		snprintf(usage, sizeof usage, "Usage: cancel-bench %s [OPTION...]", commands[i]);
		struct tool_result result = tool_run(line);
		assert_int_equal(result.status, 0);
		assert_ptr_equal(strstr(result.out, usage), result.out);
		tool_free(&result);
	}
	struct tool_result result = tool_run("run --nonsense");
	assert_int_equal(result.status, 2);
	assert_non_null(strstr(result.error, "cancel-bench run: unrecognized option"));
	tool_free(&result);
}

static void nonsense_is_refused_in_one_line(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{ "", "command" },
		{ "walk", "unknown command 'walk'" },
		{ "list more", "no arguments" },
		{ "run", "needs a case" },
		{ "run dumpp", "unknown case 'dumpp'" },
		{ "run dump healthy", "second" },
		{ "run dump --policy nobody", "unknown policy 'nobody'" },
		{ "run dump --policy none,none", "twice" },
		{ "run dump --policy ,", "list of policies" },
		{ "run dump --policy none,", "list of policies" },
		{ "run dump --policy cancel:nobody", "unknown policy 'cancel:nobody'" },
		{ "run dump --policy cancel:greedy/nobody", "unknown policy" },
		{ "run dump --policy none:greedy", "unknown policy" },
		{ "run dump --rate 0", "--rate: '0'" },
		{ "run dump --rate nan", "--rate: 'nan'" },
		{ "run dump --rate 12x", "--rate: '12x'" },
		{ "run dump --rate 1e99", "--rate" },
		{ "run dump --seconds -5", "--seconds: '-5'" },
		{ "run dump --seconds 99999999999999999999", "--seconds" },
		{ "run dump --reps 0", "--reps" },
		{ "run dump --reps 101", "from 1 to 100" },
		{ "run dump --seed x", "--seed" },
		{ "run dump --slo-ms 0", "--slo-ms" },
		{ "run dump --slo-ratio 0.5", "--slo-ratio" },
		{ "run dump --pool-mb 0", "--pool-mb: '0'" },
		{ "run dump --workers 0", "--workers" },
		{ "run dump --format xml", "'xml' is not table, json or csv" },
		{ "run dump --arrivals never", "'never'" },
		{ "run dump --share 7", "--share" },
		{ "run healthy --share 0.01", "case dump" },
		{ "run dump --batch", "backup-lock" },
		{ "run healthy --rerun", "culprit" },
		{ "run dump --saturate --policy timeout", "timeout" },
		{ "run dump --out /nowhere/at/all", "--out" },
		{ "run dump --plot /nowhere/at/all", "--plot" },
		{ "overhead --pairs 1", "--pairs" },
		{ "overhead --format csv", "'csv'" },
		{ "micro --format csv", "'csv'" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		tool_refuses(cases[i][0], cases[i][1]);
}

static void write_file(const char *path, const char *content)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(content, file);
	assert_int_equal(fclose(file), 0);
}

static void a_data_folder_that_is_a_file_is_refused(void **state)
{
	(void)state;
	char path[128];
	snprintf(path, sizeof path, "%s/file", folder);
	write_file(path, "not a folder");
	tool_refuses(command("run dump --data %s --seconds 1 " SMALL, path), path);
}

static void a_corrupt_database_is_refused_and_left_alone(void **state)
{
	(void)state;
	char path[128], database[160], out[160];
	glob_t left;
	snprintf(path, sizeof path, "%s/corrupt", folder);
	snprintf(database, sizeof database, "%s/demo.db", path);
	snprintf(out, sizeof out, "%s/result", folder);
	assert_int_equal(mkdir(path, 0777), 0);
	write_file(database,
		"this is no database, and longer than the header of one would have to be");
	tool_refuses(command("run dump --data %s --out %s --seconds 1 " SMALL, path, out), path);
	char *kept = tool_read_file(database);
	assert_non_null(kept);
	assert_non_null(strstr(kept, "this is no database"));
	free(kept);
	assert_int_not_equal(access(out, F_OK), 0);
	assert_int_equal(glob(command("%s*", out), 0, NULL, &left), GLOB_NOMATCH);
}

static json_t *row_of(json_t *root, const char *policy)
{
	size_t i;
	json_t *row;
	json_array_foreach(json_object_get(root, "summary"), i,
		row) if (strcmp(json_string_value(json_object_get(row, "policy")), policy) ==
			 0) return row;
	fail_msg("no row of policy %s", policy);
	return NULL;
}

static double value_of(json_t *row, const char *name)
{
	json_t *value = json_object_get(json_object_get(row, name), "median");
	if (!json_is_number(value))
		fail_msg("%s has no median", name);
	return json_number_value(value);
}

static void somebody_elses_database_is_left_alone(void **state)
{
	(void)state;
	char path[128], database[160];
	sqlite3 *db;
	snprintf(path, sizeof path, "%s/foreign", folder);
	snprintf(database, sizeof database, "%s/demo.db", path);
	assert_int_equal(mkdir(path, 0777), 0);
	assert_int_equal(sqlite3_open(database, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE mine(x)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	tool_refuses(command("run dump --data %s --seconds 1 " SMALL, path), "left alone");
	assert_int_equal(sqlite3_open(database, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "SELECT x FROM mine", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void every_request_of_a_run_is_accounted_for(void **state)
{
	(void)state;
	static const char *const policies[] = { "reference", "none", "cancel" };
	json_t *root = tool_json(command(
		"run dump --data %s/data --policy none,cancel --seconds 4 --format json " SMALL,
		folder));
	for (size_t i = 0; i < 3; i++) {
		json_t *row = row_of(root, policies[i]);
		double parts = value_of(row, "ok") + value_of(row, "rejected") +
			       value_of(row, "cancelled") + value_of(row, "failed") +
			       value_of(row, "skipped") + value_of(row, "unanswered");
		assert_float_equal((float)value_of(row, "offered"), (float)parts, 0.1);
		assert_int_equal((int)value_of(row, "failed"), 0);
		assert_int_equal((int)value_of(row, "offered"), 1199);
	}
	assert_int_equal((int)value_of(row_of(root, "reference"), "culprits"), 0);
	assert_int_equal((int)value_of(row_of(root, "none"), "culprits"), 1);
	assert_int_equal((int)value_of(row_of(root, "none"), "cancels"), 0);
	assert_string_equal(json_string_value(json_object_get(root, "case")), "dump");
	json_decref(root);
}

static void a_result_file_and_a_plot_are_written(void **state)
{
	(void)state;
	static const char *const made[] = { "dump.csv", "dump.gp", "dump.svg", "dump.png" };
	char out[128];
	snprintf(out, sizeof out, "%s/result.csv", folder);
	struct tool_result result =
		tool_run(command("run dump --data %s/data --policy none --seconds 1 --format csv "
				 "--out %s --plot %s/plot " SMALL,
			folder, out, folder));
	if (result.status != 0)
		fail_msg("status %d: %s", result.status, result.error);
	assert_string_equal(result.out, "");
	tool_free(&result);
	char *csv = tool_read_file(out);
	assert_non_null(csv);
	assert_non_null(strstr(csv, "goodput_ratio"));
	assert_non_null(strstr(csv, "dump,none,"));
	free(csv);
	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		assert_int_equal(access(command("%s/plot/%s", folder, made[i]), R_OK), 0);
}

static void the_other_cases_run(void **state)
{
	(void)state;
	static const char *const cases[] = { "backup-lock --policy none",
		"backup-lock --batch --policy none", "scan-backup --policy longest",
		"healthy --policy monitor" };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_t *root =
			tool_json(command("run %s --data %s/data --seconds 1 --format json " SMALL,
				cases[i], folder));
		assert_true(json_array_size(json_object_get(root, "summary")) >= 2);
		json_decref(root);
	}
}

/* ---- On a busy machine ----------------------------------------------------------------------- */

#define SPINNERS 4
static pid_t spinners[SPINNERS];
static cpu_set_t cpus_before;

static void spin(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		continue;
	_exit(0);
}

/* Everything this test starts has one CPU, and so have processes that want all of it. */
static int clients_one_cpu(void **state)
{
	(void)state;
	cpu_set_t one;
	CPU_ZERO(&one);
	assert_int_equal(sched_getaffinity(0, sizeof cpus_before, &cpus_before), 0);
	for (size_t cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &cpus_before))
			CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	pid_t parent = getpid();
	for (int i = 0; i < SPINNERS; i++) {
		spinners[i] = fork();
		if (spinners[i] == 0)
			spin(parent);
		assert_true(spinners[i] > 0);
	}
	return 0;
}

static int leave_it_alone(void **state)
{
	(void)state;
	for (int i = 0; i < SPINNERS; i++) {
		kill(spinners[i], SIGKILL);
		waitpid(spinners[i], NULL, 0);
	}
	return sched_setaffinity(0, sizeof cpus_before, &cpus_before);
}

#define BUSY                                                                                       \
	"run backup-lock --data %s/data --policy none --seconds 2 --pool-mb 4 --rate 100 --quiet"

static void a_reference_on_a_busy_machine_ends_with_status_3_and_one_line(void **state)
{
	(void)state;
	struct tool_result result = tool_run(command(BUSY, folder));
	if (result.status != 3 || result.error_lines != 1 || result.out[0])
		fail_msg("status %d: %s%s", result.status, result.error, result.out);
	assert_non_null(strstr(result.error, "the reference is not credible"));
	tool_free(&result);
}

static void if_that_is_allowed_the_rows_are_printed_and_marked(void **state)
{
	(void)state;
	json_t *root = tool_json(command(BUSY " --allow-disturbed --format json", folder));
	json_t *reference = row_of(root, "reference");
	assert_true(json_is_true(json_object_get(root, "disturbed")));
	assert_true(json_is_true(json_object_get(reference, "disturbed")));
	assert_true(json_is_true(json_object_get(row_of(root, "none"), "disturbed")));
	assert_true(value_of(reference, "others_ms_per_s") > 0);
	assert_true(value_of(reference, "run_queue_ms_per_s") > 0);
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_list_names_every_case_and_policy),
		cmocka_unit_test(help_and_version_are_there),
		cmocka_unit_test(the_help_of_a_command_shows_how_it_is_called),
		cmocka_unit_test(nonsense_is_refused_in_one_line),
		cmocka_unit_test(a_data_folder_that_is_a_file_is_refused),
		cmocka_unit_test(a_corrupt_database_is_refused_and_left_alone),
		cmocka_unit_test(somebody_elses_database_is_left_alone),
		cmocka_unit_test(every_request_of_a_run_is_accounted_for),
		cmocka_unit_test(a_result_file_and_a_plot_are_written),
		cmocka_unit_test(the_other_cases_run),
		cmocka_unit_test_setup_teardown(
			a_reference_on_a_busy_machine_ends_with_status_3_and_one_line,
			clients_one_cpu, leave_it_alone),
		cmocka_unit_test_setup_teardown(if_that_is_allowed_the_rows_are_printed_and_marked,
			clients_one_cpu, leave_it_alone),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
