/* SPDX-License-Identifier: Apache-2.0 */
/* The golden windows, row for row, from both engines, through the real binary. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"

#define VULNERABLE                                                                                 \
	"--set service_ns=1000000 --set timeout_ms=50 --set outage_start_ms=2000 "                 \
	"--set outage_ms=1000 --set duration_s=10"

/* The first four columns of a CSV, cut in place. */
static void cut_columns(char *csv)
{
	char *to = csv;
	int commas = 0;
	for (const char *from = csv; *from; from++) {
		commas = *from == '\n' ? 0 : commas + (*from == ',');
		if (commas < 4)
			*to++ = *from;
	}
	*to = '\0';
}

static void expect_golden(const char *lane, const char *file)
{
	static const char *const engines[] = { "sweep", "causal" };
	char command[512], path[512];
	snprintf(path, sizeof(path), GOLDEN "/%s.csv", file);
	char *golden = tool_read_file(path);
	assert_non_null(golden);
	for (size_t i = 0; i < 2; i++) {
		snprintf(command, sizeof(command), "lane %s --format csv --engine %s", lane,
			engines[i]);
		struct tool_result result = tool_run(command);
		assert_int_equal(result.status, 0);
		cut_columns(result.out);
		assert_string_equal(result.out, golden);
		tool_free(&result);
	}
	free(golden);
}

static void lane_1_at_280_never_recovers_row_for_row(void **state)
{
	(void)state;
	expect_golden("1 --load 280", "lane1_load280");
}

static void lane_1_at_140_heals_row_for_row(void **state)
{
	(void)state;
	expect_golden("1 --load 140", "lane1_load140");
}

static void a_vulnerable_server_goes_metastable_row_for_row(void **state)
{
	(void)state;
	expect_golden("1 --load 800 " VULNERABLE, "vulnerable_load800");
	expect_golden("1 --load 400 " VULNERABLE, "vulnerable_load400");
	expect_golden("1 --load 800 " VULNERABLE " --set outage_ms=0", "vulnerable_no_outage");
}

static void lane_2_matches_row_for_row(void **state)
{
	(void)state;
	expect_golden("2 --budget 5", "lane2_budget5");
	expect_golden("2 --budget 10", "lane2_budget10");
	expect_golden("2 --budget 15", "lane2_budget15");
	expect_golden("2 --budget 25", "lane2_budget25");
}

static void both_engines_agree_on_the_backlog_too(void **state)
{
	(void)state;
	answer_same("lane 2 --budget 3,19 --retries 3 --format csv",
		"lane 2 --budget 3,19 --retries 3 --format csv --engine causal");
}

static void expect_heal(const char *command, int64_t second)
{
	json_t *root = tool_json(command), *found = json_object_get(root, "heal_second");
	if (second < 0)
		assert_true(json_is_null(found));
	else
		assert_int_equal(json_integer_value(found), second);
	assert_int_equal(answer_yes(root, "heals"), second >= 0);
	json_decref(root);
}

static void lane_1_heals_at_161_or_never(void **state)
{
	(void)state;
	expect_heal("lane 1 --load 140 --format json", 161);
	expect_heal("lane 1 --load 280 --format json", -1);
}

static void a_budget_within_the_headroom_heals_on_the_second(void **state)
{
	(void)state;
	expect_heal("lane 2 --budget 5 --format json", 226);
	expect_heal("lane 2 --budget 10 --format json", 316);
	expect_heal("lane 2 --budget 15 --format json", 586);
	expect_heal("lane 2 --budget 25 --format json", -1);
	expect_heal("lane 2 --budget 20 --duration-s 3000 --format json", -1);
	expect_heal("lane 2 --budget 19 --duration-s 3000 --format json", 2746);
}

static void the_cap_matters_and_not_the_initial_fill(void **state)
{
	(void)state;
	expect_heal("lane 2 --budget 5 --burst 1 --format json", 224);
	expect_heal("lane 2 --budget 10 --burst 1 --format json", 306);
	expect_heal("lane 2 --budget 15 --burst 1 --format json", 556);
	expect_heal("lane 2 --budget 19 --burst 1 --duration-s 3000 --format json", 2058);
	expect_heal("lane 2 --budget 15 --starts-full no --format json", 586);
}

static void a_run_that_still_drains_is_undecided(void **state)
{
	(void)state;
	json_t *root = tool_json("lane 2 --budget 15 --duration-s 300 --format json");
	assert_string_equal(answer_word(root, "end"), "undecided");
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lane_1_at_280_never_recovers_row_for_row),
		cmocka_unit_test(lane_1_at_140_heals_row_for_row),
		cmocka_unit_test(a_vulnerable_server_goes_metastable_row_for_row),
		cmocka_unit_test(lane_2_matches_row_for_row),
		cmocka_unit_test(both_engines_agree_on_the_backlog_too),
		cmocka_unit_test(lane_1_heals_at_161_or_never),
		cmocka_unit_test(a_budget_within_the_headroom_heals_on_the_second),
		cmocka_unit_test(the_cap_matters_and_not_the_initial_fill),
		cmocka_unit_test(a_run_that_still_drains_is_undecided),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
