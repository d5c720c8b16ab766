/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of cancel-sim: what it lists, repeats, refuses, and never leaves half-written.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"

static void the_list_describes_every_lane(void **state)
{
	(void)state;
	static const char *const names[] = { "metastable", "retry-budget", "admission",
		"hidden-capacity", "trigger-intensity", "healing-time", "composition" };
	struct tool_result result = tool_run("list");
	assert_int_equal(result.status, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_non_null(strstr(result.out, names[i]));
	tool_free(&result);
}

static void every_listed_lane_has_help_with_its_keys(void **state)
{
	(void)state;
	struct tool_result list = tool_run("list");
	char *rest = list.out, *line;
	int lanes = 0;
	while ((line = strsep(&rest, "\n")) && *line) {
		char name[64], command[128];
		if (sscanf(line, "%*d %63s", name) != 1)
			assert_int_equal(sscanf(line, " %63s", name), 1);
		snprintf(command, sizeof(command), "lane %s --help", name);
		struct tool_result help = tool_run(command);
		assert_int_equal(help.status, 0);
		assert_non_null(strstr(help.out, "--set"));
		tool_free(&help);
		lanes++;
	}
	assert_true(lanes >= 7);
	tool_free(&list);
}

static void every_command_has_help(void **state)
{
	(void)state;
	static const char *const commands[] = { "list", "lane", "run", "speed" };
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		char line[64], usage[64];
		snprintf(line, sizeof(line), "%s --help", commands[i]);
		snprintf(usage, sizeof(usage), "cancel-sim %s", commands[i]);
		struct tool_result help = tool_run(line);
		assert_int_equal(help.status, 0);
		assert_non_null(strstr(help.out, usage));
		tool_free(&help);
	}
}

static void it_tells_its_version(void **state)
{
	(void)state;
	struct tool_result result = tool_run("--version");
	assert_int_equal(result.status, 0);
	assert_int_equal(strncmp(result.out, "cancel-sim 0.", 13), 0);
	tool_free(&result);
}

static void a_lane_goes_by_number_or_name(void **state)
{
	(void)state;
	answer_same("lane 2 --format csv", "lane retry-budget --format csv");
}

static void an_option_and_a_set_are_the_same(void **state)
{
	(void)state;
	answer_same("lane 1 --load 150 --timeout-ms 900 --format json",
		"lane 1 --set load=150 --set timeout_ms=900 --format json");
}

static void the_table_shows_the_known_rows_of_lane_1(void **state)
{
	(void)state;
	struct tool_result result = tool_run("lane 1");
	assert_non_null(strstr(result.out, "35      560        0     3080      280        0"));
	assert_non_null(strstr(result.out, "160      560        0    36780      140      251"));
	assert_non_null(strstr(result.out, "199      560        0    46920      140      140"));
	assert_non_null(strstr(result.out, "5320"));
	tool_free(&result);
}

static void bad_input_is_one_line_and_status_2(void **state)
{
	(void)state;
	tool_refuses("lane nowhere", "unknown lane 'nowhere'");
	tool_refuses("lane 99", "unknown lane '99'");
	tool_refuses("lane", "lane needs a name or number");
	tool_refuses("fly", "unknown command 'fly'");
	tool_refuses("list all", "unexpected argument 'all'");
	tool_refuses("lane 1 again", "unexpected argument 'again'");
	tool_refuses("lane 1 --lode 280", "unknown or ambiguous option '--lode'");
	tool_refuses("lane 1 --load", "--load needs a value");
	tool_refuses("lane 1 --set lode=280", "unknown key 'lode'");
	tool_refuses("lane 1 --set load", "key=value");
	tool_refuses("lane 1 --load -5", "1 … 1000000");
	tool_refuses("lane 1 --load 0", "1 … 1000000");
	tool_refuses("lane 1 --load 99999999999999999999999", "1 … 1000000");
	tool_refuses("lane 1 --set timeout_ms=1.5", "a whole number: 1 … 1000000");
	tool_refuses("lane 1 --set engine=quantum", "sweep, causal");
	tool_refuses("lane 1 --format yaml", "table, csv, json");
	tool_refuses("lane 1 --seeds 0", "1 … 1000");
	tool_refuses("lane 1 --seed -1", "--seed");
	tool_refuses("lane 1 --format csv --table nothing", "no table 'nothing'");
	tool_refuses("lane 1 --plot picture.gif", ".svg or .png");
}

