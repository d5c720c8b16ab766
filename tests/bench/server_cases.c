/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases on a server as a user runs them, on the real binaries. Runs are short; what heals, and when,
 * is for the bench to say and not asserted here.
 */
#include "tests/bench/server_tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHORT                                                                                      \
	"--quiet --allow-disturbed --format json --stall 0.2 --timeout-ms 100 --service-ms 10 "    \
	"--seconds 2 "

static void a_stall_makes_clients_time_out_and_try_again(void **state)
{
	(void)state;
	json_t *result = tool_json("run stall --policy none,budget,none-47 " SHORT);
	json_t *none = server_row_of(result, "none"), *budget = server_row_of(result, "budget");
	assert_string_equal(json_string_value(json_object_get(result, "case")), "stall");
	assert_string_equal(json_string_value(json_object_get(result, "trigger")), "pause");
	assert_int_equal(json_integer_value(json_object_get(result, "seed")), 1);
	assert_true(json_number_value(json_object_get(result, "saturation_qps")) > 0);
	assert_true(server_median(none, "trigger_ms") > 100);
	assert_true(server_median(none, "timeouts") > 0);
	assert_true(server_median(none, "attempts") ==
		    server_median(none, "offered") + server_median(none, "retries"));
	assert_true(server_median(budget, "retries_denied") > 0);
	assert_true(server_median(budget, "retries") < server_median(none, "retries"));
	assert_int_equal(server_median(none, "unsent"), 0);
	assert_int_equal(server_median(none, "failed"), 0);
	assert_int_equal(json_array_size(json_object_get(none, "success_pct_by_priority")), 1);
	assert_true(
		json_number_value(json_object_get(server_row_of(result, "none-47"), "rho")) < 0.48);
	json_decref(result);
	server_nothing_left();
}

/* An eighth of its timeout is less than the gate's shortest window. */
static void the_shortest_stall_is_a_run_too(void **state)
{
	(void)state;
	server_stretches = false;
	json_t *result = tool_json(
		"run stall --policy gate --quiet --allow-disturbed --format json --stall 0.1 "
		"--service-ms 10 --seconds 2");
	server_stretches = true;
	assert_true(json_number_value(json_object_get(result, "timeout_ms")) < 80);
	assert_true(server_median(server_row_of(result, "gate"), "offered") > 0);
	json_decref(result);
	server_nothing_left();
}

static void a_lock_stalls_the_server_too(void **state)
{
	(void)state;
	json_t *result = tool_json("run stall --trigger lock --policy none " SHORT "--seconds 4");
	json_t *none = server_row_of(result, "none");
	assert_true(server_median(none, "trigger_ms") > 100);
	assert_true(server_median(none, "timeouts") > 0);
	assert_int_equal(server_median(none, "cancels"), 0);
	json_decref(result);
	server_nothing_left();
}

static void a_checkpoint_stalls_writers(void **state)
{
	char arguments[384];
	(void)state;
	snprintf(arguments, sizeof arguments,
		"run stall --trigger checkpoint --policy none --data %s/data " SHORT,
		server_folder);
	json_t *result = tool_json(arguments);
	json_t *none = server_row_of(result, "none");
	assert_string_equal(json_string_value(json_object_get(result, "trigger")), "checkpoint");
	assert_true(server_median(none, "trigger_ms") > 0);
	assert_int_equal(server_median(none, "failed"), 0);
	json_decref(result);
	snprintf(arguments, sizeof arguments, "%s/data", server_folder);
	server_remove(arguments);
	server_nothing_left();
}

static void a_culprit_is_cancelled_before_its_time(void **state)
{
	(void)state;
	json_t *result = tool_json(
		"run culprit-storm --policy none,cancel --quiet --allow-disturbed --format json "
		"--stall 1 --timeout-ms 300 --service-ms 10 --slo-ms 50 "
		"--seconds 5");
	json_t *none = server_row_of(result, "none"), *cancel = server_row_of(result, "cancel");
	assert_string_equal(json_string_value(json_object_get(result, "trigger")), "lock");
	assert_int_equal(server_median(none, "cancels"), 0);
	assert_true(server_median(cancel, "cancels") >= 1);
	assert_true(server_median(cancel, "trigger_ms") < server_median(none, "trigger_ms"));
	assert_true(server_median(cancel, "decided_ms") > 0);
	json_decref(result);
	server_nothing_left();
}

