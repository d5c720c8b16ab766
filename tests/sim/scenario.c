/* SPDX-License-Identifier: Apache-2.0 */
/* Scenario files: a lane of one's own without recompiling, and every way to get one wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"

#define PAIR "[service a]\n[clients b]\n"

static char scenario_path[] = "/tmp/cancel-sim-scenario-XXXXXX";

static int make_path(void **state)
{
	(void)state;
	int file = mkstemp(scenario_path);
	close(file);
	return file < 0;
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(scenario_path);
}

static void write_scenario(const char *text)
{
	FILE *file = fopen(scenario_path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void refused(const char *text, const char *needle)
{
	char command[128], line[256];
	write_scenario(text);
	snprintf(command, sizeof(command), "run %s", scenario_path);
	snprintf(line, sizeof(line), "%s:%s", scenario_path, needle);
	tool_refuses(command, line);
}

static json_t *run_text(const char *text, const char *options)
{
	char command[256];
	write_scenario(text);
	snprintf(command, sizeof(command), "run %s --format json %s", scenario_path, options);
	return tool_json(command);
}

static json_t *first_row(json_t *root, const char *table)
{
	return json_array_get(answer_rows(root, table), 0);
}

static void the_example_shows_a_budget_saving_the_shop(void **state)
{
	(void)state;
	json_t *root = tool_json("run " SCENARIOS "/checkout.ini --seeds 1 --format json");
	json_t *rows = answer_rows(root, "clients");
	assert_string_equal(answer_word(root, "lane"), "checkout");
	assert_int_equal(json_array_size(rows), 6);
	json_t *storm = json_array_get(rows, 2), *saved = json_array_get(rows, 3);
	assert_string_equal(answer_word(storm, "shoppers.budget"), "none");
	assert_true(answer_number(storm, "success_pct") == 0.0);
	assert_true(answer_number(saved, "success_pct") > 99.0);
	json_decref(root);
}

static void a_preset_runs_the_lane_with_its_values(void **state)
{
	(void)state;
	json_t *root = run_text("[scenario]\nlane = retry-budget\n[set]\nbudget = 10\n", "");
	assert_int_equal(answer_whole(root, "heal_second"), 316);
	json_decref(root);
	root = run_text("[scenario]\nlane = retry-budget\n[set]\nbudget = 10\n", "--budget 5");
	assert_int_equal(answer_whole(root, "heal_second"), 226);
	json_decref(root);
}

static void described_services_answer_what_is_sent(void **state)
{
	(void)state;
	json_t *root = run_text("; comment\n[service a]\nwork_us = 1000\n"
				"[clients b]\nloop = fixed\nrate_qps = 50 ; a second\n"
				"[run]\nduration_s = 21\ndrain_s = 1\n",
		"");
	json_t *row = first_row(root, "clients");
	assert_true(answer_number(row, "goodput_qps") == 50.0);
	assert_true(answer_number(row, "success_pct") == 100.0);
	assert_true(answer_number(first_row(root, "services"), "busy_pct") > 4.5);
	json_decref(root);
}

static void the_command_line_overrides_the_file(void **state)
{
	(void)state;
	json_t *root = run_text("[service a]\n[clients b]\nloop = fixed\nrate_qps = 50\n"
				"[run]\nduration_s = 10\n",
		"--b.rate-qps 20 --set run.duration_s=20");
	json_t *row = first_row(root, "clients");
	assert_true(answer_number(row, "attempts_qps") == 20.0);
	json_decref(root);
}

static void changes_and_closed_loops_come_from_the_file(void **state)
{
	(void)state;
	json_t *root =
		run_text("[service a]\nworkers = 8\n"
			 "[clients b]\nloop = paced\nusers = 2\nrate_qps = 100\ntimeout_ms = 0\n"
			 "[change stop]\nkind = outage\nfrom_s = 10\nfor_s = 10\n"
			 "[run]\nduration_s = 60\n",
			"");
	json_t *row = first_row(root, "clients");
	double corrected = answer_number(row, "p99_ms");
	double sent = answer_number(row, "p99_send_ms");
	assert_true(corrected > 5000.0 && sent < 10.0);
	json_decref(root);
}

static void a_sweep_of_two_keys_is_their_product(void **state)
{
	(void)state;
	json_t *root = run_text(PAIR "[run]\nduration_s = 5\n"
				     "[sweep]\nb.rate_qps = 10..30:10\nb.retries = 0, 1\n",
		"");
	json_t *rows = answer_rows(root, "clients");
	assert_int_equal(json_array_size(rows), 6);
	json_t *last = json_array_get(rows, 5);
	assert_string_equal(answer_word(last, "b.rate_qps"), "30");
	assert_string_equal(answer_word(last, "b.retries"), "1");
	json_decref(root);
}

static void a_swept_scenario_has_a_picture_with_a_line_for_each_second_value(void **state)
{
	(void)state;
	char command[256], path[80];
	snprintf(path, sizeof(path), "%s.svg", scenario_path);
	write_scenario(PAIR "[run]\nduration_s = 5\n"
			    "[sweep]\nb.budget = none, bucket\nb.retries = 0, 1\n");
	snprintf(command, sizeof(command), "run %s --plot %s", scenario_path, path);
	struct tool_result result = tool_run(command);
	assert_int_equal(result.status, 0);
	char *svg = tool_read_file(path);
	assert_non_null(svg);
	assert_non_null(strstr(svg, "b, b.retries 0"));
	assert_non_null(strstr(svg, "b, b.retries 1"));
	free(svg);
	unlink(path);
	tool_free(&result);
}

static void help_and_errors_name_the_scenario_to_run(void **state)
{
	(void)state;
	char command[128], needle[128];
	write_scenario(PAIR);
	snprintf(command, sizeof(command), "run %s --help", scenario_path);
	snprintf(needle, sizeof(needle), "usage: cancel-sim run %s [options]", scenario_path);
	struct tool_result result = tool_run(command);
	assert_int_equal(result.status, 0);
	assert_non_null(strstr(result.out, needle));
	tool_free(&result);
	snprintf(command, sizeof(command), "run %s --nonsense", scenario_path);
	snprintf(needle, sizeof(needle), "see cancel-sim run %s --help", scenario_path);
	tool_refuses(command, needle);
}

static void a_scenario_repeats_to_the_byte(void **state)
{
	(void)state;
	char command[128];
	write_scenario(
		"[service a]\nwork = exponential\ngate = dagor-q\n[clients b]\nrate_qps = 2000\n"
		"[run]\nduration_s = 20\n");
	snprintf(command, sizeof(command), "run %s --format json", scenario_path);
	struct tool_result first = tool_run(command), second = tool_run(command);
	assert_int_equal(first.status, 0);
	assert_string_equal(first.out, second.out);
	tool_free(&first);
	tool_free(&second);
}

static void a_wrong_value_names_file_line_and_range(void **state)
{
	(void)state;
	refused("[service a]\nworkers = -1\n[clients b]\n", "2: a.workers: '-1'");
	refused("[service a]\nworkers = -1\n[clients b]\n", "2: a.workers");
	refused("[service a]\n\nworkers = 99999999999999999999\n[clients b]\n", "3: a.workers");
	refused(PAIR "[run]\nduration_s = 1e9\n", "4: run.duration_s");
	refused(PAIR "[clients c]\nloop = square\n",
		"4: c.loop: 'square' is not accepted; it takes "
		"one of: fixed, poisson, paced, closed");
	refused("[scenario]\nseeds = 0\n" PAIR, "2: seeds: '0' is not accepted; it takes a whole "
						"number: 1 … 1000");
	refused(PAIR "[sweep]\nb.retries = 1,200\n", "4: b.retries: '200'");
	refused("[scenario]\nlane = metastable\n[set]\nload = 0\n", "4: load: '0'");
}

static void a_wrong_key_or_section_names_its_line(void **state)
{
	(void)state;
	refused("[service a]\nworkrs = 1\n[clients b]\n", "2: no key 'workrs' in [service]");
	refused("[servce a]\n", "1: no section '[servce a]'");
	refused("[service]\n", "1: no section '[service]'");
	refused("[service a b]\n", "1: no section");
	refused("[scenario]\nlane = nope\n", "2: unknown lane 'nope'");
	refused("[scenario]\nlane = metastable\n[set]\nlode = 1\n", "4: unknown key 'lode'");
	refused("[scenario]\nlane = metastable\n[service a]\n", "3: a scenario that presets lane");
	refused("[scenario]\ncolour = red\n", "2: unknown key 'colour'");
	refused(PAIR "[set]\nx = 1\n", "");
	refused(PAIR "[sweep]\nb.nope = 1\n", "4: unknown key 'b.nope'");
	refused("[service a]\n[service a]\n", "2: section '[service a]' again");
	refused("x = 1\n" PAIR, "1: a value before the first section");
	refused("[service a]\nworkers\n[clients b]\n", "2: neither a [section]");
	refused("[service a]\n", "1: at least one [service NAME]");
	refused("", "1: at least one [service NAME]");
}

static void what_does_not_hold_together_is_refused(void **state)
{
	(void)state;
	refused("[service a]\ncalls = c\n[clients b]\n",
		"2: [service a] calls: there is no service");
	refused("[service a]\ncalls = a*0\n[clients b]\n", "2: [service a] calls: the number");
	refused("[service a]\ncalls = a?\n[clients b]\n", "2: [service a] calls: ? needs");
	refused(PAIR "[change c]\nkind = load\ntarget = x\n", "5: [change c] target");
	refused(PAIR "[clients c]\nservice = x\n", "4: [clients c] service");
	refused("[service a]\nwork = shifted\nwork_us = 5\nwork_least_us = 9\n[clients b]\n",
		"4: [service a] work_least_us");
	refused(PAIR "[run]\nduration_s = 5\nwarm_up_s = 5\n", "5: [run]: warm_up_s");
	write_scenario("[service a]\ncalls = c\n[service c]\ncalls = a\n[clients b]\n");
	char command[128];
	snprintf(command, sizeof(command), "run %s", scenario_path);
	tool_refuses(command, "circle");
}

static void a_line_too_long_is_refused_not_cut(void **state)
{
	(void)state;
	char text[512] = "[service a]\nwork_us = ";
	memset(text + strlen(text), '1', 300);
	refused(text, "2: the line is too long: 310 bytes, at most 196");
}

static void a_file_that_cannot_be_read_is_refused(void **state)
{
	(void)state;
	tool_refuses("run /nonexistent/storm.ini", "/nonexistent/storm.ini");
	tool_refuses("run", "run needs a scenario file");
	tool_refuses("run /tmp", "/tmp");
}

static void nothing_in_a_scenario_runs_for_ever(void **state)
{
	(void)state;
	json_t *root = run_text("[service a]\nwork_us = 3600000000\n"
				"[clients b]\nrate_qps = 1000000\ntimeout_ms = 0\n"
				"[run]\nduration_s = 604800\ncalls_alive = 20000\n",
		"");
	json_t *notes = json_object_get(root, "notes");
	assert_non_null(
		strstr(json_string_value(json_array_get(notes, 0)), "stopped at its bound"));
	json_decref(root);
}

static void extremes_end_at_a_bound_and_not_in_a_crash(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"[service a]\nwork = exponential\nwork_us = 3600000000\n[clients b]\n"
		"[change c]\nkind = slow\nfrom_s = 0\nvalue = 1000000\n[run]\nduration_s = 5\n",
		"[service a]\n[clients b]\nburst = 1000000\nburst_every_s = 0.001\n"
		"[change c]\nkind = load\nfrom_s = 0\nvalue = 1000000\n"
		"[run]\nduration_s = 5\ncalls_alive = 1000\n",
		"[service a]\n[clients b]\nloop = fixed\nrate_qps = 1000000\n"
		"[change c]\nkind = load\nfrom_s = 0\nvalue = 1000000\n"
		"[run]\nduration_s = 5\ncalls_alive = 1000\n",
		"[service a]\n[clients b]\nloop = paced\nusers = 1000\nrate_qps = 0.001\n",
		"[service a]\n[clients b]\nrate_qps = 0\n[run]\nduration_s = 20\n",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		json_decref(run_text(texts[i], "--max-events 200000"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_shows_a_budget_saving_the_shop),
		cmocka_unit_test(a_preset_runs_the_lane_with_its_values),
		cmocka_unit_test(described_services_answer_what_is_sent),
		cmocka_unit_test(the_command_line_overrides_the_file),
		cmocka_unit_test(changes_and_closed_loops_come_from_the_file),
		cmocka_unit_test(a_sweep_of_two_keys_is_their_product),
		cmocka_unit_test(a_swept_scenario_has_a_picture_with_a_line_for_each_second_value),
		cmocka_unit_test(help_and_errors_name_the_scenario_to_run),
		cmocka_unit_test(a_scenario_repeats_to_the_byte),
		cmocka_unit_test(a_wrong_value_names_file_line_and_range),
		cmocka_unit_test(a_wrong_key_or_section_names_its_line),
		cmocka_unit_test(what_does_not_hold_together_is_refused),
		cmocka_unit_test(a_line_too_long_is_refused_not_cut),
		cmocka_unit_test(a_file_that_cannot_be_read_is_refused),
		cmocka_unit_test(nothing_in_a_scenario_runs_for_ever),
		cmocka_unit_test(extremes_end_at_a_bound_and_not_in_a_crash),
	};
	return cmocka_run_group_tests(tests, make_path, remove_path);
}