static void an_unwritable_file_is_refused_before_the_run(void **state)
{
	(void)state;
	tool_refuses("lane 1 --plot /nonexistent/picture.svg", "/nonexistent/picture.svg");
	tool_refuses("lane 1 --out /nonexistent/rows.csv", "/nonexistent/rows.csv");
	tool_refuses("lane 1 --out /dev", "not a regular file");
}

static int files_in(const char *folder)
{
	int count = 0;
	DIR *open = opendir(folder);
	assert_non_null(open);
	while (readdir(open))
		count++;
	closedir(open);
	return count - 2;
}

static void files_appear_whole_or_not_at_all(void **state)
{
	(void)state;
	char folder[] = "/tmp/cancel-sim-XXXXXX", command[256], path[128];
	assert_non_null(mkdtemp(folder));
	snprintf(command, sizeof(command),
		"lane 1 --format csv --table nothing --plot %s/a.svg --out %s/a.csv", folder,
		folder);
	tool_refuses(command, "no table");
	assert_int_equal(files_in(folder), 0);
	snprintf(command, sizeof(command),
		"lane 1 --load 280 --format csv --plot %s/a.svg --out %s/a.csv", folder, folder);
	struct tool_result result = tool_run(command);
	assert_int_equal(result.status, 0);
	assert_string_equal(result.out, "");
	assert_int_equal(files_in(folder), 2);
	snprintf(path, sizeof(path), "%s/a.csv", folder);
	char *csv = tool_read_file(path);
	assert_non_null(strstr(csv, "\n199,560,0,0,46920,280\n"));
	unlink(path);
	snprintf(path, sizeof(path), "%s/a.svg", folder);
	char *svg = tool_read_file(path);
	assert_non_null(strstr(svg, "</svg>"));
	unlink(path);
	free(csv);
	free(svg);
	tool_free(&result);
	rmdir(folder);
}

static void a_bound_ends_a_run_and_is_named(void **state)
{
	(void)state;
	struct tool_result result = tool_run("lane 1 --load 280 --max-events 5000");
	assert_int_equal(result.status, 0);
	assert_non_null(strstr(result.out, "stopped at its bound on the number of events"));
	tool_free(&result);
}

static void lanes_repeat_to_the_byte(void **state)
{
	(void)state;
	static const char *const commands[] = { "lane 1 --format json", "lane 2", "lane 3",
		"lane healing-time", "lane composition --format csv" };
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		answer_same(commands[i], commands[i]);
}

static void speed_reports_both_engines_and_flat_memory(void **state)
{
	(void)state;
	json_t *root = tool_json("speed --duration-s 500 --repeat 1 --format json");
	json_t *sweep = json_object_get(root, "sweep"), *causal = json_object_get(root, "causal");
	assert_true(answer_whole(sweep, "requests_per_s") > 0);
	assert_true(answer_yes(sweep, "memory_flat"));
	assert_true(answer_whole(causal, "requests_per_s") > 0);
	assert_true(answer_number(causal, "bytes_per_queued") <= 16.0);
	assert_true(answer_whole(json_object_get(root, "world"), "events_per_s") > 0);
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_list_describes_every_lane),
		cmocka_unit_test(every_listed_lane_has_help_with_its_keys),
		cmocka_unit_test(every_command_has_help),
		cmocka_unit_test(it_tells_its_version),
		cmocka_unit_test(a_lane_goes_by_number_or_name),
		cmocka_unit_test(an_option_and_a_set_are_the_same),
		cmocka_unit_test(the_table_shows_the_known_rows_of_lane_1),
		cmocka_unit_test(bad_input_is_one_line_and_status_2),
		cmocka_unit_test(an_unwritable_file_is_refused_before_the_run),
		cmocka_unit_test(files_appear_whole_or_not_at_all),
		cmocka_unit_test(a_bound_ends_a_run_and_is_named),
		cmocka_unit_test(lanes_repeat_to_the_byte),
		cmocka_unit_test(speed_reports_both_engines_and_flat_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