static void a_dump_is_cancelled_too(void **state)
{
	char arguments[384];
	(void)state;
	snprintf(arguments, sizeof arguments,
		"run dump-storm --policy none,cancel --quiet --allow-disturbed --format json "
		"--stall 1 --slo-ms 40 "
		"--timeout-ms 300 --seconds 5 --pool-mb 4 --data %s/data",
		server_folder);
	json_t *result = tool_json(arguments);
	json_t *none = server_row_of(result, "none");
	assert_string_equal(json_string_value(json_object_get(result, "trigger")), "dump");
	assert_int_equal(json_integer_value(json_object_get(result, "pool_mb")), 4);
	assert_true(server_median(none, "trigger_ms") > 500);
	assert_int_equal(server_median(none, "cancels"), 0);
	assert_true(json_is_object(json_object_get(server_row_of(result, "cancel"), "heals")));
	json_decref(result);
	snprintf(arguments, sizeof arguments, "%s/data", server_folder);
	server_remove(arguments);
	server_nothing_left();
}

static void under_twice_the_load_the_gate_refuses_the_lowest(void **state)
{
	(void)state;
	json_t *result = tool_json(
		"run overload-2x --policy none,gate --quiet --allow-disturbed --format json "
		"--service-ms 10 --timeout-ms 500 --seconds 3");
	json_t *none = server_row_of(result, "none"), *gate = server_row_of(result, "gate");
	json_t *success = json_object_get(gate, "success_pct_by_priority");
	assert_string_equal(json_string_value(json_object_get(result, "trigger")), "none");
	assert_true(json_is_null(json_object_get(json_object_get(gate, "heals"), "median")));
	assert_int_equal(server_median(none, "rejected"), 0);
	assert_true(server_median(gate, "rejected") > 0);
	assert_true(server_median(gate, "reject_ms") > 0);
	assert_true(server_median(gate, "query_cpu_us") > 0);
	assert_int_equal(json_array_size(success), 4);
	const json_t *first = json_object_get(json_array_get(success, 0), "median");
	const json_t *last = json_object_get(json_array_get(success, 3), "median");
	assert_true(json_number_value(first) > json_number_value(last));
	json_decref(result);
	server_nothing_left();
}

static void a_table_has_a_row_for_each_policy(void **state)
{
	(void)state;
	struct tool_result result =
		tool_run("run stall --policy none,gate+budget --quiet --allow-disturbed "
			 "--stall 0.2 --timeout-ms 100 --service-ms 10 "
			 "--seconds 2");
	assert_int_equal(result.status, 0);
	assert_non_null(strstr(result.out, "\nnone "));
	assert_non_null(strstr(result.out, "\ngate+budget "));
	assert_non_null(strstr(result.out, "1 repetition\n"));
	tool_free(&result);
}

static void a_run_is_drawn_over_time(void **state)
{
	static const char *const files[] = { "stall.csv", "stall.gp", "stall.svg", "stall.png" };
	char arguments[384], path[128];
	(void)state;
	snprintf(arguments, sizeof arguments,
		"run stall --policy none,budget --plot %s/plots " SHORT, server_folder);
	json_decref(tool_json(arguments));
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/plots/%s", server_folder, files[i]);
		char *text = tool_read_file(path);
		assert_non_null(text);
		assert_true(i != 0 || strstr(text, "\nbudget,0.25,"));
		free(text);
	}
	snprintf(path, sizeof path, "%s/plots", server_folder);
	server_remove(path);
	server_nothing_left();
}

static void a_result_is_kept_though_nobody_can_draw_it(void **state)
{
	char arguments[384], path[128], *paths = strdup(getenv("PATH"));
	(void)state;
	snprintf(path, sizeof path, "%s/result", server_folder);
	snprintf(arguments, sizeof arguments,
		"run stall --policy none --plot %s/plots --out %s " SHORT, server_folder, path);
	setenv("PATH", server_folder, 1); /* no gnuplot there */
	struct tool_result result = tool_run(arguments);
	setenv("PATH", paths, 1);
	free(paths);
	char *text = tool_read_file(path);
	assert_int_equal(result.status, 1);
	assert_non_null(strstr(result.error, "gnuplot"));
	assert_non_null(text);
	assert_non_null(strstr(text, "\"summary\""));
	free(text);
	tool_free(&result);
	unlink(path);
	snprintf(path, sizeof path, "%s/plots", server_folder);
	server_remove(path);
	server_nothing_left();
}

