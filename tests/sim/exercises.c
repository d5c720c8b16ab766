/* SPDX-License-Identifier: Apache-2.0 */
/* Lane 3 and the exercises: the figures of the model, through the real binary. */
#include <stdio.h>
#include <string.h>

#include "answer.h"

static void hidden_capacity_is_capacity_over_one_plus_retries(void **state)
{
	(void)state;
	static const int expected[] = { 149, 99, 74 };
	json_t *root = tool_json("lane hidden-capacity --format json");
	for (size_t i = 0; i < 3; i++) {
		json_t *row = json_array_get(answer_rows(root, "hidden_capacity"), i);
		assert_int_equal(answer_whole(row, "retries"), i + 1);
		assert_int_equal(answer_whole(row, "largest_load_qps"), expected[i]);
	}
	json_decref(root);
}

static void the_survivable_outage_shrinks_with_load(void **state)
{
	(void)state;
	static const int loads[] = { 151, 160, 200, 250, 280, 290, 299 };
	static const int survives[] = { 1499, 1455, 1218, 1036, 1005, 1001, 1000 };
	json_t *root = tool_json("lane trigger-intensity --format json");
	for (size_t i = 0; i < 7; i++) {
		json_t *row = json_array_get(answer_rows(root, "trigger_intensity"), i);
		assert_int_equal(answer_whole(row, "load_qps"), loads[i]);
		assert_int_equal(answer_whole(row, "survives_ms"), survives[i]);
		assert_true(answer_whole(row, "any_start_ms") <= survives[i]);
		if (loads[i] >= 250)
			assert_true(answer_number(row, "any_start_ms") -
						    answer_number(row, "formula_ms") <
					    6.5 &&
				    answer_number(row, "formula_ms") -
						    answer_number(row, "any_start_ms") <
					    4.0);
	}
	json_decref(root);
}

static void healing_time_follows_the_formula(void **state)
{
	(void)state;
	static const int full[] = { 226, 316, 586, 2746 }, drip[] = { 224, 306, 556, 2058 };
	json_t *root = tool_json("lane healing-time --format json");
	for (size_t i = 0; i < 4; i++) {
		json_t *row = json_array_get(answer_rows(root, "budgets"), i);
		assert_int_equal(answer_whole(row, "heal_second"), full[i]);
		assert_int_equal(answer_whole(row, "heal_second_burst_1"), drip[i]);
		assert_true(answer_number(row, "formula_s") - full[i] < 2.0);
		assert_true(full[i] - answer_number(row, "formula_s") < 2.0);
	}
	json_decref(root);
}

static void a_share_of_originals_heals_only_below_the_headroom(void **state)
{
	(void)state;
	json_t *root = tool_json("lane healing-time --format json");
	json_t *rows = answer_rows(root, "shares");
	assert_int_equal(answer_whole(answer_row(rows, "share_pct=5"), "heal_second"), 496);
	answer_row(rows, "share_pct=10;heal_second=never;heal_second_finagle=never");
	answer_row(rows, "share_pct=20;heal_second=never;heal_second_finagle=never");
	json_decref(root);
}

static void without_a_gate_overload_leaves_nothing(void **state)
{
	(void)state;
	ANSWER_EXPECT("lane 3 --format json", "gates",
		{ "scope=second half;gate=none", "goodput_qps", 0, 0 });
}

static void user_levels_keep_the_server_full_by_every_rule(void **state)
{
	(void)state;
	static const char *const rules[] = { "accumulating", "memoryless", "fraction" };
	json_t *root = tool_json("lane 3 --format json");
	for (size_t i = 0; i < 3; i++) {
		char where[96];
		snprintf(where, sizeof(where), "scope=second half;gate=fine;rule=%s", rules[i]);
		const struct answer_bound bounds[] = { { where, "goodput_qps", 285, 1000 },
			{ where, "p0_success_pct", 99, 100 }, { where, "p3_success_pct", 0, 1 },
			{ where, "p99_ms", 0, 130 } };
		answer_within(root, "gates", bounds, 4);
	}
	json_decref(root);
}

static void bare_levels_depend_on_the_rule(void **state)
{
	(void)state;
	ANSWER_EXPECT("lane 3 --format json", "gates",
		{ "scope=second half;gate=coarse;rule=memoryless", "goodput_qps", 150, 150 },
		{ "scope=second half;gate=coarse;rule=memoryless", "cursor", 1, 1 },
		{ "scope=second half;gate=coarse;rule=accumulating", "goodput_qps", 280.1, 1000 });
}

#define ACCUMULATES "rule=accumulating;retry_on_reject=no;"

static void with_retries_the_bare_gate_alone_fails_and_a_budget_saves_it(void **state)
{
	(void)state;
	ANSWER_EXPECT("lane composition --scenario overload --format json", "composition",
		{ ACCUMULATES "gate=coarse;budget_per_s=0", "goodput_qps", 0, 0 },
		{ ACCUMULATES "gate=coarse;budget_per_s=15", "goodput_qps", 280, 1000 },
		{ ACCUMULATES "gate=fine;budget_per_s=0", "goodput_qps", 290, 1000 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hidden_capacity_is_capacity_over_one_plus_retries),
		cmocka_unit_test(the_survivable_outage_shrinks_with_load),
		cmocka_unit_test(healing_time_follows_the_formula),
		cmocka_unit_test(a_share_of_originals_heals_only_below_the_headroom),
		cmocka_unit_test(without_a_gate_overload_leaves_nothing),
		cmocka_unit_test(user_levels_keep_the_server_full_by_every_rule),
		cmocka_unit_test(bare_levels_depend_on_the_rule),
		cmocka_unit_test(with_retries_the_bare_gate_alone_fails_and_a_budget_saves_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