static void csv_has_as_many_values_as_names(void **state)
{
	(void)state;
	struct tool_result result =
		tool_run("run stall --policy none --quiet --allow-disturbed --format csv "
			 "--stall 0.2 --timeout-ms 100 --service-ms 10 "
			 "--seconds 2");
	size_t commas[2] = { 0 }, line = 0;
	for (const char *at = result.out; *at && line < 2; at++) {
		commas[line] += *at == ',';
		line += *at == '\n';
	}
	assert_int_equal(result.status, 0);
	assert_true(commas[0] > 20);
	assert_int_equal(commas[0], commas[1]);
	tool_free(&result);
}

static void an_interrupted_run_leaves_nothing_behind(void **state)
{
	char command[512], path[64];
	(void)state;
	snprintf(path, sizeof path, "%s/result", server_folder);
	snprintf(command, sizeof command,
		"timeout -s INT 3 %s run stall --quiet --allow-disturbed --out %s >/dev/null 2>&1",
		CANCEL_SIM, path);
	assert_true(WEXITSTATUS(system(command)) != 0);
	server_nothing_left();
}

static void nonsense_is_refused_in_one_line(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{ "run stall --policy nobody", "unknown policy 'nobody' of this target" },
		{ "run stall --policy none,none", "twice" },
		{ "run stall --policy ,", "list of policies" },
		{ "run stall dump", "second" },
		{ "run stall --stall 0", "--stall: '0'" },
		{ "run stall --stall x", "--stall: 'x'" },
		{ "run stall --timeout-ms 0", "--timeout-ms: '0'" },
		{ "run stall --retries 101", "--retries: '101'" },
		{ "run stall --connections 1", "--connections: '1'" },
		{ "run stall --trigger storm", "not pause, lock or checkpoint" },
		{ "run culprit-storm --cpu", "belongs to stall, dump-storm" },
		{ "run stall --seconds 1", "the run has 1.0 s" },
		{ "run stall --saturate", "belong to the other cases" },
		{ "run stall --target engine", "stall has no plan for the engine" },
		{ "run healthy --wire", "healthy has no plan for a server" },
		{ "run healthy --target server", "healthy has no plan for a server" },
		{ "run dump --target moon", "'moon' is not engine or server" },
		{ "run dump --wire --rerun", "belong to the other cases" },
		{ "run dump --wire --policy cancel:greedy", "unknown policy 'cancel:greedy'" },
		{ "run dump --wire --trigger lock", "--trigger belongs to the case stall" },
		{ "run stall --culprit-retries 1", "case stall has no culprit" },
		{ "run stall --culprit-retries x", "--culprit-retries: 'x'" },
		{ "run stall --slo-ratio 10", "--slo-ratio needs a reference" },
		{ "run stall --cpu --service-ms 5", "one of them" },
		{ "run overload-2x --stall 1", "case overload-2x has no trigger" },
		{ "run stall --rerun", "belong to the other cases" },
		{ "run dump --stall 1", "--stall belongs to --target server" },
		{ "run stall --format xml", "not table, json or csv" },
		{ "run stall --out /nonexistent/x", "cannot write" },
	};
	server_stretches = false;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		tool_refuses(cases[i][0], cases[i][1]);
	server_stretches = true;
	server_nothing_left();
}

static void the_list_names_the_cases_of_a_server_and_their_policies(void **state)
{
	(void)state;
	static const char *const names[] = { "stall", "culprit-storm", "dump-storm", "overload-2x",
		"budget-large", "gate+budget", "cancel+gate+budget", "--target server", "longest" };
	struct tool_result result = tool_run("list");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strstr(result.out, names[i]))
			fail_msg("list does not name %s", names[i]);
	tool_free(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_list_names_the_cases_of_a_server_and_their_policies),
		cmocka_unit_test(nonsense_is_refused_in_one_line),
		cmocka_unit_test(a_stall_makes_clients_time_out_and_try_again),
		cmocka_unit_test(the_shortest_stall_is_a_run_too),
		cmocka_unit_test(a_lock_stalls_the_server_too),
		cmocka_unit_test(a_checkpoint_stalls_writers),
		cmocka_unit_test(a_culprit_is_cancelled_before_its_time),
		cmocka_unit_test(a_dump_is_cancelled_too),
		cmocka_unit_test(under_twice_the_load_the_gate_refuses_the_lowest),
		cmocka_unit_test(a_run_is_drawn_over_time),
		cmocka_unit_test(a_result_is_kept_though_nobody_can_draw_it),
		cmocka_unit_test(a_table_has_a_row_for_each_policy),
		cmocka_unit_test(an_interrupted_run_leaves_nothing_behind),
		cmocka_unit_test(csv_has_as_many_values_as_names),
	};
	return cmocka_run_group_tests(tests, server_begin, server_end);
}
